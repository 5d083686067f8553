"""Tests of `eager/operators`."""
