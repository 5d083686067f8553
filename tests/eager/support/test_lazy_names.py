"""Names of modules and of registries that are imported when somebody asks for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gradiva.eager.support.lazy_names import lazy_names
from gradiva.eager.support.registry import Modules, Registry

pytestmark = pytest.mark.tiny

PLACES = {"root": "lazy_example_part:root", "part": "lazy_example_part"}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module with the names of PLACES, and another, not imported yet, which has them."""
    (tmp_path / "lazy_example_part.py").write_text("root = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = ModuleType("lazy_example")
    made.own = 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lazy_example", made)
    vars(made)["__getattr__"], vars(made)["__dir__"] = lazy_names("lazy_example", PLACES)
    yield made
    sys.modules.pop("lazy_example_part", None)


def test_names_are_imported_when_they_are_read(module: Any) -> None:
    assert {"own", "part", "root"} <= set(dir(module))
    assert "lazy_example_part" not in sys.modules
    root = module.root
    assert module.part.root is root
    assert vars(module)["root"] is root
    assert not hasattr(module, "roots")


def test_other_names_are_errors_of_the_module(module: Any) -> None:
    with pytest.raises(AttributeError, match="module 'lazy_example' has no attribute 'roots'"):
        module.roots  # noqa: B018

    get, _ = lazy_names("lazy_example", PLACES, f"{__name__}:_otherwise")
    with pytest.raises(AttributeError, match="lazy_example: roots waits for somebody"):
        get("roots")


def _otherwise(module: str) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        raise AttributeError(f"{module}: {name} waits for somebody")

    return get


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry[int]]:
    """Of two modules that put a number there, and know of one another name that they do not."""
    made: Registry[int] = Registry(Modules("lazy_example_places:places"))
    for name, number in (("one", 1), ("two", 2)):
        text = f"from lazy_example_places import numbers\nnumbers[{name!r}] = {number}\n"
        (tmp_path / f"lazy_example_{name}.py").write_text(text)
    places = ModuleType("lazy_example_places")
    modules = {name: f"lazy_example_{name}" for name in ("one", "two")}
    modules["none"] = "lazy_example_one"
    vars(places).update(numbers=made, places=lambda: modules)
    monkeypatch.setitem(sys.modules, "lazy_example_places", places)
    monkeypatch.syspath_prepend(tmp_path)
    yield made
    for name in ("lazy_example_one", "lazy_example_two"):
        sys.modules.pop(name, None)


def test_a_registry_imports_what_is_asked_for(registry: Registry[int]) -> None:
    assert registry.names() == {"one", "two", "none"}
    assert registry.present("one") is None
    assert "one" in registry
    assert "three" not in registry
    assert registry["one"] == registry.present("one") == 1
    assert registry.present("two") is None
    assert "lazy_example_two" not in sys.modules
    assert registry.get("three") is None
    assert registry.get("three", 3) == 3
    assert registry.get("two") == 2


def test_a_registry_has_what_is_put_there(registry: Registry[int]) -> None:
    registry["four"] = 4
    assert registry["four"] == 4
    assert "four" in registry
    assert "lazy_example_one" not in sys.modules


@pytest.mark.parametrize("name", ["three", "none"])
def test_what_a_registry_has_not(registry: Registry[int], name: str) -> None:
    with pytest.raises(KeyError, match=name):
        registry[name]
    assert registry.get(name) is None


def test_who_goes_through_a_registry_gets_all(registry: Registry[int]) -> None:
    assert dict(registry.items()) == {"one": 1, "two": 2}
    assert sorted(registry) == ["one", "two"]
    assert sorted(registry.values()) == [1, 2]
    assert len(registry) == 2
    assert {**registry} == {"one": 1, "two": 2}
