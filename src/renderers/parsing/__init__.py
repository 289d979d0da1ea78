"""Parse the token ids of a completion to content, reasoning and tool calls."""
