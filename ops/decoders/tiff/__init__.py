"""TIFF: tags, how samples are stored, and the samples themselves, whatever they mean."""
