"""Tests of `eager/random`."""
