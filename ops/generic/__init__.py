"""Operators on tensors of any meaning."""
