"""One call per operator, written once and run by both libraries: `m` is the module of either, `t`
its types, `d` the inputs of `inputs_for` as its batches."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from photographs import encoded_photographs

__all__ = ["CALLS", "VIEWS", "inputs_for"]

BATCH = 64
HEIGHT, WIDTH = 400, 600

VIEWS = frozenset({"expand_dims", "reinterpret", "reshape", "squeeze", "permute_batch"})
"""Ours copy nothing: their ratio says little, so the geometric mean leaves them out."""


def inputs_for(as_batch: Callable[..., Any]) -> SimpleNamespace:
    """The inputs of the calls, the same values for both libraries."""
    rng = np.random.default_rng(0)

    def images(*shape: int, dtype: Any = np.uint8, high: int = 256) -> np.ndarray[Any, Any]:
        return rng.integers(0, high, (BATCH, *shape)).astype(dtype)

    boxes = rng.uniform(0, 0.5, (BATCH, 30, 2)).astype(np.float32)
    boxes = np.concatenate([boxes, boxes + 0.3], axis=2)
    matrix = np.array([[0.9, 0.2, -20.0], [-0.2, 1.1, 30.0]], np.float32)
    arrays: list[np.ndarray[Any, Any]] = []
    for one in images(200, 300, dtype=np.float32):
        file = io.BytesIO()
        np.save(file, one)
        arrays.append(np.frombuffer(file.getvalue(), np.uint8))
    window = np.tile(np.array([0.1, 0.2], np.float32), (BATCH, 1))
    return SimpleNamespace(
        images=as_batch(list(images(HEIGHT, WIDTH, 3)), layout="HWC"),
        others=as_batch(list(images(HEIGHT, WIDTH, 3)), layout="HWC"),
        gray=as_batch(list(images(HEIGHT, WIDTH, 1)), layout="HWC"),
        floats=as_batch(list(images(HEIGHT, WIDTH, 3, dtype=np.float32)), layout="HWC"),
        planes=as_batch(list(images(3, HEIGHT, WIDTH)), layout="CHW"),
        mosaic=as_batch(list(images(HEIGHT, WIDTH)), layout="HW"),
        video=as_batch(list(images(8, 100, 150, 3)), layout="FHWC"),
        classes=as_batch(list(images(200, 300, dtype=np.int32, high=8)), layout="HW"),
        labels=as_batch(list(images(1, dtype=np.int32, high=10))),
        numbers=as_batch(list(images(1000, dtype=np.float32))),
        boxes=as_batch(list(boxes)),
        box_labels=as_batch(list(images(30, dtype=np.int32, high=10))),
        points=as_batch(list(rng.uniform(0, 400, (BATCH, 1000, 2)).astype(np.float32))),
        matrices=as_batch([matrix] * BATCH),
        anchor=as_batch(list(window)),
        extent=as_batch(list(window + 0.5)),
        shape=as_batch([np.array([HEIGHT, WIDTH, 3], np.int64)] * BATCH),
        angles=as_batch(list(rng.uniform(-90, 90, BATCH).astype(np.float32))),
        pairs=as_batch([np.array([i, (i + 1) % BATCH], np.int32) for i in range(BATCH)]),
        order=as_batch([np.array(BATCH - 1 - i, np.int32) for i in range(BATCH)]),
        windows=as_batch([np.array([[200, 300], [200, 300]], np.int32)] * BATCH),
        places=as_batch([np.array([[0, 0], [150, 200]], np.int32)] * BATCH),
        jpeg=as_batch([np.frombuffer(one, np.uint8) for one in encoded_photographs(BATCH)]),
        npy=as_batch(arrays),
    )


_SHAPE = (HEIGHT, WIDTH, 3)
_TABLE = [255 - value for value in range(256)]
_ANCHORS = [x / 40 + y for x in range(40) for y in (0.0, 0.1, 0.3, 0.4)]
_RGB = {"mean": [123.0, 116.0, 103.0], "std": [58.0, 57.0, 57.0]}

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    # Geometry
    "resize, down": lambda m, t, d: m.resize(d.images, size=(224, 224)),
    "resize, up": lambda m, t, d: m.resize(d.video, size=(200, 300)),
    "resize, cubic": lambda m, t, d: m.resize(
        d.images, size=(224, 224), interp_type=t.INTERP_CUBIC
    ),
    "resize, Lanczos": lambda m, t, d: m.resize(
        d.images, size=(224, 224), interp_type=t.INTERP_LANCZOS3
    ),
    "resize, nearest": lambda m, t, d: m.resize(d.images, size=(224, 224), interp_type=t.INTERP_NN),
    "resize_crop_mirror": lambda m, t, d: m.resize_crop_mirror(
        d.images, resize_shorter=256, crop=(224, 224), mirror=1
    ),
    "random_resized_crop": lambda m, t, d: m.random_resized_crop(d.images, size=(224, 224)),
    "tensor_resize": lambda m, t, d: m.tensor_resize(
        d.images, sizes=[200, 300], axes=[0, 1], interp_type=t.INTERP_LINEAR
    ),
    "crop": lambda m, t, d: m.crop(d.images, crop=(224, 224)),
    "slice": lambda m, t, d: m.slice(d.images, d.anchor, d.extent),
    "pad": lambda m, t, d: m.pad(d.images, axes=[0, 1], shape=[420, 640]),
    "flip": lambda m, t, d: m.flip(d.images, horizontal=1),
    "flip, vertical": lambda m, t, d: m.flip(d.images, horizontal=0, vertical=1),
    "rotate": lambda m, t, d: m.rotate(d.images, angle=d.angles, keep_size=True),
    "warp_affine": lambda m, t, d: m.warp_affine(d.images, d.matrices),
    "paste": lambda m, t, d: m.paste(d.images, ratio=1.2, fill_value=[1, 2, 3]),
    "multi_paste": lambda m, t, d: m.multi_paste(
        d.images, in_ids=d.pairs, output_size=[400, 600], shapes=d.windows, out_anchors=d.places
    ),
    "transpose": lambda m, t, d: m.transpose(d.images, perm=[2, 0, 1]),
    "transpose, planes": lambda m, t, d: m.transpose(d.planes, perm=[1, 2, 0]),
    "reshape": lambda m, t, d: m.reshape(d.images, shape=[-1, 3]),
    "reinterpret": lambda m, t, d: m.reinterpret(d.images, dtype=t.INT8),
    "squeeze": lambda m, t, d: m.squeeze(d.gray, axis_names="C"),
    "expand_dims": lambda m, t, d: m.expand_dims(d.images, axes=[0]),
    "sphere": lambda m, t, d: m.sphere(d.images),
    "water": lambda m, t, d: m.water(d.images),
    "jitter": lambda m, t, d: m.jitter(d.images),
    "crop_mirror_normalize": lambda m, t, d: m.crop_mirror_normalize(
        d.images, crop=(224, 224), mirror=1, **_RGB
    ),
    # Color and intensity
    "brightness": lambda m, t, d: m.brightness(d.images, brightness=1.2),
    "contrast": lambda m, t, d: m.contrast(d.images, contrast=1.2),
    "brightness_contrast": lambda m, t, d: m.brightness_contrast(
        d.images, brightness=1.2, contrast=0.8
    ),
    "hue": lambda m, t, d: m.hue(d.images, hue=30.0),
    "saturation": lambda m, t, d: m.saturation(d.images, saturation=1.3),
    "hsv": lambda m, t, d: m.hsv(d.images, hue=30.0, saturation=1.3, value=0.9),
    "color_twist": lambda m, t, d: m.color_twist(d.images, hue=30.0, brightness=1.1),
    "color_space_conversion": lambda m, t, d: m.color_space_conversion(
        d.images, image_type=t.RGB, output_type=t.YCbCr
    ),
    "equalize": lambda m, t, d: m.equalize(d.images),
    "clahe": lambda m, t, d: m.clahe(d.gray, tiles_x=4, tiles_y=4, clip_limit=2.0),
    "lookup_table": lambda m, t, d: m.lookup_table(
        d.images, keys=list(range(256)), values=_TABLE, dtype=t.UINT8
    ),
    "normalize": lambda m, t, d: m.normalize(d.images),
    "normalize, of channels": lambda m, t, d: m.normalize(d.images, axes=[0, 1]),
    "normalize, by numbers": lambda m, t, d: m.normalize(d.images, mean=120.0, stddev=60.0),
    "debayer": lambda m, t, d: m.debayer(d.mosaic, blue_position=[0, 0]),
    # Filters and noise
    "gaussian_blur": lambda m, t, d: m.gaussian_blur(d.images, window_size=5),
    "gaussian_blur, wide": lambda m, t, d: m.gaussian_blur(d.images, sigma=4.0),
    "laplacian": lambda m, t, d: m.laplacian(d.images, window_size=3, dtype=t.FLOAT),
    "filter": lambda m, t, d: m.filter(d.images, np.ones((3, 3), np.float32) / 9),
    "median_blur": lambda m, t, d: m.experimental.median_blur(d.images),
    "dilate": lambda m, t, d: m.experimental.dilate(d.images),
    "erode": lambda m, t, d: m.experimental.erode(d.images),
    "noise.gaussian": lambda m, t, d: m.noise.gaussian(d.images, stddev=20.0),
    "noise.salt_and_pepper": lambda m, t, d: m.noise.salt_and_pepper(d.images, prob=0.1),
    "noise.shot": lambda m, t, d: m.noise.shot(d.images, factor=10.0),
    "jpeg_compression_distortion": lambda m, t, d: m.jpeg_compression_distortion(
        d.images, quality=50
    ),
    "erase": lambda m, t, d: m.erase(d.images, anchor=[50.0, 60.0], shape=[100.0, 100.0]),
    "grid_mask": lambda m, t, d: m.grid_mask(d.images, tile=50, ratio=0.5, angle=0.3),
    # Decoders
    "decoders.image": lambda m, t, d: m.decoders.image(d.jpeg, device="cpu"),
    "decoders.image_crop": lambda m, t, d: m.decoders.image_crop(
        d.jpeg, device="cpu", crop=(224, 224)
    ),
    "decoders.image_random_crop": lambda m, t, d: m.decoders.image_random_crop(
        d.jpeg, device="cpu"
    ),
    "decoders.image_slice": lambda m, t, d: m.decoders.image_slice(
        d.jpeg, d.anchor, d.extent, device="cpu"
    ),
    "decoders.numpy": lambda m, t, d: m.decoders.numpy(d.npy),
    "peek_image_shape": lambda m, t, d: m.peek_image_shape(d.jpeg),
    # Arrays
    "add": lambda m, t, d: d.images + d.others,
    "multiply by a number": lambda m, t, d: d.images * 1.5,
    "compare": lambda m, t, d: d.images > d.others,
    "bitwise": lambda m, t, d: d.images ^ d.others,
    "math.sqrt": lambda m, t, d: m.math.sqrt(d.floats),
    "math.sin": lambda m, t, d: m.math.sin(d.floats),
    "math.clamp": lambda m, t, d: m.math.clamp(d.images, 20, 200),
    "cast": lambda m, t, d: m.cast(d.images, dtype=t.FLOAT),
    "cast, to bytes": lambda m, t, d: m.cast(d.floats, dtype=t.UINT8),
    "cast_like": lambda m, t, d: m.cast_like(d.images, d.numbers),
    "cat": lambda m, t, d: m.cat(d.images, d.others),
    "cat, of channels": lambda m, t, d: m.cat(d.images, d.gray, axis=2),
    "stack": lambda m, t, d: m.stack(d.images, d.others),
    "one_hot": lambda m, t, d: m.one_hot(d.classes, num_classes=8, axis=0),
    "full": lambda m, t, d: m.full(d.labels, shape=[1, 1]),
    "zeros": lambda m, t, d: m.zeros(batch_size=BATCH, shape=_SHAPE, dtype=t.UINT8),
    "ones": lambda m, t, d: m.ones(batch_size=BATCH, shape=_SHAPE, dtype=t.UINT8),
    "zeros_like": lambda m, t, d: m.zeros_like(d.images),
    "ones_like": lambda m, t, d: m.ones_like(d.images),
    "full_like": lambda m, t, d: m.full_like(d.images, d.labels),
    "element_extract": lambda m, t, d: m.element_extract(d.video, element_map=[0, 3]),
    "permute_batch": lambda m, t, d: m.permute_batch(d.images, indices=d.order),
    "batch_permutation": lambda m, t, d: m.batch_permutation(batch_size=BATCH),
    "sequence_rearrange": lambda m, t, d: m.sequence_rearrange(
        d.video, new_order=[7, 6, 5, 4, 3, 2, 1, 0]
    ),
    "copy": lambda m, t, d: m.copy(d.images),
    "reductions.sum": lambda m, t, d: m.reductions.sum(d.images),
    "reductions.sum, of channels": lambda m, t, d: m.reductions.sum(d.images, axes=[0, 1]),
    "reductions.mean": lambda m, t, d: m.reductions.mean(d.images),
    "reductions.mean, of channels": lambda m, t, d: m.reductions.mean(d.images, axes=[0, 1]),
    "reductions.mean_square": lambda m, t, d: m.reductions.mean_square(d.images),
    "reductions.rms": lambda m, t, d: m.reductions.rms(d.images),
    "reductions.min": lambda m, t, d: m.reductions.min(d.images),
    "reductions.max, of channels": lambda m, t, d: m.reductions.max(d.images, axes=[0, 1]),
    "reductions.std_dev": lambda m, t, d: m.reductions.std_dev(d.images, 120.0),
    "reductions.variance, of channels": lambda m, t, d: m.reductions.variance(
        d.images, np.array([120.0, 110.0, 100.0], np.float32), axes=[0, 1]
    ),
    # Random
    "random.uniform": lambda m, t, d: m.random.uniform(
        range=[0.0, 1.0], batch_size=BATCH, shape=[1000]
    ),
    "random.uniform, of values": lambda m, t, d: m.random.uniform(
        values=[1.0, 2.0, 3.0], batch_size=BATCH, shape=[1000]
    ),
    "random.normal": lambda m, t, d: m.random.normal(batch_size=BATCH, shape=[1000]),
    "random.coin_flip": lambda m, t, d: m.random.coin_flip(batch_size=BATCH, shape=[1000]),
    "random.beta": lambda m, t, d: m.random.beta(
        alpha=0.4, beta=0.4, batch_size=BATCH, shape=[1000]
    ),
    "random.choice": lambda m, t, d: m.random.choice(
        10, p=[0.1] * 10, batch_size=BATCH, shape=[1000]
    ),
    # Boxes, points, masks
    "bb_flip": lambda m, t, d: m.bb_flip(d.boxes, ltrb=True),
    "bbox_paste": lambda m, t, d: m.bbox_paste(
        d.boxes, ratio=1.5, paste_x=0.2, paste_y=0.3, ltrb=True
    ),
    "bbox_rotate": lambda m, t, d: m.bbox_rotate(
        d.boxes,
        d.box_labels,
        angle=d.angles,
        input_shape=d.shape,
        bbox_layout="xyXY",
        shape_layout="HWC",
    ),
    "box_encoder": lambda m, t, d: m.box_encoder(d.boxes, d.box_labels, anchors=_ANCHORS),
    "random_bbox_crop": lambda m, t, d: m.random_bbox_crop(
        d.boxes,
        d.box_labels,
        bbox_layout="xyXY",
        thresholds=[0.1, 0.3, 0.5],
        aspect_ratio=[0.5, 2.0],
        scaling=[0.3, 1.0],
    ),
    "roi_random_crop": lambda m, t, d: m.roi_random_crop(
        crop_shape=[200, 200],
        roi_start=[100, 150],
        roi_end=[300, 400],
        in_shape=[HEIGHT, WIDTH],
        batch_size=BATCH,
    ),
    "random_crop_generator": lambda m, t, d: m.random_crop_generator(d.shape),
    "coord_flip": lambda m, t, d: m.coord_flip(d.points, center_x=300.0, center_y=200.0),
    "coord_transform": lambda m, t, d: m.coord_transform(
        d.points, MT=np.array([[0.9, 0.2, 5.0], [-0.2, 1.1, 3.0]], np.float32)
    ),
    "transforms.rotation": lambda m, t, d: m.transforms.rotation(
        angle=d.angles, center=[300.0, 200.0]
    ),
    "transforms.scale": lambda m, t, d: m.transforms.scale(d.matrices, scale=[1.5, 0.5]),
    "transforms.shear": lambda m, t, d: m.transforms.shear(d.matrices, angles=[10.0, 5.0]),
    "transforms.translation": lambda m, t, d: m.transforms.translation(
        d.matrices, offset=[10.0, 5.0]
    ),
    "transforms.crop": lambda m, t, d: m.transforms.crop(
        d.matrices, from_start=[0.0, 0.0], from_end=[9.0, 9.0], to_end=[5.0, 5.0]
    ),
    "transforms.combine": lambda m, t, d: m.transforms.combine(d.matrices, d.matrices),
    "segmentation.random_mask_pixel": lambda m, t, d: m.segmentation.random_mask_pixel(
        d.classes, foreground=1
    ),
    "segmentation.random_object_bbox": lambda m, t, d: m.segmentation.random_object_bbox(d.classes),
}
