"""Resizing: sizes and filters from arguments, and the results of other libraries."""
