"""Tests of `gradiva.convert`."""
