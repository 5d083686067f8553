"""`show`: a figure of samples with boxes, labels, masks, keypoints and polygons."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradiva.eager.operators.interpreter import current_interpreter
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_value,
)
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.support.validation import integer
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor, to_array
from gradiva.eager.values.value import Value
from gradiva.ops.targets.targets import Targets

from .annotations import boxes_of, labels_of, masks_of, relative
from .audio import draw_audio, rates_of
from .axes import arrange
from .grid import Cell, Figure
from .marks import TargetMarks, marks_of
from .overlays import draw_boxes, draw_marks, draw_masks
from .thumbnails import draw

__all__ = ["show"]

MOST = 64


def show(
    batch: Any,
    boxes: Any = None,
    labels: Any = None,
    masks: Any = None,
    columns: int = 4,
    size: int = 160,
    sample_rate: Any = None,
    window_step: int | None = None,
    frequencies: Any = None,
) -> Figure:
    """A figure of the samples, at most 64 of them: a notebook shows it, `save(path)` writes it.

    batch: a Batch, a Tensor, an output of a pipeline, a list of arrays or tensors, or an array:
    one sample if it is (H, W) or (H, W, 1 to 4), otherwise the batch is its first axis.
    boxes: per sample (n, 4) or (4,): left, top, right, bottom, in pixels; parts of width and height
    if all are floats and none is over 1; or `Targets`, all of which are drawn but cameras and
    columns; labels and masks that are given, such as the names of classes, stand in place of
    theirs. labels: per sample a text or a number, which stands below
    it, or a list or array with one for each of its boxes, (n,) or (n, 1), which stand at them.
    masks: per sample (H, W) of classes, 0 being transparent, of booleans or of opacity 0..1; or
    several, (n, H, W). For a single sample these are given without a batch axis.
    columns: pictures in a row. size: pixels of the longer side of a picture.
    sample_rate: makes samples audio and spectrograms (layouts ft and tf): a rate in Hz, or one per
    sample, such as the second output of `decoders.audio`. Audio, (n,) or (n, channels), has a
    player, of 10 s at most; spectrograms have axes. window_step: samples from one frame to the
    next, for seconds instead of frames. frequencies: of the rows in Hz, such as the centers of mel
    bands; otherwise they go evenly from 0 to half of the rate.

    Raises OperatorTypeError and OperatorValueError for what does not fit, naming the sample.
    """
    with annotate_error("show"):
        if getattr(current_interpreter(), "symbolic", False):
            _check_no_symbol(batch)
        columns = integer(columns, 1, 64, limits="1 to 64", argument="columns")
        size = integer(size, 16, 2048, limits="16 to 2048", argument="size")
        tensors, single = _samples(batch)
        count = len(tensors)
        marks, parts = None, None
        if isinstance(boxes, Targets):
            given, marks, parts = marks_of(boxes)
            boxes = given.get("boxes")
            labels = given.get("labels") if labels is None else labels
            masks = given.get("masks") if masks is None else masks
            if len(marks) != count:
                raise wrong_value("boxes", f"targets of {count} samples", str(len(marks)))
        frames = boxes_of(boxes, count, single)
        covers = masks_of(masks, count, single)
        captions = labels_of(labels, count, single, frames)
        if parts is None:
            parts = frames is not None and relative(frames)
        rates = rates_of(sample_rate, count)
        if window_step is not None:
            window_step = integer(window_step, 1, 1 << 30, argument="window_step")
        cells = []
        for index, tensor in enumerate(tensors[:MOST]):
            try:
                if rates is not None:
                    caption = "" if captions is None else captions[index][0]
                    rate = rates[index], window_step, frequencies, min(count, MOST)
                    cells.append(_audio_cell(tensor, size, caption, rate))
                    continue
                cells.append(
                    _cell(
                        tensor,
                        size,
                        None if frames is None else frames[index],
                        parts,
                        None if covers is None else covers[index],
                        None if captions is None else captions[index],
                        None if marks is None else marks[index],
                    )
                )
            except GradivaError as error:
                raise error.complete(sample=index) from None
        return Figure(cells, columns, size, count - len(cells))


def _check_no_symbol(got: Any) -> None:
    raise OperatorTypeError(
        "there are no samples before a pipeline runs; show what its run() returns",
        expected="a batch",
        got=repr(got),
    )


def _samples(given: Any) -> tuple[list[Tensor], bool]:
    """The samples, and whether one was given without a batch."""
    if isinstance(given, Batch):
        return list(given.cpu().tensors), False
    if isinstance(given, Tensor):
        return [given.cpu()], True
    if isinstance(given, Value):
        _check_no_symbol(given)
    if isinstance(given, str) and os.path.isfile(given):
        warn_user("show: this text is shown as it is; for the image in a file, show imread(path)")
    if isinstance(given, str | bytes):
        return [Tensor.over(to_array(given))], True
    if hasattr(given, "__dlpack__") or hasattr(given, "__array__"):
        array = to_array(given)
        one = array.ndim < 3 or (array.ndim == 3 and array.shape[2] <= 4)
        return [Tensor.over(entry) for entry in ([array] if one else array)], one
    if not isinstance(given, Iterable) or isinstance(given, dict):
        raise OperatorTypeError(
            argument="batch", expected="a Batch, a Tensor or arrays", got=describe(given)
        )
    tensors = []
    for index, entry in enumerate(given):
        if isinstance(entry, Batch):
            raise OperatorTypeError(
                argument="batch",
                expected="one batch, as in show(images, labels=labels)",
                got=f"a {type(given).__name__} of batches",
            )
        if isinstance(entry, Value) and not isinstance(entry, Tensor):
            _check_no_symbol(entry)
        try:
            own = entry if isinstance(entry, Tensor) else Tensor.over(to_array(entry))
            tensors.append(own.cpu())
        except GradivaError as error:
            raise error.complete(argument="batch", sample=index) from None
    return tensors, False


def _audio_cell(
    tensor: Tensor, size: int, caption: str, rate: tuple[float, int | None, Any, int]
) -> Cell:
    array, layout = np.asarray(tensor), str(tensor.layout)
    found = draw_audio(array, layout, size, *rate)
    name = os.path.basename(tensor.source_info())
    if found is None:
        drawing = draw(array, layout, size)
        return Cell(drawing.pixels, drawing.text, (caption, name, drawing.note))
    pixels, note, audio = found
    return Cell(pixels, "", (caption, name, note), audio)


def _cell(
    tensor: Tensor,
    size: int,
    boxes: np.ndarray[Any, Any] | None,
    parts: bool,
    masks: np.ndarray[Any, Any] | None,
    label: tuple[str, list[str]] | None,
    marks: TargetMarks | None = None,
) -> Cell:
    drawing = draw(np.asarray(tensor), str(tensor.layout), size, willing=True)
    pixels = drawing.pixels
    for argument, given in (("boxes", boxes), ("masks", masks)):
        if given is not None and given.size and drawing.extent is None:
            kind = arrange(np.asarray(tensor), str(tensor.layout), willing=True).kind
            raise OperatorValueError(
                argument=argument, expected="a sample that is one picture", got=kind
            )
    if pixels is not None and drawing.extent is not None:
        height, width = drawing.extent
        if masks is not None and masks.size:
            if masks.shape[1:] != drawing.extent:
                raise OperatorValueError(
                    argument="masks",
                    expected=f"the extent of the picture, {height} x {width}",
                    got=f"{masks.shape[1]} x {masks.shape[2]}",
                )
            pixels = draw_masks(pixels, masks)
        if boxes is not None and boxes.size:
            whole = np.ones(4) if parts else np.array([width, height, width, height])
            pixels = draw_boxes(pixels, boxes / whole, label[1] if label else [])
        if marks is not None:
            pixels = draw_marks(pixels, marks.scaled(drawing.extent))
    caption = label[0] if label else ""
    name = os.path.basename(tensor.source_info())
    return Cell(pixels, drawing.text, (caption, name, drawing.note), animation=drawing.animation)
