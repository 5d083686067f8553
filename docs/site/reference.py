"""The public modules: a page for each, with every public name that is no operator."""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

from gradiva import DType
from gradiva.compat.dali.facts import operator_of

from . import markup
from .docstrings import Sections, parse
from .operator_pages import page_name
from .registry import known

__all__ = ["MODULES", "module_page", "reference_index"]

MODULES = (
    "gradiva", "gradiva.fn", "gradiva.types", "gradiva.pipeline", "gradiva.capture",
    "gradiva.readers", "gradiva.samplers", "gradiva.random", "gradiva.decoders", "gradiva.math",
    "gradiva.checkpoint", "gradiva.serve", "gradiva.convert", "gradiva.extension",
    "gradiva.plugin.numpy",
    "gradiva.plugin.pytorch", "gradiva.plugin.jax", "gradiva.plugin.jax.clu", "gradiva.plugin.tf",
    "gradiva.plugin.tf.experimental", "gradiva.plugin.paddle", "gradiva.plugin.numba",
    "gradiva.plugin.ray", "gradiva.plugin.huggingface", "gradiva.plugin.row_source",
    "gradiva.auto_aug", "gradiva.auto_aug.auto_augment", "gradiva.auto_aug.rand_augment",
    "gradiva.auto_aug.trivial_augment", "gradiva.auto_aug.augmentations", "gradiva.auto_aug.core",
    "gradiva.backend", "gradiva.data_node", "gradiva.tensors", "gradiva.tfrecord",
    "gradiva.plugin_manager", "gradiva.sysconfig", "gradiva.compat",
)  # fmt: skip


def module_page(name: str) -> str:
    """The page of a module."""
    module = importlib.import_module(name)
    said = parse(module.__doc__ or "")
    parts = [f"# {name}", markup.text(said.summary), *map(markup.text, said.body)]
    operators, values, others, modules = [], [], [], []
    by_name = known()
    for key, value in sorted(_public(module), key=lambda pair: pair[0].lower()):
        operator = operator_of(value) or by_name.get(f"{name.removeprefix('gradiva.')}.{key}")
        if operator is not None and operator.__doc__:
            operators.append(f"[`{key}`](../operators/{page_name(operator)}.md)")
        elif inspect.ismodule(value):
            modules.append(
                f"[`{key}`]({value.__name__}.md)" if value.__name__ in MODULES else f"`{key}`"
            )
        elif _home(value) not in (None, name):
            home = _home(value)
            others.append(f"`{key}` is the one of [{home}]({home}.md).")
        elif _is_called(value):
            others.append(_described(name, key, value))
        else:
            values.append(f"`{key}`")
    for title, names in (("Modules", modules), ("Operators", operators), ("Values", values)):
        if names:
            parts += [f"## {title}", ", ".join(names)]
    if others:
        parts += ["## Functions and classes", *others]
    needing = ", ".join(f"`{key}`" for key in _names(module) if _value(module, key) is _MISSING)
    if needing:
        parts += ["## With other packages", f"{needing}: for these, another package is needed."]
    return "\n\n".join(filter(None, parts)) + "\n"


@functools.cache
def _homes() -> dict[int, str]:
    """Functions and classes, by their identity, and the first module in the list that has them."""
    found: dict[int, str] = {}
    for name in MODULES:
        for _, value in _public(importlib.import_module(name)):
            if _is_called(value):
                found.setdefault(id(value), name)
    return found


def _is_called(value: Any) -> bool:
    # Element types can be called, which is for old scripts.
    return callable(value) and not isinstance(value, DType)


def _home(value: Any) -> str | None:
    return _homes().get(id(value))


def _public(module: ModuleType) -> list[tuple[str, Any]]:
    """The public names of a module, without the modules of others and typing's."""
    found = []
    for name in _names(module):
        value = _value(module, name)
        if value is _MISSING:
            continue
        home = (
            value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "gradiva")
        )
        if str(home).split(".")[0] == "gradiva":
            found.append((name, value))
    return found


_MISSING = object()


def _names(module: ModuleType) -> list[str]:
    return getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]


def _value(module: ModuleType, name: str) -> Any:
    """What has this name; _MISSING for what needs a package that is not installed here."""
    try:
        return getattr(module, name)
    except ImportError:
        return _MISSING


def _described(module: str, name: str, value: Any) -> str:
    kind = "class" if inspect.isclass(value) else "function"
    inner = _sections(parse(inspect.getdoc(value) or "", _parameters(value)))
    if inspect.isclass(value):
        inner = "\n\n".join([inner, *_members(value)])
    return _directive(f"py:{kind}", f"{module}.{name}{_signature(value)}", inner)


def _directive(kind: str, head: str, inner: str, colons: int = 5, *options: str) -> str:
    fence = ":" * colons
    lines = [f"{fence}{{{kind}}} {head}", *(f":{option}:" for option in options)]
    if hasattr(builtins, head.partition("(")[0]):
        lines.append(":no-index:")  # it would be taken for the builtin in annotations
    return "\n".join([*lines, "", inner, fence])


class _Bare(str):
    """An annotation without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    parameters = [
        parameter.replace(annotation=_Bare(parameter.annotation))
        if isinstance(parameter.annotation, str)
        else parameter
        for parameter in signature.parameters.values()
    ]
    back = signature.return_annotation
    back = _Bare(back) if isinstance(back, str) else back
    text = str(inspect.Signature(parameters, return_annotation=back))
    # What has no source form, such as the address of an object, is left out.
    return text if " at 0x" not in text and "\n" not in text else "(...)"


def _parameters(value: Any) -> list[str]:
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []


def _members(kind: type) -> list[str]:
    """The methods and properties that a class defines or inherits from a class of ours."""
    parts = []
    for name in sorted({key for key in dir(kind) if not key.startswith("_")}):
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        if owner is None or not owner.__module__.startswith("gradiva"):
            continue
        value = inspect.getattr_static(kind, name)
        text = inspect.getdoc(value)
        if not text:
            continue
        if isinstance(value, property):
            said = _sections(parse(text))
            parts.append(_directive("py:property", name, said, 4))
        elif isinstance(value, staticmethod | classmethod) or inspect.isfunction(value):
            plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            said = _sections(parse(text, _parameters(plain)))
            options = [type(value).__name__] if plain is not value else []
            parts.append(_directive("py:method", name + _signature(plain), said, 4, *options))
    return parts


def _sections(said: Sections) -> str:
    """What a docstring says, as Markdown."""
    parts = [markup.text(said.summary), *map(markup.text, said.body)]
    for title, pairs in (
        ("Arguments", [(", ".join(names), text) for names, text in said.args]),
        ("Raises", said.raises),
    ):
        if pairs:
            lines = [
                f"- `{head}`: {markup.indented(markup.text(text), 2).lstrip()}"
                for head, text in pairs
            ]
            parts += [f"**{title}**", "\n".join(lines)]
    if said.returns:
        parts += ["**Returns**", markup.text(said.returns)]
    if said.example:
        parts += ["**Example**", markup.fenced(said.example, "python")]
    return "\n\n".join(filter(None, parts))


def reference_index() -> str:
    """All modules."""
    rows = [
        [f"[`{name}`]({name}.md)", markup.inline(_first_line(importlib.import_module(name)))]
        for name in MODULES
    ]
    tree = "```{toctree}\n:hidden:\n\n" + "\n".join(MODULES) + "\n```"
    return "\n\n".join(["# Modules", markup.table(["module", ""], rows), tree]) + "\n"


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
