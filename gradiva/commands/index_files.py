"""`gradiva rec2idx` and its like: indices of container files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from gradiva.eager.support.errors import wrong_value
from gradiva.eager.support.local_files import write_whole
from gradiva.ops.readers.records import mxnet, tfrecord
from gradiva.ops.readers.records import tar_archive as archive
from gradiva.ops.storage.urls import is_url

__all__ = ["COMMANDS", "add_arguments", "run"]

COMMANDS: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "rec2idx": ("write the index of a RecordIO file", mxnet.index_lines),
    "tfrecord2idx": ("write the index of a TFRecord file", tfrecord.index_lines),
    "wds2idx": ("write the index of a WebDataset archive", archive.index_lines),
}
"""What each command does, and the lines of the index of a file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of these commands."""
    parser.add_argument("data", help="the file with the records")
    parser.add_argument(
        "index",
        nargs="?",
        help="where to write its index, a text file; the name up to its first dot and .idx, in the "
        "folder of the data or for a URL in the current one, if this is left out",
    )


def run(given: argparse.Namespace) -> int:
    """Write an index. Raises OperatorValueError and OperatorRuntimeError."""
    lines = COMMANDS[given.command][1](given.data)
    folder, name = os.path.split(given.data)
    folder = "" if is_url(given.data) else folder  # what is elsewhere has its index here
    index = given.index or os.path.join(folder, f"{name.partition('.')[0]}.idx")
    try:
        text = "".join(f"{line}\n" for line in lines)
        write_whole(index, text.encode("utf-8", "surrogateescape"))
    except (OSError, ValueError) as error:
        raise wrong_value("index", "a file that can be written", str(error)) from error
    print(f"{len(lines)} lines: {index}")
    return 0
