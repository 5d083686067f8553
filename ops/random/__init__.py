"""Random values for each sample, crop windows, and noise added to samples."""
