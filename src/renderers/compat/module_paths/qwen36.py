from renderers.families.renderers import Qwen36Renderer as Qwen36Renderer
