# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Detection: boxes that follow their images
#
# A detector learns from images, and from a box and a class for each object. Whatever moves the
# pixels has to move the boxes. This page shows:
#
# 1. a small data set in **COCO's format**, which is made here;
# 2. `gradiva.Targets`, which **follow** images through crops, flips and rotations;
# 3. which objects are **left** when a crop cuts them;
# 4. a **mosaic** of four images, and what a **network** gets: lists, or padded arrays;
# 5. the same as a **pipeline**, with the same bits.

# %%
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import gradiva
from gradiva import fn, pipeline_def, types

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## A data set
#
# Each picture has up to three objects on a gray background: discs, squares and triangles. Each
# class has a color of its own. So the pixels tell where an object is, and we can check all boxes.

# %%
NAMES = {1: "disc", 2: "square", 3: "triangle"}
COLORS = {1: (230, 60, 50), 2: (50, 190, 80), 3: (60, 90, 230)}


def paint(draw: Any, kind: int, box: Any) -> None:
    """Draw an object that fills its box: left, top, right, bottom."""
    left, top, right, bottom = box[0], box[1], box[2] - 1, box[3] - 1  # the last pixels
    if kind == 3:
        draw.polygon([(left, top), (left, bottom), (right, bottom)], COLORS[kind])
    else:
        (draw.ellipse if kind == 1 else draw.rectangle)((left, top, right, bottom), COLORS[kind])


random = np.random.default_rng(1)
pictures, objects = list[Any](), list[Any]()
for number in range(8):
    width, height = 240 - 10 * (number % 3), 160 + 10 * (number % 4)
    grain = random.integers(90, 130, (height, width), np.uint8)
    picture = Image.fromarray(grain).convert("RGB")
    draw = ImageDraw.Draw(picture)
    places = random.permutation(3)
    for kind in range(1, 1 + (number + 1) % 4):
        side = int(random.integers(36, 66))
        left, top = 74 * int(places[kind - 1]) + number, int(random.integers(5, height - 75))
        paint(draw, kind, (left, top, left + side, top + side))
        one = {"id": len(objects), "image_id": number, "category_id": kind, "iscrowd": 0}
        objects.append({**one, "bbox": [left, top, side, side], "area": side * side})
    picture.save(folder / f"{number}.png")
    pictures.append({"id": number, "file_name": f"{number}.png", "width": width, "height": height})

kinds = [{"id": kind, "name": name} for kind, name in NAMES.items()]
annotations = folder / "annotations.json"
content = {"images": pictures, "annotations": objects, "categories": kinds}
annotations.write_text(json.dumps(content))
print(len(pictures), "pictures,", len(objects), "objects; the first object:", objects[0])

# %% [markdown]
# ## Reading it
#
# `targets=True` puts what belongs to the objects of an image into one `Targets`. `ltrb` says that
# boxes are left, top, right, bottom. Pictures without objects are read as well: a detector should
# see some.

# %%
where: dict[str, Any] = {"file_root": folder, "annotations_file": annotations, "ltrb": True}
reader = gradiva.readers.COCO(**where, targets=True)
files, targets = next(iter(reader.next_epoch(batch_size=8)))
images = gradiva.decoders.image(files)
print(targets, [len(boxes) for boxes in targets.boxes.arrays()], "objects")
assert sum(map(len, targets.boxes.arrays())) == len(objects)


def named(targets: Any) -> Any:
    """For each image the names of its objects."""
    return [[NAMES[int(kind)] for kind in kinds] for kinds in targets.labels.arrays()]


gradiva.show(images, targets, labels=named(targets), size=240)

# %% [markdown]
# ## Operators take both
#
# Give an operator the targets behind the images, and it returns both. The boxes are computed once,
# when you read them, from those of the file and all that has happened since.

# %%
mirrored, follow = gradiva.flip(images, targets, horizontal=1)
small, follow = gradiva.resize(mirrored, follow, size=(128, 192))
print(follow)
print(targets.boxes.at(0), "->", follow.boxes.at(0))

# %% [markdown]
# The colors of the objects say where they are now. They agree with the boxes, up to the edges that
# the resizing has blurred.


# %%
def colored(image: Any, kind: int) -> Any:
    """The box around the pixels of a class, by their color."""
    near = np.abs(image.astype(int) - COLORS[kind]).sum(axis=2) < 150
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])


def check(images: Any, targets: Any, within: float) -> int:
    """Compare all boxes with the pixels; returns how many there are."""
    rows = zip(images.arrays(), targets.boxes.arrays(), targets.labels.arrays(), strict=True)
    for image, boxes, kinds in rows:
        for box, kind in zip(boxes, kinds, strict=True):
            assert np.abs(box - colored(image, int(kind))).max() <= within, (box, kind)
    return sum(map(len, targets.boxes.arrays()))


print(check(images, targets, within=0), "objects, to the pixel, as they were read")
print(check(small, follow, within=1.5), "objects after a flip and a resize")

# %% [markdown]
# ## What is left of an object
#
# A crop cuts objects, and options of `Targets` say what happens then. To see them, we take one box
# of 40 x 40 pixels, and a crop that leaves 10 of its 40 columns: a quarter of its area.

# %%
one, box = np.zeros((80, 100, 3), np.uint8), np.float32([[50, 20, 90, 60]])


def cropped(**options: Any) -> Any:
    """The boxes in the left 60 columns of the picture."""
    whole = gradiva.Targets(boxes=box, labels=np.int32([2]), **options)
    _, left = gradiva.slice(one, whole, start=0, end=60, axis_names="W")
    assert len(left.boxes) == len(left.labels), "a label goes with its box"
    return np.asarray(left.boxes).tolist()


print("cut at the edge:", cropped(), "not cut:", cropped(clip=False))
print("at least 0.25 of its area:", cropped(min_visibility=0.25))
print("at least 0.26 of its area:", cropped(min_visibility=0.26))
print("at least 401 pixels:", cropped(min_area=401))
print("at least 12 pixels wide and high:", cropped(min_size=12))
assert cropped() == cropped(min_visibility=0.25) == [[50, 20, 60, 60]]
assert cropped(clip=False) == box.tolist()
assert cropped(min_visibility=0.26) == cropped(min_area=401) == cropped(min_size=12) == []

# %% [markdown]
# `min_visibility` compares with the area in the first image, and `min_area` counts pixels of the
# last one. An object of which nothing is left is dropped, too, unless you say `drop=False`: then
# each object of the file keeps its row, with a box that has no area.
#
# ## A random augmentation
#
# This is a usual recipe. Each random operator draws once, so images and boxes get the same window,
# flip and angle. Operators on colors take targets, too, and leave them where they are.

# %%
LIMITS = {"min_visibility": 0.3, "min_size": 8.0}


def augment(images: Any, targets: Any) -> tuple[Any, Any]:
    count = images.batch_size
    window = {"size": (128, 160), "random_area": (0.4, 1.0)}
    images, targets = gradiva.random_resized_crop(images, targets, **window)
    coin = gradiva.random.coin_flip(batch_size=count)
    images, targets = gradiva.flip(images, targets, horizontal=coin)
    angle = gradiva.random.uniform(range=(-15.0, 15.0), batch_size=count)
    images, targets = gradiva.rotate(images, targets, angle=angle, keep_size=True, fill_value=110)
    light = gradiva.random.uniform(range=(0.7, 1.3), batch_size=count)
    return gradiva.color_twist(images, targets, brightness=light, saturation=1.1)


gradiva.random.set_seed(4)
reader = gradiva.readers.COCO(**where, targets=LIMITS)
files, targets = next(iter(reader.next_epoch(batch_size=8)))
images, targets = augment(gradiva.decoders.image(files), targets)
sides = np.concatenate([boxes[:, 2:] - boxes[:, :2] for boxes in targets.boxes.arrays()])
print(len(sides), "objects are left; the shortest side:", sides.min())
assert sides.min() >= 8
gradiva.show(images, targets, labels=named(targets), size=240)

# %% [markdown]
# A box is upright, so the box of a rotated square is larger than the square: the four corners of
# the first box are moved, and the new box is around them. The limits above left out objects of
# which the crop shows less than 0.3.
#
# ## A mosaic
#
# `mosaic` puts four images of the batch into one, which shows a network more objects, and smaller
# ones. It takes boxes, labels and columns together. Crops may come behind it.

# %%
four, together = gradiva.mosaic(images, targets, output_size=(256, 320), fill_value=110, seed=2)
assert all((boxes >= 0).all() for boxes in together.boxes.arrays())
assert all((boxes <= [320, 256, 320, 256]).all() for boxes in together.boxes.arrays())
gradiva.show(four, together, labels=named(together), size=240)

# %% [markdown]
# ## What a network gets
#
# The images become one array, normalized, with channels first. The number of objects differs, so
# boxes are a ragged batch. Some networks take a list, as those of torchvision do:


# %%
def normalized(images: Any) -> Any:
    return gradiva.crop_mirror_normalize(images, mean=[110.0], std=[60.0], dtype=types.FLOAT)


inputs = normalized(images).as_array()
pairs = zip(targets.boxes.arrays(), targets.labels.arrays(), strict=True)
lists = [{"boxes": boxes, "labels": labels} for boxes, labels in pairs]
print(inputs.shape, inputs.dtype, [len(one["labels"]) for one in lists])
lists[2]

# %% [markdown]
# Others take arrays of one size. `pad` fills them up, here with class 0, which is no object.

# %%
boxes = gradiva.pad(targets.boxes, axes=(0,), fill_value=0).as_array()
labels = gradiva.pad(targets.labels, axes=(0,), fill_value=0).as_array()
print(boxes.shape, labels.shape)
print(labels)
assert [int((row > 0).sum()) for row in labels] == [len(one["labels"]) for one in lists]

# %% [markdown]
# With `shape=(100,)` the arrays have 100 rows in each batch, as compiled models want, as long as no
# image has more objects.
#
# ## The same as a pipeline
#
# Here is all of it in one function. A pipeline calls it with symbols; its reader and its seed are
# given to the pipeline, which prepares batches in threads of its own. A pipeline returns what
# targets hold, and not the targets.


# %%
def prepared(files: Any, targets: Any) -> tuple[Any, Any, Any]:
    images, targets = augment(gradiva.decoders.image(files), targets)
    images, targets = gradiva.mosaic(images, targets, output_size=(256, 320), fill_value=110)
    boxes = gradiva.pad(targets.boxes, axes=(0,), shape=(12,), fill_value=0)
    labels = gradiva.pad(targets.labels, axes=(0,), shape=(12,), fill_value=0)
    return normalized(images), boxes, labels


@pipeline_def(batch_size=4, num_threads=2, seed=4)
def training() -> Any:
    return prepared(*fn.readers.coco(**where, targets=LIMITS, random_shuffle=True, name="reader"))


with training() as pipe:
    made = [[output.as_array() for output in pipe.run()] for _ in range(4)]
    print(pipe.explain())

# %% [markdown]
# Here is the loop in dynamic mode. All outputs of two epochs have the same bits: random values
# belong to the seed, the call and the sample.

# %%
gradiva.random.set_seed(4)
reader = gradiva.readers.COCO(**where, targets=LIMITS, random_shuffle=True)
batches = iter(made)
for _ in range(2):
    for files, targets in reader.next_epoch(batch_size=4):
        for output, expected in zip(prepared(files, targets), next(batches), strict=True):
            np.testing.assert_array_equal(output.as_array(), expected)
assert next(batches, None) is None
print("the same bits in", len(made), "batches")

# %% [markdown]
# ## In short
#
# | to do | use |
# |---|---|
# | read COCO's format | `readers.coco(..., targets=True)`, or a dict of limits |
# | boxes of your own source | `gradiva.Targets(boxes=..., labels=..., format=...)` |
# | leave out what a crop has cut off | `min_visibility`, `min_area`, `min_size` |
# | four images in one; objects of other images | `mosaic`; `copy_paste`, with masks |
# | ragged boxes; boxes of one size | `boxes.arrays()`; `pad(boxes, axes=(0,), shape=(100,))` |
# | look at them | `gradiva.show(images, targets, labels=names)` |
#
# [docs/targets.md](../docs/targets.md) says which operators take targets, and what is exact.
# [docs/mixing.md](../docs/mixing.md) says which images a mosaic puts together.
