from renderers.family_renderers import Hy3Renderer as Hy3Renderer
