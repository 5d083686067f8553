"""Random values."""
