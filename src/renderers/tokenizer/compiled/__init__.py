"""Compile a vocabulary to one immutable block of bytes, from which the C extension encodes text."""
