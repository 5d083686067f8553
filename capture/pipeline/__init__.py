"""Pipelines: definition, building, running, iterators, checkpoints."""
