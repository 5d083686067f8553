"""Arguments of old scripts: taken under their old names, with a warning at the user's line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, fn, ops, types
from gradiva.capture.serialization.reader import read_pipeline
from gradiva.eager.operators.operator import operators
from gradiva.namespaces.facts import facts
from tests.capture.serialization.stored import again, change, pipeline, text_of

crop: Any = gradiva.crop
"""Type checkers know no old names."""
IMAGES = gradiva.batch(
    [np.arange(192, dtype=np.uint8).reshape(8, 8, 3), np.full((6, 9, 3), 50, np.uint8)],
    layout="HWC",
)
FRAMES = gradiva.batch([np.zeros((2, 20, 20, 3), np.uint8)], layout="FHWC")
DTYPE: dict[str, str | None] = {"output_dtype": "dtype"}
BOTH: dict[str, str | None] = {"output_dtype": "dtype", "image_type": None}
OLD: dict[str, dict[str, str | None]] = {
    "crop": BOTH,
    "crop_mirror_normalize": BOTH,
    "lookup_table": DTYPE,
    "optical_flow": {"output_format": "output_grid"},
    "resize": {"image_type": None},
    "rotate": DTYPE,
    "shapes": {"type": "dtype"},
    "slice": BOTH,
    "warp_affine": DTYPE,
}
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "crop": ((IMAGES,), {"crop": (3, 4)}),
    "crop_mirror_normalize": ((IMAGES,), {"crop": (3, 4)}),
    "lookup_table": ((IMAGES,), {"keys": [50], "values": [1.0]}),
    "optical_flow": ((FRAMES,), {}),
    "resize": ((IMAGES,), {"size": (4, 4)}),
    "rotate": ((IMAGES,), {"angle": 90.0}),
    "shapes": ((IMAGES,), {}),
    "slice": ((IMAGES,), {"start": [1], "end": [4], "axes": [0]}),
    "warp_affine": ((IMAGES,), {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]}),
}
VALUES = {
    "output_dtype": types.FLOAT,
    "type": types.INT32,
    "image_type": types.RGB,
    "output_format": 2,
}


def test_where_they_are() -> None:
    found = {name: dict(one.old_arguments) for name, one in operators.items() if one.old_arguments}
    assert found == OLD
    for name, arguments in OLD.items():
        known = operators[name].arguments
        assert not arguments.keys() & known.keys(), "an old name is not a name of today"
        assert {new for new in arguments.values() if new} <= known.keys()
        assert not arguments.keys() & facts()[name].arguments.keys() if name != "shapes" else True


@pytest.mark.parametrize(("name", "old"), [(name, old) for name in OLD for old in OLD[name]])
def test_as_the_name_of_today(name: str, old: str) -> None:
    """The same bits, and one warning at the line, however often it runs."""
    operator, new = operators[name], OLD[name][old]
    inputs, given = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            found: Any = operator(*inputs, **given, **{old: VALUES[old]})  # type: ignore[operator]
    assert [(one.category, one.filename) for one in caught] == [(DeprecationWarning, __file__)]
    said = f"`{old}` is the old name of the argument `{new}`"
    if new is None:
        said = f"the argument `{old}` has no effect any more"
    assert str(caught[0].message) == f"{name}: {said}"
    more = {} if new is None else {new: VALUES[old]}
    expected: Any = operator(*inputs, **given, **more)  # type: ignore[operator]
    assert found.type == expected.type
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_under_both_names() -> None:
    with pytest.raises(OperatorTypeError, match=r"crop: `output_dtype` is the old name of .*dtype"):
        crop(IMAGES, crop=(2, 2), output_dtype=types.FLOAT, dtype=types.FLOAT)


def test_none_is_not_given() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = crop(IMAGES, crop=(2, 2), output_dtype=None, dtype=types.FLOAT)
    assert made.dtype == types.FLOAT


def test_the_class_warns_where_it_is_made() -> None:
    with pytest.warns(DeprecationWarning, match="old name of the argument `dtype`") as caught:
        cut = ops.Crop(crop=(2, 2), output_dtype=types.FLOAT)
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cut(IMAGES).dtype == types.FLOAT
    with (
        pytest.warns(match="old name"),
        pytest.raises(gradiva.OperatorValueError, match="given to the constructor already"),
    ):
        cut(IMAGES, output_dtype=types.FLOAT)


def test_a_wrong_value_is_named_by_the_name_of_today() -> None:
    with pytest.warns(match="old name"), pytest.raises(OperatorTypeError, match="`dtype`"):
        crop(IMAGES, crop=(2, 2), output_dtype=3.5)


def test_in_a_stored_pipeline() -> None:
    """Without a warning: nobody can change the line."""

    def build() -> Any:
        return fn.crop(fn.constant(fdata=[0.5] * 12, shape=[2, 2, 3]), crop=(1, 1))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = pipeline(build)

    def edit(message: Any) -> None:
        for operator in message.op:
            if operator.name == "Crop":
                text_of(operator, "output_dtype", 0)
                text_of(operator, "image_type", 0)

    restored = again(read_pipeline(change(pipe.serialize(), edit)))
    (made,) = restored.run()
    assert made.dtype == types.UINT8
    restored.close()
