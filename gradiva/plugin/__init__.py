"""Bridges to other libraries, each loaded when it is imported."""
