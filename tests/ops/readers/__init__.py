"""Tests of `ops/readers`."""
