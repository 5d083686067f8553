"""Write the import lines of the public modules: `python -m tests.gradiva.make_names`, then `ruff
format`.

An operator is public where its name says: "transforms.scale" is `gradiva.transforms.scale`. The
lines stand in files, so that type checkers and editors find them. `test_public_names` checks that
they are up to date; run this after an operator is added, moved or renamed.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "gradiva"
OPERATORS = FOLDER.parent / "ops"
DECORATORS = ("op.operator", "op.maker", "source_operator")
FILES = {
    "operators.py": "",
    "decoders.py": "decoders",
    "experimental/__init__.py": "experimental",
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
WITHOUT_SCHEMA = ("python_function",)
"""Public operators that stored pipelines cannot hold. What else has no schema is no function of its
own: arithmetic, subscripts, parts of other operators."""


def declared() -> dict[str, dict[str, str]]:
    """By package, the public operators and the modules that declare them. The files are read, not
    imported: gradiva cannot be imported while its public modules are out of date."""
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
    """The names that a module imports from `gradiva.ops`: what they are called there, and where."""
    return {
        alias.name: (alias.asname or alias.name, str(node.module))
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gradiva.ops.")
        for alias in node.names
    }


def missing(text: str, wanted: dict[str, str]) -> dict[str, str]:
    """Those of the operators that a module does not import from where they are declared."""
    present = imported(text)
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
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & set(absent):
            del lines[node.lineno - 1 : node.end_lineno]
            absent.update(
                (alias.name, wanted[alias.name]) for alias in node.names if alias.name in wanted
            )
    first = next(n for n in ast.parse(text).body if isinstance(n, ast.Import | ast.ImportFrom))
    for name, module in absent.items():
        alias = present.get(name, (name, ""))[0]
        called = f"{name} as {alias}" if exported or alias != name else name
        lines.insert(first.lineno - 1, f"from {module} import {called}\n")
    return "".join(lines)


def main() -> None:
    """Write all files, and sort their imports."""
    packages = declared()
    paths = [FOLDER / file for file in FILES]
    for path, package in zip(paths, FILES.values(), strict=True):
        text = path.read_text("utf-8")
        path.write_text(written(text, packages[package], "__all__" not in text), "utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--fix", "--quiet", "--select", "I", *paths], check=True)
    subprocess.run([*ruff, "format", "--quiet", *paths], check=True)


if __name__ == "__main__":
    main()
