"""Remote objects: their facts, prefetching of their bytes, a cache on disk."""
