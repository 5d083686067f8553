"""A pipeline of Albumentations as a tree, from its objects, a dictionary or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
    wrong_value,
)
from gradiva.eager.support.lazy_import import can_import, lazy_module

from .older import renamed
from .settings import DEFAULTS, told

yaml: Any = lazy_module("yaml", "pyyaml")

__all__ = ["CONTAINERS", "Node", "node_of"]

CONTAINERS: Final = (
    *("Compose", "ReplayCompose", "Sequential", "OneOf", "SomeOf", "RandomOrder", "OneOrOther"),
)
_TITLE = 200


@dataclass(frozen=True)
class Node:
    """A transform, or a container of transforms.

    name: of its class; arguments: apart from `p`, as Albumentations stores them; p: its
    probability; children: of a container; object: the transform itself, if there is one.
    """

    name: str
    arguments: Mapping[str, Any]
    p: float
    children: tuple[Node, ...] = ()
    object: Any = field(default=None, compare=False)

    @property
    def title(self) -> str:
        """The transform in one line."""
        inside = {"transforms": [one.name for one in self.children]} if self.children else {}
        shown = {name: self.arguments[name] for name in ("n", "replace") if name in self.arguments}
        if self.name in DEFAULTS:
            shown = told(self.name, renamed(self.name, self.arguments))
        shown = {**inside, **shown, "p": self.p}
        text = f"{self.name}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
        return text if len(text) <= _TITLE else text[: _TITLE - 3] + "..."

    def stored(self) -> dict[str, Any]:
        """As Albumentations stores it; what `albumentations.from_dict` makes it of again."""
        inner = {"transforms": [one.stored() for one in self.children]} if self.children else {}
        arguments = {**self.arguments, **inner, "p": self.p}
        return {"__class_fullname__": self.name, **arguments}


def node_of(given: Any) -> Node:
    """The tree of a transform: an object, what `albumentations.to_dict` returns, or the path of
    what `albumentations.save` writes. Raises OperatorTypeError, and errors of files."""
    if isinstance(given, str | os.PathLike):
        return _from_dict(_loaded(Path(given)), given)
    if isinstance(given, Mapping):
        return _from_dict(given, given)
    if _is_theirs(given):
        return _from_object(given)
    if isinstance(given, Sequence) and given and all(map(_is_theirs, given)):
        return Node("Compose", {}, 1.0, tuple(map(_from_object, given)))
    raise _refused(given)


def _is_theirs(value: Any) -> bool:
    """Whether it is a transform, or a class of the user's that is derived from one."""
    return any(
        base.__module__.partition(".")[0] == "albumentations" for base in type(value).__mro__
    )


def _refused(given: Any) -> OperatorTypeError:
    return OperatorTypeError(
        operator="convert.albumentations",
        argument="transform",
        expected="a transform of Albumentations, a dictionary of `albumentations.to_dict`, or the "
        "path of a file of `albumentations.save`",
        got=describe(given),
        location=user_location(),
    )


def _loaded(path: Path) -> Any:
    """What a file holds. Raises OperatorValueError, and OSError."""
    try:
        text = path.read_text("utf-8")
        return json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except (ValueError, RecursionError, _yaml_error()) as error:
        raise OperatorValueError(
            f"the file {path} cannot be read: {type(error).__name__}: {error}",
            operator="convert.albumentations",
            argument="transform",
            location=user_location(),
        ) from error


def _yaml_error() -> type[Exception]:
    """What PyYAML raises; ValueError where it is absent."""
    found: type[Exception] = yaml.YAMLError if can_import("yaml") else ValueError
    return found


def _from_dict(found: Any, given: Any) -> Node:
    if isinstance(found, Mapping) and isinstance(found.get("transform"), Mapping):
        found = found["transform"]
    if not isinstance(found, Mapping) or not isinstance(found.get("__class_fullname__"), str):
        raise _refused(given)
    if "applied" in found:
        raise OperatorTypeError(
            "a record for `ReplayCompose.replay` has the values of one image",
            operator="convert.albumentations",
            argument="transform",
            expected="the ReplayCompose itself, whose values are drawn for each image",
            got="what it recorded",
            location=user_location(),
        )
    name = found["__class_fullname__"]
    if name.startswith("albumentations."):
        name = name.rpartition(".")[2]
    left_out = ("__class_fullname__", "p", "always_apply", "transforms", "id", "params", "applied")
    arguments = {one: value for one, value in found.items() if one not in left_out}
    children = found.get("transforms") or ()
    if not isinstance(children, list | tuple):
        raise _refused(given)
    default = 1.0 if name in ("Compose", "ReplayCompose", "SomeOf", "RandomOrder") else 0.5
    p = 1.0 if found.get("always_apply") else found.get("p", default)
    if not isinstance(p, int | float) or not 0 <= p <= 1:
        raise wrong_value(f"p of {name}", "a number from 0 to 1", repr(p))
    return Node(name, arguments, float(p), tuple(_from_dict(one, given) for one in children))


def _from_object(given: Any) -> Node:
    name = type(given).__name__
    p = 1.0 if getattr(given, "always_apply", False) is True else float(given.p)
    kinds = [base.__name__ for base in type(given).__mro__]
    container = next((kind for kind in kinds if kind in CONTAINERS), None)
    if container is not None:
        children = tuple(map(_from_object, given.transforms))
        return Node(container, _container(given), p, children, given)
    try:
        stored = given.to_dict_private() if hasattr(given, "to_dict_private") else given._to_dict()
    except (NotImplementedError, AttributeError):
        stored = {}
    left_out = ("__class_fullname__", "p", "always_apply")
    arguments = {one: value for one, value in stored.items() if one not in left_out}
    if not type(given).__module__.startswith("albumentations."):
        name = f"{type(given).__module__}.{name}"
    return Node(name, arguments, p, (), given)


def _container(given: Any) -> dict[str, Any]:
    """What a container stores, apart from what is in it."""
    found = {one: getattr(given, one) for one in ("n", "replace") if hasattr(given, one)}
    for name, one in (getattr(given, "processors", None) or {}).items():
        kind = {"bboxes": "bbox_params", "keypoints": "keypoint_params"}.get(name)
        params = getattr(one, "params", None)
        if kind and params is not None and getattr(given, "main_compose", True):
            found[kind] = {
                **params.to_dict_private(),
                **{
                    extra: getattr(params, extra)
                    for extra in ("filter_invalid_bboxes",)
                    if hasattr(params, extra)
                },
            }
    extra = getattr(given, "additional_targets", None)
    return {**found, "additional_targets": dict(extra)} if extra else found
