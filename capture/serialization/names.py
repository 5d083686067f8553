"""Names and types: what the file format calls our operators and the kinds of their arguments."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradiva.eager.operators.argument_types import KINDS
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.dtypes import DType
from gradiva.ops.math.arithmetic import Arithmetic

__all__ = [
    "ENUMERATIONS",
    "INTERP_TYPE",
    "element_type",
    "expression_name",
    "expression_operators",
    "find_operator",
    "from_single",
    "schema_of",
    "to_single",
]

INTERP_TYPE = 22
"""The number of the element type of interpolation types, which are plain numbers here."""

ENUMERATIONS = frozenset({20, 21, INTERP_TYPE})
"""The numbers of the element types whose values are members of enumerations."""

# The operators that the format knows. Ours have the same words in lower case, so that an operator
# that is written later finds its name here.
_SCHEMAS = """
_conditional__Not_
AudioResample BBoxPaste BBoxRotate BatchPermutation BbFlip BoxEncoder Brightness BrightnessContrast
Cast CastLike Cat Clahe ColorSpaceConversion ColorTwist Contrast CoordFlip CoordTransform Copy Crop
CropMirrorNormalize Debayer DumpImage ElementExtract Equalize Erase ExpandDims Filter Flip Full
FullLike GaussianBlur GetProperty GridMask Hsv Hue Jitter JpegCompressionDistortion Laplacian
LookupTable MFCC MelFilterBank MultiPaste NonsilentRegion Normalize OneHot Ones OnesLike OpticalFlow
Pad Paste PeekImageShape PerFrame PermuteBatch PowerSpectrum PreemphasisFilter ROIRandomCrop
RandomBBoxCrop RandomCropGenerator RandomResizedCrop Reinterpret Reshape Resize ResizeCropMirror
Rotate Saturation SequenceRearrange Shapes Slice Spectrogram Sphere Squeeze Stack TensorResize
ToDecibels Transpose WarpAffine Water Zeros ZerosLike
decoders__Audio decoders__Image decoders__ImageCrop decoders__ImageRandomCrop decoders__ImageSlice
decoders__Inflate decoders__Numpy decoders__Video
experimental__Dilate experimental__Erode experimental__MedianBlur experimental__Remap
experimental__Resize experimental__WarpPerspective experimental__inputs__Video
experimental__readers__Fits experimental__readers__Video
io__file__Read
noise__Gaussian noise__SaltAndPepper noise__Shot
random__Beta random__Choice random__CoinFlip random__Normal random__Uniform
readers__COCO readers__Caffe readers__Caffe2 readers__File readers__MXNet readers__NemoAsr
readers__Numpy readers__TFRecord readers__Video readers__VideoResize readers__Webdataset
reductions__Max reductions__Mean reductions__MeanSquare reductions__Min reductions__RMS
reductions__StdDev reductions__Sum reductions__Variance
segmentation__RandomMaskPixel segmentation__RandomObjectBBox segmentation__SelectMasks
transforms__Combine transforms__Crop transforms__Rotation transforms__Scale transforms__Shear
transforms__Translation
"""

# Names of older versions, and second names, which are only read.
_FORMERLY = {
    "CoinFlip": "random__CoinFlip",
    "FileReader": "readers__File",
    "ImageDecoder": "decoders__Image",
    "ImageDecoderCrop": "decoders__ImageCrop",
    "ImageDecoderRandomCrop": "decoders__ImageRandomCrop",
    "ImageDecoderSlice": "decoders__ImageSlice",
    "NormalDistribution": "random__Normal",
    "Uniform": "random__Uniform",
    "_Shape": "Shapes",
    "experimental__PeekImageShape": "PeekImageShape",
    "experimental__decoders__Image": "decoders__Image",
    "experimental__decoders__ImageCrop": "decoders__ImageCrop",
    "experimental__decoders__ImageRandomCrop": "decoders__ImageRandomCrop",
    "experimental__decoders__ImageSlice": "decoders__ImageSlice",
}

_EXPRESSIONS = {"shl": "lshift", "shr": "rshift"}

_INTS = (
    "int", "Ints", "IntArg", "IntsArg", "RaggedIntsArg", "ImageType", "InterpArg", "InterpType",
    "DTypeLike",
)  # fmt: skip
_FLOATS = (
    "float",
    "Floats",
    "FloatArg",
    "FloatsArg",
    "RaggedFloatsArg",
    "MatrixArg",
    "FloatArrayArg",
)
_ELEMENTS = {
    **{KINDS[name]: "int64" for name in _INTS},
    **{KINDS[name]: "float" for name in _FLOATS},
    **{KINDS[name]: "string" for name in ("str", "Strings", "Path", "Paths", "Layout")},
    KINDS["bool"]: "bool",
}


def _plain(schema: str) -> str:
    return schema.replace("__", ".").replace("_", "").lower()


_BY_NAME = {_plain(schema): schema for schema in _SCHEMAS.split()}


def schema_of(operator: OperatorBase) -> str | None:
    """What the format calls an operator; None if it has no name for it."""
    return _BY_NAME.get(_plain(operator.name))


def find_operator(schema: str) -> OperatorBase:
    """Our operator for a name of the format. Raises OperatorValueError."""
    name = _FORMERLY.get(schema, schema)
    if name in _BY_NAME.values():
        for operator in operators.values():
            if schema_of(operator) == name:
                return operator
    raise OperatorValueError(f"gradiva has no operator for `{schema}`")


def expression_name(operator: OperatorBase) -> str:
    """What the expressions of the format call an arithmetic operator or mathematical function."""
    name = operator.name.removeprefix("math.")
    return _EXPRESSIONS.get(name, name)


@functools.cache
def expression_operators() -> dict[str, OperatorBase]:
    """Arithmetic operators and mathematical functions by their names in expressions."""
    return {
        expression_name(operator): operator
        for operator in operators.values()
        if isinstance(operator, Arithmetic)
    }


def element_type(argument: Argument | None, value: Any) -> str:
    """The type of an argument's value, or of the elements of a vector. Raises TypeError."""
    if argument is not None and argument.kind in _ELEMENTS:
        return _ELEMENTS[argument.kind]
    if argument is not None and argument.kind.element in (np.int64, np.float32):
        return "int64" if argument.kind.element is np.int64 else "float"
    first = next(iter(value), 0) if isinstance(value, list | tuple) else value
    for kind, name in ((bool, "bool"), (int, "int64"), (float, "float"), (str, "string")):
        if isinstance(first, kind):
            return name
    if isinstance(first, DType):
        return "int64"
    raise TypeError(f"{first!r} has no place in the file format")


def to_single(value: float) -> float:
    """A number as the format holds it, in float32. Raises OverflowError."""
    with np.errstate(over="ignore"):
        single = float(np.float32(value))
    if np.isinf(single) and not np.isinf(value):
        raise OverflowError(f"{value} is out of the range of float32, in which files hold numbers")
    return single


def from_single(value: float) -> float:
    """A number of a file: the one with the fewest digits among those that it may stand for, which
    is what the user wrote unless that had more than float32 holds."""
    return float(str(np.float32(value)))
