"""Tests of `capture/graph`."""
