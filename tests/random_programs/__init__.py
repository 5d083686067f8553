"""Tests of `random_programs`."""
