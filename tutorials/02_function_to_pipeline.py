# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # From a function to a pipeline
#
# Tutorial 01 called operators one after another. A training wants more: batches that are ready
# before it asks for them, a way to resume after a crash, and no lost time. A *pipeline* gives that.
# This page takes a function that works in dynamic mode and makes it a pipeline, line by line. The
# function itself does not change, and neither does a single bit of its results.

# %%
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn, pipeline_def
from gradiva.plugin.numpy import DALIGenericIterator, LastBatchPolicy

photographs = str(Path(gradiva.__file__).parent / "photographs")

# %% [markdown]
# ## The function, in dynamic mode
#
# It decodes files, changes their colors at random, crops, mirrors at random, and makes floats with
# channels first: a common recipe.


# %%
def augment(files: Any) -> Any:
    images = gradiva.decoders.image(files)
    images = gradiva.resize(images, resize_shorter=112)
    amount = gradiva.random.uniform(range=(0.2, 1.8), batch_size=images.batch_size)
    images = gradiva.saturation(images, saturation=amount)
    mirror = gradiva.random.coin_flip(batch_size=images.batch_size)
    return gradiva.crop_mirror_normalize(
        images, crop=(96, 96), mirror=mirror, mean=[124.0, 116.0, 104.0], std=[58.0, 57.0, 57.0]
    )


gradiva.random.set_seed(7)
reader = gradiva.readers.File(file_root=photographs, random_shuffle=True)
eager: dict[str, Any] = {}
for files, _labels in reader.next_epoch(batch_size=4):
    batch = augment(files)
    eager.update(zip(batch.source_info(), batch.arrays(), strict=True))
batch

# %% [markdown]
# The dictionary `eager` keeps the result for each of the seven files. We will compare with it.
#
# ## The same, as a pipeline
#
# Three lines change. The reader object becomes a call of `fn.readers.file` with the same arguments.
# The seed becomes an argument of `pipeline_def`. The loop goes away: the function describes what
# happens to one batch, and `return` says which values you want.


# %%
@pipeline_def(batch_size=4, num_threads=2, seed=7)
def training() -> Any:
    files, labels = fn.readers.file(file_root=photographs, random_shuffle=True, name="reader")
    return augment(files), labels


pipe = training()
images, labels = pipe.run()
for name, sample in zip(images.source_info(), images.arrays(), strict=True):
    np.testing.assert_array_equal(sample, eager[name])
print("the same bits for", len(images), "samples")
gradiva.show(images, labels=labels)

# %% [markdown]
# The bits are the same, including the random values. A random value is computed from the seed, the
# number of the random call and the position of the sample. No state is consumed, so the order in
# which threads draw does not matter.
#
# ## What happened inside
#
# Your function ran once, when `training()` was called. It was not given images, but *symbols*. A
# symbol represents a batch that will be computed later. Each call was recorded in a graph.
#
# So a pipeline function cannot look at pixels. If it tries, the error says where the symbol came
# from, which line wanted its data, and what could be done.


# %%
@pipeline_def(batch_size=4)
def too_curious() -> Any:
    files, _labels = fn.readers.file(file_root=photographs)
    decoded = gradiva.decoders.image(files)
    print(decoded)
    if decoded.slice[0, 0, 0] > 100:
        decoded = gradiva.flip(decoded)
    return decoded


try:
    too_curious()
except gradiva.OperatorTypeError as error:
    print(error)
    assert "truth value" in str(error)
else:
    raise AssertionError("this should have failed")

# %% [markdown]
# `if` on a symbol is possible, and comes at the end of this page.
#
# ## The graph
#
# A pipeline that has run shows the graph that it runs. Green is a source, orange is random, and the
# violet frame is a *fused group*: its operators run together over each image, while the rows of the
# image are in the cache of the core. No whole image is written between them.

# %%
pipe.graph

# %% [markdown]
# Compare with what you wrote: `crop_mirror_normalize` was lowered to its parts, and its crop was
# moved before the colors. Now colors are computed for pixels that are kept, and for no others.
# Tutorial 03 follows these steps.

# %%
print(*(node.operator.name for node in pipe.graph))
assert [node.operator.name for node in pipe.graph].count("fused") == 1

# %% [markdown]
# ## Prefetching
#
# A thread makes batches before you ask. Up to `prefetch_queue_depth` of them wait in a queue. To
# see it, we let the pipeline call a function of ours for data. One call of `run` is all we do.

# %%
asked: list[int] = []


def numbers(iteration: int) -> Any:
    asked.append(iteration)
    return [np.full(3, iteration + k, np.float32) for k in range(2)]


@pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=3)
def counting() -> Any:
    return fn.external_source(numbers, batch=True) * 10


counter = counting()
(first,) = counter.run()
deadline = time.monotonic() + 5
while len(asked) < 4 and time.monotonic() < deadline:
    time.sleep(0.01)
print(first.as_array().tolist(), "and asked for", len(asked), "batches")
assert len(asked) >= 4
counter.close()

# %% [markdown]
# While you train on one batch, three others are made. If your loop pauses, so does the thread,
# because the queue is full. `trace` records what each thread did, and when. In the picture each
# line is a thread, and gray is waiting. Here the user's thread waits all the time: it does nothing
# with the batches, so making them is the bottleneck.

# %%
timeline = pipe.trace(batches=8)
assert timeline.batches >= 8
timeline

# %% [markdown]
# The table knows the fused group by its first and last operator. `pipe.trace("run.json")` also
# writes a file for https://ui.perfetto.dev. Tutorial 06 reads such timelines.
#
# ## Between the two: a captured loop
#
# There is a middle way. Leave your loop as it is, and give `capture=True` to `next_epoch`. The
# first iteration is recorded. From the second one on, a thread computes the same calls in advance,
# fused. `explain()` says how much of the loop that was.

# %%
gradiva.random.set_seed(7)
reader = gradiva.readers.File(file_root=photographs, random_shuffle=True)
loop = reader.next_epoch(batch_size=1, capture=True)
for files, _labels in loop:
    (sample,) = augment(files).arrays()
    np.testing.assert_array_equal(sample, eager[files.source_info()[0]])
told = loop.explain()
assert told.share == 1.0
print(told)

# %% [markdown]
# The batch size was one this time, and still each file gave the same bits.
#
# ## A training loop
#
# An iterator gives epochs: a dictionary of arrays for each batch. There is one for PyTorch in
# `gradiva.plugin.pytorch`. This one returns NumPy arrays. `PARTIAL` makes the last batch of an
# epoch smaller instead of filling it up.
#
# The model is the smallest that learns: weights from 32 x 32 pixels to the five folders.


# %%
@pipeline_def(batch_size=4, num_threads=2, seed=3)
def tiny() -> Any:
    files, labels = fn.readers.file(file_root=photographs, random_shuffle=True, name="reader")
    images = fn.resize(fn.decoders.image(files), size=(32, 32))
    images = fn.flip(images, horizontal=fn.random.coin_flip())
    return images * (1 / 255), labels


weights = np.zeros((32 * 32 * 3, 5), np.float32)
batches = DALIGenericIterator(
    tiny(),
    ["images", "labels"],
    reader_name="reader",
    auto_reset=True,
    last_batch_policy=LastBatchPolicy.PARTIAL,
)
losses = []
for _epoch in range(20):
    loss = 0.0
    seen = 0
    for (data,) in batches:
        pixels = data["images"].reshape(len(data["images"]), -1)
        wanted = np.eye(5, dtype=np.float32)[data["labels"].ravel()]
        scores = np.exp(pixels @ weights)
        chances = scores / scores.sum(axis=1, keepdims=True)
        loss -= float(np.log((chances * wanted).sum(axis=1)).sum())
        seen += len(pixels)
        weights -= 0.002 * pixels.T @ (chances - wanted)
    assert seen == 7
    losses.append(loss / seen)
print("loss:", *(f"{loss:.2f}" for loss in losses[::5]), f"{losses[-1]:.2f}")
assert losses[-1] < losses[0] / 2

# %% [markdown]
# The weights of a class, drawn as an image, show what the model looks for.

# %%
folders = sorted(path.name for path in Path(photographs).iterdir() if path.is_dir())
learned = gradiva.as_batch(weights.T.reshape(5, 32, 32, 3), layout="HWC")
gradiva.show(learned, labels=folders, columns=5, size=128)

# %% [markdown]
# ## Stop and resume
#
# With `enable_checkpointing=True` a pipeline can save its state. Batches in the prefetch queue do
# not count: the first batch after a restart is the first one that you have not received. The new
# pipeline may have another number of threads.

# %%
place = str(Path(tempfile.mkdtemp()) / "run.ckpt")
before = training(enable_checkpointing=True)
before.run()
before.checkpoint(place)
expected, _labels = before.run()
before.close()

after = training(enable_checkpointing=True, checkpoint=place, num_threads=1)
resumed, _labels = after.run()
np.testing.assert_array_equal(resumed.as_array(), expected.as_array())
print("goes on with", [Path(name).name for name in resumed.source_info()])
after.close()

# %% [markdown]
# A checkpoint belongs to a graph. If you have changed the function since, the error says what
# differs.


# %%
@pipeline_def(batch_size=4, num_threads=2, seed=7, enable_checkpointing=True)
def changed() -> Any:
    files, labels = fn.readers.file(file_root=photographs, random_shuffle=True, name="reader")
    return augment(files) * 2.0, labels


try:
    changed(checkpoint=place).run()
except gradiva.GradivaError as error:
    print(error)
else:
    raise AssertionError("this should have failed")

# %% [markdown]
# ## `if`, per sample
#
# With `enable_conditionals=True` Python's `if` takes symbols. Each sample takes its own branch: the
# batch is split, both parts are computed, and the results are merged in the original order.


# %%
@pipeline_def(batch_size=4, num_threads=2, seed=7, enable_conditionals=True)
def choosing() -> Any:
    files, labels = fn.readers.file(file_root=photographs, name="reader")
    images = fn.resize(fn.decoders.image(files), size=(96, 96))
    if labels[0] == 2:
        images = fn.rotate(images, angle=180.0)
    return images, labels


chooser = choosing()
images, labels = chooser.run()
gradiva.show(images, labels=[f"label {label}" for label in labels.as_array().ravel()])

# %%
plain = gradiva.resize(gradiva.imread(images.source_info()), size=(96, 96))
for label, image, upright in zip(labels.as_array(), images.arrays(), plain.arrays(), strict=True):
    np.testing.assert_array_equal(image, upright[::-1, ::-1] if label == 2 else upright)
chooser.graph

# %% [markdown]
# That is all: a function, `pipeline_def`, and `run` or an iterator around it. `docs/pipeline.md`
# has every name. Next: tutorial 03 looks at what happens between your function and the graph that
# runs.

# %%
pipe.close()
chooser.close()
