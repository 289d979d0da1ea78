"""Completions to content, reasoning and tool calls."""
