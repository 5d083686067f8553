"""Tests of `eager/display`."""
