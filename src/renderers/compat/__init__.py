"""Helper functions and module paths of release 0.1."""
