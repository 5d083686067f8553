"""Objects on other machines: facts, bytes ahead of need, a cache on disk."""
