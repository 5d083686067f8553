"""What the iterators of frameworks share."""

from gradiva.capture.iteration import LastBatchPolicy as LastBatchPolicy
from gradiva.capture.iteration import PipelineIterator as PipelineIterator
