"""Encoders of plain text: the Rust library, and a faster one for ASCII text."""
