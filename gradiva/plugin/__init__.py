"""Bridges to other libraries: iterators for their training loops."""
