"""Send token ids to an inference engine and read the sampled ids back."""
