"""Conditionals: Python's `if`, `and`, `or`, `not` on values per sample, inside a graph."""
