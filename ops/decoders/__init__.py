"""Decoders: from the bytes of a file to samples."""
