"""Readers: a file for each format, and the one source that reads their tables."""
