"""Tests of `capture/recording`."""
