"""Write the import lines of the public modules, and the tables of places:
`python -m building.make_names`.

An operator is public where its name says: "transforms.scale" is `gradiva.transforms.scale`. The
lines stand in files, so that type checkers and editors find them. Where they are for these alone,
under `if TYPE_CHECKING:`, `gradiva/_names.py` says the same to the module when it runs: which
module declares which operator, and where the other names are. `test_public_names` checks that all
are up to date; run this after an operator is added, moved or renamed.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradiva.eager.operators.operator import operators
from gradiva.eager.values.value import arithmetic

FOLDER = Path(__file__).parents[1] / "gradiva"
OPERATORS = FOLDER.parent / "ops"
DECORATORS = ("op.operator", "op.maker", "source_operator")
FILES = {
    "compat/dali/experimental/__init__.py": "experimental",
    "decoders.py": "decoders",
    "fn/_shared_operators.py": "",
    "fn/decoders.py": "decoders",
    "fn/experimental/__init__.py": "experimental",
    "fn/io/file.py": "io.file",
    "io/file.py": "io.file",
    "noise.py": "noise",
    "random.py": "random",
    "reductions.py": "reductions",
    "segmentation.py": "segmentation",
    "transforms.py": "transforms",
}
"""Which package of operators a module of gradiva shows."""
WRAPPED = {"batch_permutation": "gradiva.fn._recorded"}
"""Operators that are public in the form that this module gives them."""
PACKAGES = {
    "gradiva": "",
    "gradiva.fn": "",
    "gradiva.fn._shared_operators": "",
    "gradiva.decoders": "decoders",
    "gradiva.fn.decoders": "decoders",
    "gradiva.fn.readers": "readers",
    "gradiva.random": "random",
}
"""Of the modules whose names are imported when they are asked for: which package each shows."""
BY_PLUGINS = {"numba_function"}
"""Operators that are there when a plugin is imported, and not before."""
TABLE = '''"""Which module declares which operator, and the names of the modules that users import.

`python -m building.make_names` writes this file.
"""


PUBLIC: dict[str, dict[str, tuple[str, ...]]] = %(public)r
"""The operators that users call: by package and by module of `gradiva.ops`, their names."""
PARTS: dict[str, tuple[str, ...]] = %(others)r
"""All other operators, by the modules that declare them."""
ARITHMETIC: dict[str, tuple[str, ...]] = %(arithmetic)r
"""The names of arithmetic functions, by the modules that declare them."""
NAMES: dict[str, tuple[str | None, dict[str, str]]] = %(names)r
"""By module: the package whose operators it has, if any, and the places of its other names."""


def names_of(module: str) -> dict[str, str]:
    """The names of a module, and their places, as `lazy_names` takes them."""
    package, others = NAMES[module]
    if package is None:
        return others
    table = PUBLIC[package].items()
    return {name: f"gradiva.ops.{one}:{name}" for one, names in table for name in names} | others


def operators() -> dict[str, str]:
    """All operators, and the modules that declare them."""
    found = _by_name(PARTS)
    for package, table in PUBLIC.items():
        found |= _by_name(table, f"{package}." if package else "")
    return found


def arithmetic() -> dict[str, str]:
    """All arithmetic functions, and the modules that declare them."""
    return _by_name(ARITHMETIC)


def _by_name(table: dict[str, tuple[str, ...]], prefix: str = "") -> dict[str, str]:
    pairs = ((module, name) for module, names in table.items() for name in names)
    return {prefix + name: f"gradiva.ops.{module}" for module, name in pairs}
'''
WITHOUT_SCHEMA = (
    "affine",
    "autocontrast",
    "cache",
    "copy_paste",
    "cutmix",
    "gamma",
    "mixup",
    "mosaic",
    "patches",
    "perspective",
    "posterize",
    "python_function",
    "random_erasing",
    "rescale_normalize",
    "sharpness",
    "smart_resize",
    "solarize",
)
"""Public operators that stored pipelines cannot hold. What else has no schema is no function of its
own: arithmetic, subscripts, parts of other operators."""


def declared() -> dict[str, dict[str, str]]:
    """By package, the public operators and the modules that declare them. The files are read, not
    imported: nothing can be imported by a name that is out of date."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(OPERATORS.rglob("*.py")):
        module = ".".join(("gradiva.ops", *path.relative_to(OPERATORS).with_suffix("").parts))
        for node in ast.parse(path.read_text("utf-8")).body:
            for call in getattr(node, "decorator_list", ()):
                name = _public_name(call)
                if name is not None:
                    package, _, last = name.rpartition(".")
                    found.setdefault(package, {})[last] = module
    return found


def _public_name(call: ast.expr) -> str | None:
    """The name that a decorator gives to a public operator; None if it declares none."""
    if not isinstance(call, ast.Call) or ast.unparse(call.func) not in DECORATORS:
        return None
    name = ast.literal_eval(call.args[0])
    known = "schema" in {keyword.arg for keyword in call.keywords} or name in WITHOUT_SCHEMA
    return str(name) if known and not name.startswith("_") else None


def imported(text: str) -> dict[str, tuple[str, str]]:
    """The operators that a module imports: what they are called there, and from where."""
    return {
        alias.name: (alias.asname or alias.name, str(node.module))
        for node in _lines(text)
        if str(node.module).startswith("gradiva.ops.") or node.module in WRAPPED.values()
        for alias in node.names
    }


def _lines(text: str) -> list[ast.ImportFrom]:
    """The import lines of a module, those for type checkers included."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return sorted(found, key=lambda node: node.lineno)


def missing(text: str, wanted: dict[str, str]) -> dict[str, str]:
    """Those of the operators that a module does not import from where they are declared."""
    present = imported(text)
    wanted = {name: WRAPPED.get(name, module) for name, module in wanted.items()}
    return {
        name: module
        for name, module in wanted.items()
        if name not in present or present[name][1] != module
    }


def written(text: str, wanted: dict[str, str], exported: bool) -> str:
    """The module with the missing lines in place of those that are out of date. exported: whether
    it says `name as name`, for there is no `__all__`."""
    absent, present = missing(text, wanted), imported(text)
    lines = text.splitlines(keepends=True)
    for node in reversed(_lines(text)):
        if {alias.name for alias in node.names} & set(absent):
            del lines[node.lineno - 1 : node.end_lineno]
            absent.update(
                (alias.name, wanted[alias.name]) for alias in node.names if alias.name in wanted
            )
    nodes = _lines(text)
    # Beside the other operators, which stand below `if TYPE_CHECKING:` where they are lazy.
    first = next((node for node in nodes if str(node.module).startswith("gradiva.ops.")), nodes[0])
    for name, module in absent.items():
        alias = present.get(name, (name, ""))[0]
        called = f"{name} as {alias}" if exported or alias != name else name
        lines.insert(first.lineno - 1, f"{' ' * first.col_offset}from {module} import {called}\n")
    return "".join(lines)


def lazy_files() -> dict[str, Path]:
    """The modules of gradiva whose names are imported when they are asked for, with their files."""
    return {
        _module(path): path
        for path in (FOLDER, *FOLDER.glob("*/"))
        for path in sorted(path.glob("*.py"))
        if "names_of(__name__)" in path.read_text("utf-8")
    }


def _module(path: Path) -> str:
    parts = path.relative_to(FOLDER.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def places_in(text: str) -> dict[str, str]:
    """The places of names, as `lazy_names` takes them, that a module imports under
    `if TYPE_CHECKING:`."""
    block = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    )
    found: dict[str, str] = {}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                place = inside if _file(inside).exists() else f"{node.module}:{alias.name}"
                found[alias.asname or alias.name] = place
        elif isinstance(node, ast.AnnAssign):  # a package that type checkers do not look into
            found[ast.unparse(node.target)] = f"gradiva.{ast.unparse(node.target)}"
        elif isinstance(node, ast.Assign):  # another name for one of these
            found[ast.unparse(node.targets[0])] = found[ast.unparse(node.value)]
    # A star stands for another table.
    return {name: place for name, place in sorted(found.items()) if name[0] not in "_*"}


def _file(module: str) -> Path:
    """Where the module of this name is, if there is one."""
    path = FOLDER.parent.joinpath(*module.split("."))
    package = path / "__init__.py"  # a folder alone may be what an older version has left
    return package if package.exists() else path.with_suffix(".py")


def table() -> str:
    """The text of `gradiva/_names.py`."""
    for module in pkgutil.walk_packages([str(OPERATORS)], "gradiva.ops."):
        importlib.import_module(module.name)
    public = {
        f"{package}.{name}".lstrip("."): module
        for package, names in declared().items()
        for name, module in names.items()
    }
    every = dict(_declaring(operators))
    parts = _by_module({name: every[name] for name in every if name not in public})
    rows = {name: _row(name, path, public) for name, path in lazy_files().items()}
    return TABLE % {
        "public": {package: _by_module(names) for package, names in sorted(declared().items())},
        "others": parts,
        "arithmetic": _short(_by_module(dict(_declaring(arithmetic))), parts),
        "names": rows,
    }


def _row(module: str, path: Path, public: dict[str, str]) -> tuple[str | None, dict[str, str]]:
    """What `NAMES` says of a module."""
    text = path.read_text("utf-8")
    places = places_in(text)
    if "import *" in text:
        places = places_in((FOLDER / "fn" / "_shared_operators.py").read_text("utf-8")) | places
    package = PACKAGES.get(module)
    known = (
        {}
        if package is None
        else {
            name.removeprefix(f"{package}."): f"{where}:{name.rpartition('.')[2]}"
            for name, where in public.items()
            if name.rpartition(".")[0] == package
        }
    )
    return package, {name: one for name, one in places.items() if known.get(name) != one}


def _by_module(modules: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """The names that each module declares."""
    found: dict[str, list[str]] = {}
    for name, module in sorted(modules.items()):
        found.setdefault(module.removeprefix("gradiva.ops."), []).append(name)
    return {module: tuple(names) for module, names in sorted(found.items())}


class _Same(str):
    """An expression, which is written as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def _short(found: dict[str, tuple[str, ...]], parts: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """A table that refers to the other one where both have the same names."""
    return {
        module: _Same(f"PARTS[{module!r}]") if parts.get(module) == names else names
        for module, names in found.items()
    }


def _declaring(registry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """By name, the modules of `ops` that put what is in a registry now there."""
    for name, one in sorted(dict.items(registry)):
        if one.__module__.startswith("gradiva.ops.") and name not in BY_PLUGINS:
            yield name, one.__module__


def formatted(text: str) -> str:
    """A table as `ruff format` writes it."""
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FOLDER / "_names.py")]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Write all files, and sort their imports."""
    packages = declared()
    paths = [FOLDER / file for file in FILES]
    for path, package in zip(paths, FILES.values(), strict=True):
        text = path.read_text("utf-8")
        path.write_text(written(text, packages[package], "__all__ = [" not in text), "utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--fix", "--quiet", "--select", "I", *paths], check=True)
    subprocess.run([*ruff, "format", "--quiet", *paths], check=True)
    (FOLDER / "_names.py").write_text(formatted(table()), "utf-8")


if __name__ == "__main__":
    main()
