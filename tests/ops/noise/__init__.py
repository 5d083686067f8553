"""Tests of `ops/noise`."""
