"""How values are shown to people: the hooks that `gradiva.display.text` fills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradiva.eager.support.hooks import Hook

_MODULE = "gradiva.display.text"
to_text: Hook[Callable[[Any], str]] = Hook("values as text", _MODULE)
to_html: Hook[Callable[[Any], str]] = Hook("values as pictures", _MODULE)
