"""Models, conversations, completions and references that tests share."""
