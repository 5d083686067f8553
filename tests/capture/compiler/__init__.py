"""Tests of `capture/compiler`."""
