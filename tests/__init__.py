"""Tests of gradiva."""
