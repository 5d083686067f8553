"""Tests of `capture`."""
