# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Caches
#
# Decoding and resizing give the same images in every epoch. A cache stores them, so that later
# epochs, later runs and other processes read them. The samples have the same bits with and without
# a cache. This page shows:
#
# 1. an epoch that **fills** a cache, and one that **reads** it;
# 2. **where** the cache is in the graph;
# 3. what makes a sample **miss**: an edited step, a changed file;
# 4. a cache that two **processes** share;
# 5. caches in **captured loops** and at a place of your own.

# %%
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import fn, pipeline_def

folder = Path(tempfile.mkdtemp())
photos = folder / "photos"
shutil.copytree(Path(gradiva.__file__).parent / "photographs", photos)

# %% [markdown]
# ## The same pipeline, with and without a cache
#
# The reader shuffles, and each image is mirrored or not. Neither changes what is stored: the order
# of the samples is no part of a cache, and random values are drawn after it.


# %%
@pipeline_def(batch_size=4, num_threads=2, seed=1)
def training(shorter: float = 128) -> Any:
    files, labels = fn.readers.file(file_root=photos, random_shuffle=True)
    images = fn.resize(fn.decoders.image(files), resize_shorter=shorter)
    images = fn.crop_mirror_normalize(images, crop=(112, 112), mirror=fn.random.coin_flip())
    return images, labels


def batches(pipe: Any, count: int = 4) -> list[Any]:
    """The images of the next batches. Four batches of 4 are two epochs of the 7 photographs."""
    return [pipe.run()[0].as_array() for _ in range(count)]


def counted(pipe: Any) -> tuple[int, int]:
    """How many samples the cache had, and how many were computed."""
    (kept,) = pipe.stats()["caches"]
    print(f"{kept['hits']} hits, {kept['misses']} misses")
    return kept["hits"], kept["misses"]


with training() as pipe:
    expected = batches(pipe)

# %% [markdown]
# ## An epoch that fills the cache, and one that reads it
#
# `cache=` is an argument of the pipeline: a folder, or "ram" for the memory of this process. The
# first epoch computes all samples and stores them, the second one finds them. A pipeline prepares
# batches in advance, so the counts include samples that `run` has not returned yet. If two batches
# need a sample at the same time, both may compute it.

# %%
with training(cache=folder / "kept") as pipe:
    first = batches(pipe)
    hits, misses = counted(pipe)
    print(pipe.explain())
    explanation = pipe.explain()
assert hits > 0
assert misses >= 7
assert all(map(np.array_equal, first, expected))

# %% [markdown]
# ## Where the cache is
#
# You did not say what to keep. When the pipeline is built, it tries each step before the first
# random one, and takes the one that saves the most time. The last lines of `explain()` name that
# step, and your line that calls it. In the list of fused groups the cache is the step `cached`. A
# notebook shows a table:

# %%
explanation

# %% [markdown]
# ## A later run
#
# The folder stays. Another pipeline, in this process or in one that is started next week, finds
# every sample in its first epoch. Its seed and its number of threads may differ.

# %%
with training(cache=folder / "kept", num_threads=1) as pipe:
    second = batches(pipe)
    hits, misses = counted(pipe)
assert misses == 0
assert all(map(np.array_equal, second, expected))

# %% [markdown]
# ## An edited step is a miss
#
# A sample is known by the operators before the cache and by their arguments. Another size makes
# other keys: everything is computed, and the old results stay for the pipeline that still uses
# them. What is after the cache may change freely.

# %%
with training(shorter=120, cache=folder / "kept") as pipe:
    smaller = batches(pipe)
    hits, misses = counted(pipe)
assert misses >= 7
with training(shorter=120) as pipe:
    assert all(map(np.array_equal, smaller, batches(pipe)))

# %% [markdown]
# ## A changed file is a miss
#
# The path, size and time of its file are part of the key of a sample. So one new photograph is
# computed, and the six others are found.

# %%
changed = photos / "things" / "coffee.jpg"
Image.fromarray(np.full((300, 400, 3), (200, 120, 40), np.uint8)).save(changed)
with training(cache=folder / "kept") as pipe:
    renewed = batches(pipe)
    hits, misses = counted(pipe)
assert misses >= 1
assert hits >= 12
with training() as pipe:
    assert all(map(np.array_equal, renewed, batches(pipe)))

# %% [markdown]
# ## Two processes
#
# Processes share a folder without any agreement: each appends to files of its own, and reads those
# of all others. Here another process has a script that resizes as ours does, but mirrors nothing.
# `fn.cache` stores what is before it, at that place.

# %%
script = folder / "other.py"
script.write_text(f"""
from gradiva import fn, pipeline_def


@pipeline_def(batch_size=7, num_threads=1)
def validation():
    files, labels = fn.readers.file(file_root={str(photos)!r})
    images = fn.resize(fn.decoders.image(files), size=(96, 96))
    return fn.cache(images, where={str(folder / "shared")!r}), labels


if __name__ == "__main__":
    with validation() as pipe:
        pipe.run()
        print(pipe.stats()["caches"][0]["misses"] >= 7)
""")
answer = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
print("the other process has computed all:", answer.stdout.strip())
assert answer.stdout.strip() == "True"


# %%
@pipeline_def(batch_size=7, num_threads=1, seed=2)
def by_hand() -> Any:
    files, _ = fn.readers.file(file_root=photos)
    images = fn.resize(fn.decoders.image(files), size=(96, 96))
    images = fn.cache(images, where=folder / "shared")
    return fn.rotate(images, angle=fn.random.uniform(range=(-20.0, 20.0)), keep_size=True)


with by_hand() as pipe:
    (rotated,) = pipe.run()
    hits, misses = counted(pipe)
assert misses == 0
rotated

# %% [markdown]
# ## What cannot be stored
#
# A random step before the cache would give the same "random" values in each epoch. So that is an
# error, which names the call.


# %%
@pipeline_def(batch_size=7, num_threads=1)
def wrong() -> Any:
    files, _ = fn.readers.file(file_root=photos)
    images = fn.flip(fn.decoders.image(files), horizontal=fn.random.coin_flip())
    return fn.cache(images)


try:
    wrong().build()
except gradiva.OperatorValueError as error:
    message = str(error)
    print(error.problem)
assert "`random.coin_flip`" in message

# %% [markdown]
# ## Captured loops and compiled functions
#
# `next_epoch(capture=True, cache=...)` and `capture.compile(f, cache=...)` do the same. The body of
# the loop stays as you wrote it.

# %%
reader = gradiva.readers.File(file_root=photos, random_shuffle=True, seed=3)
for _ in range(3):
    loop = reader.next_epoch(batch_size=4, capture=True, cache="ram")
    for files, _labels in loop:
        images = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
        mirror = gradiva.random.coin_flip(batch_size=images.batch_size)
        images = gradiva.flip(images, horizontal=mirror)
text = str(loop.explain())
print(text)
assert "samples found" in text

# %% [markdown]
# ## The folder
#
# The command `gradiva cache info DIR` says what a folder holds, `verify` reads everything and
# counts damaged entries, and `clear` deletes the cache.

# %%
command = [sys.executable, "-m", "gradiva", "cache", "verify", str(folder / "kept")]
answer = subprocess.run(command, capture_output=True, text=True, check=True)
print(answer.stdout.strip())
assert answer.stdout.strip().endswith(" 0 damaged")

# %% [markdown]
# ## In short
#
# | to do | use |
# |---|---|
# | keep what is the same in each epoch | `cache="ram"`, or `cache=DIR` for later runs, too |
# | limit its size | `cache_bytes=` |
# | choose the place | `fn.cache(images, where=...)` |
# | see the place, and how many samples were found | `pipe.explain()`, `pipe.stats()["caches"]` |
# | a captured loop | `next_epoch(batch_size=, capture=True, cache=)` |
# | a compiled function | `capture.compile(f, cache=)` |
# | look into a folder, or delete it | `gradiva cache info`, `verify`, `clear` |
#
# [docs/cache.md](../docs/cache.md) says what is part of a key, what happens when a folder is full
# or damaged, and how large caches are.
