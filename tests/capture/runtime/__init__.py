"""Tests of `capture/runtime`."""
