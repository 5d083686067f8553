"""`except` in compiled functions, and compiled functions in pickles."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError, capture

pytestmark = pytest.mark.core

SEEN = r"; the handler in line (\d+) has not seen this, because a compiled function computes after"


def crop(images: Any) -> Any:
    return gradiva.crop(images, crop=(9, 9))


def by_attribute(images: Any) -> Any:
    try:
        return gradiva.crop(images, crop=(9, 9))
    except gradiva.OperatorValueError:  # here
        return gradiva.flip(images)


def bare(images: Any) -> Any:
    for _ in range(1):
        try:
            if len(images):
                return gradiva.crop(images, crop=(9, 9))
        except:  # noqa: E722  # here
            return gradiva.flip(images)
    return None


def in_a_tuple(images: Any) -> Any:
    try:
        images = gradiva.crop(images, crop=(9, 9))
    except KeyError:
        return None
    except (OSError, ValueError):
        return gradiva.flip(images)
    finally:
        gradiva.flip(images)
    return images


def suppressed(images: Any) -> Any:
    with contextlib.suppress(GradivaError):  # here
        return gradiva.crop(images, crop=(9, 9))
    return gradiva.flip(images)


def outer(images: Any) -> Any:
    try:
        try:
            return gradiva.crop(images, crop=(9, 9))
        except KeyError:
            return None
    except RuntimeError:  # here
        return gradiva.flip(images)


def helper(images: Any) -> Any:
    def inner() -> Any:
        try:
            return gradiva.crop(images, crop=(9, 9))
        except Exception:  # noqa: BLE001  # here
            return gradiva.flip(images)

    return inner()


def of_another_class(images: Any) -> Any:
    try:
        return gradiva.crop(images, crop=(9, 9))
    except (KeyError, OSError):
        return None


def in_the_handler(images: Any) -> Any:
    try:
        raise KeyError
    except KeyError:
        return gradiva.crop(images, crop=(9, 9))
    except GradivaError:
        return None


def around_the_definition() -> Callable[[Any], Any]:
    try:

        def made(images: Any) -> Any:
            return gradiva.crop(images, crop=(9, 9))

        return made
    except GradivaError:
        raise AssertionError from None


def computed(images: Any) -> Any:
    try:
        return gradiva.crop(images, crop=(9, 9)).evaluate()
    except GradivaError:
        return gradiva.flip(images)


@pytest.fixture
def images() -> Any:
    return gradiva.as_batch(np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3), layout="HWC")


@pytest.mark.parametrize(
    "function", [by_attribute, bare, suppressed, outer, helper], ids=lambda one: one.__name__
)
def test_the_error_names_the_handler(function: Any, images: Any) -> None:
    assert np.array_equal(function(images), gradiva.flip(images))
    compiled = capture.compile(function)
    for _ in range(2):
        with pytest.raises(gradiva.OperatorValueError, match=SEEN) as raised:
            compiled(images)
        found = re.findall(SEEN, str(raised.value))
        with open(__file__) as file:
            line = file.read().splitlines()[int(found[0]) - 1]
        assert line.endswith("# here"), line
        assert len(found) == 1


def test_one_of_several_classes(images: Any) -> None:
    assert np.array_equal(in_a_tuple(images), gradiva.flip(images))
    with pytest.raises(gradiva.OperatorValueError, match=SEEN):
        capture.compile(in_a_tuple)(images)


@pytest.mark.parametrize("function", [crop, of_another_class, in_the_handler])
def test_handlers_that_would_not_have_seen_it(function: Any, images: Any) -> None:
    texts = []
    for one in (function, capture.compile(function)):
        with pytest.raises(gradiva.OperatorValueError) as raised:
            one(images)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]
    with pytest.raises(gradiva.OperatorValueError) as raised:
        capture.compile(around_the_definition())(images)
    assert not re.search(SEEN, str(raised.value))


def test_code_without_a_source(images: Any) -> None:
    names: dict[str, Any] = {"gradiva": gradiva}
    text = "def f(x):\n try: return gradiva.crop(x, crop=(9, 9))\n except Exception: return x\n"
    exec(compile(text, "nowhere.py", "exec"), names)
    with pytest.raises(gradiva.OperatorValueError, match="leaves the sample"):
        capture.compile(names["f"])(images)


def test_what_is_evaluated_is_caught(images: Any) -> None:
    assert np.array_equal(capture.compile(computed)(images), gradiva.flip(images))


@capture.compile
def mirrored(images: Any) -> Any:
    return gradiva.flip(images)


flipped = capture.compile(gradiva.flip)
cropped = capture.compile(crop)


class Holder:
    @capture.compile
    def method(self, images: Any) -> Any:
        return gradiva.flip(images)


def test_pickles(images: Any) -> None:
    assert pickle.loads(pickle.dumps(mirrored)) is mirrored
    assert pickle.loads(pickle.dumps(Holder.method)) is Holder.method
    mirrored(images)
    small = gradiva.as_batch(np.zeros((1, 12, 12, 3), np.uint8), layout="HWC")
    again = pickle.loads(pickle.dumps(cropped))
    assert again is not cropped
    assert (again.__name__, again.compilations) == ("crop", 0)
    assert again(small).shape[0] == (9, 9, 3)
    assert np.array_equal(pickle.loads(pickle.dumps(flipped))(images), gradiva.flip(images))

    @capture.compile
    def local(images: Any) -> Any:
        return images

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)


@pytest.mark.full
def test_in_a_process_that_was_started_afresh(images: Any) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(mirrored, [images])
    assert np.array_equal(found[0], gradiva.flip(images))
