"""Arguments of old scripts: taken under their old names, with a warning at the user's line."""

from __future__ import annotations

import json
import warnings
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.compat.dali.backend as gradiva_backend
from gradiva import OperatorTypeError, fn, ops, types
from gradiva.capture.serialization.reader import read_pipeline
from gradiva.compat.dali.facts import facts
from gradiva.eager.operators.operator import operators
from gradiva.ops.decoders.image.image import encode
from tests.capture.serialization.stored import again, change, pipeline, text_of
from tests.tiers import few

crop: Any = gradiva.crop
"""Type checkers know no old names."""
IMAGES = gradiva.batch(
    [np.arange(192, dtype=np.uint8).reshape(8, 8, 3), np.full((6, 9, 3), 50, np.uint8)],
    layout="HWC",
)
FRAMES = gradiva.batch([np.zeros((2, 20, 20, 3), np.uint8)], layout="FHWC")
DTYPE: dict[str, str | None] = {"output_dtype": "dtype"}
BOTH: dict[str, str | None] = {"output_dtype": "dtype", "image_type": None}
WINDOW: dict[str, str | None] = dict.fromkeys(
    ("memory_stats", "split_stages", "use_chunk_allocator")
)
OLD: dict[str, dict[str, str | None]] = {
    "crop": BOTH,
    "crop_mirror_normalize": BOTH,
    "decoders.image_crop": WINDOW,
    "decoders.image_random_crop": WINDOW,
    "decoders.image_slice": WINDOW,
    "lookup_table": DTYPE,
    "optical_flow": {"output_format": "output_grid"},
    "readers.coco": {
        "dump_meta_files": "save_preprocessed_annotations",
        "dump_meta_files_path": "save_preprocessed_annotations_dir",
        "meta_files_path": "preprocessed_annotations",
        "save_img_ids": "image_ids",
    },
    "readers.nemo_asr": {"normalize_text": None},
    "resize": {"image_type": None},
    "rotate": DTYPE,
    "shapes": {"type": "dtype"},
    "slice": BOTH,
    "warp_affine": DTYPE,
}
READERS = [name for name in OLD if name.startswith("readers.")]
PNG = encode(np.asarray(IMAGES.at(0)), "PNG")
ENCODED = gradiva.batch([PNG, PNG])
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "crop": ((IMAGES,), {"crop": (3, 4)}),
    "crop_mirror_normalize": ((IMAGES,), {"crop": (3, 4)}),
    "decoders.image_crop": ((ENCODED,), {"crop": (3, 4)}),
    "decoders.image_random_crop": ((ENCODED,), {"seed": 3}),
    "decoders.image_slice": ((ENCODED,), {"start": [1], "end": [4], "axes": [0]}),
    "lookup_table": ((IMAGES,), {"keys": [50], "values": [1.0]}),
    "optical_flow": ((FRAMES,), {}),
    "resize": ((IMAGES,), {"size": (4, 4)}),
    "rotate": ((IMAGES,), {"angle": 90.0}),
    "shapes": ((IMAGES,), {}),
    "slice": ((IMAGES,), {"start": [1], "end": [4], "axes": [0]}),
    "warp_affine": ((IMAGES,), {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]}),
}
VALUES = {
    "output_dtype": types.FLOAT,
    "type": types.INT32,
    "image_type": types.RGB,
    "output_format": 2,
    **dict.fromkeys(WINDOW, True),
    "dump_meta_files": True,
    "dump_meta_files_path": "written",
    "meta_files_path": "written",
    "save_img_ids": True,
    "normalize_text": True,
}


def test_where_they_are() -> None:
    found = {name: dict(one.old_arguments) for name, one in operators.items() if one.old_arguments}
    assert found == OLD
    for name, arguments in OLD.items():
        known = operators[name].arguments
        assert not arguments.keys() & known.keys(), "an old name is not a name of today"
        assert {new for new in arguments.values() if new} <= known.keys()
        assert not arguments.keys() & facts()[name].arguments.keys() if name != "shapes" else True


@pytest.mark.parametrize(
    "renamed",
    few([(name, old) for name in OLD if name in CALLS for old in OLD[name]], count=5),
    ids="-".join,
)
def test_as_the_name_of_today(renamed: tuple[str, str]) -> None:
    """The same bits, and one warning at the line, however often it runs."""
    name, old = renamed
    operator, new = operators[name], OLD[name][old]
    inputs, given = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            found: Any = operator(*inputs, **given, **{old: VALUES[old]})  # type: ignore[operator]
    assert [(one.category, one.filename) for one in caught] == [(DeprecationWarning, __file__)]
    said = f"`{old}` is the old name of the argument `{new}`"
    if new is None:
        said = f"the argument `{old}` has no effect any more"
    assert str(caught[0].message) == f"{name}: {said}"
    more = {} if new is None else {new: VALUES[old]}
    expected: Any = operator(*inputs, **given, **more)  # type: ignore[operator]
    assert found.type == expected.type
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("where", ["pipeline", "class", "dynamic"])
def test_of_readers(where: str, tmp_path: Path) -> None:
    """They are read and written as under the names of today, and each is warned of."""
    (tmp_path / "a.png").write_bytes(PNG.tobytes())
    box = {"id": 1, "image_id": 7, "category_id": 3, "bbox": [0, 0, 4, 4], "iscrowd": 0, "area": 16}
    facts = {"id": 7, "file_name": "a.png", "height": 8, "width": 8}
    coco = {"images": [facts], "categories": [{"id": 3, "name": "x"}], "annotations": [box]}
    (tmp_path / "a.json").write_text(json.dumps(coco))
    folder = tmp_path / "written"
    folder.mkdir()

    def read(**given: Any) -> list[Any]:
        given["file_root"] = str(tmp_path)
        if where == "dynamic":
            (batch, *rest) = next(iter(gradiva.readers.COCO(**given).next_epoch(batch_size=1)))
            return [np.asarray(one.at(0)) for one in (batch, *rest)]

        @gradiva.pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def pipe() -> Any:
            if where == "class":
                return tuple(ops.readers.COCO(**given)())
            return tuple(fn.readers.coco(**given))

        with pipe() as made:
            return [np.asarray(one.at(0)) for one in made.run()]

    file = str(tmp_path / "a.json")
    with pytest.warns(DeprecationWarning, match="dump_meta_files") as caught:
        read(annotations_file=file, dump_meta_files=True, dump_meta_files_path=str(folder))
    assert {str(one.message).partition("`")[2].partition("`")[0] for one in caught} == {
        "dump_meta_files",
        "dump_meta_files_path",
    }
    with pytest.warns(DeprecationWarning, match="`meta_files_path` is the old name"):
        found = read(meta_files_path=str(folder))
    with pytest.warns(DeprecationWarning, match="`save_img_ids` is the old name"):
        ids = read(annotations_file=file, save_img_ids=True)
    assert [int(one.ravel()[0]) for one in ids[2:]] == [1, 7]
    for one, other in zip(found, ids, strict=False):
        np.testing.assert_array_equal(one, other)


def test_of_the_reader_of_manifests(tmp_path: Path) -> None:
    sound = tmp_path / "a.wav"
    with wave.open(str(sound), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(200))
    lines = tmp_path / "list.json"
    lines.write_text(json.dumps({"audio_filepath": str(sound), "duration": 0.1, "text": "Wörter"}))
    made: Any = gradiva.readers.NemoAsr
    with pytest.warns(DeprecationWarning, match="`normalize_text` has no effect"):
        reader = made(manifest_filepaths=str(lines), normalize_text=True)
    (_, _, text) = next(iter(reader.next_epoch(batch_size=1)))
    assert bytes(text.at(0)).decode() == "Wörter"


@pytest.mark.oracle
def test_all_of_the_reference() -> None:
    """Each operator that is here takes each argument that it takes there, the old ones included."""
    backend = pytest.importorskip("nvidia.dali.backend", exc_type=ImportError)
    lacking = {}
    for name, one in operators.items():
        if one.schema is None or (schema := backend.TryGetSchema(one.schema)) is None:
            continue
        known = {*gradiva_backend.GetSchema(one.schema).GetArgumentNames()}
        lacking[name] = {
            argument
            for argument in schema.GetArgumentNames()
            if argument not in known and not argument.startswith("_")
        }
    assert len(lacking) >= 120
    assert {name: arguments for name, arguments in lacking.items() if arguments} == {}


def test_under_both_names() -> None:
    with pytest.raises(OperatorTypeError, match=r"crop: `output_dtype` is the old name of .*dtype"):
        crop(IMAGES, crop=(2, 2), output_dtype=types.FLOAT, dtype=types.FLOAT)


def test_none_is_not_given() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = crop(IMAGES, crop=(2, 2), output_dtype=None, dtype=types.FLOAT)
    assert made.dtype == types.FLOAT


def test_the_class_warns_where_it_is_made() -> None:
    with pytest.warns(DeprecationWarning, match="old name of the argument `dtype`") as caught:
        cut = ops.Crop(crop=(2, 2), output_dtype=types.FLOAT)
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cut(IMAGES).dtype == types.FLOAT
    with (
        pytest.warns(match="old name"),
        pytest.raises(gradiva.OperatorValueError, match="given to the constructor already"),
    ):
        cut(IMAGES, output_dtype=types.FLOAT)


def test_a_wrong_value_is_named_by_the_name_of_today() -> None:
    with pytest.warns(match="old name"), pytest.raises(OperatorTypeError, match="`dtype`"):
        crop(IMAGES, crop=(2, 2), output_dtype=3.5)


def test_in_a_stored_pipeline() -> None:
    """Without a warning: nobody can change the line."""

    def build() -> Any:
        return fn.crop(fn.constant(fdata=[0.5] * 12, shape=[2, 2, 3]), crop=(1, 1))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = pipeline(build)

    def edit(message: Any) -> None:
        for operator in message.op:
            if operator.name == "Crop":
                text_of(operator, "output_dtype", 0)
                text_of(operator, "image_type", 0)

    restored = again(read_pipeline(change(pipe.serialize(), edit)))
    (made,) = restored.run()
    assert made.dtype == types.UINT8
    restored.close()
