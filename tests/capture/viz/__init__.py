"""Tests of `capture/viz`."""
