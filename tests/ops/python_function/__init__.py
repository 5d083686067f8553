"""Tests of `ops/python_function`."""
