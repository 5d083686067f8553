"""Operators on images; here: crop, flip, paste and erase."""
