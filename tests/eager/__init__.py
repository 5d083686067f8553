"""Tests of `eager`."""
