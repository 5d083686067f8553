"""Tests of `ops/decoders`."""
