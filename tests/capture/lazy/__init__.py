"""Tests of `capture/lazy`."""
