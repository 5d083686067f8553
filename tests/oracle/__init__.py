"""Comparisons with the reference library, operator by operator."""
