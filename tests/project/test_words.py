"""One word for one thing: names of the field in code, messages and documents; and one spelling.

Each of these words was once a name here, or a phrase, for which JAX, PyTorch, XLA, DALI or NumPy
have a term. They do not come back. Words are spelled as in the names of the field: US English.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("eager", "ops", "capture", "gradiva", "docs", "tutorials")
ENDINGS = {".py", ".md", ".cuh"}
ALLOWED = {
    ("gradiva/extension/__init__.py", "Geometry"),  # the older name, for users' operators
    ("docs/where_does_it_go.md", "Geometry"),
}

NAMES = {
    r"\bPlaced\b": "DeviceValue",
    r"\bLooks\b": "ExposureTracker",
    r"\bLeaf\b": "ConcreteInput",
    r"\bHome\b": "Evaluator",
    r"\b(twin|twins)\b": "snapshot",
    r"\b\w+Face\b": "LoopInterpreter, PipelineTensor, PipelineBatch",
    r"\bReindex\b": "View",
    r"\blooser\b": "decode_in_place",
    r"\bUnfitError\b": "NotFusableError",
    r"\bSweep\b": "FusedLoop",
    r"\bTail\b": "Epilogue",
    r"\bUnit\b": "KernelSource",
    r"\bOut\(": "OutputArg",
    r"\bteach\w*\b|\btaught\b": "register_extension",
    r"\bwhen_loaded\b": "extension_modules",
    r"\bborrow\w*\b": "without_refcount",
    r"\bKINDS\b": "argument_type",
    r"\bGeometry\b": "BatchShape",
    r"\bforgiv\w+\b": "continues_on_error",
    r"\b_?settle\w*\b": "apply_error_policy",
    r"\bblam(ed|ing)\b": "annotate_error",
    r"\b(lend|lent|lenders)\b": "mark_in_use",
    r"\bMade\(": "BatchOutputs",
    r"\bMarks\b": "SourceStates",
    r"\bhand(s|ed|ing)?[_ ]out\b": "outputs, returns",
    r"\.acts\b": "has_side_effects",
    r"\bcrew\b": "worker_handle",
    r"\bnursery\b": "fork_server",
    r"\bgrow_launches\b|\bgrown_": "dilate_erode",
    r"\bBeside\(|\bLater\(|\bpays_alone\b|\.pays\(": "SubprocessCompiler, BackgroundKernel",
    r"\bFlatCall\b|\bflat_call\b|\bcall_flat\b|\bNotFlatError\b": "PackedCall",
    r"\bshare_ranges\b|\branges_in_a_turn\b": "parallel_for, chunk_size",
    r"\boutlined\b": "noinline",
    r"\bgoes_past\w*\b|\bstrips_go_past\b": "use_nontemporal",
    r"\bOrigins\b|\bdroppers\b|\bblame\b: Callable": "SourceOffsets, dropping_calls",
    r"\brefuse_drawn\b|\bdrawn_among\b": "check_not_random, random_origin_among",
    r"\b(Deal|BatchMaker|Delivery|Ledger)\(": "ShardSchedule, BatchProducer, BatchFetcher",
    r"\b(KeptDecoders|FedSource)\b": "DecoderPool, QueueSource",
    r"\bPace\b|\bDescribed\b": "RateTracker, ValueEqual",
    r"\bCloser\b": "FinalizerThread",
    r"\bnot_stored\b|\.takes\b": "not_serializable, uses_arguments",
    r"\bchecked_(count|numbers|weights|labels|indices|rule|pickler|method)\b": "as_*",
    r"\bdef (refuse_(?!large|samples|symbol)\w+|require_(?!dtype|layout|ndim)\w+)": "check_*",
}
PHRASES = {
    "interpreter in force": "current interpreter",
    "between the brackets": "indexing expressions",
    "what becomes of": "error policy",
    r"\blet(s|ting)? go\b": "frees",
    r"\bkin\b": "related",
    r"\banew\b": "again",
    r"\bbe had\b": "available",
    r"\bwhoever\b": "the noun",
    r"\bruns? ahead of (you|the user)\b": "prefetches",
    r"\bin force\b": "current",
    r"\brooms\b": "layers",
    r"\bsounds\b|\bfilms\b": "audio, animation",
    r"\bthe reference( library)?\b(?! (count|to)\b)": "DALI",
    "kernels that nobody waits for": "background compilation",
}

BRITISH = (
    r"colour|grey|centre|centring|behaviour|flavour|favour|honour|neighbour|fibre|metre|litre|"
    r"defence|licence|catalogue|artefact|judgement|learnt|misspelt|fulfil(?!l)|"
    r"(?:label|model|travel)l(?:ed|ing)|"
    r"(?:binar|canonical|categor|character|custom|emphas|equal|factor|final|general|initial|item|"
    r"linear|local|material|maxim|memor|minim|neutral|normal|optim|organ|parallel|parameter|"
    r"parametr|penal|polar|priorit|quant|random|raster|real|recogn|sanit|serial|special|stabil|"
    r"standard|summar|symbol|synchron|token|util|vector|visual)is(?:e|ing|ation)"
)
"""Of words and of parts of identifiers, whatever their case."""
KEPT = {
    ("capture/__init__.py", "optimise"),  # the older name of `optimize`
    ("tests/capture/compiler/test_compiler_names.py", "optimise"),
    ("tests/gradiva/test_lazy_imports.py", "optimise"),
    ("tests/drop_in/scripts/classic.py", "normalise"),  # as users write
}


def pages(layers: tuple[str, ...] = LAYERS) -> list[Path]:
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    for layer in layers:
        for path in sorted((ROOT / layer).rglob("*")):
            linked = layer == "gradiva" and path.relative_to(ROOT).parts[1] in LAYERS
            if path.suffix in ENDINGS and not linked:
                found.append(path)
    return found


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in pages()}

NONE = re.RegexFlag(0)
WORDS = "\n".join({word for text in TEXTS.values() for word in re.findall(r"\.?\w+\(?", text)})
"""Each word once: what is not here is in none of the texts, which takes longer to see there."""


def uses(pattern: str, flags: re.RegexFlag = NONE) -> list[tuple[str, str]]:
    """Which files match a pattern, and with what."""
    if " " not in pattern and re.search(pattern, WORDS, flags) is None:
        return []
    return [
        (name, match[0])
        for name, text in TEXTS.items()
        for match in re.finditer(pattern, text, flags)
    ]


def test_a_use_is_found() -> None:
    assert ("eager/operators/operator.py", "OperatorBase") in uses(r"\bOperatorB\w+\b")
    assert ("README.md", "dynamic mode") in uses(r"\bdynamic mode\b")


def test_texts_are_found() -> None:
    assert {"README.md", "eager/operators/operator.py", "docs/design.md"} <= TEXTS.keys()
    assert len(TEXTS) > 500


@pytest.mark.parametrize(("word", "instead"), NAMES.items())
@pytest.mark.full
def test_names_are_those_of_the_field(word: str, instead: str) -> None:
    found = [use for use in uses(word) if use not in ALLOWED]
    assert found == [], f"write {instead}"


@pytest.mark.parametrize(("phrase", "instead"), PHRASES.items())
@pytest.mark.full
def test_phrases_are_plain(phrase: str, instead: str) -> None:
    found = uses(phrase, re.IGNORECASE)
    assert found == [], f"write: {instead}"


@pytest.mark.full
def test_spelling_is_that_of_the_us() -> None:
    british = re.compile(BRITISH, re.IGNORECASE)
    found, words = [], dict[str, bool]()
    for path in pages((*LAYERS, "benchmarks", "tests")):
        name = path.relative_to(ROOT).as_posix()
        if path == Path(__file__):
            continue
        for word in re.findall(r"\w+", f"{name} {path.read_text('utf-8')}"):
            if word not in words:  # each is looked at once
                words[word] = british.search(word) is not None
            if words[word]:
                found += [(name, match[0]) for match in british.finditer(word)]
    assert [f"{name}: {part}" for name, part in found if (name, part) not in KEPT] == []
