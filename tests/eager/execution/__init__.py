"""Tests of `eager/execution`."""
