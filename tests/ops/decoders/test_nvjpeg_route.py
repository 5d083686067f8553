"""Which way each image takes, on real files of every flavor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError
from gradiva.ops.decoders.formats.decode import output_shape
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg.gpu.declarations import Output, Subsampling
from gradiva.ops.decoders.jpeg.gpu.frame import JpegFrame, read_frame
from gradiva.ops.decoders.jpeg.gpu.job import WHOLE, Job, stored_region
from gradiva.ops.decoders.jpeg.gpu.route import TABLE, Options, Path, Reason, route, table
from tests.oracle import flavors

pytestmark = pytest.mark.tiny

JPEGS = flavors.jpegs()


def frame(data: bytes) -> JpegFrame:
    array = np.frombuffer(data, np.uint8)
    return read_frame(array, probe(array))


def judged(name: str | bytes, **options: Any) -> tuple[Path, Reason, Output]:
    data = JPEGS[name]() if isinstance(name, str) else name
    row = table([frame(data)], Options(**options))[0]
    return Path(row["best"]), Reason(row["reason"]), Output(row["format"])


ENGINE = [
    "jpeg_444", "jpeg_422", "jpeg_420", "jpeg_cv440", "jpeg_optimized", "jpeg_restart", "jpeg_gray",
    "jpeg_exif6", "jpeg_1x1_2", "jpeg_7x9_1",
]  # fmt: skip
REST = {
    "jpeg_cv411": (Path.GPU_HYBRID, Reason.SAMPLING, Output.RGBI),
    "jpeg_sampled_4x2": (Path.GPU_HYBRID, Reason.SAMPLING, Output.RGBI),
    "jpeg_sampled_mixed": (Path.HOST, Reason.SAMPLING, Output.RGBI),
    "jpeg_progressive": (Path.GPU_HYBRID, Reason.PROGRESSIVE, Output.RGBI),
    "jpeg_gray_progressive": (Path.GPU_HYBRID, Reason.PROGRESSIVE, Output.RGBI),
    "jpeg_arithmetic": (Path.HOST, Reason.CODING, Output.RGBI),
    "jpeg_cmyk": (Path.HYBRID, Reason.COLOR, Output.UNCHANGED),
    "jpeg_ycck": (Path.HYBRID, Reason.COLOR, Output.UNCHANGED),
    "jpeg_cmyk_plain": (Path.HYBRID, Reason.COLOR, Output.UNCHANGED),
    "jpeg_rgb": (Path.HYBRID, Reason.COLOR, Output.UNCHANGED),
}


@pytest.mark.parametrize("name", [name for name in ENGINE if name in JPEGS])
def test_plain_files_may_go_to_the_engine(name: str) -> None:
    assert judged(name) == (Path.HARDWARE, Reason.NONE, Output.RGBI)


@pytest.mark.parametrize(("name", "expected"), [row for row in REST.items() if row[0] in JPEGS])
def test_others_go_where_they_can(name: str, expected: tuple[Path, Reason, Output]) -> None:
    assert judged(name) == expected


def test_every_flavor_is_judged() -> None:
    frames = [frame(make()) for make in JPEGS.values()]
    rows = table([*frames, None], Options())
    assert Path(rows[-1]["best"]) == Path.HOST
    assert Reason(rows[-1]["reason"]) == Reason.FORMAT
    assert set(rows["best"].tolist()) == {0, 1, 2, 3}
    assert ((rows["best"] == Path.HARDWARE) == (rows["reason"] == Reason.NONE)).all()


def test_files_that_the_header_condemns() -> None:
    data = bytearray(JPEGS["jpeg_420"]())
    place = data.index(b"\xff\xc0")
    for marker, bits, reason in (
        (0xC1, 12, Reason.PRECISION),
        (0xC3, 8, Reason.CODING),
        (0xC9, 8, Reason.CODING),
        (0xCA, 8, Reason.CODING),
    ):
        data[place + 1], data[place + 4] = marker, bits
        assert judged(bytes(data))[:2] == (Path.HOST, reason)
    data[place + 1], data[place + 4] = 0xC1, 8
    assert judged(bytes(data))[:2] == (Path.GPU_HYBRID, Reason.CODING)
    data[place + 1] = 0xC0
    assert judged(bytes(data[:-2]))[:2] == (Path.HOST, Reason.DAMAGE)
    scan = data.index(b"\xff\xda")
    data[scan + 4] = 1
    assert judged(bytes(data))[:2] == (Path.GPU_HYBRID, Reason.SCANS)


def test_gray_with_odd_factors_stays_on_the_host() -> None:
    data = bytearray(JPEGS["jpeg_gray"]())
    data[data.index(b"\xff\xc0") + 11] = 0x22
    assert judged(bytes(data))[:2] == (Path.HOST, Reason.SAMPLING)


@pytest.mark.parametrize(
    ("name", "output_type", "output"),
    [
        ("jpeg_420", "BGR", Output.BGRI),
        ("jpeg_420", "YCbCr", Output.RGBI),
        ("jpeg_420", "GRAY", Output.Y),
        ("jpeg_420", "ANY_DATA", Output.RGBI),
        ("jpeg_gray", "ANY_DATA", Output.Y),
        ("jpeg_gray", "BGR", Output.BGRI),
        ("jpeg_cmyk", "GRAY", Output.UNCHANGED),
    ],
)
def test_output_formats(name: str, output_type: str, output: Output) -> None:
    assert judged(name, output_type=output_type)[2] == output


def test_stored_rgb_as_gray_is_for_the_host() -> None:
    assert judged("jpeg_rgb", output_type="GRAY")[:2] == (Path.HOST, Reason.COLOR)


def test_smooth_upsampling_is_not_for_the_engine() -> None:
    assert judged("jpeg_420", jpeg_fancy_upsampling=True)[:2] == (
        Path.GPU_HYBRID,
        Reason.UPSAMPLING,
    )
    for name in ("jpeg_444", "jpeg_gray"):
        assert judged(name, jpeg_fancy_upsampling=True)[0] == Path.HARDWARE


def rows_of(count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """A table of engine-worthy images."""
    generator = np.random.default_rng(seed)
    rows = np.zeros(count, TABLE)
    rows["best"] = Path.HARDWARE
    rows["format"] = generator.choice([Output.RGBI, Output.Y], count)
    rows["subsampling"] = generator.choice([0, 1, 2, 3, Subsampling.GRAY], count)
    rows["area"] = generator.integers(1, 3_000_000, count)
    rows["share"] = generator.random(count)
    return rows


def test_the_load_is_a_share_of_the_files() -> None:
    rows = rows_of(10_000)
    for load in (0.0, 0.3, 0.65, 1.0):
        taken = (route(rows, Options(hw_decoder_load=load)).path == Path.HARDWARE).mean()
        assert abs(taken - load) <= 4 * (load * (1 - load) / 10_000) ** 0.5
    assert (route(rows, Options(engines=0)).path != Path.HARDWARE).all()
    best = rows["best"] == Path.HARDWARE
    assert (route(rows, Options(engines=7)).path[best] == Path.HARDWARE).all()
    assert (
        route(rows, Options(hw_decoder_load=0.65, engines=7)).path == route(rows, Options()).path
    ).all()


def test_the_path_of_an_image_does_not_depend_on_its_batch() -> None:
    rows = rows_of(300)
    rows["best"][::7] = Path.GPU_HYBRID
    rows["best"][::11] = Path.HOST
    whole = route(rows, Options()).path
    for size in (1, 7, 64):
        parts = [route(rows[i : i + size], Options()).path for i in range(0, 300, size)]
        assert np.array_equal(np.concatenate(parts), whole)
    order = np.random.default_rng(1).permutation(300)
    assert np.array_equal(route(rows[order], Options()).path, whole[order])


def test_large_images_have_their_code_undone_on_the_device() -> None:
    rows = rows_of(3)
    rows["best"] = [Path.GPU_HYBRID, Path.GPU_HYBRID, Path.HYBRID]
    rows["area"] = [1_000_000, 1_000_001, 9_000_000]
    assert route(rows, Options()).path.tolist() == [Path.HYBRID, Path.GPU_HYBRID, Path.HYBRID]
    low = Options(hybrid_huffman_threshold=0)
    assert route(rows, low).path.tolist() == [Path.GPU_HYBRID, Path.GPU_HYBRID, Path.HYBRID]


def test_order_of_the_work() -> None:
    rows = rows_of(400)
    rows["best"][::5] = Path.HYBRID
    rows["best"][::9] = Path.HOST
    routes = route(rows, Options())
    every = np.concatenate([*routes.hardware, routes.hybrid, routes.host])
    assert sorted(every.tolist()) == list(range(400))
    assert len(routes.hardware) == 2
    for batch in routes.hardware:
        assert len(set(rows["format"][batch])) == 1
        keys = list(zip(rows["subsampling"][batch], -rows["area"][batch], strict=True))
        assert keys == sorted(keys)
    assert (np.diff(rows["area"][routes.hybrid]) <= 0).all()
    assert (np.diff(routes.host) > 0).all()
    assert (rows["best"][routes.host] == Path.HOST).all()


def test_an_empty_batch() -> None:
    routes = route(table([], Options()), Options())
    assert routes.hardware == ()
    assert routes.path.size == routes.hybrid.size == routes.host.size == 0


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"hw_decoder_load": 1.5}, OperatorValueError),
        ({"hw_decoder_load": -0.1}, OperatorValueError),
        ({"hw_decoder_load": float("nan")}, OperatorValueError),
        ({"hw_decoder_load": "all"}, OperatorTypeError),
        ({"hw_decoder_load": True}, OperatorTypeError),
        ({"hybrid_huffman_threshold": -1}, OperatorValueError),
        ({"hybrid_huffman_threshold": None}, OperatorTypeError),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=next(iter(options))):
        Options(**options)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_windows_lie_where_the_orientation_puts_them(orientation: int) -> None:
    found = frame(JPEGS[f"jpeg_exif{orientation}"]())
    height, width = output_shape(found.info)[:2]
    y, x, h, w = window = 10, 21, 40, 30
    region = stored_region(found, Path.HYBRID, Output.RGBI, window, True, False)
    stored = np.arange(found.info.height * found.info.width).reshape(found.info.height, -1)
    upright = {
        1: stored,
        2: stored[:, ::-1],
        3: stored[::-1, ::-1],
        4: stored[::-1],
        5: stored.T,
        6: stored.T[:, ::-1],
        7: stored[::-1, ::-1].T,
        8: stored.T[::-1],
    }[orientation]
    assert upright.shape == (height, width)
    top, left, rows, columns = region
    part = stored[top : top + rows, left : left + columns]
    assert set(part.ravel()) == set(upright[y : y + h, x : x + w].ravel())
    plain = stored_region(found, Path.HYBRID, Output.RGBI, window, False, False)
    assert plain == window


def test_windows_that_are_cut_afterwards() -> None:
    found = frame(JPEGS["jpeg_420"]())
    height, width = found.info.height, found.info.width
    part = (1, 2, 30, 40)
    for path, output, window, fancy in (
        (Path.HARDWARE, Output.RGBI, part, False),
        (Path.HYBRID, Output.UNCHANGED, part, False),
        (Path.HYBRID, Output.RGBI, part, True),
        (Path.HYBRID, Output.RGBI, None, False),
        (Path.HYBRID, Output.RGBI, (0, 0, height, width), False),
    ):
        assert stored_region(found, path, output, window, True, fancy) == WHOLE


def test_where_the_pixels_go() -> None:
    data = np.frombuffer(JPEGS["jpeg_cmyk"](), np.uint8)
    found = read_frame(data, probe(data))
    h, w = found.info.height, found.info.width
    job = Job(0, data, found, Path.HYBRID, Output.UNCHANGED)
    job.write_to(1000)
    assert job.shape == (4, h, w)
    assert job.destination.tolist() == [1000 + i * h * w for i in range(4)] + 4 * [w]
    job = Job(0, data, found, Path.HYBRID, Output.RGBI, (3, 5, 20, 30))
    job.write_to(2**40)
    assert job.shape == (20, 30, 3)
    assert job.destination.tolist() == [2**40, 0, 0, 0, 90, 0, 0, 0]
    job = Job(0, data, found, Path.HARDWARE, Output.Y)
    assert job.shape == (h, w, 1)
