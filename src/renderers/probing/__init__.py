"""Facts about a program, learned by running it on small conversations."""
