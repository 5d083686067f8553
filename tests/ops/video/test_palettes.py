"""Videos with a palette, which comes once, or where it changes: each frame, also behind a seek."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from tests.tiers import few

from .bars import as_array, av

COUNT, HEIGHT, WIDTH = 12, 24, 64
FORMS = {
    "raw, AVI": ("rawvideo", "avi", "pal8"),
    "raw, MOV": ("rawvideo", "mov", "pal8"),
    "raw gray, MOV": ("rawvideo", "mov", "gray"),
    "MSRLE": ("msrle", "avi", "pal8"),
    "SMC": ("smc", "mov", "pal8"),
    "ZMBV": ("zmbv", "avi", "pal8"),
    "PNG": ("png", "mov", "pal8"),
    "GIF": ("gif", "gif", "pal8"),
}


def video(codec: str, form: str, kind: str, changes: bool) -> bytes:
    stream = io.BytesIO()
    with av.open(stream, "w", format=form) as container:
        added = container.add_stream(codec, rate=10)
        added.height, added.width, added.pix_fmt = HEIGHT, WIDTH, kind
        added.codec_context.gop_size = 4
        for number in range(COUNT):
            frame = av.VideoFrame(WIDTH, HEIGHT, kind)
            plane = frame.planes[0]
            rows = np.zeros((HEIGHT, plane.line_size), np.uint8)
            rows[:, :WIDTH] = np.arange(WIDTH) // 8 + 8 * (number % 4)
            rows[number : number + 6, 8:24] = 40 + number
            plane.update(rows.tobytes())
            if kind == "pal8":
                colors = np.zeros((256, 4), np.uint8)
                shift = 9 * (number // 5) if changes else 0
                colors[:, :3] = np.arange(256)[:, None] * (5, 3, 7) + (0, shift, 30)
                colors[:, 3] = 255
                frame.planes[1].update(colors.tobytes())
            frame.pts = number
            container.mux(added.encode(frame))
        container.mux(added.encode())
    return stream.getvalue()


def expected(data: bytes) -> list[Any]:
    with av.open(io.BytesIO(data)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("form", few(FORMS, every=4))
def test_each_frame_has_its_colors(form: str, changes: bool, tmp_path: Path) -> None:
    data = video(*FORMS[form], changes)
    frames = expected(data)
    assert len(frames) == COUNT
    assert len({frame.tobytes() for frame in frames}) == COUNT
    file = gradiva.batch([as_array(data)])
    np.testing.assert_array_equal(gradiva.decoders.video(file).at(0), frames)
    for number in (COUNT - 1, 6, 5, 0):
        found = gradiva.decoders.video(file, frames=[number]).at(0)
        np.testing.assert_array_equal(found[0], frames[number])
    path = tmp_path / f"video.{FORMS[form][1]}"
    path.write_bytes(data)
    reader = gradiva.experimental.readers.Video(
        filenames=[str(path)],
        sequence_length=2,
        random_shuffle=True,
        seed=3,
        enable_frame_num="scalar",
    )
    for _ in range(2):
        for outputs in reader.next_epoch(batch_size=2):
            clips, firsts = outputs[0], outputs[-1]
            for k in range(len(clips)):
                first = int(firsts.at(k)[0])
                np.testing.assert_array_equal(clips.at(k), frames[first : first + 2])
