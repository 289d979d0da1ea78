from renderers.families.renderers import Gemma4Renderer as Gemma4Renderer
