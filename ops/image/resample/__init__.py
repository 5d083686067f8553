"""Separable resampling of ragged batches, which all resizing operators share."""
