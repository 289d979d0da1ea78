from renderers.families.renderers import Hy3Renderer as Hy3Renderer
