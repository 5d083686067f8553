"""Tests of `ops/indexing`."""
