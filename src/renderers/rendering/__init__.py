"""Messages to text, labels and token ids."""
