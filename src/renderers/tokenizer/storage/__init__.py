"""Compiled vocabularies in a cache folder, mapped into the memory of every process that uses them."""
