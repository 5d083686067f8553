"""Tests of `ops/math`."""
