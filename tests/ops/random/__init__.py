"""Tests of `ops/random`."""
