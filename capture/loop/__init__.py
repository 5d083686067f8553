"""Calls computed later or ahead: deferred mode, `trace`, `compile`, captured loops."""
