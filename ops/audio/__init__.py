"""Operators on audio and their spectra."""
