"""Tests of the store behind `cache`."""
