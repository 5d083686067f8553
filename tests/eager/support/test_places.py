"""Where errors say that they happened: the user's line, never one of a library between."""

from __future__ import annotations

import pkgutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.eager.support import errors, tracebacks

IMAGES = gradiva.as_batch(np.zeros((2, 8, 8, 3), np.uint8), layout="HWC")


@pytest.mark.parametrize("call", [np.mean, np.asarray, np.sort])
def test_numpy_on_a_symbol_names_the_users_line(call: Any) -> None:
    def captured(images: Any) -> Any:
        return call(gradiva.flip(images))

    with pytest.raises(gradiva.OperatorTypeError, match="no data") as caught:
        gradiva.capture.trace(captured, IMAGES)
    location = caught.value.location
    assert location is not None
    assert location.code.co_filename == __file__
    assert "numpy/" not in "\n".join(caught.value._render_traceback_())


class Shell:
    """Of IPython, what says how a cell is called."""

    compile = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[7]"))


def test_a_printed_error_names_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(gradiva.OperatorTypeError) as caught:
        gradiva.flip(IMAGES, horizontl=1)  # type: ignore[call-overload]
    location = caught.value.location
    assert location is not None
    assert str(caught.value).splitlines()[-1].startswith(f"  at {__file__}:{location.line}, in ")
    monkeypatch.setattr(tracebacks, "_shell", Shell)
    assert str(caught.value).splitlines()[-1].startswith(f"  at Cell In[7], line {location.line}, ")
    assert caught.value._render_traceback_()[0].startswith("Cell In[7], line ")
    assert "\n  at " not in "\n".join(caught.value._render_traceback_())


def test_the_table_of_a_captured_loop_names_every_line() -> None:
    images = [np.full((4, 4, 1), value, np.uint8) for value in range(6)]
    source = gradiva.ExternalSource(images, layout="HWC")
    loop = source.captured(1)
    for step, batch in enumerate(loop):
        if step == 4:
            gradiva.flip(batch)
    page = loop.explain()._repr_html_()
    assert page.count("<tr>") == 2
    assert "gradiva.flip(batch)" in page
    assert page.count("text-align:left") == 8


def test_no_package_of_gradiva_is_the_user() -> None:
    """But for those that call nothing that users pass on: commands, and modules of names."""
    left = {"commands", "compat", "io", "photographs", "readers", "samplers"}
    packages = {one.name for one in pkgutil.iter_modules(gradiva.__path__) if one.ispkg}
    silent = {name for name in packages if not f"gradiva.{name}".startswith(errors._NOT_THE_USER)}
    assert silent <= left


def test_an_error_about_a_receipt_names_the_line_of_the_user() -> None:
    pipe = gradiva.Pipeline(batch_size=1, num_threads=1, device_id=None, with_receipt=True)
    with pipe:
        pipe.set_outputs(fn.constant(idata=[1]))
    with pytest.raises(gradiva.receipts.ReceiptError, match=r"test_places\.py"):
        gradiva.receipts.reproduce("no receipt", pipe)
