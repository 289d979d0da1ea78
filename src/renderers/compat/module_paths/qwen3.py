from renderers.families.renderers import Qwen3Renderer as Qwen3Renderer
