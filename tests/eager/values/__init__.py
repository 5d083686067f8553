"""Tests of `eager/values`."""
