"""The modules that scripts import: what DALI has there, and what there is of it here.

A script runs when its `nvidia.dali` is replaced by `gradiva`. For each public module of DALI, each
public name is here too, or stands in MISSING with the reason.
"""

from __future__ import annotations

import importlib.util
import inspect
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import types
from gradiva.eager.operators.operator import operators
from gradiva.eager.support.lazy_import import can_import

INSIDE = "a tool of the reference's own modules"
NATIVE = "belongs to native code, of which there is none"

MISSING: dict[str, dict[str, str]] = {
    "": {"internal": INSIDE, "python_function_plugin": NATIVE, "reducers": INSIDE},
    "types": dict.fromkeys(("backend_impl", "dali_type_converters", "tfrec"), INSIDE),
    "pipeline": {
        "WorkerPool": INSIDE,
        "b": NATIVE,
        "dali_pickle": INSIDE,
        "internal": INSIDE,
        "pipeline_tls": INSIDE,
        "tensors": INSIDE,
        "types": INSIDE,
    },
    "data_node": {"not_iterable": INSIDE},
    "ops": {
        "count": INSIDE,
        "cpu_ops": INSIDE,
        "gpu_ops": INSIDE,
        "hidden": INSIDE,
        "mixed_ops": INSIDE,
        "optree": INSIDE,
        "python_op_factory": INSIDE,
        "register_cpu_op": INSIDE,
        "register_gpu_op": INSIDE,
    },
    "plugin_manager": {"b": NATIVE, "ops": INSIDE},
    "plugin.numba": {
        **dict.fromkeys(("Pipeline", "address_as_void_pointer", "dali_types", "ops"), INSIDE),
        "minimal_numba_version": INSIDE,
    },
}
OPERATORS = {
    "fn": "",
    "fn.decoders": "decoders",
    "fn.experimental": "",
    "fn.io.file": "io.file",
    "fn.noise": "noise",
    "fn.random": "random",
    "fn.reductions": "reductions",
    "fn.transforms": "transforms",
    "fn.readers": "readers",
    "fn.segmentation": "segmentation",
    "ops": "",
    "ops.decoders": "decoders",
    "ops.experimental": "",
    "ops.io.file": "io.file",
    "ops.noise": "noise",
    "ops.random": "random",
    "ops.reductions": "reductions",
    "ops.transforms": "transforms",
    "ops.readers": "readers",
    "ops.segmentation": "segmentation",
}
"""Modules of operators, and how the operators in them are called here: one that is missing there
must be missing altogether."""
NAMESPACES = {"inputs", "hidden", "experimental.readers", "experimental.inputs"}
"""Groups of operators none of which is there yet."""
MODULES = [
    "", "data_node", "fn", "fn.decoders", "fn.experimental", "fn.io.file", "fn.noise",
    "fn.random", "fn.readers", "fn.reductions", "fn.segmentation", "fn.transforms", "math",
    "ops", "ops.decoders", "ops.experimental",
    "ops.io.file", "ops.noise", "ops.random", "ops.readers", "ops.reductions",
    "ops.segmentation", "ops.transforms", "pipeline",
    "pipeline.experimental", "plugin.numba", "plugin.numba.experimental", "plugin.numba.fn",
    "plugin.numba.fn.experimental", "plugin_manager", "sysconfig", "tfrecord", "types",
]  # fmt: skip
PARTLY = {
    "backend": {
        "CheckDLPackCapsule", "GetSchema", "LoadDirectory", "LoadLibrary", "OpSchema",
        "RegisteredCPUOps", "RegisteredGPUOps", "RegisteredMixedOps", "TensorCPU", "TensorGPU",
        "TensorListCPU", "TensorListGPU", "TryGetSchema",
        "GetCudaVersion", "GetCufftVersion", "GetCxx11AbiFlag", "GetNppVersion",
        "GetNvimgcodecVersion", "GetNvjpegVersion", "GetOpenCVVersion", "IsDriverInitialized",
        "LoadDefaultPlugins", "RestrictPinnedMemUsage", "check_cuda_runtime",
        "GetHostBufferGrowthFactor", "GetHostBufferShrinkThreshold", "SetBufferGrowthFactor",
        "SetDeviceBufferGrowthFactor", "SetHostBufferGrowthFactor", "SetHostBufferShrinkThreshold",
    },
    "backend_impl": {"GetSchema", "TensorCPU", "TensorListCPU", "types"},
    "external_source": {"external_source"},
    "pickling": {"pickle_by_value"},
    "plugin.base_iterator": {"LastBatchPolicy"},
    "plugin.jax": {"DALIGenericIterator", "data_iterator", "fn"},
    "plugin.jax.clu": {
        "DALIGenericPeekableIterator", "get_spec_for_array", "peekable_data_iterator",
    },
    "plugin.jax.integration": {"TensorGPU"},
    "plugin.jax.iterator": {"DALIGenericIterator", "data_iterator", "default_num_threads_value"},
    "plugin.pytorch": {
        "DALIClassificationIterator", "DALIGenericIterator", "DALIRaggedIterator",
        "TorchPythonFunction", "feed_ndarray", "fn", "to_torch_type", "torch_utils",
    },
    "plugin.pytorch.loader_evaluator.loader": {"LoaderEvaluator"},
    "plugin.pytorch.torch_utils": {"feed_ndarray", "to_torch_tensor", "to_torch_type"},
    "experimental.dynamic": {"Batch", "Device", "DeviceLike", "Tensor", "batch", "tensor"},
    "plugin.jax.fn": {"jax_function"},
    "plugin.paddle": {
        "DALIClassificationIterator", "DALIGenericIterator", "dtype_map", "feed_ndarray",
        "lod_tensor_clip", "recursive_length", "to_paddle_type",
    },
    "plugin.triton": {"autoserialize"},
    "tensors": {"TensorCPU", "TensorGPU", "TensorListCPU", "TensorListGPU"},
    "auto_aug.auto_augment": {
        "apply_auto_augment", "auto_augment", "auto_augment_image_net", "get_image_net_policy",
        "get_reduced_cifar10_policy", "get_reduced_image_net_policy", "get_svhn_policy",
    },
    "auto_aug.augmentations": {
        "auto_contrast", "brightness", "color", "contrast", "equalize", "identity", "invert",
        "poster_mask_uint8", "posterize", "rotate", "sharpness", "sharpness_kernel",
        "sharpness_kernel_shifted", "shear_x", "shear_y", "shift_enhance_range", "solarize",
        "solarize_add", "solarize_add_shift", "translate_x", "translate_x_no_shape",
        "translate_y", "translate_y_no_shape", "warp_x_param", "warp_y_param",
    },
    "auto_aug.core": {"Policy", "augmentation", "select", "signed_bin"},
    "auto_aug.core.decorator": {"augmentation"},
    "auto_aug.core.policy": {"Policy"},
    "auto_aug.rand_augment": {
        "apply_rand_augment", "get_rand_augment_non_monotonic_suite", "get_rand_augment_suite",
        "rand_augment",
    },
    "auto_aug.trivial_augment": {
        "apply_trivial_augment", "get_trivial_augment_wide_suite", "trivial_augment_wide",
    },
}  # fmt: skip
"""Modules of which scripts need some names only."""
NEEDED = {"plugin.jax": "jax", "plugin.jax.clu": "clu", "plugin.jax.fn": "jax"}
NEEDED |= {"plugin.jax.integration": "jax", "plugin.jax.iterator": "jax"}
NEEDED |= dict.fromkeys([name for name in PARTLY if name.startswith("plugin.pytorch")], "torch")
NEEDED["plugin.paddle"] = "paddle"
"""What DALI's modules import, and need not be installed."""


def module(root: str, name: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"{root}.{name}" if name else root)


def public(module: ModuleType) -> set[str]:
    """What belongs to DALI, and not to Python, NumPy or Numba."""
    names = set()
    for name in dir(module):
        value = getattr(module, name)
        home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
        foreign = isinstance(home, str) and not home.startswith("nvidia.")
        theirs_own = not foreign or not (callable(value) or inspect.ismodule(value))
        future = type(value).__module__ == "__future__"
        if not name.startswith("_") and theirs_own and not future:
            names.add(name)
    return names


def absent_operator(place: str, name: str) -> bool:
    """Whether no operator of this name is here, under any spelling."""
    if name in NAMESPACES or f"{place.partition('.')[2]}.{name}" in NAMESPACES:
        return True
    if inspect.ismodule(getattr(module("nvidia.dali", place), name)):
        return False
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    snake = snake.lstrip("_") if place.startswith("ops") else name
    folder = OPERATORS[place]
    return (f"{folder}.{snake}" if folder else snake) not in operators


@pytest.mark.oracle
@pytest.mark.parametrize("name", MODULES)
def test_names(name: str) -> None:
    pytest.importorskip("nvidia.dali", exc_type=ImportError)
    theirs, ours = module("nvidia.dali", name), module("gradiva", name)
    missing = MISSING.get(name, {})
    lacking = {key for key in public(theirs) if not hasattr(ours, key)}
    if name in OPERATORS:
        lacking = {key for key in lacking if not absent_operator(name, key)}
    assert sorted(lacking - missing.keys()) == [], f"missing from gradiva.{name}"
    whole = ".".join(filter(None, ("nvidia.dali", name)))
    stale = {
        key
        for key in missing
        if not hasattr(theirs, key) and importlib.util.find_spec(f"{whole}.{key}") is None
    }
    done = {key for key in missing if key in dir(ours)}
    assert sorted(stale | done) == [], "no reason to be on the list"


@pytest.mark.oracle
@pytest.mark.parametrize("name", PARTLY)
def test_modules_that_are_here_in_part(name: str) -> None:
    pytest.importorskip("nvidia.dali", exc_type=ImportError)
    if name in NEEDED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pytest.importorskip(NEEDED[name])
    for place in ("nvidia.dali", "gradiva"):
        found = module(place, name)
        assert [one for one in sorted(PARTLY[name]) if not hasattr(found, one)] == []


def test_the_most_used_imports() -> None:
    """The lines that scripts begin with."""
    lines = """
from gradiva.auto_aug import augmentations, auto_augment, rand_augment, trivial_augment
from gradiva.auto_aug.core import Policy, augmentation, select, signed_bin
from gradiva import Pipeline, fn, math, newaxis, ops, pipeline_def, plugin_manager, types
from gradiva.backend import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from gradiva.backend_impl import GetSchema
from gradiva.data_node import DataNode
from gradiva.external_source import external_source
from gradiva.pickling import pickle_by_value
from gradiva.plugin.triton import autoserialize
from gradiva.plugin.jax import DALIGenericIterator, data_iterator
from gradiva.plugin.jax.clu import get_spec_for_array, peekable_data_iterator
from gradiva.plugin.jax.iterator import DALIGenericIterator, data_iterator
from gradiva.plugin.jax.fn import jax_function
from gradiva.plugin.paddle import DALIGenericIterator, recursive_length, to_paddle_type
from gradiva.pipeline import Pipeline, pipeline_def
from gradiva.pipeline.experimental import pipeline_def
from gradiva.experimental import dynamic as ndd
from gradiva.fn.experimental import peek_image_shape
from gradiva.ops import ExternalSource, PythonFunction, Resize
from gradiva.ops.decoders import Image
from gradiva.ops.experimental import PeekImageShape
from gradiva.plugin.numba import NumbaFunction
from gradiva.plugin.numba.experimental import NumbaFunction
from gradiva.plugin.numba.fn.experimental import numba_function
from gradiva.plugin.pytorch import TorchPythonFunction
from gradiva.plugin.pytorch.fn import torch_python_function
from gradiva.types import FLOAT, UINT8, Constant, DALIDataType, DALIImageType, SampleInfo
import gradiva.experimental.dynamic as ndd
import gradiva.fn as fn
import gradiva.math as math
import gradiva.ops as ops
import gradiva.tfrecord as tfrec
import gradiva.types as types
"""
    names: dict[str, Any] = {}
    exec(lines, names)
    assert names["ndd"].resize is gradiva.resize
    assert "resize" in dir(names["ndd"])
    assert names["pipeline_def"] is gradiva.pipeline_def


def test_data_types() -> None:
    kind: Any = types.DALIDataType
    assert kind.FLOAT is types.FLOAT
    assert kind(9) is kind["FLOAT"] is types.FLOAT
    assert kind(types.STRING) is kind.STRING
    assert isinstance(types.FLOAT, types.DALIDataType)
    assert isinstance(types.FEATURE, types.DALIDataType)
    assert not isinstance(3, types.DALIDataType)
    assert (types.INT32.value, int(types.INT32)) == (6, 6)
    assert [types.DALIDataType.FLOAT.name, types.STRING.name] == ["float32", "STRING"]
    assert len(types.DALIDataType) == len(list(types.DALIDataType)) == 20
    with pytest.raises(ValueError, match="99"):
        kind(99)
    for dtype in ("uint8", "float16", "bool"):
        assert types.to_numpy_type(types.to_dali_type(dtype)) is np.dtype(dtype).type
    assert types.to_dali_type(np.float32) is types.FLOAT
    with pytest.raises(TypeError, match="nothing"):
        types.to_dali_type("nothing")
    with pytest.raises(KeyError):
        types.to_numpy_type(types.STRING)


@pytest.mark.oracle
def test_numbers_of_data_types() -> None:
    theirs = pytest.importorskip("nvidia.dali.types", exc_type=ImportError).DALIDataType
    ours = {name: member.value for name, member in types.DALIDataType.__members__.items()}
    assert ours == {
        name: int(member) for name, member in theirs.__members__.items() if not name.startswith("_")
    }


def test_small_types() -> None:
    assert types.TensorLayout("HWC") == "HWC"
    assert repr(types.TensorLayout("HWC")) == "types.TensorLayout('HWC')"
    assert types.NHWC == "HWC"
    assert types.SAME == ""
    assert types.CUDAStream(5).ptr == 5
    assert types.CUDAStream().ptr == 0
    assert [kind.value for kind in types.PipelineAPIType] == [0, 1, 2]
    feature = gradiva.tfrecord.FixedLenFeature([1], gradiva.tfrecord.int64, -1)
    assert (feature.shape, feature.dtype, feature.default) == ((1,), 0, -1)
    assert gradiva.tfrecord.VarLenFeature(gradiva.tfrecord.float32, 0.0).shape is None


def test_versions_of_libraries() -> None:
    """-1 for what is not linked; scripts compare them before they choose a way."""
    backend = gradiva.backend
    for name in ("Cufft", "Npp", "Nvimgcodec", "Nvjpeg"):
        assert getattr(backend, f"Get{name}Version")() == -1
    assert (backend.GetCudaVersion() > 0) == backend.IsDriverInitialized()
    version = importlib.import_module("cv2").__version__ if can_import("cv2") else "absent"
    assert backend.GetOpenCVVersion() == version
    assert backend.GetCxx11AbiFlag() == 1
    assert backend.RestrictPinnedMemUsage() is False
    backend.LoadDefaultPlugins()
    backend.check_cuda_runtime()


def test_native_plugins_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)x\.so: .*for native plugins.*map\.py"):
        gradiva.plugin_manager.load_library("x.so")
    with pytest.raises(RuntimeError, match="no interface for native plugins"):
        gradiva.plugin_manager.load_directory("/x")
    for name in ("get_include_dir", "get_lib_dir"):
        with pytest.raises(RuntimeError, match="written in Python"):
            getattr(gradiva.sysconfig, name)()
    for name in ("get_compile_flags", "get_include_flags", "get_link_flags"):
        assert getattr(gradiva.sysconfig, name)() == []
