from renderers.family_renderers import GLM5Renderer as GLM5Renderer
from renderers.family_renderers import GLM51Renderer as GLM51Renderer
from renderers.family_renderers import GLM53Renderer as GLM53Renderer
