"""What pipelines return, under the module name that scripts import."""

from gradiva.capture.pipeline.outputs import TensorCPU as TensorCPU
from gradiva.capture.pipeline.outputs import TensorGPU as TensorGPU
from gradiva.capture.pipeline.outputs import TensorListCPU as TensorListCPU
from gradiva.capture.pipeline.outputs import TensorListGPU as TensorListGPU
