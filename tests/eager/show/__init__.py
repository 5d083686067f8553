"""Tests of `eager/show`."""
