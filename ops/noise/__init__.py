"""Random noise that is added to samples."""
