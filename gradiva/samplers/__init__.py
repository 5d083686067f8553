"""Samplers and buckets: which samples a reader reads how often, and in which batches."""

from gradiva.ops.readers.sampling.bucket import Bucket
from gradiva.ops.readers.sampling.classes import PK, Balanced
from gradiva.ops.readers.sampling.samplers import Function, Sampler, ShuffleBlocks, Subset, Weighted

__all__ = ["PK", "Balanced", "Bucket", "Function", "Sampler", "ShuffleBlocks", "Subset", "Weighted"]
