"""Names that scripts import from modules of DALI, and what they do here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, backend, fn, ops, pipeline_def, types
from gradiva.capture.serialization.names import find_operator
from gradiva.plugin.triton import autoserialize


def test_schemas() -> None:
    schema = backend.GetSchema("decoders__ImageCrop")
    assert (schema.Name(), schema.OperatorName()) == ("decoders__ImageCrop", "ImageCrop")
    assert schema.ModulePath() == ["decoders"]
    assert schema.Dox().startswith("Decode")
    assert (schema.MinNumInput(), schema.MaxNumInput()) == (1, 1)
    assert (schema.IsStateful(), schema.HasRandomSeedArg()) == (False, False)
    assert schema.HasArgument("crop_h")
    assert not schema.HasArgument("crop_x")
    assert schema.IsTensorArgument("crop_h")
    assert not schema.IsTensorArgument("preserve")
    assert schema.IsArgumentOptional("crop")
    assert not backend.GetSchema("Cast").IsArgumentOptional("dtype")
    assert schema.HasArgumentDefaultValue("crop_pos_x")
    assert schema.GetArgumentDefaultValueString("crop_pos_x") == "0.5"
    assert repr(schema) == "<schema decoders__ImageCrop>"
    for wrong in (schema.GetArgumentDefaultValueString, schema.IsTensorArgument):
        with pytest.raises(ValueError, match="crop_x"):
            wrong("crop_x")
    with pytest.raises(ValueError, match="no default value"):
        schema.GetArgumentDefaultValueString("preserve")


def test_schemas_of_what_keeps_a_state() -> None:
    for name in ("random__Uniform", "readers__File", "PythonFunction", "ExternalSource"):
        assert backend.GetSchema(name).IsStateful(), name
    assert backend.GetSchema("random__Uniform").HasRandomSeedArg()
    assert "seed" in backend.GetSchema("random__Uniform").GetArgumentNames()
    assert "seed" not in backend.GetSchema("Resize").GetArgumentNames()


def test_schemas_of_old_names() -> None:
    old = backend.GetSchema("FileReader")
    assert (old.IsDeprecated(), old.DeprecatedInFavorOf()) == (True, "readers__File")
    crop = backend.GetSchema("Crop")
    assert not crop.IsDeprecated()
    assert crop.IsDeprecatedArg("output_dtype")
    assert crop.DeprecatedArgInfo("output_dtype") == {"removed": False, "renamed_to": "dtype"}
    assert crop.DeprecatedArgInfo("image_type") == {"removed": True, "renamed_to": ""}
    assert not crop.IsDeprecatedArg("dtype")
    assert crop.GetArgumentNames() == sorted(crop.GetArgumentNames())


def test_schemas_that_are_not_there() -> None:
    assert backend.TryGetSchema("NoSuchOperator") is None
    with pytest.raises(KeyError, match="NoSuchOperator"):
        backend.GetSchema("NoSuchOperator")


def test_registered_operators() -> None:
    on_cpu = backend.RegisteredCPUOps()
    assert on_cpu == sorted(on_cpu)
    assert {"Crop", "readers__File", "decoders__Image"} <= set(on_cpu)
    assert "Crop" in backend.RegisteredGPUOps()
    assert "readers__File" not in backend.RegisteredGPUOps()
    assert "decoders__Image" in backend.RegisteredMixedOps()
    for name in (*on_cpu, *backend.RegisteredGPUOps()):
        assert find_operator(name).schema == name


def test_which_capsules_there_are() -> None:
    array = np.arange(3)
    capsule = array.__dlpack__()
    assert backend.CheckDLPackCapsule(capsule) == (True, False)
    tensor: Any = backend.TensorCPU(capsule)
    assert tensor.data_ptr() == array.ctypes.data
    assert backend.CheckDLPackCapsule(capsule) == (False, False)
    assert backend.CheckDLPackCapsule(array) == (False, False)
    assert backend.CheckDLPackCapsule(None) == (False, False)
    listed = backend.TensorListCPU(np.ones((2, 4, 5, 3)).__dlpack__(), "HWC")
    assert (listed.layout(), listed.shape()) == ("HWC", [(4, 5, 3)] * 2)


def test_autoserialize() -> None:
    @autoserialize
    @pipeline_def(batch_size=1, num_threads=1)
    def pipe() -> Any:
        return fn.constant(idata=[3])

    assert getattr(pipe, "_is_autoserialize", False)
    assert np.asarray(pipe().run()[0]).tolist() == [[3]]
    with pytest.raises(OperatorTypeError, match="autoserialize: expected a function decorated"):
        autoserialize(test_autoserialize)


def test_constants_as_objects() -> None:
    pipe = gradiva.Pipeline(2, 1)
    with pipe:
        flat = ops.Constant(idata=[1, 2, 3])()
        shaped = ops.Constant("cpu", fdata=[0.5], shape=[2], layout="W", name="half")()
        typed = ops.Constant(fdata=[0.5, 2.0], dtype=types.INT32, preserve=True)()
        pipe.set_outputs(flat, shaped, typed)
    made = pipe.run()
    pipe.close()
    assert [np.asarray(batch)[1].tolist() for batch in made] == [[1, 2, 3], [0.5, 0.5], [1, 2]]
    assert [batch.dtype for batch in made] == [types.INT32, types.FLOAT, types.INT32]
    assert made[1].layout == "W"


def test_functions_on_capsules() -> None:
    """One capsule a sample, or with batch_processing a list of them."""
    seen: list[Any] = []

    def swap(left: Any, right: Any) -> Any:
        seen.append((left, right))
        return right, left

    left = gradiva.batch([np.ones((2, 3), np.float32), np.zeros((1, 2), np.float32)])
    right = gradiva.batch([np.full(2, 7), np.full(3, 8)])
    made: Any = fn.dl_tensor_python_function(left, right, function=swap, num_outputs=2)
    assert len(seen) == 2
    for outputs in (
        made,
        fn.dl_tensor_python_function(
            left, right, function=swap, num_outputs=2, batch_processing=True
        ),
        ops.DLTensorPythonFunction(swap, num_outputs=2, synchronize_stream=False)(left, right),
    ):
        for found, expected in zip(outputs, (right, left), strict=True):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert [len(part) for part in seen[2]] == [2, 2]
    with pytest.raises(OperatorTypeError, match="expected a DLPack capsule"):
        fn.dl_tensor_python_function(left, function=lambda _: np.ones(3))


def test_what_never_was_there() -> None:
    modules = (gradiva, gradiva.decoders, gradiva.plugin, gradiva.plugin.pytorch)
    for place in (*modules, fn, fn.readers, fn.experimental):
        with pytest.raises(AttributeError, match=rf"module '{place.__name__}\.?' has no attribute"):
            place.no_such_name  # noqa: B018


def test_names_of_dynamic_mode() -> None:
    assert gradiva.InterpType is types.DALIInterpType
    assert gradiva.ImageType is types.DALIImageType
    assert gradiva.DataType is types.DALIDataType
    assert gradiva.experimental.decoders is fn.experimental.decoders
    assert gradiva.plugin.triton.autoserialize is autoserialize
    assert gradiva.backend_impl.types is types
    assert gradiva.backend_impl.GetSchema is backend.GetSchema


def test_types_of_torch() -> None:
    torch = pytest.importorskip("torch")
    known = gradiva.plugin.pytorch.to_torch_type
    assert known[types.FLOAT] is torch.float32
    assert known[types.DALIDataType.UINT8] is torch.uint8
    assert known[gradiva.bool_] is torch.bool
