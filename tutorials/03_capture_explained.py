# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # What capture does
#
# In tutorial 02 a function became a graph, and the graph ran faster than the calls one by one. This
# page shows how. You will see a graph before and after each step of the compiler, what is fused and
# why, what cannot be captured, and how the other two kinds of capture, deferred calls and loops, do
# without a `pipeline_def`. In all of them the bits never change.

# %%
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import EvalMode, capture
from gradiva.capture.compiler.optimize import PASSES

photographs = Path(gradiva.__file__).parent / "photographs"


def augment(files: Any) -> Any:
    images = gradiva.decoders.image(files)
    images = gradiva.resize(images, resize_shorter=112)
    images = gradiva.saturation(images, saturation=1.6)
    mirror = gradiva.random.coin_flip(batch_size=images.batch_size)
    return gradiva.crop_mirror_normalize(images, crop=(96, 96), mirror=mirror, std=[64.0])


gradiva.random.set_seed(1)
reader = gradiva.readers.File(file_root=str(photographs))
files, _labels = next(reader.next_epoch(batch_size=3))
augment(files)

# %% [markdown]
# ## Recording
#
# `capture.trace` calls the function with a symbol in place of `files`, and records its calls.
# Nothing is computed except the types of the results, which are shown at the bottom of each box.
# The dashed lines are arguments that differ per sample.

# %%
graph = capture.trace(augment, files)
graph

# %% [markdown]
# The same as text. `%2` is a value, and each line says which operator makes it, of what, and the
# type. A random call has a *key*, a number from which its values are computed. (The large number
# says that the call is not in a loop over a reader.)

# %%
print(graph)

# %% [markdown]
# Two equal calls are one node. Calls with random values differ in their keys, so they stay two.


# %%
def twice(files: Any) -> Any:
    one = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
    two = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
    return gradiva.flip(one), two


shared = capture.trace(twice, files)
assert [node.operator.name for node in shared].count("decoders.image") == 1
shared

# %% [markdown]
# ## The passes
#
# The compiler is a short list of *passes*. Each takes a graph and returns a graph that gives the
# same bits. Let us run them one by one, and look at what each has changed.


# %%
def outline(graph: capture.Graph) -> str:
    """The operators on images in one line; those of a fused group in brackets."""
    parts = []
    for node in graph:
        inside = " ".join(member.operator.name for member in node.members)
        parts.append(f"[{inside}]" if inside else node.operator.name)
    return " ".join(part for part in parts if not part.startswith(("input", "random")))


stages = {"recorded": graph}
for apply in PASSES:
    before = graph
    graph = apply(graph)
    if str(graph) != str(before):
        stages[apply.__name__] = graph
for name, stage in stages.items():
    print(f"{name:17} {outline(stage)}")
assert list(stages) == ["recorded", "decompose", "hoist_views", "fuse_resize_views", "fuse"]

# %% [markdown]
# `decompose` lowers `crop_mirror_normalize` to a crop, a flip, arithmetic and a change to channels
# first. `hoist_views` sees that crop and flip only choose pixels, while saturation works on each
# pixel alone: so choosing first gives the same pixels with less work. `fuse_resize_views` joins the
# resize with the crop after it: pixels outside of the crop are never computed. `fuse` joins the
# rest.

# %%
capture.before_after(stages["recorded"], stages["fuse"])

# %% [markdown]
# ## What fuses, and why
#
# A modern photograph has tens of megabytes. If seven operators each read and write it, most of the
# time goes into moving bytes. A group works row by row: a few rows are resized, colored, turned
# into floats and written to the output, before the next rows are touched.
#
# That is possible for operators that need a pixel, or a few rows, at a time: decoders, resize,
# crops and flips, and all that works pixel by pixel. An operator that looks at a neighborhood, or
# at the whole image, ends a group: here a blur. A new group may begin after it.


# %%
def with_a_blur(files: Any) -> Any:
    images = gradiva.resize(gradiva.decoders.image(files), size=(96, 96))
    images = gradiva.gaussian_blur(gradiva.brightness(images, brightness=1.2), sigma=1.0)
    return gradiva.hue(gradiva.contrast(images, contrast=1.5), hue=20.0)


blurred = capture.optimize(capture.trace(with_a_blur, files))
print(outline(blurred))
assert outline(blurred).count("[") == 2
blurred

# %% [markdown]
# A value that is used twice ends a group as well, since both users want it whole. So does each
# output.


# %%
def with_two_readers(files: Any) -> Any:
    images = gradiva.resize(gradiva.decoders.image(files), size=(96, 96))
    return gradiva.brightness(images, brightness=0.5), gradiva.hue(images, hue=90.0)


split = capture.optimize(capture.trace(with_two_readers, files))
print(outline(split))
assert outline(split) == "[decoders.image resize] brightness hue"

# %% [markdown]
# ## What ends capture
#
# A symbol has no pixels. Code that needs pixels while a graph is recorded raises an error that
# names the line. The three most common cases: a branch on a value, a NumPy call, and a length.


# %%
def branch(images: Any) -> Any:
    return gradiva.flip(images) if gradiva.reductions.mean(images) > 100 else images


def with_numpy(images: Any) -> Any:
    return images - np.mean(images)


def length(images: Any) -> Any:
    return images * gradiva.random.uniform(batch_size=len(images))


images = gradiva.resize(gradiva.decoders.image(files), size=(96, 96))
for function in (branch, with_numpy, length):
    try:
        capture.trace(function, images)
    except gradiva.OperatorTypeError as error:
        print(f"{function.__name__}: cannot ask for{str(error).split('cannot ask for')[1]}")
        assert error.location is not None
        assert error.location.code is function.__code__
    else:
        raise AssertionError(f"{function.__name__} should have failed")

# %% [markdown]
# What helps: `enable_conditionals=True` for branches (tutorial 02), `gradiva.reductions` and
# `gradiva.math` for NumPy, and `images.batch_size`, which works in all modes, for the length.


# %%
def capturable(images: Any) -> Any:
    brightness = gradiva.random.uniform(range=(0.5, 1.5), batch_size=images.batch_size)
    return (images - gradiva.reductions.mean(images)) * brightness


capture.trace(capturable, images)

# %% [markdown]
# ## Deferred calls
#
# There is a kind of capture that no code can end. In deferred mode a call is stored, and returns a
# batch that has a type, but no data yet. When the data are read, everything that they depend on
# runs as one optimized graph. So branches, NumPy and printing are allowed: they only divide the
# work into smaller graphs.

# %%
gradiva.random.set_seed(1)
eager = augment(files)
gradiva.random.set_seed(1)
with EvalMode.deferred:
    later = augment(files)  # nothing was decoded so far
    print(type(later).__name__, later.dtype, later.layout)
np.testing.assert_array_equal(later.as_array(), eager.as_array())
later

# %% [markdown]
# `capture.compile` is the same for one function. What it has compiled is kept, and fits other
# batch sizes and shapes too.

# %%
fast = capture.compile(augment)
others, _labels = next(gradiva.readers.File(file_root=str(photographs)).next_epoch(batch_size=7))
gradiva.random.set_seed(1)
np.testing.assert_array_equal(fast(files).as_array(), eager.as_array())
assert len(fast(others)) == 7
print(fast, "after batches of", len(files), "and", len(others))
assert fast.compilations == 1
fast.graph

# %% [markdown]
# ## Captured loops
#
# A deferred call runs optimized, but not in advance, because the next batch is unknown. A loop over
# a reader knows it. With `capture=True` its first iteration is recorded, and from the second one on
# a thread computes the same calls in advance. If your code makes one of these calls, its result is
# ready. If it makes another call, that one runs at once. So the body may contain any Python code.


# %%
def lighten(files: Any) -> Any:
    images = gradiva.resize(gradiva.decoders.image(files), size=(96, 96))
    if np.mean(images.at(0)) < 90:
        images = gradiva.brightness(images, brightness=2.0)
    return gradiva.flip(images, horizontal=gradiva.random.coin_flip(batch_size=1))


gradiva.random.set_seed(1)
reader = gradiva.readers.File(file_root=str(photographs))
loop = reader.next_epoch(batch_size=1, capture=True)
captured = [lighten(files).at(0).copy() for files, _labels in loop]
gradiva.show(captured, columns=7, size=96)

# %% [markdown]
# Only dark images are made brighter here. `explain()` says which calls were not computed ahead, how
# often, why, and in which line. For each reason, docs/graphs.md says what to do.

# %%
told = loop.explain()
assert told.share < 1.0
assert {entry.operator for entry in told} == {"brightness", "flip"}
told

# %% [markdown]
# A call that was missed twice is added to the program: it is computed ahead from then on, whether
# it is used or not. The next loop over the same reader begins with that program.

# %%
loop = reader.next_epoch(batch_size=1, capture=True)
captured += [lighten(files).at(0).copy() for files, _labels in loop]
print(loop.explain())
assert loop.explain().share == 1.0

# %% [markdown]
# The program that runs ahead is a graph like any other. It now contains both branches.

# %%
loop.graph

# %% [markdown]
# ## What never changes
#
# The bits. Here are the two epochs again, eager, and with one call for all dark and bright images
# of a batch:

# %%
gradiva.random.set_seed(1)
reader = gradiva.readers.File(file_root=str(photographs))
eager_images: list[Any] = []
for _epoch in range(2):
    for files, _labels in reader.next_epoch(batch_size=7):
        images = gradiva.resize(gradiva.decoders.image(files), size=(96, 96))
        amounts = [2.0 if np.mean(image) < 90 else 1.0 for image in images.arrays()]
        images = gradiva.brightness(images, brightness=amounts)
        coins = gradiva.random.coin_flip(batch_size=images.batch_size)
        eager_images += gradiva.flip(images, horizontal=coins).arrays()
for one, other in zip(captured, eager_images, strict=True):
    np.testing.assert_array_equal(one, other)
print("the same bits:", len(captured), "samples, captured one by one, and eager in batches of 7")

# %% [markdown]
# This holds because nothing in the compiler computes pixels. A fused group calls the same machine
# code as the calls one by one, in an order that is fixed; a pass may move or leave out work only
# where the result is the same to the last bit. And random values are not drawn from a stream, but
# computed from a key.
#
# ## Seeing it
#
# You have met the tools: `print(graph)` and the pictures, `before_after`, `explain`, and in
# tutorial 02 `pipe.trace`. Two more are for documents and for the command line. `to_mermaid` writes
# a graph in a notation that GitHub draws, `to_dot` in that of Graphviz. And `gradiva
# graph FILE.py` prints the graph of a pipeline in a file, before and after; with
# `GRADIVA_PRINT_GRAPH=1` in the environment each pass prints its own.

# %%
diagram = split.to_mermaid()
assert diagram.startswith("flowchart TB")
print("\n".join(diagram.splitlines()[:6]))
