"""Tests of `capture/pipeline`."""
