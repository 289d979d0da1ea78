"""From a name or an object to a checked `Vocab`."""
