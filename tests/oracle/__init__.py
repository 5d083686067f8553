"""Comparisons with DALI, operator by operator."""
