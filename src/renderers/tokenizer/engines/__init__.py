"""Encode plain text with `tokenizers`, or in C with a compiled vocabulary."""
