"""Shapes that every layer agrees on."""
