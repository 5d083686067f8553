"""Fused groups behind decoders in compiled code: the bits and the refusals of the usual way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.capture.runtime.fused_decoder as fused_decoder
import gradiva.eager.operators.fusion_roles as fusion_roles
from gradiva import fn, pipeline_def
from gradiva.capture.runtime.decode_loop import decode_in_loop
from gradiva.eager.support import tracing
from gradiva.ops.decoders.jpeg import small as small_jpegs
from gradiva.ops.decoders.jpeg.window import window_decoder_works
from tests.ops.decoders.test_decode_region import jpeg
from tests.ops.decoders.test_small_jpegs import mixed

pytestmark = pytest.mark.skipif(
    not window_decoder_works(), reason="Pillow has no libjpeg-turbo that can be called"
)


@pytest.fixture
def looped(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every batch goes through the loop, in ranges of at most three samples; what it has done."""
    done: list[Any] = []

    def noted(pool: Any, ranges: Any, head: Any, rest: Any, made: Any, *more: Any) -> None:
        decode_in_loop(pool, ranges, head, rest, made, *more)
        done.append(made.copy())

    def cut(costs: Any, *_more: Any, **_options: Any) -> list[tuple[int, int]]:
        return [(k, min(k + 3, len(costs))) for k in range(0, len(costs), 3)]

    for module in (fused_decoder, fusion_roles):
        monkeypatch.setattr(module, "FEW", 0)
        monkeypatch.setattr(module, "chunks", cut)
    monkeypatch.setattr(fused_decoder, "decode_in_loop", noted)
    monkeypatch.setattr(small_jpegs._background, "is_worth_compiling", lambda *_: True)
    monkeypatch.setattr(small_jpegs._larger, "is_worth_loading", lambda *_: True)
    return done


def whole(images: Any) -> Any:
    """Whole images, resized, a window of them, mirrored, as planes."""
    window: dict[str, Any] = {"crop": (16, 12), "mirror": 1, "mean": [9.0], "std": [3.0]}
    return gradiva.crop_mirror_normalize(gradiva.resize(images, size=(20, 30)), **window)


def strips(images: Any) -> Any:
    """Without a resize: windows that are not mirrored."""
    return gradiva.crop_mirror_normalize(images, crop=(1, 1), std=[3.0], output_layout="HWC")


def upside_down(images: Any) -> Any:
    flipped = gradiva.flip(images, horizontal=0, vertical=1)
    return gradiva.crop_mirror_normalize(gradiva.resize(flipped, size=(20, 30)), std=[3.0])


DECODERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "whole": (gradiva.decoders.image, {}),
    "gray": (gradiva.decoders.image, {"output_type": gradiva.types.GRAY}),
    "random windows": (gradiva.decoders.image_random_crop, {"seed": 3}),
    "windows": (gradiva.decoders.image_slice, {"rel_start": (0.2, 0.1), "rel_shape": (0.5, 0.7)}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("policy", ["replace", "skip"])
@pytest.mark.parametrize("rest", [whole, strips, upside_down])
@pytest.mark.parametrize("name", DECODERS)
def test_bits(name: str, rest: Any, policy: str, looped: list[Any]) -> None:
    """Of files that the loop takes, and of others: damaged ones, other formats."""
    function, options = DECODERS[name]
    files = gradiva.as_batch([*mixed(), jpeg((128, 128), "4:2:0"), *mixed()])

    @gradiva.capture.compile
    def program(batch: Any) -> Any:
        return rest(function(batch, on_error=policy, **options))

    gradiva.set_num_threads(3)
    try:
        found = [np.asarray(one) for one in program(files)]
    finally:
        gradiva.set_num_threads(None)
    assert looped
    assert looped[-1].sum() > 90
    assert not looped[-1].all()
    gradiva.set_num_threads(1)
    try:
        expected = rest(function(files, on_error=policy, **options))
    finally:
        gradiva.set_num_threads(None)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, np.asarray(other))


def good_files() -> list[Any]:
    return [jpeg((17, 33), kind) for kind in ("4:4:4", "4:2:2", "4:2:0", "gray")] * 10


def running(files: list[Any]) -> Any:
    @pipeline_def(batch_size=len(files), num_threads=3, seed=1, prefetch_queue_depth=1)
    def pipe() -> Any:
        encoded = fn.external_source(source=lambda: files, batch=True)
        return fn.crop_mirror_normalize(fn.decoders.image(encoded), crop=(16, 16), std=[3.0])

    return pipe()


def test_the_error_of_a_file(looped: list[Any]) -> None:
    """Is that of the usual way, and says which sample."""
    files = good_files()
    files[21] = files[21][:200]
    pipe = running(files)
    with pytest.raises(gradiva.OperatorRuntimeError, match="in sample 21"):
        pipe.run()
    pipe.close()
    assert looped[0].sum() == len(files) - 1  # of a later batch some, when the pipeline was closed


def test_traces_tell_of_each_range(looped: list[Any]) -> None:
    """So what is traced stays in Python, with the same bits."""
    files = gradiva.as_batch(good_files())

    @gradiva.capture.compile
    def program(batch: Any) -> Any:
        return whole(gradiva.decoders.image(batch))

    gradiva.set_num_threads(3)
    try:
        expected = [np.asarray(one) for one in program(files)]
        assert len(looped) == 1
        with tracing.record(object(), 0):
            found = [np.asarray(one) for one in program(files)]
    finally:
        gradiva.set_num_threads(None)
    assert len(looped) == 1
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_pool_that_is_stopped(looped: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Decodes nothing more, neither here nor in the usual way."""
    real = vars(fused_decoder)["decode_in_loop"]

    def stopped(pool: Any, *others: Any) -> None:
        pool.cancelled = True
        real(pool, *others)

    monkeypatch.setattr(fused_decoder, "decode_in_loop", stopped)
    files = gradiva.as_batch(good_files())
    gradiva.set_num_threads(3)
    try:
        gradiva.capture.compile(lambda batch: whole(gradiva.decoders.image(batch)))(files)
    finally:
        gradiva.set_num_threads(None)
    assert [int(done.sum()) for done in looped] == [0]
