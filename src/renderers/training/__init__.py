"""Training samples from rendered conversations."""
