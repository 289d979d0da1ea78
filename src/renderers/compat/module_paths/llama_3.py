from renderers.families.renderers import Llama3Renderer as Llama3Renderer
