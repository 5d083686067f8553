"""experimental.readers.fits: types, units, and headers that cannot be."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.execution.quarantine import Quarantine

from .formats import unit

FIRST = unit(None, 1)


def read(path: Path, *contents: bytes, **arguments: Any) -> list[Any]:
    """The outputs of files with this content, each a list of arrays."""
    files = []
    for number, content in enumerate(contents):
        files.append(str(path / f"{number}.fits"))
        Path(files[-1]).write_bytes(content)
    reader = gradiva.experimental.readers.Fits(files=files, **arguments)
    found = next(reader.next_epoch(batch_size=len(files)))
    batches = found if isinstance(found, tuple) else (found,)
    return [[batch.array(sample) for sample in range(len(batch))] for batch in batches]


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "f4", "f8"])
def test_types(dtype: str, tmp_path: Path) -> None:
    array = (np.random.default_rng(2).random((3, 4, 5)) * 250 - 100).astype(dtype)
    ((found,),) = read(tmp_path, FIRST + unit(array))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("stored", "zero", "dtype"),
    [
        ("u1", "-128", "i1"),
        ("i2", "32768", "u2"),
        ("i4", "2147483648.0", "u4"),
        ("i8", "9223372036854775808", "u8"),
    ],
)
def test_types_that_are_stored_as_others(
    stored: str, zero: str, dtype: str, tmp_path: Path
) -> None:
    info = np.iinfo(dtype)
    values = np.array([info.min, info.min + 1, 0, 5, info.max], dtype)
    shifted = [int(value) - int(float(zero)) for value in values.tolist()]
    content = FIRST + unit(np.array(shifted, stored), BZERO=zero, BSCALE="1.0")
    ((found,),) = read(tmp_path, content)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    ((raw,),) = read(tmp_path, FIRST + unit(np.array([5], stored), BZERO=zero, BSCALE="2.0"))
    assert raw.dtype == np.dtype(stored)
    assert raw.tolist() == [5]


def test_units(tmp_path: Path) -> None:
    arrays = [np.arange(number, dtype=np.int32).reshape(1, -1) for number in (7, 800, 9)]
    content = unit(arrays[0], 1) + unit(arrays[1]) + unit(arrays[2])
    ((found,),) = read(tmp_path, content)
    np.testing.assert_array_equal(found, arrays[1])
    (third,), (first,) = read(tmp_path, content, hdu_indices=[3, 1])
    np.testing.assert_array_equal(third, arrays[2])
    np.testing.assert_array_equal(first, arrays[0])
    assert read(tmp_path, content, dtypes=gradiva.int32)
    with pytest.raises(gradiva.OperatorRuntimeError, match="2-D uint8"):
        read(tmp_path, content, dtypes=[gradiva.uint8])


def header(**cards: Any) -> bytes:
    return FIRST + unit(np.arange(4, dtype=np.int16), **cards)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "no such unit"),
        (b"no FITS file" * 1000, "unit 1 does not begin with SIMPLE"),
        (FIRST, "no such unit"),
        (FIRST + b"x" * 2880, "unit 2 does not begin with XTENSION"),
        (FIRST + header()[2880:3000], "header of unit 2 ends early"),
        (FIRST + unit(None), "it has no axes"),
        (FIRST + unit(np.zeros(4, np.uint8), kind="BINTABLE"), "no tables"),
        (FIRST + unit(np.zeros(4, np.uint8), kind="BINTABLE", ZIMAGE="T"), "compressed images"),
        (header(BITPIX=12), "BITPIX of unit 2 is 12"),
        (header(BITPIX="x"), "no integer"),
        (header(NAXIS=-1), "NAXIS of unit 2"),
        (header(NAXIS=1000), "NAXIS of unit 2"),
        (header(NAXIS=2), "NAXIS2 of unit 2"),
        (header(NAXIS1=-4), "the shape"),
        (header(NAXIS1=1 << 62), "impossible sizes"),
        (header(NAXIS1=1 << 40), "the file at byte"),
        (header(NAXIS1="9" * 30), "no integer"),
        (header(PCOUNT=-1), "impossible sizes"),
        (header(GCOUNT=2), "groups"),
        (header(BZERO="high"), "no number"),
    ],
)
def test_damaged_files(content: bytes, text: str, tmp_path: Path) -> None:
    good = FIRST + unit(np.arange(4, dtype=np.int16))
    with pytest.raises(gradiva.OperatorRuntimeError, match=text) as caught:
        read(tmp_path, good, content)
    assert "1.fits" in str(caught.value)
    with Quarantine(warns=False) as bad:
        assert len(read(tmp_path, good, content, on_error="skip")[0]) == 1
        ((_, replaced),) = read(tmp_path, good, content, on_error="replace")
    assert replaced.size == 0
    assert bad.total == 2


def test_headers_without_an_end(tmp_path: Path) -> None:
    with pytest.raises(gradiva.OperatorRuntimeError, match="does not end"):
        read(tmp_path, FIRST + b"XTENSION= 'IMAGE   '".ljust(80) * 36 * (1 << 12))


def test_several_types(tmp_path: Path) -> None:
    contents = [FIRST + unit(np.zeros(4, dtype)) for dtype in ("i2", "i4")]
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"expected 1-D int16, got 1-D int32"):
        read(tmp_path, *contents)


@pytest.mark.parametrize(
    "refused",
    [{"hdu_indices": [0]}, {"hdu_indices": []}, {"dtypes": ["uint8", "uint8"]}, {"files": []}],
)
def test_refusals(refused: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.fits").write_bytes(header())
    with pytest.raises(gradiva.OperatorValueError):
        gradiva.experimental.readers.Fits(**{"files": [str(tmp_path / "a.fits")], **refused})


def test_as_astropy_writes_them(tmp_path: Path) -> None:
    fits = pytest.importorskip("astropy.io.fits")
    image, shifted = np.arange(12.0).reshape(3, 4), np.arange(5, dtype=np.uint16)
    units = fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(image), fits.ImageHDU(shifted)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        units.writeto(tmp_path / "a.fits")
    found = read(tmp_path, (tmp_path / "a.fits").read_bytes(), hdu_indices=[2, 3])
    np.testing.assert_array_equal(found[0][0], image)
    np.testing.assert_array_equal(found[1][0], shifted)
