from renderers.families.renderers import GLM5Renderer as GLM5Renderer
from renderers.families.renderers import GLM51Renderer as GLM51Renderer
from renderers.families.renderers import GLM53Renderer as GLM53Renderer
