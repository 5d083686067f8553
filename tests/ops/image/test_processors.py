"""The image processors of `transformers`: the same bits, from the file to the model's input.

Where `transformers` or torchvision is not installed, values that they gave are compared instead.
"""

from __future__ import annotations

import hashlib
import importlib
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

import gradiva
from gradiva import fn, types

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
OPENAI = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
HALF = ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])
SIZES = (
    (28, 28),
    (300, 451),
    (400, 600),
    (1, 1),
    (3, 500),
    (500, 3),
    (10, 2000),
    (7, 11),
    (56, 56),
    (1200, 900),
    (57, 55),
    (13, 1300),
    (640, 480),
    (480, 641),
    (100, 100),
    (250, 60),
    (33, 29),
    (2000, 30),
    (777, 333),
    (42, 42),
)


def picture(height: int, width: int) -> Array:
    """Waves and edges, by whole numbers alone."""
    y, x, c = np.ogrid[:height, :width, :3]
    values = x * (3 + c) + y * (7 - 2 * c) + x // 9 % 2 * 90 + x * y // 50
    made: Array = (values % 256).astype(np.uint8)
    return made


def is_old() -> bool:
    """Before version 5 the processors that use Pillow have the plain names; and they take images of
    one or three rows for planes."""
    transformers = pytest.importorskip("transformers")
    return int(transformers.__version__.partition(".")[0]) < 5


def sizes() -> list[tuple[int, int]]:
    return [size for size in SIZES if not (is_old() and size[0] in (1, 3))]


def processor(name: str, compat: str, **options: Any) -> Any:
    """The processor that uses Pillow, or torchvision."""
    transformers = pytest.importorskip("transformers")
    if compat == "torchvision":
        pytest.importorskip("torchvision")
    ends = {"pil": "", "torchvision": "Fast"} if is_old() else {"pil": "Pil", "torchvision": ""}
    return getattr(transformers, f"{name}{ends[compat]}")(**options)


def qwen(f: Any, images: Any, compat: str, **sizes: Any) -> Any:
    images = f.smart_resize(images, compat=compat, **sizes)
    images = f.rescale_normalize(images, mean=OPENAI[0], std=OPENAI[1], compat=compat)
    return f.patches(images, patch_size=14, merge_size=2, temporal=2)


@pytest.mark.parametrize("compat", ["pil", "torchvision"])
def test_qwen2_vl(compat: str) -> None:
    """Twenty sizes, also very small and very wide ones."""
    made = processor("Qwen2VLImageProcessor", compat)
    images = [picture(*size) for size in sizes()]
    kind = "np" if compat == "pil" else "pt"
    wanted = made(images=[Image.fromarray(image) for image in images], return_tensors=kind)
    rows, grids = qwen(gradiva, gradiva.batch(images, layout="HWC"), compat)
    np.testing.assert_array_equal(gradiva.pixel_values(rows), np.asarray(wanted["pixel_values"]))
    np.testing.assert_array_equal(grids.as_array(), np.asarray(wanted["image_grid_thw"]))


@pytest.mark.parametrize("compat", ["pil", "torchvision"])
def test_other_patches(compat: str) -> None:
    """Patches of 16 pixels, as Qwen3-VL has them, other areas, means and merges."""
    options: dict[str, Any] = {"patch_size": 16, "min_pixels": 4096, "max_pixels": 65536}
    made = processor(
        "Qwen2VLImageProcessor", compat, **options, image_mean=HALF[0], image_std=HALF[1]
    )
    images = [picture(*size) for size in sizes()[1:9]]
    kind = "np" if compat == "pil" else "pt"
    wanted = made(images=[Image.fromarray(image) for image in images], return_tensors=kind)
    batch = gradiva.batch(images, layout="HWC")
    batch = gradiva.smart_resize(batch, compat=compat, **options)
    batch = gradiva.rescale_normalize(batch, mean=HALF[0], std=HALF[1], compat=compat)
    rows, _ = gradiva.patches(batch, patch_size=16, merge_size=2, temporal=2)
    np.testing.assert_array_equal(gradiva.pixel_values(rows), np.asarray(wanted["pixel_values"]))


def test_videos() -> None:
    """Frames are patched two by two; the last one is repeated."""
    pytest.importorskip("transformers")
    pytest.importorskip("torchvision")
    module = importlib.import_module("transformers.models.qwen2_vl.video_processing_qwen2_vl")
    clips = [
        np.stack([np.roll(picture(h, w), 5 * k, axis=1) for k in range(count)])
        for count, h, w in ((5, 120, 200), (4, 300, 200), (1, 64, 64))
    ]
    made = module.Qwen2VLVideoProcessor()
    wanted = made(videos=clips, return_tensors="pt", do_sample_frames=False)
    areas = {"min_pixels": 128 * 28 * 28, "max_pixels": 28 * 28 * 768}
    rows, grids = qwen(gradiva, gradiva.batch(clips, layout="FHWC"), "torchvision", **areas)
    found = gradiva.pixel_values(rows)
    np.testing.assert_array_equal(found, np.asarray(wanted["pixel_values_videos"]))
    np.testing.assert_array_equal(grids.as_array(), np.asarray(wanted["video_grid_thw"]))


CUBIC, LINEAR = types.INTERP_CUBIC, types.INTERP_LINEAR
OTHERS: dict[str, Any] = {
    "CLIPImageProcessor": ({}, {"resize_shorter": 224}, CUBIC, OPENAI),
    "ViTImageProcessor": ({}, {"size": (224, 224)}, LINEAR, HALF),
    "SiglipImageProcessor": ({}, {"size": (224, 224)}, CUBIC, HALF),
    # DINOv2: its stored settings.
    "BitImageProcessor": (
        {
            "size": {"shortest_edge": 256},
            "image_mean": IMAGENET[0],
            "image_std": IMAGENET[1],
            "crop_size": {"height": 224, "width": 224},
        },
        {"resize_shorter": 256},
        CUBIC,
        IMAGENET,
    ),
}


@pytest.mark.parametrize("compat", ["pil", "torchvision"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_processors(name: str, compat: str) -> None:
    """CLIP, ViT, SigLIP and DINOv2: resize, a window in the middle, rescale, normalize."""
    options, size, filter, (mean, std) = OTHERS[name]
    made = processor(name, compat, **options)
    images = [
        picture(*size)
        for size in ((300, 451), (640, 480), (224, 224), (225, 300), (230, 1000), (100, 90))
    ]
    kind = "np" if compat == "pil" else "pt"
    wanted = made(images=[Image.fromarray(image) for image in images], return_tensors=kind)

    @gradiva.pipeline_def(batch_size=len(images), num_threads=2, device_id=None)
    def pipeline() -> Any:
        x = fn.external_source(lambda: images, layout="HWC")
        x = fn.resize(x, compat=compat, interp_type=filter, **size)
        if "resize_shorter" in size:
            x = fn.crop(x, crop=(224, 224), rounding="truncate")
        x = fn.rescale_normalize(x, mean=mean, std=std, compat=compat)
        return fn.transpose(x, perm=[2, 0, 1])

    pipe = pipeline()
    (found,) = pipe.run()
    np.testing.assert_array_equal(found.as_array(), np.asarray(wanted["pixel_values"]))
    (group,) = pipe.explain()
    assert group.fused == group.batches


def test_to_tensor_and_normalize() -> None:
    """Those of torchvision, one after the other."""
    functional: Any = pytest.importorskip("torchvision.transforms.functional")
    image = np.arange(256 * 3, dtype=np.uint16).astype(np.uint8).reshape(16, 16, 3)
    tensor = functional.normalize(functional.to_tensor(image), *IMAGENET)
    made = gradiva.rescale_normalize(image, mean=IMAGENET[0], std=IMAGENET[1])
    np.testing.assert_array_equal(np.asarray(made), tensor.permute(1, 2, 0).numpy())


DIGESTS = {
    "pil": "9e787b808a21965a304349e8fa1d4086fbbdfef36f47455da9b7f3fac8bb1098",
    "torchvision": "d693f459d2632b9358eaf0faf27a74472de3fa8a7e8063f98800beb5b7c2066d",
}
"""SHA-256 of what the processors of transformers 5.24 made of these images."""
OF_DIGESTS = [(300, 451), (48, 64), (640, 480), (10, 300), (100, 100)]


@pytest.mark.full
@pytest.mark.parametrize("compat", DIGESTS)
def test_values_of_qwen2_vl(compat: str) -> None:
    """In every mode, from files on; for these sizes, Pillow 13 has the values of older versions."""
    files = []
    for size in OF_DIGESTS:
        memory = io.BytesIO()
        Image.fromarray(picture(*size)).save(memory, "PNG")
        files.append(np.frombuffer(memory.getvalue(), np.uint8))

    def work(f: Any, encoded: Any) -> Any:
        return qwen(f, f.decoders.image(encoded), compat)

    @gradiva.pipeline_def(batch_size=len(files), num_threads=2, device_id=None)
    def pipeline() -> Any:
        return work(fn, fn.external_source(lambda: files))

    compiled = gradiva.capture.compile(lambda encoded: work(gradiva, encoded))
    batch, pipe = gradiva.batch(files), pipeline()
    for rows, grids in (work(gradiva, batch), compiled(batch), pipe.run()):
        whole = gradiva.pixel_values(rows)
        assert np.shares_memory(whole, rows.data)
        assert hashlib.sha256(whole.tobytes()).hexdigest() == DIGESTS[compat]
        assert grids.as_array().tolist() == [
            [1, 22, 32],
            [1, 4, 4],
            [1, 46, 34],
            [1, 2, 22],
            [1, 8, 8],
        ]
    (group,) = pipe.explain()
    assert group.members[0] == "decoders.image"
    assert group.fused == group.batches


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    memory = io.BytesIO()
    image.save(memory, kind, **options)
    return memory.getvalue()


def files() -> dict[str, bytes]:
    photo = Image.fromarray(picture(90, 130))
    clear = photo.convert("RGBA")
    clear.putalpha(Image.fromarray(picture(90, 130)[..., 1]))
    few = photo.quantize(64)
    turned = {}
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[274] = orientation
        turned[f"orientation {orientation}"] = encoded(photo, "JPEG", exif=exif)
    return turned | {
        "JPEG": encoded(photo, "JPEG", subsampling=2, quality=70),
        "gray JPEG": encoded(photo.convert("L"), "JPEG"),
        "CMYK": encoded(photo.convert("CMYK"), "JPEG"),
        "gray PNG": encoded(photo.convert("L"), "PNG"),
        "alpha": encoded(clear, "PNG"),
        "gray and alpha": encoded(clear.convert("LA"), "PNG"),
        "palette": encoded(few, "PNG"),
        "palette with alpha": encoded(few, "PNG", transparency=3),
        "one bit": encoded(photo.convert("1"), "PNG"),
        "WebP": encoded(clear, "WEBP", lossless=True),
    }


def test_files_become_rgb_as_there() -> None:
    """`transformers.image_utils.load_image`: upright by the EXIF tag, then `convert("RGB")`."""

    for name, data in files().items():
        theirs = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        made = gradiva.decoders.image(data)
        np.testing.assert_array_equal(np.asarray(made), np.asarray(theirs), err_msg=name)
