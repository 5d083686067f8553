"""Captured loops: a running loop whose calls are computed ahead."""
