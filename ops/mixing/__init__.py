"""Operators that mix the samples of a batch with each other."""
