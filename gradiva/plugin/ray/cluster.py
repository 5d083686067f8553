"""Ray, loaded when it is first used, and its errors as those of gradiva."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError
from gradiva.eager.support.lazy_import import lazy_module

__all__ = ["check_cluster", "cluster_errors", "error_to_repeat", "errors", "ray", "summary"]

ray: Any = lazy_module("ray", "'gradiva[ray]'")
errors: Any = lazy_module("ray.exceptions", "'gradiva[ray]'")


def check_cluster() -> None:
    """Raise ImportError without Ray, OperatorRuntimeError without a cluster."""
    if not ray.is_initialized():
        raise OperatorRuntimeError(
            "there is no Ray cluster: call ray.init() for one on this machine, or "
            'ray.init(address="auto") on a machine of a cluster'
        )


@contextmanager
def cluster_errors(doing: str) -> Iterator[None]:
    """What Ray raises in the block, as an OperatorRuntimeError that says what was being done."""
    try:
        yield
    except errors.GetTimeoutError as error:
        raise error_to_repeat(f"{doing}: the Ray cluster did not answer in time") from error
    except errors.RayTaskError as error:
        if isinstance(error.cause, GradivaError):
            raise error.cause from None
        raise error_to_repeat(f"{doing}: {error.cause!r} in a Ray actor") from error
    except errors.RayError as error:
        raise error_to_repeat(f"{doing}: {type(error).__name__}: {summary(error)}") from error


def summary(error: BaseException) -> str:
    """The first line of an error of Ray's; and the last one, where it ends with what another
    process raised."""
    lines = str(error).strip().splitlines() or [""]
    return f"{lines[0]} {lines[-1].strip()}" if "Traceback" in str(error) else lines[0]


def error_to_repeat(text: str) -> OperatorRuntimeError:
    """An error that is not of a batch: the request will be repeated."""
    error = OperatorRuntimeError(text)
    error.again = True  # type: ignore[attr-defined]
    return error
