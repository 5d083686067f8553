"""Starts threads, on systems that may refuse to start more of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gradiva.eager.support.errors import OperatorRuntimeError


def started(target: Callable[..., object], name: str, *arguments: Any) -> threading.Thread:
    """A daemon thread that runs `target(*arguments)`.

    Raises OperatorRuntimeError if the system cannot start more threads.
    """
    thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        reason = str(error)
    else:
        return thread
    raise OperatorRuntimeError(
        f"the system starts no more threads ({reason}): use fewer (num_threads), or raise the limit"
    )
