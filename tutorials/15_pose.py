# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Pose: keypoints, their visibility, left and right
#
# A pose is a list of points for each person: head, hands, feet. They have to follow the image, and
# a mirror makes a left hand a right one. This page shows:
#
# 1. people with **keypoints** and masks in COCO's format, which are made here;
# 2. **flips**, which exchange left and right, and the **visibility** of points that are cut off;
# 3. **warps** by any matrix, for images, keypoints and masks;
# 4. one person in a window, and **heatmaps**, as networks learn them;
# 5. the same as a **pipeline**, and predictions **back** in the first picture.

# %%
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import fn, pipeline_def

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## People
#
# They face us, so their left is on our right. Each joint is a dot in a color of its own: the pixel
# at a keypoint says which joint is there, and we can check all results.

# %%
JOINTS = ["head", "left shoulder", "right shoulder", "left hand", "right hand"]
JOINTS += ["left foot", "right foot"]
PAIRS = [(1, 2), (3, 4), (5, 6)]
LIMBS = [(0, 7), (1, 2), (1, 3), (2, 4), (7, 5), (7, 6)]  # 7 is the hip
COLORS = [(250, 250, 250), (250, 60, 60), (60, 60, 250), (250, 160, 0)]
COLORS += [(0, 200, 250), (250, 80, 250), (60, 250, 60)]
LIMB, HEIGHT, WIDTH = (150, 140, 130), 160, 224
random = np.random.default_rng(3)


def near(start: Any, end: Any, radius: float) -> Any:
    """Of each pixel whether its center is near to a line."""
    ys, xs = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    along, to = end - start, np.stack([xs, ys], axis=2) - start
    part = np.clip(to @ along / max(along @ along, 1e-9), 0, 1)
    return np.linalg.norm(to - part[..., None] * along, axis=2) < radius


def person(center: float) -> Any:
    """The joints of a person, and the hip: (8, 2)."""
    places = [(0, 24), (16, 54), (-16, 54), (36, 70), (-36, 70), (16, 140), (-16, 140), (0, 95)]
    return np.array([center, 0]) + places + random.uniform(-6, 6, (8, 2))


def outline(start: Any, end: Any) -> list[float]:
    """A limb as a polygon: x and y of its corners."""
    across = (end - start)[::-1] / np.linalg.norm(end - start) * (4, -4)
    return np.concatenate([start + across, start - across, end - across, end + across]).tolist()


pictures, people = list[Any](), list[Any]()
for number in range(4):
    picture = np.repeat(random.integers(60, 90, (HEIGHT, WIDTH, 1), np.uint8), 3, axis=2)
    for center in [56, 168][: 1 + number % 2]:
        joints = person(center)
        for start, end in LIMBS:
            picture[near(joints[start], joints[end], 4)] = LIMB
        for joint, color in zip(joints, COLORS, strict=False):
            picture[near(joint, joint, 5)] = color
        points = np.column_stack([joints[:7], np.full(7, 2)])
        if number == 2:  # a hand behind something, and a foot that nobody has labeled
            picture[near(joints[4], joints[4], 12)] = (110, 110, 110)
            points[4, 2], points[5] = 1, 0
        corners = [outline(joints[start], joints[end]) for start, end in LIMBS]
        every = np.reshape(corners, (-1, 2))
        box = np.concatenate([every.min(axis=0), np.ptp(every, axis=0)]).tolist()
        one = {"id": len(people), "image_id": number, "category_id": 1, "iscrowd": 0, "bbox": box}
        one |= {"keypoints": points.ravel().tolist(), "segmentation": corners}
        people.append({**one, "area": box[2] * box[3]})
    Image.fromarray(picture).save(folder / f"{number}.png")
    pictures.append({"id": number, "file_name": f"{number}.png", "width": WIDTH, "height": HEIGHT})

annotations, kinds = folder / "annotations.json", [{"id": 1, "name": "person"}]
content = {"images": pictures, "annotations": people, "categories": kinds}
annotations.write_text(json.dumps(content))
print(len(people), "people; the first one:", people[0]["keypoints"][:6], "...")

# %% [markdown]
# ## Reading them
#
# The reader delivers keypoints (n, 7, 3) for n people, x, y and visibility: 2 is visible, 1 hidden,
# 0 not labeled. `keypoint_pairs` says which points are left and right of each other.

# %%
where: dict[str, Any] = {"file_root": folder, "annotations_file": annotations, "ltrb": True}
where |= {"extra": ["keypoints", "object_masks"], "targets": {"keypoint_pairs": PAIRS}}
files, targets = next(iter(gradiva.readers.COCO(**where).next_epoch(batch_size=4)))
images = gradiva.decoders.image(files)
print(targets, targets.keypoints.shape, targets.masks.shape)


def check(images: Any, keypoints: Any, joints: Any = range(7)) -> int:
    """Compare the colors at all visible points with those of joints; returns how many there are."""
    count = 0
    for image, several in zip(images.arrays(), keypoints.arrays(), strict=True):
        for points in several:
            for joint, (x, y, visibility) in zip(joints, points, strict=True):
                if visibility == 2:
                    color = np.array(COLORS[joint])
                    assert np.abs(image[int(y), int(x)] - color).max() < 60, JOINTS[joint]
                    count += 1
    return count


print(check(images, targets.keypoints), "visible points")
gradiva.show(images, targets, size=240)

# %% [markdown]
# ## Left and right
#
# In a mirror a left hand is a right hand. So the flip moves the points, and exchanges those of each
# pair: the point "left hand" is where the right hand was painted, in its color. These people still
# face us, and their left is still on our right.

# %%
mirrored, follow = gradiva.flip(images, targets, horizontal=1)
swapped = [0, 2, 1, 4, 3, 6, 5]
print(check(mirrored, follow.keypoints, joints=swapped), "visible points, in a mirror")
for points in (*targets.keypoints.arrays(), *follow.keypoints.arrays()):
    assert (points[:, 3, 0] > points[:, 4, 0]).all(), "the left hand is right of the right one"

# %% [markdown]
# That holds for all maps that mirror, also for a matrix of `warp_affine`. Two flips exchange points
# twice. Without pairs you would do it by hand, in those samples that are mirrored:

# %%
_, plain = gradiva.flip(images, gradiva.Targets(keypoints=targets.keypoints), horizontal=1)
for by_hand, points in zip(plain.keypoints.arrays(), follow.keypoints.arrays(), strict=True):
    np.testing.assert_array_equal(by_hand[:, swapped], points)

# %% [markdown]
# ## What a crop cuts off
#
# A point that leaves the image gets the visibility 0, and keeps its place, outside. A loss leaves
# out such points. Hidden points stay hidden, and move, too. If nothing is left of a person's box,
# the person is left out, with points and mask ([14_detection.py](14_detection.py) has limits).

# %%
_, left = gradiva.slice(images, targets, start=0, end=120, axis_names="H")
before, after = targets.keypoints.at(2)[0], left.keypoints.at(2)[0]
for name, one, other in zip(JOINTS, before.round(), after.round(), strict=True):
    print(f"{name:15}{one} -> {other}")
assert left.keypoints.at(2)[0, :, 2].tolist() == [2, 2, 2, 2, 1, 0, 0]
_, half = gradiva.slice(images, targets, start=0, end=112, axis_names="W")
print([len(points) for points in half.keypoints.arrays()], "people in the left half")
assert [masks.shape for masks in half.masks.arrays()] == [(1, 160, 112)] * 4

# %% [markdown]
# ## Warps
#
# `gradiva.transforms` makes matrices, one for each sample, and goes on from one to the next. Here
# they lead from the picture to the output, so `inverse_map` is False. Masks are sampled once, at
# the nearest pixel: they have no new values.


# %%
def jitter(count: Any, center: Any) -> Any:
    """Random matrices that turn and scale about a center."""
    angle = gradiva.random.uniform(range=(-30.0, 30.0), batch_size=count)
    size = gradiva.random.uniform(range=(0.8, 1.1), batch_size=count)
    turn = gradiva.transforms.rotation(angle=angle, center=center)
    return gradiva.transforms.scale(turn, scale=size, center=center)


gradiva.random.set_seed(1)
matrix = jitter(4, (WIDTH / 2, HEIGHT / 2))
turned, follow = gradiva.warp_affine(
    images, targets, matrix=matrix, inverse_map=False, fill_value=70
)
print(check(turned, follow.keypoints), "visible points after a warp")
for image, masks in zip(turned.arrays(), follow.masks.arrays(), strict=True):
    limbs = np.abs(image - np.array(LIMB)).max(axis=2) < 8
    assert masks.any(axis=0)[limbs].mean() > 0.98, "limbs are in the masks"
gradiva.show(turned, follow, size=240)

# %% [markdown]
# ## One person, and heatmaps
#
# Many networks see one person, in a window of one size. The matrix of the window comes from the box
# of the first person. A network learns a heatmap for each joint, at a quarter of the size. Both
# functions are NumPy; `prefetchable` says that they have no effects.

# %%
TALL, WIDE, STRIDE = 128, 96, 4


@gradiva.prefetchable
def window(boxes: Any) -> Any:
    """The matrix from a picture to a window around its first box, (2, 3)."""
    left, top, right, bottom = boxes[0]
    scale = 0.8 * min(WIDE / (right - left), TALL / (bottom - top))
    middle = scale * np.array([left + right, top + bottom]) / 2
    return np.column_stack([np.eye(2) * scale, (WIDE / 2, TALL / 2) - middle]).astype(np.float32)


@gradiva.prefetchable
def heatmaps(keypoints: Any) -> Any:
    """A spot for each joint of the first person, (7, 32, 24); none for visibility 0."""
    ys, xs = np.mgrid[: TALL // STRIDE, : WIDE // STRIDE] + 0.5
    x, y, visibility = keypoints[0].T[:, :, None, None]
    spots = np.exp(-((xs - x / STRIDE) ** 2 + (ys - y / STRIDE) ** 2) / 2)
    return (spots * (visibility > 0)).astype(np.float32)


def prepared(files: Any, targets: Any, training: bool = True) -> tuple[Any, ...]:
    images = gradiva.decoders.image(files)
    if training:
        coin = gradiva.random.coin_flip(batch_size=images.batch_size)
        images, targets = gradiva.flip(images, targets, horizontal=coin)
    matrix = gradiva.python_function(targets.boxes, function=window)
    if training:
        turn = jitter(images.batch_size, (WIDE / 2, TALL / 2))
        matrix = gradiva.transforms.combine(matrix, turn)
    images, targets = gradiva.warp_affine(
        images, targets, matrix=matrix, inverse_map=False, size=(TALL, WIDE), fill_value=70
    )
    maps = gradiva.python_function(targets.keypoints, function=heatmaps)
    return images, targets.keypoints.slice[0], targets.masks.slice[0], maps, matrix


# %% [markdown]
# ## The same as a pipeline
#
# The pipeline and the loop in dynamic mode call the same function, and get the same bits.


# %%
@pipeline_def(batch_size=4, num_threads=2, seed=5)
def training() -> Any:
    return prepared(*fn.readers.coco(**where, name="reader"))


with training() as pipe:
    made = [pipe.run() for _ in range(3)]
gradiva.random.set_seed(5)
reader = gradiva.readers.COCO(**where)
for batch in made:
    for files, targets in reader.next_epoch(batch_size=4):
        for output, expected in zip(prepared(files, targets), batch, strict=True):
            np.testing.assert_array_equal(output.as_array(), expected.as_array())
images, points, masks, maps, _ = made[0]
print("the same bits in", len(made), "batches of", images, "and heatmaps", maps.shape[0])
gradiva.show(images, gradiva.Targets(keypoints=points, masks=masks), size=192)

# %% [markdown]
# The heatmaps of each image, in one picture:

# %%
gradiva.show(gradiva.as_batch(maps.as_array().max(axis=1, keepdims=True), layout="CHW"), size=192)

# %% [markdown]
# ## Back in the picture
#
# A network predicts points in the window; the inverse of its matrix moves them back. Here the
# largest value of each heatmap is the prediction, so it is right up to half a cell of the heatmap.

# %%
files, targets = next(iter(reader.next_epoch(batch_size=4)))
_, _, _, maps, matrix = prepared(files, targets, training=False)
peaks = maps.as_array().reshape(4, 7, -1).argmax(axis=2)
places = STRIDE * (np.stack([peaks % 24, peaks // 24], axis=2) + 0.5)
whole = np.concatenate([matrix.as_array(), [[[0, 0, 1]]] * 4], axis=1)
window_points = gradiva.as_batch(places.astype(np.float32))
predicted = gradiva.coord_transform(window_points, MT=np.linalg.inv(whole)[:, :2])
points = targets.keypoints.slice[0].as_array()
away = np.abs(predicted.as_array() - points[..., :2]).max(axis=2) * (points[..., 2] > 0)
print("pixels away at most:", away.max(axis=1).round(2))
assert (away.max(axis=1) <= STRIDE / 2 / whole[:, 0, 0] + 0.01).all()

# %% [markdown]
# ## In short
#
# | to do | use |
# |---|---|
# | read keypoints and masks | `readers.coco(extra=["keypoints", "object_masks"], targets=...)` |
# | points of your own source | `gradiva.Targets(keypoints=..., pixel_origin=...)` |
# | exchange left and right in mirrors | `keypoint_pairs=[(1, 2), (3, 4)]` |
# | points that are cut off | their visibility is 0: the third number |
# | any matrix | `gradiva.transforms`, `warp_affine(images, targets, matrix=...)` |
#
# [docs/targets.md](../docs/targets.md) says where pixels and points are counted from.
