"""Writers of the formats that readers read: a data set of numbered samples in each."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gradiva
from gradiva import fn

MAGIC = struct.pack("<I", 0xCED7230A)


def chunks(data: bytes) -> bytes:
    """A RecordIO record: cut where the magic number stands aligned in the data."""
    parts, begin = [], 0
    for place in range(0, len(data) - 3, 4):
        if data[place : place + 4] == MAGIC:
            parts.append(data[begin:place])
            begin = place + 4
    parts.append(data[begin:])
    written = b""
    for number, part in enumerate(parts):
        kind = 0 if len(parts) == 1 else 1 if number == 0 else 3 if number == len(parts) - 1 else 2
        written += MAGIC + struct.pack("<I", kind << 29 | len(part)) + part + bytes(-len(part) % 4)
    return written


def image_record(image: bytes, labels: list[float], key: int = 0) -> bytes:
    """The data of a record of an image."""
    flag = 0 if len(labels) == 1 else len(labels)
    head = struct.pack("<IfQQ", flag, 0.0 if flag else labels[0], key, 0)
    return head + (struct.pack(f"<{flag}f", *labels) if flag else b"") + image


def write_recordio(folder: Path, name: str, records: list[bytes]) -> tuple[str, str]:
    """The file and its index."""
    data, index = b"", ""
    for key, record in enumerate(records):
        index += f"{key}\t{len(data)}\n"
        data += chunks(record)
    (folder / f"{name}.rec").write_bytes(data)
    (folder / f"{name}.idx").write_text(index)
    return str(folder / f"{name}.rec"), str(folder / f"{name}.idx")


def payload(number: int) -> bytes:
    """The bytes of a sample, of a length of its own."""
    return f"sample {number} ".encode() + bytes([number % 251]) * (number * 7 % 23)


def mxnet(folder: Path, size: int) -> dict[str, Any]:
    records = [image_record(payload(number), [float(number)]) for number in range(size)]
    path, index = write_recordio(folder, "data", records)
    return {"path": path, "index_path": index}


class Format(NamedTuple):
    """write: makes a data set in a folder, and returns the arguments; reader: of dynamic mode;
    function: of pipelines; indexed: the argument that may be left out, for a scan; files: those
    with samples; theirs: of the arguments, what both libraries take, the reference alone, and ours
    alone."""

    write: Callable[[Path, int], dict[str, Any]]
    reader: Callable[..., Any]
    function: Callable[..., Any]
    indexed: str | None = None
    files: str = "*"
    theirs: Callable[[dict[str, Any]], tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = (
        lambda data: (data, {}, {})
    )


FORMATS = {"mxnet": Format(mxnet, gradiva.readers.MXNet, fn.readers.mxnet, "index_path", "*.rec")}


def values(outputs: Any) -> tuple[Any, ...]:
    """The outputs of a reader, whatever they come in."""
    if isinstance(outputs, dict):
        return tuple(outputs.values())
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def read_epoch(reader: Any, batch_size: int) -> list[list[bytes]]:
    """An epoch in dynamic mode: for each sample its outputs as bytes."""
    return [
        [batch.array(sample).tobytes() for batch in values(outputs)]
        for outputs in reader.next_epoch(batch_size=batch_size)
        for sample in range(len(values(outputs)[0]))
    ]
