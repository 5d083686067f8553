"""Tests of `eager/schedules`."""
