"""Tests of `ops/segmentation`."""
