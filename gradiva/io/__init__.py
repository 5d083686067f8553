"""Operators that read files."""

from gradiva.io import file as file
