"""Encode plain text with `tokenizers`, `fastokens`, or a lookup of ASCII words."""
