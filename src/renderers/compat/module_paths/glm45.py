from renderers.families.renderers import GLM45Renderer as GLM45Renderer
