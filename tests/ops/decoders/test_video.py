"""`decoders.video` beside its cases: other codecs, error policies, all modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.eager.execution.quarantine import Quarantine

from ..video.bars import as_array, encoded, number_of, numbers_of

CODECS = [
    ("libvpx-vp9", "webm"),
    ("libvpx", "webm"),
    ("libx264", "mp4"),
    ("libx264", "avi"),
    ("libx265", "matroska"),
    ("libsvtav1", "mp4"),
    ("mpeg4", "mp4"),
]


@pytest.mark.full
@pytest.mark.parametrize(("codec", "form"), CODECS)
def test_codecs(codec: str, form: str) -> None:
    batch = gradiva.batch([as_array(encoded(codec, form))])
    assert numbers_of(gradiva.decoders.video(batch).at(0)) == [*range(20)]
    found = gradiva.decoders.video(batch, frames=[17, 2, 2, 9, 19])
    assert numbers_of(found.at(0)) == [17, 2, 2, 9, 19]


def damaged() -> Any:
    """Of 20 frames, those behind number 12 or so cannot be decoded, up to number 18."""
    data = bytearray(encoded("libx264", "matroska", 20, 6))
    at = len(data) * 2 // 3
    data[at : at + 200] = bytes(200)
    return as_array(bytes(data))


def test_error_policies() -> None:
    good, text = as_array(encoded(frames=3)), as_array(b"This is a text.")
    files = gradiva.batch([good, text, damaged(), good])
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"no video(.|\n)*sample 1"):
        gradiva.decoders.video(files)
    with Quarantine(warns=False) as bad:
        kept = gradiva.decoders.video(files, on_error="skip")
    assert bad.total == 2
    assert [numbers_of(one) for one in kept] == [[0, 1, 2]] * 2
    with Quarantine(warns=False):
        replaced = gradiva.decoders.video(files, on_error="replace", fill_value=[1, 2, 3])
    assert replaced.at(1).size == 0
    assert (np.asarray(replaced.at(2)) == [1, 2, 3]).all()
    first = gradiva.decoders.video(gradiva.batch([damaged()]), frames=[0, 1])
    assert numbers_of(first.at(0)) == [0, 1]


def test_the_same_in_all_modes() -> None:
    videos = [as_array(encoded(frames=n)) for n in (20, 7, 3)]

    def body(files: Any) -> Any:
        clips = gradiva.decoders.video(files, sequence_length=5, stride=2, pad_mode="edge")
        return gradiva.resize(clips, size=(20, 24))

    expected = body(gradiva.batch(videos))
    assert number_of(np.asarray(gradiva.decoders.video(gradiva.batch(videos)).at(0))[13]) == 13

    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipe() -> Any:
        return body(fn.external_source(lambda: videos))

    with pipe() as made:
        (found,) = made.run()
    fast = gradiva.capture.compile(body)(gradiva.batch(videos))
    for k in range(3):
        np.testing.assert_array_equal(found.at(k), expected.at(k))
        np.testing.assert_array_equal(fast.at(k), expected.at(k))
