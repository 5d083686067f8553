"""Iterators over pipelines: epochs, shards, the last batch, and what scripts read of them."""
