"""Tests of `capture/serialization`."""
