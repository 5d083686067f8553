"""Tests of `eager/workers`."""
