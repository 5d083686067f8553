"""Tests of `ops/mixing`."""
