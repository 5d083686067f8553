"""Serving: requests of many clients become batches for one function.

    batcher = gradiva.serve.Batcher(prepare, max_batch=16, deadline_ms=50)
    image = batcher(jpeg_bytes)  # from any thread
    image = await batcher.submit_async(jpeg_bytes)  # from any event loop

docs/serving.md is the guide.
"""

from gradiva.serve.batcher import Batcher
from gradiva.serve.errors import BatcherClosed, DeadlineExceeded, Overloaded
from gradiva.serve.statistics import BatcherStats

__all__ = ["Batcher", "BatcherClosed", "BatcherStats", "DeadlineExceeded", "Overloaded"]
