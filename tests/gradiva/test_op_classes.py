"""The class spelling of operators: `gradiva.ops.Resize(size=...)(images)`."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, fn, ops, types
from gradiva.compat.dali.class_names import classes
from gradiva.compat.dali.facts import operator_of
from gradiva.compat.dali.op_classes import OperatorClass
from gradiva.eager.operators.cases import samples
from tests.tiers import few


def images() -> Batch:
    return samples((4, 5, 3), (6, 3, 3))


def same(left: Batch, right: Batch) -> None:
    assert left.type == right.type
    assert left.shape == right.shape
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def groups(module: ModuleType) -> list[ModuleType]:
    """The modules of operators in a module, at any depth."""
    inside = [
        value
        for value in vars(module).values()
        if isinstance(value, ModuleType)
        and value.__name__.startswith(f"{module.__name__}.")
        and not value.__name__.rpartition(".")[2].startswith("_")
    ]
    return [*inside, *(deeper for one in inside for deeper in groups(one))]


@pytest.mark.tiny
def test_each_operator_has_its_class() -> None:
    """Every function in `gradiva.fn` and its modules, and nothing else."""
    found = set()
    for module in [fn, *groups(fn)]:
        place = module.__name__.removeprefix("gradiva.fn").removeprefix(".")
        for name, value in vars(module).items():
            if operator_of(value) is not None:
                found.add(f"{place}.{name}".lstrip(".").replace("_", "").lower())
    assert {name.lower() for name in classes} == found | {
        "compose",
        "constant",
        "dltensorpythonfunction",
    }
    known = {"Resize", "decoders.Image", "random.CoinFlip", "readers.File", "PythonFunction"}
    assert known | {"ExternalSource", "ImageDecoder", "Uniform"} <= set(classes)


@pytest.mark.tiny
@pytest.mark.parametrize("name", few(sorted(classes), every=8))
def test_where_the_classes_are(name: str) -> None:
    """As attributes, by `from ... import`, and in `dir`, which completion uses."""
    package, _, last = name.rpartition(".")
    module = importlib.import_module(f"gradiva.ops.{package}".rstrip("."))
    assert getattr(module, last) is classes[name]
    assert last in dir(module)


@pytest.mark.tiny
def test_unknown_classes() -> None:
    for module in (ops, ops.decoders, ops.io.file, ops.random, ops.readers, ops.segmentation):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute"):
            module.Nothing  # noqa: B018
        assert not hasattr(module, "nothing")


@pytest.mark.tiny
def test_a_class_says_what_it_takes() -> None:
    parameters = inspect.signature(ops.Resize).parameters
    assert set(gradiva.resize.arguments) < set(parameters)
    assert ops.Resize.__doc__ == gradiva.resize.__doc__
    assert repr(ops.Crop(crop=(2, 2))) == "ops.Crop(crop=(2, 2))"


def test_calls_run_at_once() -> None:
    batch = images()
    same(ops.Flip(horizontal=1)(batch), gradiva.flip(batch, horizontal=1))
    same(ops.Flip()(batch, horizontal=[0, 1]), gradiva.flip(batch, horizontal=[0, 1]))
    same(ops.Cast(dtype=types.FLOAT)(batch), gradiva.cast(batch, dtype=types.FLOAT))
    same(ops.Cast()(batch, dtype=types.FLOAT), gradiva.cast(batch, dtype=types.FLOAT))
    kept = ops.Cast(dtype=types.FLOAT, name="cast", preserve=True, device="cpu")
    assert (kept.name, kept.device, kept.preserve) == ("cast", "cpu", True)
    assert (ops.Cast().name, ops.Cast().device, ops.Cast().preserve) == (None, "cpu", False)


def test_lists_of_inputs() -> None:
    first, second = ops.Cast(dtype=types.FLOAT)([images(), images()])
    same(first, second)
    with pytest.raises(ValueError, match="one length"):
        ops.PythonFunction(lambda a, b: a)([images()], [images(), images()])


@pytest.mark.tiny
def test_wrong_arguments_are_errors_where_they_are_written() -> None:
    with pytest.raises(TypeError, match=r"ops\.Resize: there is no argument `sizee`"):
        ops.Resize(sizee=3)
    with pytest.raises(TypeError, match=r"ops\.Resize: argument `size`: expected numbers"):
        ops.Resize(size="large")
    with pytest.raises(TypeError, match="arguments by their names"):
        ops.Resize((3, 3))
    with pytest.raises(TypeError, match="`function` is given twice"):
        ops.PythonFunction(abs, function=abs)
    with pytest.raises(ValueError, match="`horizontal`: it was given to the constructor already"):
        ops.Flip(horizontal=1)(images(), horizontal=0)
    with pytest.raises(TypeError, match="`dtype` is required"):
        ops.Cast()(images())
    with pytest.raises(TypeError, match="there is no argument `horizontl`"):
        ops.Flip()(images(), horizontl=1)
    with pytest.raises(TypeError) as caught:
        ops.CoinFlip(rang=3)
    assert "test_op_classes.py" in str(caught.value)


@pytest.mark.parametrize(
    ("made", "called"), [({"size": (3, 4)}, {"size": None}), ({"size": None}, {"size": (3, 4)})]
)
def test_none_is_not_given(made: dict[str, Any], called: dict[str, Any]) -> None:
    image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    found = ops.Resize(**made)(image, **called)
    np.testing.assert_array_equal(found, gradiva.resize(image, size=(3, 4)))


def test_compose() -> None:
    composed = ops.Compose([ops.Cast(dtype=types.FLOAT), ops.Flip(), lambda batch: batch + 1])
    same(composed(images()), gradiva.flip(gradiva.cast(images(), dtype=types.FLOAT)) + 1)
    pair = ops.Compose(
        [
            ops.PythonFunction(lambda a: (a, a), num_outputs=2),
            ops.PythonFunction(lambda a, b: a + b),
        ]
    )
    assert pair(images()).shape == images().shape
    with pytest.raises(TypeError, match="a list of operators"):
        ops.Compose([3])


class Old(gradiva.Pipeline):
    """A pipeline as scripts of old define it."""

    def __init__(self, folder: str) -> None:
        super().__init__(batch_size=3, num_threads=2, device_id=None, seed=5)
        self.input = ops.readers.File(file_root=folder, name="Reader")
        self.decode = ops.decoders.Image(device="cpu", output_type=types.RGB)
        self.resize = ops.Resize(size=(16, 20))
        self.mirror = ops.random.CoinFlip(probability=0.5)
        self.normalize = ops.CropMirrorNormalize(crop=(12, 12), mean=[128.0] * 3)

    def define_graph(self) -> Any:
        files, labels = self.input()
        resized = self.resize(self.decode(files))
        return self.normalize(resized, mirror=self.mirror()), labels


@gradiva.pipeline_def(batch_size=3, num_threads=2, seed=5)
def new(folder: str) -> Any:
    files, labels = fn.readers.file(file_root=folder)
    resized = fn.resize(fn.decoders.image(files), size=(16, 20))
    mirror = fn.random.coin_flip(probability=0.5)
    return fn.crop_mirror_normalize(resized, mirror=mirror, crop=(12, 12), mean=[128.0] * 3), labels


def test_pipelines_of_both_spellings_are_one(photographs: Any) -> None:
    old, other = Old(str(photographs)), new(str(photographs))
    for _ in range(2):
        for left, right in zip(old.run(), other.run(), strict=True):
            same(left, right)
    assert "Reader" in old.reader_meta()
    assert isinstance(old.resize, OperatorClass)
    old.close()
    other.close()


def test_external_source_and_python_function_in_a_pipeline() -> None:
    pipe = gradiva.Pipeline(2, 1, None)
    with pipe:
        numbers = ops.ExternalSource([[np.int32(n), np.int32(n + 1)] for n in (0, 2)])(name="in")
        doubled = ops.PythonFunction(lambda number: number * 2)(numbers)
        left, right = ops.PythonFunction(lambda n: (n, n + 1), num_outputs=2)(numbers)
        drawn = ops.random.Uniform(range=(2.0, 3.0))()
        pipe.set_outputs(doubled, left, right, drawn)
    made = pipe.run()
    pipe.close()
    assert [batch.as_array().tolist() for batch in made[:3]] == [[0, 2], [0, 1], [1, 2]]
    assert len(np.unique(made[3].as_array())) == 2
    assert made[3].as_array().min() >= 2.0
