from renderers.families.renderers import KimiK2Renderer as KimiK2Renderer
