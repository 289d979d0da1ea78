from renderers.families.renderers import Qwen38Renderer as Qwen38Renderer
