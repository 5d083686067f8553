"""Tests of `ops/audio`."""
