"""Tests of `eager/support`."""
