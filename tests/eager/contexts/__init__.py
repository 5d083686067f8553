"""Tests of `eager/contexts`."""
