from renderers.families.renderers import Qwen3VLRenderer as Qwen3VLRenderer
