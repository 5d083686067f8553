"""Starting threads, where the system may have no more of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gradiva.eager.support.errors import OperatorRuntimeError

__all__ = ["started"]


def started(target: Callable[..., object], name: str, *arguments: Any) -> threading.Thread:
    """A thread that runs `target(*arguments)`, and that the interpreter does not wait for.

    Raises OperatorRuntimeError if the system starts no more threads.
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
