"""One page for each operator, their index, and the table of support."""

from __future__ import annotations

from pathlib import Path

from gradiva.commands.fields import by_field
from gradiva.eager.operators.arguments import Argument
from gradiva.eager.operators.docstrings import COMMON
from gradiva.eager.operators.operator import OperatorBase

from . import markup
from .docstrings import Sections, parse
from .examples import picture
from .registry import Support, known, names_of, old_names, source_of, support, symbol_of

__all__ = ["index_page", "operator_page", "page_name", "support_page"]


def page_name(operator: OperatorBase) -> str:
    """The name of an operator's page, without its folder and ending."""
    return operator.name.replace(".", "-").strip("_")


def _sections(operator: OperatorBase) -> Sections:
    return parse(operator.__doc__ or "", operator.__signature__.parameters)


def operator_page(operator: OperatorBase, pictures: Path) -> str:
    """The page of an operator. Its pictures are made in `pictures`."""
    said = _sections(operator)
    name = (names_of(operator) or [operator.name])[0]
    parts = [f"# {name.removeprefix('gradiva.')}", markup.text(said.summary)]
    parts.append(f"```{{py:function}} {name}{operator.__signature__}\n```")
    parts += [markup.text(part) for part in said.body]
    shown = picture(operator, pictures)
    if shown is not None:
        code, before, after = shown
        parts.append(markup.fenced(code, "python"))
        images = [
            f"![{text}](../pictures/{file})"
            for text, file in (("before", before), ("after", after))
        ]
        parts.append(markup.table(["before", "after"], [images]))
    parts.append("## Arguments")
    parts.append(_arguments(operator, said))
    if said.returns:
        parts += ["## Returns", markup.text(said.returns)]
    if said.raises:
        parts += [
            "## Raises",
            _definitions([(f"`{error}`", markup.text(text)) for error, text in said.raises]),
        ]
    if said.example:
        parts += ["## Example", markup.fenced(said.example, "python")]
    parts += ["## Facts", _facts(operator)]
    return "\n\n".join(parts) + "\n"


def _definitions(pairs: list[tuple[str, str]]) -> str:
    return "\n\n".join(f"{head}\n: {markup.indented(text, 2).lstrip()}" for head, text in pairs)


def _arguments(operator: OperatorBase, said: Sections) -> str:
    pairs = []
    signature = operator.__signature__
    for name, parameter in signature.parameters.items():
        argument = operator.arguments.get(name)
        text = markup.text(said.text_of(name))
        if argument is not None:
            pairs.append((f"`{name}`", f"*{markup.escaped(_kind(argument))}*\n\n{text}".rstrip()))
        elif name not in said.common:
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
            kind = "inputs" if star else "an input"
            pairs.append((f"`{star}{name}`", f"*{kind}*\n\n{text}".rstrip()))
    common = [(f"`{name}`", markup.text(said.text_of(name))) for name in said.common]
    parts = [_definitions(pairs) or "None."]
    return "\n\n".join([*parts, f"### {COMMON}", _definitions(common)] if common else parts)


def _kind(argument: Argument) -> str:
    default = "required" if argument.required else f"default {argument.default!r}"
    return f"{argument.kind.expected}; {default}"


def _all_or(names: tuple[str, ...], all_of: int) -> str:
    if len(names) >= all_of:
        return "any"
    return ", ".join(f"`{name}`" if name else "none" for name in names) or "see the text"


def _taken(has: Support) -> tuple[str, str]:
    return _all_or(has.dtypes, 12), _all_or(has.layouts, 13)


def _devices(has: Support) -> str:
    return "CPU" if "gpu" not in has.devices else f"CPU, GPU ({has.gpu})"


REFERENCE = {
    "same bits": "the results of its cases have the same bits",
    "close": "the results of its cases are close: sums are added in another order",
    "": "not compared: DALI has no such operator on the CPU, or its values are not comparable",
}


def _facts(operator: OperatorBase) -> str:
    has = support(operator.name)
    least, most = operator.min_inputs, operator.max_inputs
    dtypes, layouts = _taken(has)
    rows = [["inputs", str(least) if least == most else f"{least} to {most}"]]
    if most:
        rows += [["dtypes of the first input", dtypes], ["its layouts", layouts]]
    rows.append(["runs on", _devices(has)])
    rows.append(["in a fused group", f"`{has.role}`" if has.role else "never"])
    if operator.random:
        rows.append(["random", "its values are a function of seed, number of the call and sample"])
    rows.append(["compared with DALI", REFERENCE[has.reference]])
    symbol = symbol_of(operator)
    if symbol is not None:
        rows.append(["written", f"`` {symbol.replace('pos', '+').replace('neg', '-')} ``"])
    rows.append(["names", ", ".join(f"`{name}`" for name in names_of(operator)) or "none"])
    schema = operator.schema
    rows.append(
        ["in stored pipelines", f"`{schema}`" if schema else "an expression, or not stored"]
    )
    if old_names(operator):
        rows.append(["old names", ", ".join(f"`fn.{name}`" for name in old_names(operator))])
    rows.append(["declared in", f"`{source_of(operator)}`"])
    return markup.table(["", ""], rows)


def index_page() -> str:
    """All operators by field, with their summaries."""
    fields = [
        f"## {title}\n\n"
        + markup.table(
            ["operator", ""],
            [
                [f"[`{one.name}`]({page_name(one)}.md)", markup.inline(_summary(one))]
                for one in operators
            ],
        )
        for title, operators in by_field(known().values()).items()
    ]
    pages = "\n".join(page_name(operator) for operator in known().values())
    tree = f"```{{toctree}}\n:hidden:\n\nsupport\n{pages}\n```"
    opening = (
        "All operators by field; [the same on one page](../guides/operators.md). "
        "[What each supports](support.md): dtypes, layouts, devices."
    )
    return "\n\n".join(["# Operators", opening, *fields, tree]) + "\n"


def _summary(operator: OperatorBase) -> str:
    return " ".join(_sections(operator).summary.split())


def support_page() -> str:
    """Which operator takes what, runs where, and agrees with whom."""
    rows = []
    for name, operator in known().items():
        has = support(name)
        dtypes, layouts = _taken(has) if operator.max_inputs else ("", "")
        agrees = {"same bits": "same bits", "close": "close", "": ""}[has.reference]
        role = f"`{has.role}`" if has.role else ""
        link = f"[`{name}`]({page_name(operator)}.md)"
        rows.append([link, dtypes, layouts, "yes", has.gpu or "no", role, agrees])
    head = ["operator", "dtypes", "layouts", "CPU", "GPU", "in a fused group", "DALI"]
    text = (
        "Dtypes and layouts are those of the first input that the type rule accepts together with "
        "the other arguments of the operator's cases. GPU: how its results compare with the CPU's. "
        "DALI: how the results of the cases compare with DALI's; empty where no test compares them."
    )
    return f"# Support\n\n{text}\n\n{markup.table(head, rows)}\n"
