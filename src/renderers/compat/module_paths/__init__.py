"""Module paths of release 0.1, such as `renderers.qwen3`. `renderers.__path__` includes this directory."""
