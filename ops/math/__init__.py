"""Arithmetic, mathematical functions, `if` and `and` on values per sample."""
