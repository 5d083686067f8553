"""Writers of the formats that readers read: a data set of numbered samples in each."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import gradiva
from gradiva import fn
from gradiva import tfrecord as tfr

from .manifests import nemo_asr
from .row_formats import ROWS
from .videos import VIDEO

Split: TypeAlias = "tuple[dict[str, Any], dict[str, Any], dict[str, Any]]"
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


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    written = b""
    while number > 127:
        written += bytes([number & 127 | 128])
        number >>= 7
    return written + bytes([number])


def message(*fields: tuple[int, bytes | int]) -> bytes:
    """A protobuf message of (number, value)."""
    written = b""
    for number, value in fields:
        if isinstance(value, int):
            written += varint(number << 3) + varint(value)
        else:
            written += varint(number << 3 | 2) + varint(len(value)) + value
    return written


def feature(value: Any, packed: bool = True) -> bytes:
    """A Feature of bytes, or of a list of floats, integers or bytes."""
    values: list[Any] = [value] if isinstance(value, bytes) else list(value)
    if isinstance(values[0], bytes):
        return message((1, message(*((1, one) for one in values))))
    if isinstance(values[0], float):
        words = [struct.pack("<f", one) for one in values]
        inner = message((1, b"".join(words)))
        return message((2, inner if packed else b"".join(b"\x0d" + word for word in words)))
    integers = b"".join(map(varint, values))
    return message((3, message((1, integers)) if packed else message(*((1, v) for v in values))))


def example(features: dict[str, bytes]) -> bytes:
    entries = ((1, message((1, name.encode()), (2, one))) for name, one in features.items())
    return message((1, message(*entries)))


def masked_crc(data: bytes) -> int:
    """Bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write_tfrecord(folder: Path, name: str, records: list[bytes]) -> tuple[str, str]:
    """The file and its index."""
    data, index = bytearray(), ""
    for record in records:
        index += f"{len(data)} {len(record) + 16}\n"
        length = struct.pack("<Q", len(record))
        data += length + struct.pack("<I", masked_crc(length))
        data += record + struct.pack("<I", masked_crc(record))
    (folder / f"{name}.tfrecord").write_bytes(data)
    (folder / f"{name}.idx").write_text(index)
    return str(folder / f"{name}.tfrecord"), str(folder / f"{name}.idx")


def tfrecord(folder: Path, size: int) -> dict[str, Any]:
    records = [
        example(
            {
                "image": feature(payload(number)),
                "label": feature([number]),
                "box": feature([number / 4, 1.5] * (1 + number % 3)),
            }
        )
        for number in range(size)
    ]
    path, index = write_tfrecord(folder, "data", records)
    return {
        "path": path,
        "index_path": index,
        "features": {
            "image": tfr.FixedLenFeature([], tfr.string, ""),
            "label": tfr.FixedLenFeature([1], tfr.int64, -1),
            "box": tfr.VarLenFeature([2], tfr.float32, 0.0),
        },
    }


def tfrecord_of_theirs(data: dict[str, Any]) -> Split:
    import nvidia.dali.tfrecord as their

    kinds = {tfr.string: their.string, tfr.int64: their.int64, tfr.float32: their.float32}
    features = {
        name: their.VarLenFeature([*one.partial], kinds[one.dtype], one.default)
        if one.shape is None
        else their.FixedLenFeature([*one.shape], kinds[one.dtype], one.default)
        for name, one in data["features"].items()
    }
    both = {name: value for name, value in data.items() if name != "features"}
    return both, {"features": features}, {"features": data["features"]}


class Format(NamedTuple):
    """write: makes a data set in a folder, and returns the arguments; reader: of dynamic mode;
    function: of pipelines; indexed: the argument that may be left out, for a scan; files: those
    with samples; theirs: of the arguments, what both libraries take, DALI alone, and ours
    alone; checked: it is seen that a file was cut, for its size was known; named: DALI
    tells where a sample comes from; runs: it does so without a GPU."""

    write: Callable[[Path, int], dict[str, Any]]
    reader: Callable[..., Any]
    function: Callable[..., Any]
    indexed: str | None = None
    files: str = "*"
    theirs: Callable[[dict[str, Any]], Split] = lambda data: (data, {}, {})
    checked: bool = True
    named: bool = True
    runs: bool = True


def numpy(folder: Path, size: int) -> dict[str, Any]:
    for path in folder.glob("*.npy"):
        path.unlink()
    for number in range(size):
        array = np.arange(number, number + 6 + number % 3 * 2, dtype=np.int16).reshape(2, -1)
        with open(folder / f"data{number:02}.npy", "wb") as stream:
            np.save(stream, np.asfortranarray(array) if number % 4 == 1 else array)
    return {"file_root": str(folder)}


def numpy_of_theirs(data: dict[str, Any]) -> Split:
    """A list: of files in a folder DALI knows other names."""
    files = sorted(str(path) for path in Path(data["file_root"]).glob("*.npy"))
    return {"files": files}, {}, {}


def write_tar(
    path: Path, members: list[tuple[str, bytes]], kind: int = tarfile.USTAR_FORMAT
) -> None:
    """An archive without the padding that others have at the end."""
    with tarfile.open(path, "w", format=kind) as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        size = archive.offset
    path.write_bytes(path.read_bytes()[: size + 1024])


def webdataset(folder: Path, size: int) -> dict[str, Any]:
    members = []
    for number in range(size):
        members += [(f"d/{number}.jpg", payload(number)), (f"d/{number}.cls", b"%d" % number)]
    write_tar(folder / "data.tar", members)
    index = [f"v1.2 {size}"]
    place = 512
    for number in range(size):
        parts = []
        for name, data in members[2 * number : 2 * number + 2]:
            parts += [name.partition(".")[2], str(place), str(len(data)), name]
            place += 1024
        index.append(" ".join(parts))
    (folder / "data.idx").write_text("\n".join(index) + "\n")
    return {
        "paths": str(folder / "data.tar"),
        "index_paths": str(folder / "data.idx"),
        "ext": ["jpg", "cls"],
    }


def coco(folder: Path, size: int) -> dict[str, Any]:
    """Images and a JSON file; objects, polygons and runs differ in number."""
    for path in folder.glob("*.jpg"):
        path.unlink()
    images: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    for number in range(size):
        path = folder / f"data{number}.jpg"
        path.write_bytes(payload(number))
        height, width = 11 + number % 3, 12 + number % 5
        images.append({"id": number, "file_name": str(path), "height": height, "width": width})
        for place in range(number % 4):
            left = 1 + 3 * place
            outline = [
                [left, 2, left + 2.3, 2.1, left + 1.5, 9.7],
                [left, 9, left + 2, 9, left, 11],
            ]
            runs = {
                "size": [height, width],
                "counts": [height * left, 5, height * (width - left) - 5],
            }
            objects.append(
                {
                    "id": len(objects),
                    "image_id": number,
                    "category_id": 5 - place,
                    "bbox": [left + 0.1, 2.3, 2.7 * place + 1, 7.9],
                    "iscrowd": int(place == 2),
                    "segmentation": runs if place == 2 else outline,
                }
            )
    data = {
        "images": images[::-1],
        "categories": [{"id": key, "name": str(key)} for key in (3, 5, 4, 9)],
        "annotations": objects,
    }
    (folder / "annotations.json").write_text(json.dumps(data))
    return {
        "file_root": str(folder),
        "annotations_file": str(folder / "annotations.json"),
        "image_ids": True,
        "polygon_masks": True,
    }


def write_lmdb(
    path: Path, records: list[tuple[bytes, bytes]], page_size: int = 4096, name: str = "data.mdb"
) -> str:
    """A database in a folder: pages of records, and branches above them."""
    pages = [b"", b""]

    def node(key: bytes, head: tuple[int, int, int], value: bytes = b"") -> bytes:
        made = struct.pack("<4H", *head, len(key)) + key + value
        return made + bytes(len(made) % 2)

    def add(kind: int, nodes: list[bytes]) -> int:
        number, places, body = len(pages), b"", b""
        for one in nodes:
            body = one + body
            places += struct.pack("<H", page_size - len(body))
        lower = 16 + len(places)
        head = struct.pack("<Q4H", number, 0, kind, lower, page_size - len(body))
        pages.append(head + places + bytes(page_size - lower - len(body)) + body)
        return number

    def layer(kind: int, nodes: list[tuple[bytes, bytes]]) -> list[tuple[bytes, int]]:
        """Keys and numbers of the pages of these nodes."""
        parts: list[list[tuple[bytes, bytes]]] = [[]]
        for one in nodes:
            if sum(len(made) + 2 for _, made in [*parts[-1], one]) > page_size - 16:
                parts.append([])
            parts[-1].append(one)
        return [(part[0][0], add(kind, [made for _, made in part])) for part in parts]

    leaves = []
    for key, value in sorted(records):
        flags, kept = 0, value
        if len(value) > page_size // 4:
            flags, kept = 1, struct.pack("<Q", len(pages))
            count = -(-(16 + len(value)) // page_size)
            head = struct.pack("<QHHI", len(pages), 0, 4, count)
            content = (head + value).ljust(count * page_size, b"\0")
            pages += [content, *[b""] * (count - 1)]
        head_of = (len(value) & 0xFFFF, len(value) >> 16, flags)
        leaves.append((key, node(key, head_of, kept)))
    level, depth = layer(2, leaves) if leaves else [(b"", (1 << 64) - 1)], 1
    while len(level) > 1:
        heads = [(page & 0xFFFF, page >> 16 & 0xFFFF, page >> 32) for _, page in level]
        keys = [b"", *(key for key, _ in level[1:])]
        above = zip((key for key, _ in level), map(node, keys, heads), strict=True)
        level, depth = layer(1, [*above]), depth + 1
    for number in range(2):
        free = struct.pack("<IHH5Q", page_size, 8, 0, 0, 0, 0, 0, (1 << 64) - 1)
        tree = struct.pack("<IHH5Q", 0, 0, depth, 0, 0, 0, len(records), level[0][1])
        meta = struct.pack("<II2Q", 0xBEEFC0DE, 1, 0, 1 << 30) + free + tree
        meta += struct.pack("<QQ", len(pages) - 1, number)
        pages[number] = (struct.pack("<QHHHH", number, 0, 8, 0, 0) + meta).ljust(page_size, b"\0")
    path.mkdir(exist_ok=True)
    (path / name).write_bytes(b"".join(pages))
    return str(path)


def datum(image: bytes, label: int | None, *extents: int, encoded: int | None = None) -> bytes:
    sizes = zip((1, 2, 3), extents, strict=False)
    made = message(*sizes, (4, image)) + (b"" if label is None else message((5, label)))
    return made + (b"" if encoded is None else message((7, encoded)))


def caffe(folder: Path, size: int) -> dict[str, Any]:
    records = [(b"%08d" % n, datum(payload(n) * (1 + n % 5 * 40), n)) for n in range(size)]
    return {"path": write_lmdb(folder / "data", records) + "/data.mdb"}


def in_folders(data: dict[str, Any]) -> Split:
    """DALI takes folders only."""
    return {**data, "path": str(Path(data["path"]).parent)}, {}, {}


def tensor(kind: int, values: Any, dims: list[int] | None = None) -> bytes:
    """A TensorProto: 1 float, 2 int32, 3 byte, 4 string, 10 int64."""
    made = b"".join(message((1, one)) for one in ([len(values)] if dims is None else dims))
    made += message((2, kind))
    if kind == 1:
        return made + message((3, struct.pack(f"<{len(values)}f", *values)))
    if kind in (3, 4):
        return made + message(({3: 5, 4: 6}[kind], values))
    return made + message(({2: 4, 10: 10}[kind], b"".join(map(varint, values))))


def tensors(*parts: bytes) -> bytes:
    return message(*((1, part) for part in parts))


def caffe2(folder: Path, size: int) -> dict[str, Any]:
    records = [
        (
            b"%08d" % number,
            tensors(
                tensor(4, payload(number)),
                tensor(2, [number]),
                tensor(1, [number / 4, 2.5]),
                tensor(2, [1, 2, number, 4]),
            ),
        )
        for number in range(size)
    ]
    path = write_lmdb(folder / "data", records) + "/data.mdb"
    return {"path": path, "additional_inputs": 1, "bbox": True}


def sequence(folder: Path, size: int) -> dict[str, Any]:
    """Frames as PNM files without compression, in two folders; `size` sequences of two frames."""
    for path in folder.glob("*/*.ppm"):
        path.unlink()
    for stream, frames in (("a", min(size, 3) + 1), ("b", size - 2)):
        (folder / stream).mkdir(exist_ok=True)
        for number in range(frames):
            pixels = bytes(range(number, number + 3 * 4 * 5 - 1)) + stream.encode()
            path = folder / stream / f"data{number:02}.ppm"
            path.write_bytes(b"P6 4 5 255\n" + pixels)
    return {"file_root": str(folder), "sequence_length": 2}


def unit(array: Any, number: int = 2, kind: str = "IMAGE", **cards: Any) -> bytes:
    """An HDU with an image; without an array, the first one, which has none."""
    stored = None if array is None else np.asarray(array)
    bits = {"u1": 8, "i2": 16, "i4": 32, "i8": 64, "f4": -32, "f8": -64}
    values: dict[str, Any] = {"SIMPLE": "T"} if number == 1 else {"XTENSION": f"'{kind:8}'"}
    values["BITPIX"] = 8 if stored is None else bits[stored.dtype.str[1:]]
    values["NAXIS"] = 0 if stored is None else stored.ndim
    for axis in range(values["NAXIS"]):
        assert stored is not None
        values[f"NAXIS{axis + 1}"] = stored.shape[::-1][axis]
    values |= {} if number == 1 else {"PCOUNT": 0, "GCOUNT": 1}
    head = "".join(
        f"{key:8}= {value!s:>20} / text".ljust(80) for key, value in (values | cards).items()
    )
    data = b"" if stored is None else stored.astype(stored.dtype.newbyteorder(">")).tobytes()
    blocks = [f"{head}{'END':80}".encode(), data]
    return b"".join(
        one + (b" " if one is blocks[0] else b"\0") * (-len(one) % 2880) for one in blocks
    )


def fits(folder: Path, size: int) -> dict[str, Any]:
    for path in folder.glob("*.fits"):
        path.unlink()
    for number in range(size):
        image = np.arange(number, number + 6 + number % 3 * 2, dtype=np.int16).reshape(2, -1)
        whole = np.full(3, number, np.float32)
        content = unit(None, 1) + unit(image) + unit(whole)
        (folder / f"data{number:02}.fits").write_bytes(content[:-2868])  # without the filling
    return {"file_root": str(folder), "hdu_indices": [2, 3]}


FORMATS = {
    "video": Format(*VIDEO, checked=False),
    "nemo_asr": Format(
        nemo_asr,
        gradiva.readers.NemoAsr,
        fn.readers.nemo_asr,
        None,
        "*.wav",
        checked=False,
        named=False,
    ),
    "fits": Format(
        fits,
        gradiva.experimental.readers.Fits,
        fn.experimental.readers.fits,
        None,
        "*.fits",
        runs=False,
    ),
    "sequence": Format(
        sequence,
        gradiva.readers.Sequence,
        fn.readers.sequence,
        None,
        "*/*.ppm",
        checked=False,
        named=False,
    ),
    "caffe": Format(caffe, gradiva.readers.Caffe, fn.readers.caffe, None, "*/*.mdb", in_folders),
    "caffe2": Format(
        caffe2, gradiva.readers.Caffe2, fn.readers.caffe2, None, "*/*.mdb", in_folders
    ),
    "coco": Format(coco, gradiva.readers.COCO, fn.readers.coco, None, "*.jpg", checked=False),
    "mxnet": Format(mxnet, gradiva.readers.MXNet, fn.readers.mxnet, "index_path", "*.rec"),
    "numpy": Format(numpy, gradiva.readers.Numpy, fn.readers.numpy, None, "*.npy", numpy_of_theirs),
    "tfrecord": Format(
        tfrecord,
        gradiva.readers.TFRecord,
        fn.readers.tfrecord,
        "index_path",
        "*.tfrecord",
        tfrecord_of_theirs,
    ),
    "webdataset": Format(
        webdataset, gradiva.readers.Webdataset, fn.readers.webdataset, "index_paths", "*.tar"
    ),
}

FORMATS |= {
    name: Format(*made[:3], None, made[3], checked=False, runs=False) for name, made in ROWS.items()
}


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
