"""One random value for a whole batch: a warning where it meets one."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.eager.execution import shared_draws

PIXELS = np.arange(4 * 6 * 8 * 3, dtype=np.uint8).reshape(4, 6, 8, 3)


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_draws, "_warned", {})


HEAD = """\
import gradiva
from gradiva import fn
def body():
    images = fn.external_source(source=lambda: [PIXELS[0]] * 4, layout="HWC")
"""


def warned(text: str, times: int = 1, **options: Any) -> list[str]:
    """The warnings of a pipeline with this body, as `line: text`."""
    text = HEAD + "".join(f"    {line}\n" for line in text.splitlines())
    name = "script_of_shared_values.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {"__name__": "script", "PIXELS": PIXELS}
    exec(compile(text, name, "exec"), names)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(times):
            pipe = pipeline_def(batch_size=4, num_threads=1, **options)(names["body"])()
            pipe.run()
            pipe.close()
    return [f"{one.lineno}: {one.message}" for one in found if one.filename == name]


def test_both_lines_are_named_once() -> None:
    for debug in (False, True):
        shared_draws._warned.clear()
        (text,) = warned(
            "coin = gradiva.random.coin_flip()\n"
            "images = fn.flip(images, horizontal=coin)\n"
            "return fn.flip(images, vertical=coin)",
            times=2,
            debug=debug,
        )
        assert text.startswith("6: gradiva.random.coin_flip draws one value for the whole batch")
        assert "script_of_shared_values.py:5, in body: coin = gradiva.random.coin_flip()" in text
        assert "`flip` uses it" in text
        assert "fn.random.coin_flip draws one for each" in text


MEETINGS = {
    "as an argument": "return fn.flip(images, horizontal=gradiva.random.coin_flip())",
    "as an operand": "return images * gradiva.random.uniform()",
    "computed": "return images + (2.0 * gradiva.random.uniform() + gradiva.random.normal())",
    "as an input": "return fn.cat(fn.random.normal(shape=1), gradiva.random.uniform(shape=1))",
    "a batch of random values": "return fn.random.uniform() < gradiva.random.uniform()",
    "for random values": "return fn.noise.gaussian(images, stddev=gradiva.random.uniform())",
    "a subscript": "return images[gradiva.random.uniform(range=[0, 3], dtype=gradiva.int32)]",
}


@pytest.mark.parametrize("name", MEETINGS)
def test_meetings(name: str) -> None:
    (text, *_) = warned(MEETINGS[name])
    assert "for the whole batch" in text


SILENT = {
    "per sample": "return fn.flip(images, horizontal=fn.random.coin_flip())",
    "batch size": "return images * gradiva.random.uniform(batch_size=images.batch_size)",
    "by itself": "return images, 2.0 * gradiva.random.uniform() + 1",
    "random of a batch": "return gradiva.noise.gaussian(images)",
    "objects": "return gradiva.ops.Flip()(images, vertical=gradiva.ops.random.CoinFlip()())",
}


@pytest.mark.parametrize("name", SILENT)
def test_silence(name: str) -> None:
    assert warned(SILENT[name]) == []


def test_the_value_is_the_same_in_both_modes() -> None:
    def body(images: Any) -> Any:
        return images * gradiva.random.uniform()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = pipeline_def(batch_size=4, num_threads=1, seed=5)(
            lambda: body(fn.external_source(source=[PIXELS], layout="HWC"))
        )()
    gradiva.random.set_seed(5)
    with gradiva.step(0, 4):
        expected = np.asarray(body(gradiva.as_batch(PIXELS, layout="HWC")))
    np.testing.assert_array_equal(np.asarray(pipe.run()[0]), expected)


def _eager(body: Any) -> None:
    for _ in range(2):
        body(gradiva.as_batch(PIXELS, layout="HWC"))


def _deferred(body: Any) -> None:
    with gradiva.EvalMode.deferred:
        _eager(body)


def _compiled(body: Any) -> None:
    _eager(gradiva.capture.compile(body))


def _captured(body: Any) -> None:
    for batch in gradiva.ExternalSource([[PIXELS[0]] * 2] * 3).captured(batch_size=2):
        body(batch)


MODES = [_eager, _deferred, _compiled, _captured]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "body",
    [
        lambda batch: gradiva.flip(batch, horizontal=gradiva.random.coin_flip()),
        lambda batch: batch * gradiva.random.uniform(),
        lambda batch: (2 * gradiva.random.uniform() + 1) * batch,
        lambda batch: gradiva.noise.gaussian(batch, stddev=gradiva.random.uniform()),
    ],
    ids=["argument", "arithmetic", "computed", "random"],
)
def test_in_dynamic_mode(mode: Any, body: Any) -> None:
    with pytest.warns(UserWarning, match="draws one value for the whole batch") as caught:
        mode(body)
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "body",
    [
        lambda batch: gradiva.flip(
            batch, horizontal=gradiva.random.coin_flip(batch_size=batch.batch_size)
        ),
        lambda batch: batch * gradiva.random.uniform(batch_size=batch.batch_size).tensors[0],
        lambda batch: gradiva.flip(batch, horizontal=int(gradiva.random.coin_flip())),
    ],
    ids=["per sample", "of one sample", "a number"],
)
def test_nothing_is_said_in_dynamic_mode(mode: Any, body: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mode(body)


def test_nothing_is_said_where_there_is_no_batch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = gradiva.as_tensor(PIXELS[0], layout="HWC")
        gradiva.flip(one, horizontal=gradiva.random.coin_flip())
