"""The formats that OpenCV decodes, with each version of it that may be installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import types
from gradiva.eager.support.errors import OperatorRuntimeError

cv2: Any = pytest.importorskip("cv2")

pytestmark = pytest.mark.core

# By its name the package has the function of the same name.
opencv = importlib.import_module("gradiva.ops.decoders.formats.decode_opencv")
FORMATS = ("png", "bmp", "webp", "jp2")


class Older:
    """OpenCV without some of its names, and with others."""

    def __init__(self, hidden: set[str], **given: Any) -> None:
        self.hidden = hidden
        self.given = given

    def __getattr__(self, name: str) -> Any:
        if name in self.hidden:
            raise AttributeError(name)
        return self.given[name] if name in self.given else getattr(cv2, name)


def versions(levels: list[int]) -> dict[str, Any]:
    """What the versions have; each notes the level of the log that it is asked for."""
    own = {"utils": SimpleNamespace(), "setLogLevel": levels.append}
    logging = SimpleNamespace(setLogLevel=levels.append, LOG_LEVEL_SILENT=0)
    return {
        "4.10": Older({"IMREAD_COLOR_RGB", "IMREAD_COLOR_BGR"}, **own),
        "4.12": Older(set(), **own),
        "4.13": Older({"setLogLevel"}, utils=SimpleNamespace(logging=logging)),
        "to come": Older({"setLogLevel"}, utils=SimpleNamespace()),
    }


@pytest.fixture
def forgotten() -> Iterator[None]:
    """As in a process that has decoded nothing yet; and as it was, afterwards."""
    set_level: Any = getattr(cv2, "setLogLevel", None) or cv2.utils.logging.setLogLevel
    set_level(3)  # warnings, from where OpenCV starts
    opencv._flags.cache_clear()
    yield
    opencv._flags.cache_clear()


def encoded(kind: str) -> np.ndarray[Any, Any]:
    image = (np.arange(40 * 48 * 3) % 251).astype(np.uint8).reshape(40, 48, 3)
    done, data = cv2.imencode(f".{kind}", image)
    assert done
    return np.asarray(data).ravel()


@pytest.mark.parametrize("version", sorted(versions([])))
@pytest.mark.parametrize("kind", FORMATS)
def test_every_version_decodes(
    monkeypatch: pytest.MonkeyPatch, forgotten: None, version: str, kind: str
) -> None:
    """The same pixels whatever the version lacks, and its log is silent."""
    data = encoded(kind)
    wanted = (types.RGB, types.BGR, types.GRAY, types.ANY_DATA)
    expected = [np.asarray(gradiva.decoders.image(data, output_type=it)) for it in wanted]
    assert np.array_equal(expected[0][..., ::-1], expected[1])
    levels: list[int] = []
    monkeypatch.setattr(opencv, "cv2", versions(levels)[version])
    opencv._flags.cache_clear()
    for it, pixels in zip(wanted, expected, strict=True):
        assert np.array_equal(gradiva.decoders.image(data, output_type=it), pixels)
    assert levels == ([] if version == "to come" else [0])


@pytest.mark.parametrize("kind", FORMATS)
def test_opencv_prints_nothing(
    forgotten: None, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    """What it says about a damaged file is in our error, if anywhere."""
    data = encoded(kind)
    for cut in (data[: len(data) * 2 // 3], data[:-1]):
        with suppress(OperatorRuntimeError):  # some codecs fill what is missing
            gradiva.decoders.image(cut)
    assert capfd.readouterr() == ("", "")
