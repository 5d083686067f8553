"""Tensor and Batch, what they are made from, and their parts."""
