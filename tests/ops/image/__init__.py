"""Tests of `ops/image`."""
