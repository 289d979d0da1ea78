"""Encoders: programs in Python for formats that the vendor defines by an encoder and not by a chat template."""
