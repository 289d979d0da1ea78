from renderers.families.renderers import DefaultRenderer as DefaultRenderer
