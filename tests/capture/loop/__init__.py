"""Tests of `capture/loop`."""
