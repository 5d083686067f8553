"""Reading configurations of image processors: dictionaries, files, folders and processors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, user_location

from .processors import MODELS, PROCESSORS, Processor, base_name
from .settings import settings_of

__all__ = ["BACKENDS", "OPERATOR", "Configuration", "parsed", "read"]

OPERATOR = "convert.huggingface"
BACKENDS = ("pil", "torchvision")
_NESTED = "image_processor"
_FILES = ("processor_config.json", "preprocessor_config.json")
"""In a folder, in this order; the first one counts if it has an image processor inside."""
_MOST = 1 << 24
"""Bytes of a configuration, at most."""


@dataclass(frozen=True)
class Configuration:
    """What is known about an image processor.

    name: of its class, without "Fast" and "Pil". known: its row in the table, None where it has
    none. given: the settings of the configuration, as they are. backend: whose arithmetic it has.
    source: the processor itself, where it was given.
    """

    name: str
    known: Processor | None
    given: Mapping[str, Any]
    backend: str
    source: Any = None

    def settings(self, ignore: Sequence[str]) -> dict[str, Any]:
        """All settings, checked. Raises OperatorValueError for bad ones, and for unknown ones that
        are not to be ignored."""
        assert self.known is not None
        return settings_of(self.known, self.given, ignore)


def read(processor: Any, backend: str | None) -> Configuration:
    """The configuration of what the user gave. Raises OperatorTypeError and OperatorValueError."""
    if backend is not None and backend not in BACKENDS:
        raise OperatorValueError(
            operator=OPERATOR,
            argument="backend",
            expected=f"{' or '.join(map(repr, BACKENDS))}, or None",
            got=repr(backend),
            location=user_location(),
        )
    if isinstance(processor, Mapping):
        return _configuration(dict(processor), backend, "the dictionary")
    if isinstance(processor, str | os.PathLike):
        return _of_path(Path(processor), backend)
    source = getattr(processor, _NESTED, processor)
    if not callable(getattr(source, "to_dict", None)):
        raise OperatorTypeError(
            operator=OPERATOR,
            argument="processor",
            expected="an image processor of transformers, its configuration as a dictionary, or "
            "the path of a folder or of preprocessor_config.json",
            got=type(processor).__name__,
            location=user_location(),
        )
    return _of_object(source, backend)


def parsed(data: bytes, where: str) -> dict[str, Any]:
    """The dictionary of a JSON file. Raises OperatorValueError."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise _refused(f"{where} is no JSON: {reason}") from None
    if not isinstance(found, dict):
        raise _refused(f"{where} has no settings: it holds a {type(found).__name__}")
    return found


def _refused(reason: str) -> OperatorValueError:
    return OperatorValueError(
        reason, operator=OPERATOR, argument="processor", location=user_location()
    )


def _of_path(path: Path, backend: str | None) -> Configuration:
    if path.is_dir():
        return _of_folder(path, backend)
    if not path.is_file():
        raise _refused(
            f"{str(path)!r} is no folder and no file. Models are not downloaded: "
            "huggingface_hub.snapshot_download(NAME) returns the folder of one"
        )
    return _configuration(_read(path), backend, str(path))


def _of_folder(folder: Path, backend: str | None) -> Configuration:
    model = folder / "config.json"
    for name in _FILES:
        path = folder / name
        if not path.is_file():
            continue
        given = _read(path)
        if name == _FILES[0] and not isinstance(given.get(_NESTED), dict):
            continue
        if not _names(given) and model.is_file():
            kind = _read(model).get("model_type")
            if isinstance(kind, str):
                given = {"image_processor_type": MODELS.get(kind, f"of {kind!r}"), **_inner(given)}
        return _configuration(given, backend, str(path))
    raise _refused(f"the folder {str(folder)!r} has no {' and no '.join(reversed(_FILES))}")


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST:
            raise _refused(f"{str(path)!r} is larger than any configuration")
        data = path.read_bytes()
    except OSError as error:
        raise _refused(f"{str(path)!r} cannot be read: {error.strerror}") from None
    return parsed(data, str(path))


def _inner(given: dict[str, Any]) -> dict[str, Any]:
    """The image processor's part of the configuration of a processor of several kinds of data."""
    nested = given.get(_NESTED)
    return nested if isinstance(nested, dict) else given


def _names(given: dict[str, Any]) -> str | None:
    inner = _inner(given)
    for key in ("image_processor_type", "feature_extractor_type"):
        name = inner.get(key)
        if isinstance(name, str) and name:
            return name
    return None


def _configuration(given: dict[str, Any], backend: str | None, where: str) -> Configuration:
    name = _names(given)
    if name is None:
        raise _refused(
            f"{where} does not say which processor it is for: it has no `image_processor_type`"
        )
    base, named = base_name(name)
    known = PROCESSORS.get(base)
    usual = "pil" if known is None or known.slow else "torchvision"
    return Configuration(base, known, _inner(given), backend or named or usual)


def _of_object(source: Any, backend: str | None) -> Configuration:
    base, named = base_name(type(source).__name__)
    own = getattr(source, "backend", None)
    own = own if own in BACKENDS else named or "pil"
    if backend is not None and backend != own:
        raise OperatorValueError(
            operator=OPERATOR,
            argument="backend",
            expected=f"that of the processor, {own!r}, or None",
            got=repr(backend),
            location=user_location(),
        )
    given = dict(source.to_dict())
    if not hasattr(source, "backend"):
        # Before version 5, a switch that is None is off, and no default of the class.
        off = {key: False for key, value in given.items() if value is None and key[:3] == "do_"}
        given |= off
    return Configuration(base, PROCESSORS.get(base), given, own, source)
