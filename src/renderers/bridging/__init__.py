"""Extend a rollout by the next turn without changing a token of it."""
