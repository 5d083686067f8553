"""Lists of arrays, bytes and texts as inputs of operators in dynamic mode: batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import fn
from gradiva.capture import compile as compiled

pytestmark = pytest.mark.core

RAGGED = [np.full((4, 5, 3), 7, np.uint8), np.arange(126, dtype=np.uint8).reshape(6, 7, 3)]
PHOTOGRAPHS = sorted(Path(gradiva.__file__).parent.glob("photographs/*/*.jpg"))[:2]


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize(
    "read", [Path.read_bytes, lambda path: bytearray(path.read_bytes())], ids=["bytes", "bytearray"]
)
def test_bytes_of_files_are_a_batch(container: Callable[..., Any], read: Any) -> None:
    files = container(read(path) for path in PHOTOGRAPHS)
    images = gradiva.decoders.image(files)
    assert isinstance(images, gradiva.Batch)
    assert len(images) == 2
    for image, path in zip(images.arrays(), PHOTOGRAPHS, strict=True):
        with Image.open(path) as opened:
            assert image.shape == (*opened.size[::-1], 3)
        np.testing.assert_array_equal(image, gradiva.decoders.image(path.read_bytes()))


@pytest.mark.parametrize("container", [list, tuple])
def test_arrays_are_the_batch_of_as_batch(container: Callable[..., Any]) -> None:
    made = gradiva.resize(container(RAGGED), size=(3, 3))
    expected = gradiva.resize(gradiva.as_batch(RAGGED), size=(3, 3))
    assert isinstance(made, gradiva.Batch)
    np.testing.assert_array_equal(made, expected)


def test_arrays_of_one_shape_are_a_batch_too() -> None:
    made = gradiva.transpose([np.zeros((2, 5), np.float32)] * 3, perm=[1, 0])
    assert (len(made), made.shape) == (3, [(5, 2)] * 3)


def test_images_of_other_libraries() -> None:
    pictures: Any = [Image.fromarray(image) for image in RAGGED]
    made = gradiva.flip(pictures)
    np.testing.assert_array_equal(made.at(1), RAGGED[1][:, ::-1])


def test_several_inputs_and_arguments_per_sample() -> None:
    made = gradiva.cat(RAGGED, [image + 1 for image in RAGGED], axis=0)
    np.testing.assert_array_equal(made.at(1), np.concatenate([RAGGED[1], RAGGED[1] + 1]))
    turned = gradiva.flip(RAGGED, horizontal=[0, 1])
    np.testing.assert_array_equal(turned.at(0), RAGGED[0])
    np.testing.assert_array_equal(turned.at(1), RAGGED[1][:, ::-1])


def test_names_of_files(tmp_path: Path) -> None:
    names: Any = []
    for text in ("a", "bcd"):
        names.append(str(tmp_path / text))
        Path(names[-1]).write_text(text)
    assert [one.tobytes() for one in gradiva.io.file.read(names).arrays()] == [b"a", b"bcd"]


def test_other_modes_of_dynamic_mode_do_the_same() -> None:
    expected = np.asarray(gradiva.resize(RAGGED, size=(3, 3)))
    with gradiva.EvalMode.deferred:
        later = gradiva.resize(RAGGED, size=(3, 3))
    np.testing.assert_array_equal(later, expected)
    np.testing.assert_array_equal(
        compiled(lambda images: gradiva.resize(images, size=(3, 3)))(RAGGED), expected
    )
    np.testing.assert_array_equal(fn.resize(RAGGED, size=(3, 3)), expected)


def test_in_the_body_of_a_captured_loop() -> None:
    reader = gradiva.readers.File(files=[str(path) for path in PHOTOGRAPHS])
    for files, _labels in reader.next_epoch(batch_size=1, capture=True):
        decoded = gradiva.decoders.image([files.at(0), files.at(0)])
        np.testing.assert_array_equal(decoded.at(0), gradiva.decoders.image(files).at(0))
        np.testing.assert_array_equal(decoded.at(1), decoded.at(0))


def test_lists_of_batches_and_of_tensors_are_input_sets_still() -> None:
    batches = gradiva.flip([gradiva.as_batch(RAGGED), gradiva.as_batch(RAGGED)])
    assert [type(one) for one in batches] == [gradiva.Batch] * 2
    tensors = gradiva.flip([gradiva.as_tensor(image) for image in RAGGED])
    assert [type(one) for one in tensors] == [gradiva.Tensor] * 2


@pytest.mark.parametrize(
    ("numbers", "shape"),
    [([1, 2, 3], (3,)), ([[1, 2], [3, 4]], (2, 2)), ([np.int64(1), np.int64(2)], (2,)), ([], (0,))],
)
def test_lists_of_numbers_are_arrays_still(numbers: Any, shape: tuple[int, ...]) -> None:
    assert gradiva.cast(numbers, dtype="uint8").shape == shape


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([RAGGED[0], RAGGED[1].astype(np.float32)], "sample 1"),
        ([RAGGED[0], RAGGED[1][0]], "sample 1"),
        ([RAGGED[0], np.array(["text"])], "sample 1"),
        ([RAGGED[0], gradiva.as_tensor(RAGGED[1])], "got list"),
        ([RAGGED[0], None], "got list"),
        ([[RAGGED[0]], [RAGGED[1]]], "got list"),
        ([b"a", None], "got list"),
    ],
)
def test_what_is_no_batch_is_refused(given: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match="input 0") as caught:
        gradiva.flip(given)
    assert text in str(caught.value)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="one batch size"):
        gradiva.cat(RAGGED, RAGGED[:1], axis=0)


def test_a_damaged_file_is_named_by_its_place() -> None:
    with pytest.raises(Exception, match="sample 1"):
        gradiva.decoders.image([PHOTOGRAPHS[0].read_bytes(), b"no image"])
