"""Reductions: one number in place of all those along some axes."""
