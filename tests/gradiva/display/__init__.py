"""Tests of `gradiva/display`."""
