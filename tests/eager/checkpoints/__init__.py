"""Tests of `eager/checkpoints`."""
