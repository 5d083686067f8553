"""docs/dynamic.md lists every public name of dynamic mode, and each with a test that is there."""

from __future__ import annotations

from typing import Any

import pytest

import gradiva
from tests.gradiva.listed import listed, named_in, page
from tests.tiers import few

pytestmark = pytest.mark.tiny

LISTED = listed("dynamic.md")

DOCUMENTED = {
    "Tensor": """__array__ __cuda_array_interface__ __dlpack__ __getitem__ cpu device dtype evaluate
        gpu item itemsize layout nbytes ndim shape size to_device torch""",
    "Batch": """__iter__ batch_size broadcast cpu device dtype evaluate gpu layout ndim select shape
        slice tensors to_device torch""",
    "Device": "CPU current default_device_id from_dlpack type_from_dlpack",
    "EvalContext": """cache_results cached_results checkpoint cuda_stream current default device_id
        evaluate_all num_threads thread_pool""",
    "EvalMode": "__getitem__ __iter__ __len__ deferred eager sync_cpu sync_full",
    "Stream": "create_new device_id handle synchronize",
    "ThreadPool": "device_id num_threads",
    "ExternalSource": "captured",
    "RNG": "advance clone get_state seed set_state state",
    "Checkpoint": """__len__ clear collect deserialize get_state is_complete is_loaded load names
        register restore save serialize set_state""",
    "File": "get_metadata get_state next_epoch set_state",
    "DType": "Kind from_fw_type from_type_id parse",
    "": """tensor as_tensor batch as_batch imread get_num_threads set_num_threads device stream
        pytorch""",
    "random": "RNG beta choice coin_flip get_default_rng normal set_seed uniform",
    "readers": "File",
}
"""What the documents of other libraries promise of dynamic mode, by class or module."""

MATH = """abs acos acosh asin asinh atan atan2 atanh cbrt ceil clamp cos cosh exp fabs floor fpow
    log log10 log2 max min pow rsqrt sin sinh sqrt tan tanh"""

READERS = "COCO Caffe Caffe2 MXNet NemoAsr Numpy TFRecord Video VideoResize Webdataset"
"""Readers beside File."""

HOMES: dict[str, Any] = {
    "": gradiva,
    "RNG": gradiva.random.RNG,
    "Checkpoint": gradiva.checkpoint.Checkpoint,
    "File": gradiva.readers.File,
}
WHOLE = [
    "Device", "EvalContext", "EvalMode", "Stream", "ThreadPool", "ExternalSource", "RNG",
    "Checkpoint", "File",
]  # fmt: skip
"""Classes all of whose public names are listed. Tensor, Batch, DType have more, for operators."""


def home(name: str) -> Any:
    return HOMES[name] if name in HOMES else getattr(gradiva, name)


def documented() -> list[str]:
    return [
        f"{place}.{name}" if place else name
        for place, names in DOCUMENTED.items()
        for name in names.split()
    ]


def there(name: str) -> bool:
    place, _, own = name.rpartition(".")
    holder = home(place)
    # What `len(EvalMode)` and `EvalMode[...]` ask for belongs to the class of the class.
    return hasattr(holder, own) or hasattr(type(holder), own)


def test_what_is_documented_is_there_and_listed() -> None:
    for name in documented():
        assert there(name), name
        assert name in LISTED, name


def test_what_is_listed_is_there() -> None:
    assert [name for name in LISTED if not there(name)] == []


@pytest.mark.parametrize("name", WHOLE)
def test_every_public_name_is_listed(name: str) -> None:
    public = {f"{name}.{own}" for own in dir(home(name)) if not own.startswith("_")}
    assert sorted(public - set(LISTED)) == []


@pytest.mark.parametrize("name", few(sorted(LISTED), every=8))
def test_each_name_has_its_test(name: str) -> None:
    file, test = LISTED[name]
    assert test in named_in(file)


def test_mathematical_functions() -> None:
    assert [name for name in MATH.split() if not callable(getattr(gradiva.math, name, None))] == []
    assert "tests/ops/math/test_math.py::test_all_are_there" in page("dynamic.md")
    assert "test_all_are_there" in named_in("tests/ops/math/test_math.py")


def test_readers_are_there() -> None:
    for name in READERS.split():
        assert name in gradiva.readers.__all__
        assert f"`readers.{name}`" in page("dynamic.md")


def test_the_module_that_scripts_import() -> None:
    for name in documented():
        place, _, own = name.rpartition(".")
        if place in ("", "random", "readers"):
            module = gradiva.experimental.dynamic
            found = getattr(getattr(module, place) if place else module, own)
            assert found is getattr(home(place), own)
