"""Operators on sounds and their spectra."""
