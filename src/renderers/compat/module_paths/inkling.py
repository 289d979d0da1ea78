from renderers.families.renderers import InklingRenderer as InklingRenderer
