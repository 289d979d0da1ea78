from renderers.families.renderers import Qwen35Renderer as Qwen35Renderer
