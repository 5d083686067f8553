"""JPEG: its segments, and the ways to decode it on a CPU and on a GPU."""
