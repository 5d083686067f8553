"""FITS files: their headers, the reader."""
