"""Tests of `ops/boxes`."""
