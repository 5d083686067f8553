"""Tests of `eager/rows`."""
