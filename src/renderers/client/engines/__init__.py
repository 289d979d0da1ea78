"""The wire formats of inference engines, one module each."""
