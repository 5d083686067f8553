"""Tests of `eager/types`."""
