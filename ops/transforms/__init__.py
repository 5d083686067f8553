"""Operators that make affine transforms, and combine them."""
