"""Joining, filling, reshaping and reordering samples of any kind."""
