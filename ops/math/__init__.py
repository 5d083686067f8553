"""Arithmetic and mathematical functions: promotion, values, expressions on a GPU."""
