"""Parse the token ids of a completion into content, reasoning and tool calls."""
