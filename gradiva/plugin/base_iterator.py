"""What the iterators of frameworks share."""

from gradiva.capture.pipeline.iterator import LastBatchPolicy as LastBatchPolicy
from gradiva.capture.pipeline.iterator import PipelineIterator as PipelineIterator
