"""Deprecated spellings: the function of the new name, with a warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, ops
from gradiva.capture.serialization.names import find_operator
from gradiva.compat.dali.class_names import classes
from gradiva.compat.dali.facts import deprecated, operator_of, reached
from gradiva.compat.dali.old_names import renamed
from gradiva.compat.dali.op_classes import _class_name
from gradiva.eager.operators.cases import Case, samples
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.errors import OperatorValueError
from gradiva.extension.modes import outputs_of
from tests.needs import calls_opencv, needs_opencv

HERE = sorted(deprecated())
RENAMED = renamed()
OTHERS = {"shapes": "shapes", "ssd_random_crop": "random_bbox_crop"}
"""What the operator is called, where the new spelling is no function or does less."""


def good_case(operator: OperatorBase) -> Case | None:
    made = operator.case_maker() if operator.case_maker else []
    return next((case for case in made if case.raises is None), None)


def test_which_there_are() -> None:
    assert set(deprecated()) - set(RENAMED) == {"readers.sequence"}
    assert len(HERE) == 35
    for name in HERE:
        operator = operator_of(reached(name))
        assert operator is not None
        assert operator.name == OTHERS.get(name) or RENAMED.get(name, name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=needs_opencv if calls_opencv(RENAMED.get(name, name)) else ())
        for name in HERE
    ],
)
def test_same_as_the_new_name(name: str) -> None:
    """The result of the new name, and one warning for a line however often it runs."""
    function, operator = reached(name), operator_of(reached(name))
    assert operator is not None
    case = good_case(operator)
    if name in ("file_reader", "ssd_random_crop") or case is None:
        return  # below
    keywords = {"seed": 3} if operator.random else {}
    if operator.max_inputs == 0 or not case.inputs:
        keywords.setdefault("batch_size", case.arguments.get("batch_size", 2))
    keywords = {**case.arguments, **keywords}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            found = function(*case.inputs, **keywords)
    assert [one.category for one in caught] == [DeprecationWarning]
    assert str(caught[0].message) == f"fn.{name} is the old name of " + (
        "DataNode.shape" if name == "shapes" else f"fn.{RENAMED[name]}"
    )
    assert caught[0].filename == __file__
    if name == "fast_resize_crop_mirror":
        keywords = {"antialias": False, **keywords}
    expected: Any = operator.bind(case.inputs, keywords)
    for left, right in zip(outputs_of(found), outputs_of(expected), strict=True):
        assert left.type == right.type
        for one, other in zip(left, right, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("name", HERE)
def test_class_spelling(name: str) -> None:
    package, _, last = name.rpartition(".")
    assert f"{package}.{_class_name(last)}".lstrip(".") in classes


def test_classes_warn_where_they_are_called() -> None:
    flip = ops.experimental.Equalize()
    with pytest.warns(DeprecationWarning, match="old name of fn.equalize") as caught:
        flip(samples((4, 5, 3)))
    assert caught[0].filename == __file__


def test_in_a_pipeline() -> None:
    """Warned of once while it is recorded, not while it runs; the same bits as the new name."""

    def build(function: Any) -> Any:
        @gradiva.pipeline_def(batch_size=4, num_threads=1, seed=3)
        def pipeline() -> Any:
            return function(range=(0.0, 1.0))

        return pipeline()

    with pytest.warns(DeprecationWarning, match="old name of fn.random.uniform"):
        old = build(fn.uniform)
    (left,), (right,) = old.run(), build(fn.random.uniform).run()
    np.testing.assert_array_equal(left.as_array(), right.as_array())


def test_a_reader(photographs: Any) -> None:
    @gradiva.pipeline_def(batch_size=1, num_threads=1)
    def pipeline() -> Any:
        return fn.file_reader(file_root=str(photographs))

    with pytest.warns(DeprecationWarning, match="old name of fn.readers.file"):
        files, labels = pipeline().run()
    assert (files.batch_size, labels.batch_size) == (1, 1)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ssd_random_crop() -> None:
    """The window cuts image and boxes alike: a colored box is where its coordinates say."""
    image = np.zeros((40, 60, 3), np.uint8)
    image[10:30, 15:45] = 200
    box = np.array([[15 / 60, 10 / 40, 45 / 60, 30 / 40]], np.float32)
    count = 24
    images = gradiva.batch([image] * count, layout="HWC")
    boxes = gradiva.batch([box] * count)
    labels = gradiva.batch([np.array([[7]], np.int32)] * count)
    cut, moved, kept = fn.ssd_random_crop(images, boxes, labels, num_attempts=20, seed=4)
    sizes = set(cut.shape)
    assert len(sizes) > 3
    for sample in range(count):
        height, width, _ = cut.at(sample).shape
        left, top, right, bottom = moved.at(sample)[0] * (width, height, width, height)
        inside = np.zeros((height, width), bool)
        inside[round(top) : round(bottom), round(left) : round(right)] = True
        wrong = inside ^ (cut.at(sample)[:, :, 0] == 200)
        assert wrong.sum() <= 2 * (height + width)
        assert wrong[2:-2, 2:-2].mean() < 0.2
        assert kept.at(sample).tolist() == [[7]]
    with pytest.raises(gradiva.OperatorTypeError, match="random_bbox_crop"):
        fn.ssd_random_crop(images, images, labels)


def test_each_name_belongs_to_one_operator() -> None:
    """Names that operators give for stored pipelines and for old scripts are nobody else's."""
    schemas = [one.schema for one in operators.values() if one.schema]
    old = [name for one in operators.values() for name in one.formerly]
    assert len(schemas) > 100
    assert len(schemas) == len(set(schemas))
    assert len(old) == len(set(old))
    assert not set(old) & set(operators)


def test_stored_pipelines_find_operators_by_old_names_too() -> None:
    for name in ("readers__File", "FileReader"):
        assert find_operator(name).name == "readers.file"
    assert find_operator("experimental__decoders__ImageCrop").name == "decoders.image_crop"
    assert find_operator("_Shape").name == "shapes"
    with pytest.raises(OperatorValueError, match="Telepathy"):
        find_operator("Telepathy")
