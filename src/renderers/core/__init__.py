"""Types and helpers that every layer uses."""
