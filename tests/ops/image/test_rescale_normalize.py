"""`rescale_normalize`: the order in which processors round, against NumPy, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, fn

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
MEAN = [0.48145466, 0.4578275, 0.40821073]
STD = [0.26862954, 0.26130258, 0.27577711]
DTYPES = (np.uint8, np.uint16, np.int8, np.int16, np.int32, np.float16, np.float32)


def by_numpy(image: Array, mean: Any, std: Any, rescale: float, compat: str) -> Array:
    mean, std = np.array(mean, np.float32), np.array(std, np.float32)
    if compat == "torchvision":
        inverse = np.float32(1 / rescale)
        return np.asarray((image.astype(np.float32) - mean * inverse) / (std * inverse))
    scaled = (image.astype(np.float64) * rescale).astype(np.float32)
    return np.asarray((scaled - mean) / std)


def images(dtype: Any) -> list[Array]:
    generator = np.random.default_rng(7)
    shapes = ((16, 16, 3), (1, 37, 3), (5, 1100, 3))
    if np.dtype(dtype).kind == "f":
        return [generator.uniform(-300, 300, shape).astype(dtype) for shape in shapes]
    limits = np.iinfo(dtype)
    made = [
        generator.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in shapes
    ]
    made[0][..., 0] = np.arange(256).reshape(16, 16)  # every value of a byte
    return made


@pytest.mark.parametrize("rescale", [1 / 255, 1 / 127.5, 0.1, 1.0])
@pytest.mark.parametrize("compat", ["pil", "torchvision"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype: Any, compat: str, rescale: float) -> None:
    arguments: dict[str, Any] = {"mean": MEAN, "std": STD, "rescale": rescale, "compat": compat}
    samples = images(dtype)
    made = gradiva.rescale_normalize(gradiva.batch(samples, layout="HWC"), **arguments)
    for i, sample in enumerate(samples):
        wanted = by_numpy(sample, MEAN, STD, rescale, compat)
        np.testing.assert_array_equal(made.at(i), wanted, strict=True)
    planes = gradiva.batch([s.transpose(2, 0, 1) for s in samples], layout="CHW")
    made = gradiva.rescale_normalize(planes, **arguments)
    for i, sample in enumerate(samples):
        wanted = by_numpy(sample, MEAN, STD, rescale, compat).transpose(2, 0, 1)
        np.testing.assert_array_equal(made.at(i), wanted)


def test_modes() -> None:
    samples = images(np.uint8)
    batch = gradiva.batch(samples, layout="HWC")

    def work(f: Any, x: Any) -> Any:
        x = f.resize(x, size=(9, 11), compat="pil", interp_type=2)
        x = f.rescale_normalize(x, mean=MEAN, std=STD, dtype=gradiva.float16)
        return f.transpose(x, perm=[2, 0, 1])

    @gradiva.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline() -> Any:
        return work(fn, fn.external_source(lambda: samples, layout="HWC"))

    wanted = work(gradiva, batch)
    compiled = gradiva.capture.compile(lambda x: work(gradiva, x))(batch)
    pipe = pipeline()
    (made,) = pipe.run()
    for i in range(3):
        np.testing.assert_array_equal(compiled.at(i), wanted.at(i), strict=True)
        np.testing.assert_array_equal(made.at(i), wanted.at(i), strict=True)
    (group,) = pipe.explain()
    assert group.fused == group.batches > 0


def test_per_sample_and_gray() -> None:
    gray = [np.arange(12, dtype=np.uint8).reshape(3, 4, 1) * k for k in (1, 9)]
    means = np.array([0.25, 0.5], np.float32)
    made = gradiva.rescale_normalize(
        gradiva.batch(gray, layout="HWC"), mean=means[:, None], std=0.5
    )
    for i in range(2):
        wanted = by_numpy(gray[i], means[i], 0.5, 1 / 255, "pil")
        np.testing.assert_array_equal(made.at(i), wanted)


def test_refused() -> None:
    batch = gradiva.batch(images(np.uint8), layout="HWC")
    with pytest.raises(OperatorValueError, match="`mean`"):
        gradiva.rescale_normalize(batch, mean=[1.0, 2.0])
    with pytest.raises(OperatorValueError, match="`std`"):
        gradiva.rescale_normalize(batch, std=0.0)
    with pytest.raises(OperatorValueError, match="`rescale`"):
        gradiva.rescale_normalize(batch, rescale=0.0)
    with pytest.raises(OperatorTypeError, match="`dtype`"):
        gradiva.rescale_normalize(batch, dtype="uint8")
