"""Videos on a GPU: NVDEC through PyNvVideoCodec, and pixels from its planes."""
