"""Objects on other machines: their facts, their bytes ahead of need, a cache on disk."""
