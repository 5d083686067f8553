"""Tests of `eager/readers`."""
