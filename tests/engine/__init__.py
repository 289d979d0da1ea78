"""Tests against a real vLLM server on the CPU, run by `make test-engine`."""
