"""`gradiva reproduce`: a batch made again from its receipt, or which of its inputs has changed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gradiva.commands.contact_sheet import check_folder
from gradiva.commands.graph import made, only_pipeline
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.device import CPU
from gradiva.eager.values.batch import Batch
from gradiva.receipts import Receipt, ReceiptError, Reproducer, Reproduction

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva reproduce`."""
    parser.add_argument(
        "receipt",
        metavar="RECEIPT",
        help="a file with lines of JSON, as Pipeline.receipt().line() returns them; or such a line "
        "itself; or - for the standard input",
    )
    parser.add_argument(
        "--pipeline",
        required=True,
        metavar="FILE.py[:name]",
        help="a file, which is executed, and in it a function made by pipeline_def or a Pipeline; "
        "the name may be left out if there is one",
    )
    parser.add_argument(
        "--only", metavar="HEX", default="", help="the receipts whose digest begins with this"
    )
    parser.add_argument(
        "--save",
        metavar="DIR",
        help="write the outputs there, in a folder for each receipt: arrays as .npy, and images "
        "in uint8 as .png, too",
    )
    parser.add_argument("--threads", type=int, help="by default those of the pipeline")
    parser.add_argument("--json", action="store_true", help="print each result as a line of JSON")


def run(options: argparse.Namespace) -> int:
    """Make the batches again. Returns 1 if one was not reproduced. Raises GradivaError."""
    if options.threads is not None and options.threads < 1:
        raise _refusal("--threads", "1 or more", str(options.threads))
    if options.save is not None:
        check_folder(Path(options.save).absolute().parent, options.save, "reproduce")
    lines = [*_lines(options.receipt)]
    pipe = made(*only_pipeline(options.pipeline))
    found = good = 0
    with Reproducer(pipe, options.threads) as maker:
        for place, line in lines:
            try:
                receipt = Receipt.read(line)
                if not receipt.hex().startswith(options.only.lower()):
                    continue
                result = maker.reproduce(receipt)
            except ReceiptError as error:
                found += 1
                _tell_error(place, error, options.json)
                continue
            found += 1
            good += result.reproduced
            _tell(result, options.json)
            if options.save is not None and result.outputs is not None:
                _save(result, Path(options.save) / receipt.hex()[:16])
    if not found:
        raise _refusal("--only", "the beginning of a digest in the file", options.only or "no line")
    if found > 1 and not options.json:
        print(f"{good} of {found} batches reproduced")
    return int(good < found)


def _lines(given: str) -> Iterator[tuple[str, str]]:
    """The receipts, each with what errors call its place. Raises OperatorValueError."""
    if given.lstrip().startswith("{"):
        yield "the receipt", given
        return
    try:
        if given == "-":
            text = sys.stdin.read()
        else:
            text = Path(given).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise _refusal("receipt", "a file with receipts", f"{given}: {error}") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise _refusal("receipt", "a file with receipts", f"{given}, which is empty")
    for number, line in lines:
        yield f"{given}, line {number}", line


def _tell(result: Reproduction, as_json: bool) -> None:
    if not as_json:
        print(result)
        return
    said: dict[str, Any] = {
        "digest": result.receipt.hex(),
        "reproduced": result.reproduced,
        "same_outputs": result.same,
        "findings": [one._asdict() for one in result.findings],
    }
    print(json.dumps(said))


def _tell_error(place: str, error: ReceiptError, as_json: bool) -> None:
    text = f"{place}: {error}"
    if as_json:
        finding = {"kind": "receipt", "text": text, "harmless": False}
        print(json.dumps({"digest": None, "reproduced": False, "findings": [finding]}))
    else:
        print(f"not reproduced\n  receipt: {text}")


def _save(result: Reproduction, folder: Path) -> None:
    """Write the outputs and the line of the receipt. Raises OperatorValueError."""
    assert result.outputs is not None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "receipt.json").write_text(result.receipt.line() + "\n", "utf-8")
        for number, batch in enumerate(result.outputs):
            _save_batch(batch.to_device(CPU), folder, f"output_{number}")
    except OSError as error:
        raise _refusal("--save", "a folder of yours", f"{folder}: {error}") from error


def _save_batch(batch: Batch, folder: Path, name: str) -> None:
    if batch.batch_shape.uniform:
        np.save(folder / f"{name}.npy", batch.as_array())
    else:
        for sample, array in enumerate(batch.arrays()):
            np.save(folder / f"{name}_{sample:03}.npy", array)
    if batch.layout != "HWC" or batch.data.dtype != np.uint8:
        return
    for sample, array in enumerate(batch.arrays()):
        pixels = array[:, :, 0] if array.shape[2] == 1 else array
        if pixels.size and (pixels.ndim == 2 or pixels.shape[2] == 3):
            Image.fromarray(pixels).save(folder / f"{name}_{sample:03}.png")


def _refusal(argument: str, expected: str, got: str) -> OperatorValueError:
    return OperatorValueError(operator="reproduce", argument=argument, expected=expected, got=got)
