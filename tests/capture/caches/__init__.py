"""Tests of `capture/caches`."""
