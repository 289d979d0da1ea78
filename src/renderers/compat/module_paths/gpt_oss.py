from renderers.families.renderers import GptOssRenderer as GptOssRenderer
