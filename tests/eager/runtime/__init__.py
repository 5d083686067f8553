"""Tests of `eager/runtime`."""
