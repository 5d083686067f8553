"""Readers: sources of files and records."""
