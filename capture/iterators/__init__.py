"""Iterators over pipelines: epochs, shards, the last batch, and the attributes that scripts
read."""
