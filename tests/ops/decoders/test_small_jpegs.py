"""Small JPEGs in one call of a kernel: the bits and the refusals of one by one, whatever the file
and whatever stood before it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import fn, pipeline_def
from gradiva.eager.jit.background_kernel import MANY, BackgroundKernel
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image.plan import Headers
from gradiva.ops.decoders.image_info import ImageInfo, Window
from gradiva.ops.decoders.jpeg import small as module
from gradiva.ops.decoders.jpeg.cpu import decode_jpeg
from gradiva.ops.decoders.jpeg.small import Parts, decode_small_jpegs
from gradiva.ops.decoders.jpeg.window import (
    COLORS,
    fill_jpeg_window,
    window_at,
    window_decoder_works,
)
from tests.tiers import examples

from .test_decode_region import encoded, exif, jpeg, picture
from .test_jpeg_window import SUBSAMPLINGS, by_simplejpeg

simplejpeg: Any = pytest.importorskip("simplejpeg")

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.skipif(
    not window_decoder_works(), reason="Pillow has no libjpeg-turbo that can be called"
)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._background, "is_worth_compiling", lambda *_: True)
    monkeypatch.setattr(module._larger, "is_worth_loading", lambda *_: True)


def small_jpegs(infos: list[ImageInfo], color: str) -> Array:
    """What is known of files that go straight to the codec, for this color."""
    return Headers.of(infos).small_jpegs(np.full(len(infos), COLORS[color]))


def decoded(
    files: list[Array],
    color: str,
    fast: bool = False,
    infos: list[ImageInfo] | None = None,
    windows: list[Window] | None = None,
    by_row: bool = False,
) -> list[Array | None]:
    """By the kernel alone: None where it leaves a file to others. windows: of no rows for whole
    images; by_row: they go row by row into memory that has room for no more."""
    infos = infos or [probe(file) for file in files]
    parts = Parts.whole(len(files))
    if windows is not None:
        parts.windows[:] = windows
    facts = small_jpegs(infos, color)
    several = decode_small_jpegs(gradiva.as_batch(files), facts, fast, parts, by_row=by_row)
    assert several is not None
    channels = 1 if color == "GRAY" else 3
    sizes = [info.height * info.width * channels for info in infos]
    if by_row:
        sizes = [rows * columns * channels for _, _, rows, columns in parts.windows.tolist()]
    places = np.cumsum([64, *(size + 64 for size in sizes[:-1])])
    memory = np.full(sum(sizes) + 64 * (len(sizes) + 1), 77, np.uint8)
    done = several.make(memory, places, 0, len(files))
    found: list[Array | None] = []
    for number, (place, size, info) in enumerate(zip(places, sizes, infos, strict=True)):
        assert (memory[place - 64 : place] == 77).all()
        assert (memory[place + size : place + size + 64] == 77).all()
        _, _, rows, columns = parts.windows[number].tolist()
        shape = (rows, columns) if by_row else (info.height, info.width)
        made = memory[place : place + size].reshape(*shape, channels)
        if rows and done[number] and not by_row:
            first, pitch = parts.laid[number].tolist()
            made = window_at(place + first, pitch, (rows, columns, channels), memory)
        found.append(made if done[number] else None)
    return found


@pytest.mark.parametrize("color", ["RGB", "BGR", "GRAY"])
@pytest.mark.parametrize("fast", [False, True])
def test_bits(color: str, fast: bool) -> None:
    """None is left out, and the pixels are simplejpeg's."""
    random = np.random.default_rng(7)
    files = []
    for number in range(examples(100)):
        height, width = (int(side) for side in random.integers(1, 128, 2))
        quality, subsampling = int(random.choice([30, 75, 95, 100])), SUBSAMPLINGS[number % 6]
        files.append(by_simplejpeg(picture(height, width), quality, subsampling))
    for file, found in zip(files, decoded(files, color, fast), strict=True):
        assert found is not None
        np.testing.assert_array_equal(found, decode_jpeg(file, probe(file), color, None, fast))


@pytest.mark.parametrize("color", ["RGB", "BGR", "GRAY"])
def test_windows(color: str) -> None:
    """Windows of large files, some of them whole, one after another by one codec."""
    random = np.random.default_rng(8)
    files, windows = [], list[Window]()
    for number in range(examples(60)):
        height, width = (int(side) for side in random.integers(100, 300, 2))
        files.append(by_simplejpeg(picture(height, width), 90, SUBSAMPLINGS[number % 6]))
        rows, columns = (int(random.integers(1, side // 2)) for side in (height, width))
        top, left = int(random.integers(0, height - rows)), int(random.integers(0, width - columns))
        windows.append((top, left, rows if number % 7 else 0, columns))
    made = decoded(files, color, windows=windows)
    for file, found, (top, left, rows, columns) in zip(files, made, windows, strict=True):
        assert found is not None
        whole = decode_jpeg(file, probe(file), color, None, False)
        wanted = whole[top : top + rows, left : left + columns] if rows else whole
        np.testing.assert_array_equal(found, wanted)
    apart = [number for number, window in enumerate(windows) if window[2]]
    those = [files[number] for number in apart]
    by_row = decoded(those, color, windows=[windows[number] for number in apart], by_row=True)
    for number, other in zip(apart, by_row, strict=True):
        np.testing.assert_array_equal(made[number], other)


def spoiled(good: Array, position: int, junk: bytes) -> Array:
    """The file with other bytes at this place, or at its end."""
    file = good.copy()
    position = min(position, file.size - len(junk))
    file[position : position + len(junk)] = np.frombuffer(junk, np.uint8)
    return file


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(2, 9000), st.binary(min_size=1, max_size=3), st.sampled_from(SUBSAMPLINGS))
def test_damaged_windows(position: int, junk: bytes, subsampling: str) -> None:
    """What the kernel takes of a damaged file is what the decoder of one window takes."""
    good = by_simplejpeg(picture(120, 150), 90, subsampling)
    file = spoiled(good, position, junk)
    info, window = probe(good), (31, 40, 50, 60)
    given: dict[str, Any] = {"infos": [info] * 3, "windows": [window] * 3}
    first, found, last = decoded([good, file, good], "RGB", **given)
    assert first is not None
    assert last is not None
    for one, other in zip(
        (first, found, last), decoded([good, file, good], "RGB", by_row=True, **given), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first, last)
    out = np.empty((50, 60, 3), np.uint8)
    assert fill_jpeg_window(file, info, "RGB", window, False, out) == (found is not None)
    if found is not None:
        np.testing.assert_array_equal(found, out)


def without(file: Array, marker: bytes) -> Array:
    """The file without its segments of this kind."""
    data = file.tobytes()
    while (place := data.find(marker)) >= 0:
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        data = data[:place] + data[place + 2 + length :]
    return np.frombuffer(data, np.uint8)


def test_nothing_is_kept_from_the_file_before() -> None:
    """Tables that a file lacks are not those of another one, and errors are its own."""
    good = jpeg((17, 33), "4:2:0")
    other = jpeg((17, 33), "4:2:0", quality=20)
    bad = [without(good, b"\xff\xdb"), without(good, b"\xff\xc4"), good[:-40], good[:60]]
    info = probe(good)
    files = [file for one in bad for file in (good, one, other)] * 3
    found = decoded(files, "RGB", infos=[info] * len(files))
    for number, (file, made) in enumerate(zip(files, found, strict=True)):
        alone = decoded([file], "RGB", infos=[info])[0]
        assert (made is None) == (alone is None)
        if made is None or alone is None:
            assert number % 3 == 1
        else:
            np.testing.assert_array_equal(made, alone)
    assert found[1] is None


def mixed() -> list[Array]:
    """Small JPEGs among what is none: other formats, large, progressive, turned, damaged ones."""
    small = [jpeg((17, 33), kind) for kind in ("4:4:4", "4:2:2", "4:2:0", "gray")]
    broken = small[0].copy()
    broken[-60:-50] = 0xFF
    return [
        *small,
        encoded(picture(20, 30), "PNG"),
        jpeg((131, 197), "4:2:0"),
        encoded(picture(33, 17), progressive=True),
        encoded(picture(33, 17), exif=exif(6)),
        broken,
        small[2][:-30],
        *(jpeg((height, 9), "4:2:0") for height in range(1, 40)),
        small[1],
    ]


def outputs(files: list[Array], **options: Any) -> list[Array]:
    batch = gradiva.decoders.image(gradiva.as_batch(files), on_error="replace", **options)
    return [np.asarray(one) for one in batch]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"output_type": gradiva.types.GRAY}, {"dtype": "float32"}])
def test_the_same_with_and_without(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outputs(mixed(), **options)
    monkeypatch.setattr(module, "window_decoder_works", lambda: False)
    for one, other in zip(found, outputs(mixed(), **options), strict=True):
        np.testing.assert_array_equal(one, other)


def test_refusals_are_those_of_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [jpeg((17, 33), "4:2:0"), jpeg((17, 33), "4:2:0")[:-40]]
    messages = []
    for works in (True, False):
        monkeypatch.setattr(module, "window_decoder_works", lambda works=works: works)
        with pytest.raises(gradiva.OperatorRuntimeError, match="in sample 1") as caught:
            gradiva.decoders.image(gradiva.as_batch(files))
        messages.append(str(caught.value).splitlines()[:2])
    assert messages[0] == messages[1]


@pytest.mark.parametrize("num_threads", [1, 3])
def test_in_fused_groups(num_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = decode_small_jpegs

    def noted(*arguments: Any, **options: Any) -> Any:
        asked.append(1)
        return real(*arguments, **options)

    monkeypatch.setattr("gradiva.ops.decoders.image.image.decode_small_jpegs", noted)
    files = [jpeg((17, 33), kind) for kind in ("4:4:4", "4:2:2", "4:2:0", "gray")] * 40
    window: dict[str, Any] = {"crop": (16, 16), "mirror": 1, "mean": [9.0], "std": [3.0]}
    images = gradiva.decoders.image(gradiva.as_batch(files))
    expected = [np.asarray(one) for one in gradiva.crop_mirror_normalize(images, **window)]

    @pipeline_def(batch_size=len(files), num_threads=num_threads, seed=1)
    def pipe() -> Any:
        encoded_files = fn.external_source(source=lambda: files, batch=True)
        return fn.crop_mirror_normalize(fn.decoders.image(encoded_files), **window)

    running = pipe()
    (found,) = running.run()
    running.close()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)
    assert len(asked) > 1


WINDOWS: list[tuple[Any, dict[str, Any]]] = [
    (gradiva.decoders.image_random_crop, {"seed": 3}),
    (gradiva.decoders.image_random_crop, {"seed": 4, "output_type": gradiva.types.GRAY}),
    (gradiva.decoders.image_crop, {"crop": (1, 5), "crop_pos_x": 0.3}),
    (gradiva.decoders.image_slice, {"rel_start": (0.2, 0.1), "rel_shape": (0.5, 0.7)}),
    (gradiva.decoders.image_random_crop, {"seed": 5, "random_area": (1.0, 1.0)}),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(WINDOWS)))
@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_windows_in_fused_groups(number: int, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits and the refusals of one by one, for what is small, larger, damaged or no JPEG."""
    function, options = WINDOWS[number]
    asked: list[int] = []
    real = decode_small_jpegs

    def noted(files: Any, facts: Any, fast: bool, parts: Any, threads: int, **more: Any) -> Any:
        asked.append(int(np.count_nonzero(facts[:, 3])))
        return real(files, facts, fast, parts, threads, **more)

    monkeypatch.setattr("gradiva.ops.decoders.image.region.decode_small_jpegs", noted)
    files = [*mixed(), jpeg((128, 128), "4:2:0"), *mixed()]

    @gradiva.capture.compile
    def program(batch: Any) -> Any:
        images = function(batch, on_error=policy, **options)
        return gradiva.crop_mirror_normalize(
            gradiva.resize(images, size=(20, 30)), mean=[9.0], std=[3.0]
        )

    encoded_files = gradiva.as_batch(files)
    found = [np.asarray(one) for one in program(encoded_files)]
    assert max(asked) > 90
    asked.clear()
    alone = [np.asarray(one) for one in function(encoded_files, on_error=policy, **options)]
    whole = options.get("random_area") == (1.0, 1.0)
    assert [count > 0 for count in asked] == [not whole]
    monkeypatch.setattr(module, "window_decoder_works", lambda: False)
    images = function(encoded_files, on_error=policy, **options)
    for one, other in zip(alone, images, strict=True):
        np.testing.assert_array_equal(one, np.asarray(other))
    expected = gradiva.crop_mirror_normalize(
        gradiva.resize(images, size=(20, 30)), mean=[9.0], std=[3.0]
    )
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, np.asarray(other))


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(2, 2000), st.binary(min_size=1, max_size=3), st.sampled_from(SUBSAMPLINGS))
def test_damaged(position: int, junk: bytes, subsampling: str) -> None:
    """What the kernel takes of a damaged file is what the usual way takes."""
    good = by_simplejpeg(picture(24, 31), 90, subsampling)
    file = spoiled(good, position, junk)
    info = probe(good)
    first, found, last = decoded([good, file, good], "RGB", infos=[info] * 3)
    assert first is not None
    assert last is not None
    np.testing.assert_array_equal(first, last)
    if found is not None:
        expected = simplejpeg.decode_jpeg(file, "RGB")
        np.testing.assert_array_equal(found, expected)


def test_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger files wait until there were many, unless many threads share them; then and where none
    goes straight to the codec, nobody asks for the library."""
    monkeypatch.setattr(module, "_larger", BackgroundKernel())
    files = gradiva.as_batch([jpeg((131, 197), "4:2:0")] * 2)
    info = probe(files.at(0))
    facts = small_jpegs([info, info], "RGB")
    others = Headers.of([info, info]).small_jpegs(np.zeros(2, np.int64))
    assert decode_small_jpegs(files, others, False, threads=16) is None
    assert decode_small_jpegs(files, facts, False, threads=16) is not None
    assert decode_small_jpegs(files, facts, False, threads=2) is None
    for _ in range(MANY // 2):
        several = decode_small_jpegs(files, facts, False, threads=2)
    assert several is not None


@pytest.mark.full
@pytest.mark.parametrize("damaged", [False, True])
def test_many_threads(damaged: bool) -> None:
    """Where many share the files, larger ones are decoded many in one call, too: the same bits, in
    dynamic mode and in a pipeline, whole and in windows, and the same refusals."""
    random = np.random.default_rng(3)
    sizes = [(int(h), int(w)) for h, w in random.integers(150, 420, (40, 2))]
    files = [
        by_simplejpeg(picture(*size), 90, SUBSAMPLINGS[number % 6])
        for number, size in enumerate(sizes)
    ]
    if damaged:
        files[7] = files[7][: files[7].size // 2]
        files[21] = np.concatenate([files[21][:700], files[21][900:]])
    facts = small_jpegs(list(map(probe, files)), "RGB")
    assert np.count_nonzero(facts[:, 3]) == 40

    def made(threads: int) -> list[Array]:
        @pipeline_def(batch_size=40, num_threads=threads, seed=5)
        def pipeline() -> Any:
            data = fn.external_source(lambda: files, no_copy=True)
            images = fn.decoders.image(data, on_error="replace")
            whole = fn.crop_mirror_normalize(fn.resize(images, size=(60, 50)), mean=[9.0] * 3)
            part = fn.decoders.image_random_crop(data, on_error="replace", seed=2)
            return images, whole, fn.resize(part, size=(40, 40))

        pipe = pipeline()
        found = [np.array(output.at(i)) for output in pipe.run() for i in range(40)]
        pipe.close()
        return found

    with pytest.warns(UserWarning, match="cannot be read") if damaged else nullcontext():
        expected = made(2)
    with pytest.warns(UserWarning, match="cannot be read") if damaged else nullcontext():
        found = made(12)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
