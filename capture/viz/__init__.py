"""Graphs as pictures and as text for other tools."""
