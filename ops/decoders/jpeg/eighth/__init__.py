"""JPEG at an eighth of its size, of which most of the data are skipped."""
