"""Names of a module that are imported when somebody asks for them.

`import gradiva` must stay fast, so the modules that users import hold the places of their names.
This module imports nothing that takes time itself, such as `typing`.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["ELSEWHERE", "found_at", "lazy_names", "no_attribute"]

ELSEWHERE = {
    "dl_tensor_python_function": "gradiva.fn.dl_tensor_python_function",
    "jax_function": "gradiva.plugin.jax.fn.jax_function",
    "numba_function": "gradiva.plugin.numba.fn.experimental.numba_function",
    "torch_python_function": "gradiva.plugin.pytorch.fn.torch_python_function",
}
"""Functions of plugins, which users look for among the operators, and their import paths."""


def lazy_names(
    module: str, places: Mapping[str, str], otherwise: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module, which imports the names in `places` when they are
    first read, and keeps them.

    places: "package.module:name", or "package.module" for a module itself. otherwise: the place of
    a function of the module's name, which returns the `__getattr__` for all other names.
    """
    names = vars(sys.modules[module])

    def get(name: str) -> Any:
        place = places.get(name)
        if place is None:
            if otherwise:
                return found_at(otherwise)(module)(name)
            raise no_attribute(module, name)
        names[name] = value = found_at(place)
        return value

    return get, lambda: sorted({*names, *places})


def no_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that `gradiva` or `gradiva.fn` has not got."""
    problem = f"module {module!r} has no attribute {name!r}"
    if module in ("gradiva", "gradiva.fn") and not name.startswith("_"):
        place = ELSEWHERE.get(name)
        if place is not None:
            problem += f"; it is {place}"
        else:
            problem += (
                "; see docs/coming_from_torchvision.md for names of other libraries; "
                "`gradiva ops` lists all operators"
            )
    return AttributeError(problem, name=name, obj=sys.modules.get(module))


def found_at(place: str) -> Any:
    """What is at a place, as `lazy_names` takes them."""
    module, _, attribute = place.partition(":")
    found: Any = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found
