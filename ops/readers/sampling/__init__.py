"""Which samples are read how often and in which batches: samplers, buckets."""
