"""Tests of `gradiva`."""
