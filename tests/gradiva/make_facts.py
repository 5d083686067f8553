"""Makes `gradiva/compat/dali/facts.json` from a listing of operators, one `- ` line for each:

    python tests/gradiva/make_facts.py operators.md > gradiva/compat/dali/facts.json

A line is "name | dynamic name | devices | in 1..2 | out 1 | flags | arguments", an argument
"name:type=default" with `!` (required) and `*` (may differ per sample) behind the type.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

_ARGUMENT = re.compile(r"(\w+):(\w+)([!*]*)(?:=(\[.*?\]|'[^']*'|[^,]+))?(?:, |$)")


def _operator(line: str) -> tuple[str, dict[str, Any]]:
    name, dynamic, devices, inputs, outputs, flags, arguments = (
        part.strip() for part in line.removeprefix("- ").split(" | ", 6)
    )
    name = name.strip("`").removeprefix("fn.")
    bounds = [int(number) for number in inputs.removeprefix("in ").split("..")]
    found: dict[str, list[Any]] = {}
    end = 0
    for match in _ARGUMENT.finditer(arguments):
        assert match.start() == end, (name, arguments[end:])
        end = match.end()
        key, kind, marks, default = match.groups()
        found[key] = [kind + marks, *([] if default is None else [ast.literal_eval(default)])]
    assert end == len(arguments), (name, arguments[end:])
    return name, {
        "dynamic": dynamic.strip("`"),
        "devices": devices.split(),
        "inputs": [bounds[0], bounds[-1]],
        "outputs": int(outputs.removeprefix("out ")),
        "flags": [] if flags == "-" else flags.split(),
        "arguments": found,
    }


def facts(text: str) -> dict[str, Any]:
    """The operators and the deprecated names of a listing."""
    lines = text.splitlines()
    operators = dict(_operator(line + " ") for line in lines if line.startswith("- `fn."))
    old = next(line for line in lines if line.startswith("Deprecated names"))
    names = [name.strip().removeprefix("fn.") for name in old.partition(": ")[2].split(",")]
    return {"operators": operators, "deprecated": names}


def text_of(found: dict[str, Any]) -> str:
    """JSON with a line per operator."""
    rows = [f"{json.dumps(key)}: {json.dumps(row)}" for key, row in found["operators"].items()]
    body = ",\n".join(rows)
    return f'{{"operators": {{\n{body}\n}},\n"deprecated": {json.dumps(found["deprecated"])}}}\n'


if __name__ == "__main__":
    sys.stdout.write(text_of(facts(Path(sys.argv[1]).read_text("utf-8"))))
