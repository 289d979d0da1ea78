"""Text to token ids, and the place of each token in the text."""
