"""Other shapes and layouts for the same elements."""
