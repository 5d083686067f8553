"""What differs between a receipt and what is here: each difference with its kind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gradiva.capture.graph.fingerprint import difference
from gradiva.capture.graph.graph import Graph

from .receipt import Receipt, ReceiptError

__all__ = ["Finding", "changed_graph", "changed_outputs", "changed_samples", "changed_versions"]

_MOST_SAMPLES = 5


class Finding(NamedTuple):
    """One input of a batch that has changed. kind: "receipt" (its line was edited), "graph",
    "argument", "seed", "file", "version" or "outputs". harmless: the outputs may have the same bits
    all the same, which decides."""

    kind: str
    text: str
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def changed_graph(receipt: Receipt, graph: Graph) -> Finding | None:
    """The first operator or argument of a recorded graph that is not that of the receipt. Raises
    ReceiptError for a receipt that has no graph."""
    try:
        found = difference(receipt.batch["graph"], graph, anywhere=True)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ReceiptError(f"the receipt has no graph that makes sense: {error!r}") from None
    if found is None:
        return None
    text = found[1]
    if "argument `" in text:
        return Finding("argument", text)
    was = receipt.made_by.get("pipeline")
    if was != graph.title:
        text = f"{text}; the pipeline was `{was}`, and is `{graph.title}`"
    return Finding("graph", text)


def changed_versions(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Finding]:
    """What computes the values in another version. before, now: what `versions_of` has said."""
    if before.get("gradiva") != now["gradiva"]:
        yield _version("gradiva", before.get("gradiva"), now["gradiva"])
    elif before.get("code") != now["code"]:
        yield Finding("version", f"the code of gradiva {now['gradiva']} was changed", True)
    was = before.get("libraries")
    libraries = was if isinstance(was, dict) else {}
    for name in sorted({*libraries, *now["libraries"]}):
        versions = libraries.get(name), now["libraries"].get(name)
        if versions[0] != versions[1]:
            yield _version(name, *versions)
    if before.get("python") != now["python"]:
        yield _version("Python", before.get("python"), now["python"])
        return  # digests of code are those of one version
    if before.get("operators") != now["operators"]:
        yield Finding("version", "the code of an operator that is no part of gradiva", True)
    functions = before.get("functions")
    for name, digest in now["functions"].items():
        if isinstance(functions, dict) and functions.get(name) != digest:
            yield Finding("argument", f"the code of the function {name}", True)


def _version(name: str, was: Any, now: Any) -> Finding:
    return Finding("version", f"{name} was {was or 'absent'}, and is {now or 'absent'}", True)


def changed_data(operator: str, was: Any, now: Any) -> Finding | None:
    """What a reader says of its data set as a whole: names and numbers, without their contents."""
    if was == now:
        return None
    texts = [json.dumps(one, default=str) for one in (was, now)]
    text = f"the data set of `{operator}` was {texts[0]}, and is {texts[1]}"
    return Finding("file", text, True)


def changed_samples(
    operator: str,
    names: Sequence[str],
    before: Sequence[str],
    was: Sequence[str],
    now: Sequence[str],
    harmless: bool,
) -> Iterator[Finding]:
    """The samples that a reader delivers with other contents, by their files. names: of the files;
    before: those of the receipt, without their folders; was, now: the identities of the samples."""
    changed = [sample for sample, one in enumerate(now) if one != was[sample]]
    for sample in changed[:_MOST_SAMPLES]:
        name = names[sample] or f"sample {sample}"
        text = f"{name}, sample {sample} of the batch, of `{operator}`, has changed"
        if sample < len(before) and before[sample] != os.path.basename(names[sample]):
            text = (
                f"sample {sample} of the batch was {before[sample]}, and is {name}, of `{operator}`"
            )
        elif harmless:
            text += f": it was {was[sample]}, and is {now[sample]}"
        yield Finding("file", text, harmless)
    if len(changed) > _MOST_SAMPLES:
        text = f"{len(changed) - _MOST_SAMPLES} further samples of `{operator}` have changed"
        yield Finding("file", text, harmless)


def changed_outputs(was: Sequence[Any], now: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """The outputs whose values have other bits. Raises ReceiptError for a receipt without any."""
    if len(was) != len(now):
        yield Finding("outputs", f"there were {len(was)}, and are {len(now)}")
        return
    for number, (before, after) in enumerate(zip(was, now, strict=True)):
        if not isinstance(before, dict) or set(before) != set(after):
            raise ReceiptError(f"the receipt has no output {number} that makes sense")
        for name in ("type", "samples"):
            if before[name] != after[name]:
                text = f"output {number}: {name} was {before[name]}, and is {after[name]}"
                yield Finding("outputs", text)
                break
        else:
            if before["digest"] != after["digest"]:
                yield Finding("outputs", f"output {number} has other bits")
