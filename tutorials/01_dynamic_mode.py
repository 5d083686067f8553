# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Batches of images, one call at a time
#
# This page shows gradiva as you would use it in a notebook: you call a function on a batch of
# images, and it returns the result. This is called *dynamic mode*. You should know NumPy; nothing
# else is needed. All photographs come with the package.
#
# The very first call of an operator on a machine takes a second or two: its kernel is compiled, and
# kept on disk. So the first run of this page is slow, and the second one is not.

# %%
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import gradiva

photographs = Path(gradiva.__file__).parent / "photographs"
names = sorted(str(path) for path in photographs.glob("*/*.jpg"))
print(*(Path(name).name for name in names))

# %% [markdown]
# ## A batch
#
# `imread` reads and decodes files. A notebook shows a batch as thumbnails. The caption of each
# shows its file and its shape.

# %%
images = gradiva.imread(names)
images

# %% [markdown]
# A *batch* is a number of samples of one dtype and one rank. Their shapes may differ, as they do
# here: such a batch is called ragged. The *layout* says what the axes of a sample mean. `HWC` is
# height, width, channels.

# %%
print(images)
print(len(images), images.dtype, images.layout, images.shape[:2])

# %% [markdown]
# Samples are NumPy arrays: `at(i)` is a view of one sample, without a copy.

# %%
cat = images.at(0)
assert isinstance(cat, np.ndarray)
assert cat.shape == (300, 451, 3)
print(cat.dtype, cat.mean())

# %% [markdown]
# Samples of different shapes do not make one array. gradiva says so instead of guessing. We will
# meet more errors on this page, so here is a small helper that expects one and prints it.


# %%
@contextmanager
def refused() -> Iterator[None]:
    """Expect an error of gradiva, and print its name and its text, without the place."""
    try:
        yield
    except gradiva.GradivaError as error:
        print(f"{type(error).__name__}: {str(error).split(chr(10) + '  at ')[0]}")
    else:
        raise AssertionError("this should have failed")


with refused():
    images.as_array()

# %% [markdown]
# ## Operators are functions
#
# An operator takes a batch and returns a new one. After this call the shorter side of every
# photograph is 96 pixels.

# %%
small = gradiva.resize(images, resize_shorter=96)
assert all(min(height, width) == 96 for height, width, _ in small.shape)
small

# %% [markdown]
# With one size for all, the batch is uniform, and `as_array` gives one array with the batch as
# its first axis. It shares the memory of the batch.

# %%
square = gradiva.resize(images, size=(96, 96))
assert square.as_array().shape == (7, 96, 96, 3)
assert np.shares_memory(square.as_array(), square.at(0))

# %% [markdown]
# An operator does nothing hidden. A flip gives the same as in NumPy:

# %%
mirrored = gradiva.flip(square, horizontal=1)
np.testing.assert_array_equal(mirrored.as_array(), square.as_array()[:, :, ::-1])
mirrored

# %% [markdown]
# Your own arrays become a batch with `as_batch`. Say what the axes mean, because an array does not.

# %%
down, across = np.mgrid[-3:3:64j, -3:3:96j]
waves = [np.sin(number * np.hypot(down, across)) for number in (1, 3, 5)]
ours = gradiva.as_batch(np.array(waves, np.float32), layout="HW")
assert ours.shape == [(64, 96)] * 3
assert ours.dtype == gradiva.float32
ours

# %% [markdown]
# Floats have no fixed range, so the picture is scaled for display, and the caption shows the range.
# Your values do not change.
#
# ## Arguments for each sample
#
# Most arguments may be given once, or once per sample: as a list, an array or a batch.

# %%
turned = gradiva.rotate(square, angle=[-30, -20, -10, 0, 10, 20, 30], keep_size=True)
np.testing.assert_array_equal(turned.at(3), square.at(3))
turned

# %% [markdown]
# If the numbers do not fit the batch, the error says what was expected and what was given. A
# misspelled name is found too; a type checker such as mypy finds it before you run the code.

# %%
with refused():
    gradiva.rotate(square, angle=[10, 20])
with refused():
    gradiva.rotate(square, angel=10)

# %% [markdown]
# ## Arithmetic
#
# Python's operators work on batches. A plain number is a constant of type int32 or float32: `uint8
# * 0.5` is float32, and `uint8 + 1` is int32. So nothing overflows silently. `cast` converts a
# result back to uint8: it rounds, and clips to 0 and 255.

# %%
darker = square * 0.5
brighter = gradiva.cast(square + 60, dtype=gradiva.uint8)
assert darker.dtype == gradiva.float32
assert (square + 60).dtype == gradiva.int32
np.testing.assert_array_equal(
    brighter.at(0), np.minimum(square.at(0).astype(int) + 60, 255).astype(np.uint8)
)
brighter

# %% [markdown]
# ## Slices
#
# `batch.slice[...]` takes a part of every sample. Write inside the brackets what you would write
# for one NumPy array. `batch.select(...)` takes some of the samples.

# %%
faces = small.slice[8:72, 8:72]
red = small.slice[..., 0]
assert faces.shape[0] == (64, 64, 3)
assert red.layout == "HW"
np.testing.assert_array_equal(red.at(1), small.at(1)[..., 0])
faces.select([0, 2, 3])

# %% [markdown]
# A plain subscript could mean either, so it is an error that names both.

# %%
with refused():
    small[0]

# %% [markdown]
# ## Layouts
#
# Networks often want channels first, and floats around zero. One operator does that. The layout of
# the result is `CHW`, and a notebook still shows it as a picture.

# %%
ready = gradiva.crop_mirror_normalize(
    square, crop=(80, 80), mean=[124.0, 116.0, 104.0], std=[58.0, 57.0, 57.0]
)
assert ready.layout == "CHW"
assert ready.shape[0] == (3, 80, 80)
ready

# %% [markdown]
# Operators read the layout. Colors need three channels, which a plain `HW` image does not have:

# %%
with refused():
    gradiva.hue(red, hue=90.0)

# %% [markdown]
# ## Boxes and masks
#
# `gradiva.show` draws boxes, labels and masks on images. A box is `left, top, right, bottom`: in
# pixels, or as parts of the width and height where no number is over 1, as here. A sample may have
# several boxes, and a label for each.

# %%
pair = images.select([0, 2])
boxes = gradiva.as_batch(
    np.array(
        [
            [[0.24, 0.24, 0.44, 0.50], [0.59, 0.29, 0.78, 0.57]],
            [[0.36, 0.07, 0.56, 0.32], [0.54, 0.60, 0.99, 0.98]],
        ],
        np.float32,
    )
)
labels = [["eye", "eye"], ["face", "helmet"]]
gradiva.show(pair, boxes=boxes, labels=labels, size=240)

# %% [markdown]
# When an image is mirrored, its boxes must be too. `bb_flip` takes the same argument as `flip`;
# `ltrb=True` says which four numbers a box has.

# %%
turns = [1, 0]
flipped = gradiva.bb_flip(boxes, horizontal=turns, ltrb=True)
np.testing.assert_allclose(flipped.at(0)[0], [0.56, 0.24, 0.76, 0.50], rtol=1e-6)
np.testing.assert_array_equal(flipped.at(1), boxes.at(1))
gradiva.show(gradiva.flip(pair, horizontal=turns), boxes=flipped, labels=labels, size=240)

# %% [markdown]
# A mask is an image of classes, or of booleans. A comparison makes one, here with a different
# threshold for each of the two samples. It finds the disc of a retina, and the white of a cup.

# %%
eye = images.select([1, 6])
masks = eye.slice[..., 0] > gradiva.as_batch([60, 215])
assert masks.dtype == gradiva.bool_
gradiva.show(eye, masks=masks, size=240)

# %% [markdown]
# ## Random values
#
# Random values are a batch like any other. `batch_size` asks for one per sample.

# %%
gradiva.random.set_seed(7)
angles = gradiva.random.uniform(range=(-25.0, 25.0), batch_size=square.batch_size)
print(angles)
gradiva.rotate(square, angle=angles, keep_size=True)

# %% [markdown]
# The same seed gives the same values, on any number of threads.

# %%
gradiva.random.set_seed(7)
again = gradiva.random.uniform(range=(-25.0, 25.0), batch_size=square.batch_size)
np.testing.assert_array_equal(again.as_array(), angles.as_array())

# %% [markdown]
# ## Readers and epochs
#
# A reader reads a folder that has one folder per label. `next_epoch` gives each file once, in
# batches. It delivers the encoded bytes of the files, as 1-D samples of uint8.

# %%
reader = gradiva.readers.File(file_root=str(photographs), random_shuffle=True)
count = 0
for files, labels in reader.next_epoch(batch_size=3):
    print(len(files), labels.as_array().ravel(), [Path(file).name for file in files.source_info()])
    decoded = gradiva.resize(gradiva.decoders.image(files), size=(96, 96))
    mirror = gradiva.random.coin_flip(batch_size=decoded.batch_size)
    decoded = gradiva.flip(decoded, horizontal=mirror)
    count += len(decoded)
assert count == reader.get_metadata()["epoch_size"] == 7
gradiva.show(decoded, labels=labels)

# %% [markdown]
# Seven files make batches of 3, 3 and 1. The next loop begins a new epoch, in another order. In a
# loop over a reader a random value belongs to a sample: it does not change when you change the
# batch size. Tutorial 05 is about that.
#
# ## Damaged files
#
# We copy three photographs, and truncate the second one in the middle. The error names the file.

# %%
folder = Path(tempfile.mkdtemp())
for number, name in enumerate([names[0], names[6], names[1]]):
    data = Path(name).read_bytes()
    (folder / f"{number}.jpg").write_bytes(data[:9000] if number == 1 else data)
paths = sorted(str(path) for path in folder.iterdir())

with refused():
    gradiva.imread(paths)

# %% [markdown]
# One bad file in a million should not end a training. With `on_error="skip"` the sample is left
# out, and a list called the quarantine says which, and why.

# %%
with gradiva.Quarantine(warns=False) as bad:
    rest = gradiva.imread(paths, on_error="skip")
for entry in bad:
    print(Path(entry.file or "").name, "-", entry.reason)
assert len(rest) == 2
assert [Path(entry.file or "").name for entry in bad] == ["1.jpg"]
rest

# %% [markdown]
# ## Errors in your own notebook
#
# An error names the operator, the argument, the sample, its file and your own line. In a notebook
# you see that line and the message, without the inner lines of gradiva. As text it reads so:

# %%
try:
    gradiva.crop(small, crop=(100, 100))
except gradiva.OperatorValueError as error:
    print(error)
    assert error.operator == "crop"
    assert error.sample == 0

# %% [markdown]
# All errors are of the class `GradivaError`, and at the same time a `TypeError`, a `ValueError` or
# a `RuntimeError`. Their facts are attributes, as you see above.
#
# Next: tutorial 02 takes a function like those above, and makes it a pipeline that prefetches.
