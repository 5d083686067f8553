"""Tests of `ops/external_source/workers`."""
