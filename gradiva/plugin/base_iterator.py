"""What the iterators of frameworks share."""

from gradiva.capture.iterators.iterator import LastBatchPolicy as LastBatchPolicy
from gradiva.capture.iterators.iterator import PipelineIterator as PipelineIterator
