"""Checkpoints of dynamic mode and their files."""
