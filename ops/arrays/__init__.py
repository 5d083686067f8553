"""Joining, reshaping, filling and reordering samples of any kind."""
