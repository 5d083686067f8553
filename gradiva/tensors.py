"""What pipelines hand out, under the module name that scripts import."""

from gradiva.capture.pipeline.tensor_list import TensorCPU as TensorCPU
from gradiva.capture.pipeline.tensor_list import TensorGPU as TensorGPU
from gradiva.capture.pipeline.tensor_list import TensorListCPU as TensorListCPU
from gradiva.capture.pipeline.tensor_list import TensorListGPU as TensorListGPU
