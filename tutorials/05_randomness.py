# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Randomness and reproducibility
#
# A training run is random on purpose: files are shuffled, images are mirrored and cropped at
# random. It should still give the same values when you run it again, on another machine, with more
# threads, or after a crash.
#
# In NumPy a generator is a *stream*: each number that is drawn moves it forward. So a value depends
# on everything that was drawn before, and on the order of threads. gradiva works differently. A
# random value is *computed* from three numbers:
#
# - the **seed**;
# - the **number of the call**: first random call of the step, second one, and so on;
# - the **position of the sample** in the data.
#
# No state is consumed. This page shows the consequences, and asserts them.

# %%
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn, pipeline_def

random = gradiva.random
photographs = str(Path(gradiva.__file__).parent / "photographs")

# %% [markdown]
# ## Drawing values
#
# Without `batch_size` a call draws one value. With it, one for each sample.

# %%
random.set_seed(7)
one = random.uniform(range=(0, 1))
several = random.uniform(range=(0, 1), batch_size=5)
print(one)
print(several.as_array())

# %% [markdown]
# `set_seed` starts again. The same calls in the same order give the same values:

# %%
random.set_seed(7)
assert np.array_equal(one, random.uniform(range=(0, 1)))
assert np.array_equal(several.as_array(), random.uniform(range=(0, 1), batch_size=5).as_array())

# %% [markdown]
# The third sample's value depends on the third sample, not on how many others are drawn with it.
# With NumPy's streams that would be luck. Here it is a rule, and the most useful one:

# %%
random.set_seed(7)
random.uniform(range=(0, 1))
more = random.uniform(range=(0, 1), batch_size=1000)
assert np.array_equal(more.as_array()[:5], several.as_array())
print("the first 5 of 1000 are the 5 of above")

# %% [markdown]
# A common mistake: one value, where each sample should have its own. The library cannot detect it,
# but the pictures show it. In the upper row all are rotated by the same angle, because one angle
# was drawn.

# %%
names = ["animals/chelsea.jpg", "things/coffee.jpg", "people/astronaut.jpg", "space/rocket.jpg"]
files = [os.path.join(photographs, name) for name in names]
images = gradiva.resize(gradiva.imread(files), size=(120, 120))
random.set_seed(8)
alike = gradiva.rotate(images, angle=random.uniform(range=(-45, 45)), keep_size=True)
apart = gradiva.rotate(images, angle=random.uniform(range=(-45, 45), batch_size=4), keep_size=True)
gradiva.show([*alike, *apart], columns=4)

# %% [markdown]
# ## The distributions
#
# There are five kinds of values. This function draws a histogram, as an array of pixels, with
# NumPy alone.


# %%
def histogram(values: Any, low: float, high: float, bars: int) -> np.ndarray[Any, Any]:
    """An image of (140, 240, 3): how often values fall into each of the parts of low..high."""
    counts, _edges = np.histogram(np.asarray(values, np.float64), bars, (low, high))
    picture = np.full((140, 240, 3), 255, np.uint8)
    heights = np.round(120 * counts / counts.max()).astype(int)
    for bar, height in enumerate(heights):
        left = 8 + bar * 224 // bars
        right = max(left + 1, 8 + (bar + 1) * 224 // bars - 1)
        picture[130 - height : 130, left:right] = (76, 120, 168)
    picture[130:132, 4:236] = (60, 60, 60)
    return picture


many = {"shape": (20_000,), "seed": 1}
drawn = {
    "uniform, range=(0, 1)": (random.uniform(range=(0, 1), **many), 0, 1, 45),
    "uniform, values=[1, 2, 5]": (random.uniform(values=[1, 2, 5], **many), 0.5, 5.5, 15),
    "normal, mean=0, stddev=1": (random.normal(**many), -4, 4, 45),
    "beta, alpha=2, beta=5": (random.beta(alpha=2, beta=5, **many), 0, 1, 45),
    "coin_flip, probability=0.8": (random.coin_flip(probability=0.8, **many), -0.5, 1.5, 6),
    "choice of 0..3, p=[.1, .2, .3, .4]": (
        random.choice(np.int32(4), p=[0.1, 0.2, 0.3, 0.4], **many),
        -0.5,
        3.5,
        12,
    ),
}
for name, (values, *_) in drawn.items():
    print(f"{name:36s} mean {np.asarray(values, np.float64).mean():.3f}")
assert abs(np.asarray(drawn["normal, mean=0, stddev=1"][0]).mean()) < 0.03
assert abs(np.asarray(drawn["coin_flip, probability=0.8"][0]).mean() - 0.8) < 0.01

gradiva.show(
    [histogram(*entry) for entry in drawn.values()], labels=list(drawn), columns=3, size=240
)

# %% [markdown]
# Arguments may be given per sample: here each image gets noise of a different strength.

# %%
gradiva.noise.gaussian(images, stddev=[0, 15, 40, 90], seed=2)

# %% [markdown]
# Invalid arguments raise an error that names the sample:

# %%
try:
    random.uniform(range=[(0, 1), (1, 0)], batch_size=2)
except gradiva.OperatorValueError as error:
    print(str(error).partition("\n  at ")[0])
    assert error.sample == 1
else:
    raise AssertionError("an empty range was accepted")

# %% [markdown]
# ## Steps: the loop over a reader
#
# Outside of a loop a generator counts its own calls. Inside a loop over a reader each iteration is
# a **step**: calls are counted from 0 again, and the samples have the positions that the reader
# gave them. So the batch size does not matter. Here is a function with three random calls, and the
# seven photographs in batches of 1, 2, 3 and 7.


# %%
def augment(encoded: Any) -> Any:
    pictures = gradiva.resize(gradiva.decoders.image(encoded), size=(120, 120))
    pictures = gradiva.flip(pictures, horizontal=random.coin_flip(batch_size=encoded.batch_size))
    angle = random.normal(stddev=12.0, batch_size=encoded.batch_size)
    bright = random.uniform(range=(0.6, 1.4), batch_size=encoded.batch_size)
    pictures = gradiva.rotate(pictures, angle=angle, keep_size=True)
    return gradiva.brightness(pictures, brightness=bright)


def epoch(batch_size: int, seed: int = 7, **options: Any) -> dict[str, Any]:
    """All samples of one epoch in dynamic mode, by the name of their file."""
    random.set_seed(seed)
    reader = gradiva.readers.File(file_root=photographs, random_shuffle=True, **options)
    found = {}
    for encoded, _labels in reader.next_epoch(batch_size=batch_size):
        batch = augment(encoded)
        found.update(zip(map(os.path.basename, batch.source_info()), batch, strict=True))
    return found


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether these are the same files with the same bits."""
    return left.keys() == right.keys() and all(
        np.array_equal(left[name], right[name]) for name in left
    )


whole = epoch(batch_size=7)
for size in (1, 2, 3):
    assert same(epoch(size), whole)
print("batches of 1, 2, 3 and 7: the same bits")
gradiva.show(list(whole.values()), columns=4)

# %% [markdown]
# The number of threads does not matter either. Nor does it matter if a pipeline makes the batches,
# in other threads, three batches in advance:

# %%
for threads in (1, 4):
    gradiva.set_num_threads(threads)
    assert same(epoch(3), whole)
gradiva.set_num_threads(None)


@pipeline_def(batch_size=2, seed=7)
def training() -> Any:
    encoded, labels = fn.readers.file(file_root=photographs, random_shuffle=True, name="reader")
    return augment(encoded), labels


for options in ({"num_threads": 1}, {"num_threads": 3, "prefetch_queue_depth": 3}):
    pipe = training(**options)
    piped: dict[str, Any] = {}
    while len(piped) < 7:
        batch, _labels = pipe.run()
        fresh = zip(map(os.path.basename, batch.source_info()), batch, strict=True)
        piped.update((name, sample) for name, sample in fresh if name not in piped)
    pipe.close()
    assert same(piped, whole)
print("one thread, four threads, two pipelines: the same bits")

# %% [markdown]
# Worker processes change nothing either. An external source with `parallel=True` calls your
# function for its samples in worker processes. Their results are put in order before any random
# operator uses them:


# %%
def ramp(info: Any) -> Any:
    """Sample number `info.idx_in_epoch`: an image that a worker process makes."""
    if info.idx_in_epoch >= 6:
        raise StopIteration
    return np.full((8, 8, 3), 40 * info.idx_in_epoch, np.uint8)


def made_by(workers: int) -> list[Any]:
    @pipeline_def(batch_size=3, num_threads=2, seed=7, py_num_workers=workers)
    def ramps() -> Any:
        squares = fn.external_source(ramp, batch=False, parallel=workers > 0, layout="HWC")
        return fn.noise.gaussian(squares, stddev=9.0)

    pipe = ramps()
    batches = [pipe.run()[0].as_array() for _ in range(2)]
    pipe.close()
    return batches


alone = made_by(workers=0)
for workers in (1, 2):
    for ours, theirs in zip(made_by(workers), alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)
print("no workers, one, two: the same bits")

# %% [markdown]
# Another seed gives other values, and another order of the files:

# %%
other = epoch(batch_size=7, seed=8)
assert not same(other, whole)
assert list(other) != list(whole)
gradiva.show(list(other.values()), columns=4)

# %% [markdown]
# ### What does change the values
#
# The number of a call is its place in the step. A call that you insert *before* others moves them,
# so these draw other values. If that must not happen, give a call a seed of its own. Such a call
# does not depend on its number:


# %%
def two_calls(extra: bool) -> tuple[Any, Any]:
    with gradiva.step(first_position=0, batch_size=4):
        if extra:
            random.uniform(batch_size=4)
        moved = random.uniform(batch_size=4).as_array()
        fixed = random.uniform(batch_size=4, seed=5).as_array()
    return moved, fixed


random.set_seed(7)
(moved, fixed), (moved_too, fixed_too) = two_calls(False), two_calls(True)
assert not np.array_equal(moved, moved_too)
assert np.array_equal(fixed, fixed_too)

# %% [markdown]
# `gradiva.step` opens a step explicitly: this is useful if your data do not come from a reader, or
# in a test. It also answers the question "what did sample 5 draw?" without the others:

# %%
with gradiva.step(first_position=5, batch_size=1):
    fifth = random.uniform(batch_size=1).as_array()
with gradiva.step(first_position=0, batch_size=10):
    ten = random.uniform(batch_size=10).as_array()
assert fifth[0] == ten[5]

# %% [markdown]
# A **schedule** is not random, but belongs to a batch in the same way: it is a number that follows
# the epoch, the step or the sample. So it can be given where a random value can, and batches that
# are made ahead, and resumed runs, have the values of their place in the training:

# %%
widest = gradiva.schedule({0: 5.0, 4: 45.0}, mode="cosine")  # by the epoch
reader = gradiva.readers.File(file_root=photographs)
for epoch_number in range(5):
    for files, _ in reader.next_epoch(batch_size=4):
        angle = random.uniform(range=(-widest, widest), batch_size=files.batch_size)
        assert abs(angle.as_array()).max() <= widest.at(epoch_number)
    print(epoch_number, widest.at(epoch_number), angle.as_array().round(1))
widest

# %% [markdown]
# Two calls with the *same* explicit seed draw the same numbers. That is another common mistake: a
# mirror and a brightness that always change together.

# %%
coin = random.uniform(range=(0, 1), batch_size=6, seed=5).as_array()
gain = random.uniform(range=(0, 10), batch_size=6, seed=5).as_array()
np.testing.assert_allclose(10 * coin, gain, rtol=1e-5)
print("linked:", coin.round(2), gain.round(1))

# %% [markdown]
# Last, values from elsewhere. gradiva cannot control `np.random` inside a function of yours: it is
# a stream, and a pipeline draws from it in advance. Draw with `gradiva.random`, and pass the values
# to the function.


# %%
def shift(image: Any, by: Any) -> Any:
    return np.roll(image, int(by), axis=1)


columns = random.uniform(range=(-60, 60), batch_size=4, dtype=gradiva.int32, seed=3)
gradiva.python_function(images, columns, function=shift, output_layouts="HWC")

# %% [markdown]
# ## Generators
#
# All calls so far used the default generator. `RNG` makes others, for independent parts of a
# program. Each counts its own calls.

# %%
mine = random.RNG(seed=42)
first = random.normal(batch_size=3, rng=mine)
print(mine, mine.state)

same_place = mine.clone()  # an independent generator at the same place
assert np.array_equal(random.normal(rng=same_place), random.normal(rng=mine))

state = mine.get_state()  # two integers
later = [random.normal(rng=mine).item() for _ in range(3)]
mine.set_state(state)
mine.advance(2)  # skip two calls: costs nothing, nothing is drawn
assert random.normal(rng=mine).item() == later[2]

# %% [markdown]
# ## Shards
#
# With several processes each reads a part of the data, a **shard**. The order of an epoch is one
# permutation of the whole data set, which is divided afterwards. So a file has the same random
# values in every shard:

# %%
parts = [epoch(2, num_shards=2, shard_id=shard, seed=7) for shard in (0, 1)]
for part in parts:
    print(len(part), "files:", *part)
    for name, sample in part.items():
        assert np.array_equal(sample, whole[name])
assert parts[0].keys() | parts[1].keys() == whole.keys()
assert not parts[0].keys() & parts[1].keys()

# %% [markdown]
# This holds if all shards have the same seed. It is a common mistake to add the number of the
# process to it, as one must with streams: then some files are read twice, and others never.

# %% [markdown]
# ## Epochs
#
# `random_shuffle=True` makes a new order for each epoch, and a sample has a new position in each,
# and so new random values. Each row is an epoch of one reader:

# %%
random.set_seed(7)
reader = gradiva.readers.File(file_root=photographs, random_shuffle=True)
rows = []
orders = []
for _ in range(3):
    for encoded, labels in reader.next_epoch(batch_size=7):
        rows += list(augment(encoded))
        orders.append([os.path.basename(name) for name in encoded.source_info()])
        print("positions", labels.positions, *orders[-1][:3], "...")
assert orders[0] != orders[1] != orders[2]
assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
gradiva.show(rows, columns=7, size=90)

# %% [markdown]
# ## Checkpoints
#
# Since no state is consumed, the state of a training is small: the seed, and a place in the data.
# `Checkpoint` collects the states of readers and generators, and writes them to a file. Suppose
# that a loop in dynamic mode stops after two batches:

# %%
from gradiva.checkpoint import Checkpoint  # noqa: E402

folder = tempfile.TemporaryDirectory()
saved = os.path.join(folder.name, "loop.ckpt")


def objects() -> tuple[Any, Any]:
    reader = gradiva.readers.File(file_root=photographs, random_shuffle=True, seed=3)
    return reader, random.RNG(seed=9)


def noisy(encoded: Any, rng: Any) -> Any:
    pictures = gradiva.resize(gradiva.decoders.image(encoded), size=(64, 64))
    return gradiva.noise.gaussian(pictures, stddev=30, rng=rng).as_array()


reader, rng = objects()
checkpoint = Checkpoint()
checkpoint.register(reader, "reader")
checkpoint.register(rng, "rng")
remaining = []
for number, (encoded, _labels) in enumerate(reader.next_epoch(batch_size=2)):
    batch = noisy(encoded, rng)
    if number == 1:
        checkpoint.collect()
        checkpoint.save(saved)
    if number > 1:
        remaining.append(batch)

# %% [markdown]
# Later, in another process: make the same objects, load the file, register them. Their states are
# set, and the loop continues with the third batch, bit for bit.

# %%
reader, rng = objects()
checkpoint = Checkpoint()
checkpoint.load(saved)
checkpoint.register(reader, "reader")
checkpoint.register(rng, "rng")
resumed = [noisy(encoded, rng) for encoded, _labels in reader.next_epoch(batch_size=2)]
assert len(resumed) == len(remaining) == 2
for ours, theirs in zip(resumed, remaining, strict=True):
    np.testing.assert_array_equal(ours, theirs)
print(len(resumed), "batches after the restart: the same bits")

# %% [markdown]
# In pipeline mode it is one call. Prefetched batches do not count: the checkpoint is the state
# after the batch that you received last. The number of threads and the queue depth may change.

# %%
saved = os.path.join(folder.name, "pipe.ckpt")
pipe = training(enable_checkpointing=True)
pipe.run()
pipe.checkpoint(saved)
expected = [pipe.run()[0] for _ in range(3)]
pipe.close()

pipe = training(enable_checkpointing=True, checkpoint=saved, num_threads=3, prefetch_queue_depth=1)
for batch in expected:
    assert all(np.array_equal(a, b) for a, b in zip(pipe.run()[0], batch, strict=True))
pipe.close()
print("three batches after the restart: the same bits")

# %% [markdown]
# A checkpoint of another program raises an error that names the difference:


# %%
@pipeline_def(batch_size=2, seed=7)
def changed() -> Any:
    encoded, _labels = fn.readers.file(file_root=photographs, random_shuffle=False, name="reader")
    return gradiva.decoders.image(encoded)


try:
    changed(enable_checkpointing=True, checkpoint=saved).run()
except gradiva.GradivaError as error:
    print(type(error).__name__, "|", str(error).partition("\n")[0].replace(folder.name, "..."))
else:
    raise AssertionError("a checkpoint of another pipeline was taken")
folder.cleanup()

# %% [markdown]
# ## In short
#
# | to get the same values again | do |
# |---|---|
# | in dynamic mode | `gradiva.random.set_seed(7)` at the start |
# | in a pipeline | `pipeline_def(seed=7)` |
# | for one call, wherever it is | `seed=` in that call |
# | in an independent part of a program | `rng=gradiva.random.RNG(7)` |
# | after a restart | a checkpoint |
#
# Batch size, threads, prefetching, shards, and the choice between dynamic mode and pipelines do not
# change a bit.
