"""Programs: everything that turns messages into text with provenance."""
