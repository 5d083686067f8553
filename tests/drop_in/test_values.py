"""Values of arguments that scripts give, and what comes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, types


def _run(build: Any, **options: Any) -> Any:
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 1, **options})
    with pipe:
        pipe.set_outputs(build())
    return pipe.run()[0]


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (300, types.UINT8, 255),
        (-1, types.UINT8, 0),
        (2**40, types.INT32, 2**31 - 1),
        (2**40, types.INT64, 2**40),
        (-1, types.BOOL, True),
        (np.float64(2.5), None, 2.5),
        (np.int64(-5), None, -5),
    ],
)
def test_a_constant_of_any_number(value: Any, dtype: Any, expected: Any) -> None:
    constant = types.Constant(value, dtype=dtype)
    assert constant.value == expected
    made = _run(lambda: types.Constant(value, dtype=dtype, shape=[2] if dtype else None))
    assert np.asarray(made.at(1)).reshape(-1)[0] == expected
    if dtype is not None:
        assert made.dtype is dtype
        assert made.at(0).shape == (2,)


def test_a_constant_beyond_int32() -> None:
    with pytest.raises(OverflowError, match="int32"):
        types.Constant(2**40)


def test_names_of_what_is_pasted(tmp_path: Path) -> None:
    image = np.zeros((8, 6, 3), np.uint8)
    for name in "abc":
        (tmp_path / f"{name}.ppm").write_bytes(b"P6 6 8 255\n" + image.tobytes())
    files = [str(tmp_path / f"{name}.ppm") for name in "abc"]

    def pasted() -> Any:
        encoded, _ = fn.readers.file(files=files)
        images = fn.decoders.image(encoded)
        ids = fn.external_source(
            source=lambda: [np.array(row, np.int32) for row in ([0, 2], [1], [])]
        )
        return fn.multi_paste(images, in_ids=ids, output_size=[8, 6])

    first, second, third = files
    made = _run(pasted, batch_size=3)
    assert made.source_info() == [f"{first};{third}", second, ""]
    reader = gradiva.readers.File(files=files)
    encoded, _ = next(iter(reader.next_epoch(batch_size=3)))
    images = gradiva.decoders.image(encoded)
    both = gradiva.multi_paste(images, images)
    assert both.source_info() == [f"{name};{name}" for name in files]


def test_workers_that_nobody_asked_for() -> None:
    rows = np.arange(3, dtype=np.uint8)
    made = _run(lambda: fn.external_source(source=lambda: [rows, rows]), py_num_workers=None)
    np.testing.assert_array_equal(made.at(1), rows)


def test_capsules() -> None:
    image = np.arange(24, dtype=np.float64).reshape(2, 4, 3)
    one = gradiva.tensors.TensorCPU(image.__dlpack__(), "HWC")
    np.testing.assert_array_equal(np.asarray(one), image)
    assert one.data_ptr() == image.ctypes.data
    assert one.layout() == "HWC"
    again = gradiva.tensors.TensorCPU(one.__dlpack__())
    assert again.data_ptr() == image.ctypes.data
    several = gradiva.tensors.TensorListCPU(image.__dlpack__(), "WC")
    np.testing.assert_array_equal(several.as_array(), image)
    listed = gradiva.tensors.TensorListCPU([image.__dlpack__()], "HWC")
    np.testing.assert_array_equal(listed.at(0), image)


def test_a_capsule_is_used_once() -> None:
    capsule = np.zeros(3).__dlpack__()
    assert gradiva.tensors.TensorCPU(capsule).shape() == [3]
    with pytest.raises(gradiva.OperatorValueError, match="that nobody has taken yet"):
        gradiva.tensors.TensorCPU(capsule)


def test_axes_without_a_name() -> None:
    """An asterisk may stand for several axes, as in what `per_frame` gives."""
    matrices = np.stack([np.eye(2, 3, dtype=np.float32)] * 4)
    given = gradiva.batch([matrices], layout="F**")
    moved = gradiva.transforms.shear(given, shear=(1, 0))
    assert moved.layout == "F**"
    assert moved.at(0)[3].tolist() == [[1, 1, 0], [0, 1, 0]]
    source = _run(lambda: fn.external_source(source=lambda: [matrices] * 2, layout="***"))
    assert source.layout() == "***"
    with pytest.raises(ValueError, match="distinct letters"):
        gradiva.batch([matrices], layout="*HH")
