from renderers.families.renderers import KimiK25Renderer as KimiK25Renderer
