# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Writing an operator
#
# gradiva has many operators, but perhaps not the one that you need today. On this page you write
# three:
#
# 1. `frame` draws a border. It is plain NumPy, and changes the size of its images;
# 2. `solarize` turns bright values into dark ones. It works pixel by pixel, so it is compiled, and
#    joins the *fused groups* of pipelines;
# 3. `random_solarize` draws a random threshold for each image.
#
# None of them mentions pipelines, threads or ragged batches, but all of them work there. At the end
# are two shorter ways, for a function that you need once.
#
# Names for writing operators are in `gradiva.extension`.

# %%
from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gradiva
from gradiva import capture, extension, fn
from gradiva.extension import Call, Common, FloatArg, IntArg, Sampled, SampleType

if TYPE_CHECKING:  # for type checkers only
    from typing_extensions import Unpack

photographs = Path(gradiva.__file__).parent / "photographs"
names = ["animals/chelsea.jpg", "things/coffee.jpg", "space/rocket.jpg", "people/astronaut.jpg"]
images = gradiva.resize(gradiva.imread([photographs / name for name in names]), resize_shorter=160)
print(images.shape)
images

# %% [markdown]
# The four pictures have three different shapes. An operator always sees a whole batch of them.
#
# ## Types first
#
# An operator begins with a function over *types*, not over pixels. The function's signature is what
# users will see: names, defaults, help. Its body answers one question: from samples of these types,
# samples of which types result?
#
# A type has a `dtype`, a number of axes `ndim`, a `layout` such as "HWC", and a `device`. While a
# pipeline is being defined, some of that may not be known yet. Such a field is `None`. The helpers
# `require_dtype` and `require_layout` accept `None`.
#
# `**common: Unpack[Common]` stands for the arguments that all operators take, such as `device` and
# `name`; gradiva handles them.
#
# The annotation `IntArg` means: an integer, *or one for each sample*. Your own alias of it, say
# `Pixels = IntArg`, means the same.


# %%
@extension.operator("tutorial.frame")
def frame(
    input: SampleType, /, *, width: IntArg = 8, value: IntArg = 0, **common: Unpack[Common]
) -> SampleType:
    """Draw a frame around each image.

    input: uint8, layout HWC. width: of the frame in pixels; may differ per sample.
    value: the frame's brightness; may differ per sample.

    Returns images that are 2 * width larger. Raises OperatorTypeError for other inputs,
    OperatorValueError for a width below 0.
    """
    extension.require_dtype(input, (gradiva.uint8,))
    extension.require_layout(input, ("HWC",))
    return input


# %% [markdown]
# Nothing has been computed, but a wrong call already raises an error. gradiva adds the operator's
# name and the line of the caller. Here is a helper that prints an error in short form; the rest of
# this page uses it for deliberate errors.


# %%
def error_of(call: Any) -> str:
    """Run `call`, which must fail, and return the message without the folder's name."""
    try:
        call()
    except gradiva.GradivaError as error:
        where = str(error.location).partition(":")[0]
        message = str(error).replace(where, os.path.basename(where))
        print(type(error).__name__, "|", message)
        return message
    raise AssertionError("the call was expected to fail")


message = error_of(lambda: frame(images * 0.5))
assert "expected uint8, got float32" in message
message = error_of(lambda: frame(images, widht=3))
assert "did you mean `width`?" in message
message = error_of(lambda: frame(images, width="thick"))
assert "argument `width`: expected an integer, or one per sample" in message

# %% [markdown]
# A correct call gets one step further, to the next part that is missing:

# %%
message = error_of(lambda: frame(images))
assert "no shape rule" in message

# %% [markdown]
# ## Shapes second
#
# The **shape rule** says how large the outputs are. It gets a `Call`. `call.inputs[0]` is the
# batch. `batch_shape.shapes` holds its shapes as an array with a row per sample. `call["width"]`
# always has one value per sample, whether the user gave one number or a list.
#
# An invalid value is refused here, before memory is allocated. `refuse_samples` names the first
# sample with such a value; gradiva adds the name of its file.


# %%
@frame.shapes
def frame_shapes(call: Call) -> np.ndarray[Any, Any]:
    width = call["width"]
    extension.refuse_samples(width < 0, "width", "0 or more", width)
    shapes = call.inputs[0].batch_shape.shapes.copy()
    shapes[:, :2] += 2 * width[:, np.newaxis]
    return shapes


# %% [markdown]
# ## The kernel third
#
# The **kernel** fills `call.outputs`, which exist already and have the right shapes. They are not
# cleared: write to every element. `call.each_sample(function)` runs `function(index)` for each
# sample, over the threads. Each call must write only to its own sample. Then the number of threads
# cannot change the result.


# %%
@frame.cpu
def frame_kernel(call: Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    width, value = call["width"], call["value"]

    def one(index: int) -> None:
        image, edge = target.at(index), int(width[index])
        height, breadth, _channels = source.at(index).shape
        image[...] = np.clip(value[index], 0, 255)
        image[edge : edge + height, edge : edge + breadth] = source.at(index)

    call.each_sample(one)


framed = frame(images, width=[2, 6, 12, 24], value=[0, 90, 180, 0])
assert framed.at(0).shape[0] == images.at(0).shape[0] + 4
assert framed.at(3).shape[0] == images.at(3).shape[0] + 48
framed

# %% [markdown]
# One number for all samples, one per sample as a list, or a random one per sample: the kernel is
# the same.

# %%
widths = gradiva.random.uniform(batch_size=4, range=(1, 20), dtype=gradiva.int32, seed=3)
frame(images, width=widths)

# %%
message = error_of(lambda: frame(images, width=[1, 2, -3, 4]))
assert "in sample 2, file " in message
assert "rocket.jpg" in message
message = error_of(lambda: frame(images, width=[1, 2]))
assert "expected one value per sample, 4 in all, got 2" in message

# %% [markdown]
# ## The same operator in a pipeline
#
# There is nothing to add. Inside `pipeline_def` a call is recorded instead of run: the type rule
# runs at once, the other two parts with each batch. Here the width depends on the label of each
# image, in a function that serves both modes. The bits are the same.

# %%
files = [str(photographs / name) for name in names]


def label_frames(encoded: Any, labels: Any) -> Any:
    pictures = gradiva.resize(gradiva.decoders.image(encoded), resize_shorter=160)
    return frame(pictures, width=2 + 6 * labels)


@gradiva.pipeline_def(batch_size=4, num_threads=2)
def frames() -> Any:
    return label_frames(*fn.readers.file(files=files))


def same(left: Any, right: Any) -> bool:
    """Whether two batches have the same shapes and bits."""
    pairs = zip(left, right, strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


reader = gradiva.readers.File(files=files)
pipe = frames()
for encoded, labels in reader.next_epoch(batch_size=4):
    assert same(pipe.run()[0], label_frames(encoded, labels))
pipe.close()
print("in a pipeline: the same bits")

# %% [markdown]
# One thing differs. A list has as many values as one batch has samples, and a pipeline does not
# know yet how large its batches will be. So there a list is refused, and values per sample are
# outputs of other operators:


# %%
@gradiva.pipeline_def(batch_size=4, num_threads=2)
def with_a_list() -> Any:
    encoded, _labels = fn.readers.file(files=files)
    return frame(fn.decoders.image(encoded), width=[2, 6, 12, 24])


message = error_of(with_a_list)
assert "a list with one value per sample has no place in a graph" in message

# %% [markdown]
# It also works in a captured loop, which computes it ahead, and in a compiled function.

# %%
compiled = capture.compile(lambda batch: frame(batch, width=5))
assert same(compiled(images), frame(images, width=5))

for encoded, _labels in reader.next_epoch(batch_size=2, capture=True):
    inside = frame(gradiva.decoders.image(encoded), width=5)
    assert same(inside, frame(gradiva.decoders.image(encoded), width=5))
print("compiled, and in a captured loop: the same bits")

# %% [markdown]
# ## Pixel by pixel
#
# Many operators compute each value from one value: brightness, contrast, `solarize`. In NumPy each
# of them reads the whole image, which does not fit into the cache of a core. gradiva *fuses* them:
# it takes a strip of pixels, and does all steps before the next strip.
#
# To take part, an operator gives the arithmetic of one strip, a **row kernel**. It is compiled by
# Numba. `source` and `target` are one-dimensional, `parameters` are float32 numbers of the
# sample. `convert_sat` rounds and saturates to the target's dtype, as all of gradiva does.
# `same_shapes=True` stands for a shape rule that returns the shapes of the input.


# %%
@extension.operator("tutorial.solarize", same_shapes=True)
def solarize(
    input: SampleType, /, *, threshold: FloatArg = 128.0, **common: Unpack[Common]
) -> SampleType:
    """Turn each value x that is at or above the threshold into 255 - x.

    input: uint8, of any rank and layout. threshold: may differ per sample.

    Returns samples of the same shapes and layout. Raises OperatorTypeError for other dtypes.
    """
    extension.require_dtype(input, (gradiva.uint8,))
    return input


@extension.row_kernel()
def solarize_row(source: Any, target: Any, parameters: Any) -> None:
    for k in range(source.size):
        value = np.float32(source[k])
        if value >= parameters[0]:
            value = np.float32(255.0) - value
        target[k] = extension.convert_sat(value, target)


# %% [markdown]
# Constants are `np.float32(255.0)`, not `255.0`: a plain Python number would make the arithmetic
# float64, and slow. The last part returns the parameters of a batch: float32, one row per sample,
# in the shape (samples, 1, parameters).
#
# There is no `.cpu`. `pixelwise` makes the kernel from the row kernel.


# %%
@extension.pixelwise(solarize, solarize_row)
def solarize_parameters(call: Call) -> np.ndarray[Any, Any]:
    return call["threshold"].reshape(-1, 1, 1)


solarized = solarize(images, threshold=[60, 110, 160, 210])
for index, limit in enumerate([60, 110, 160, 210]):
    image = images.at(index)
    wanted = np.where(image >= limit, 255 - image.astype(int), image)
    assert np.array_equal(solarized.at(index), wanted)
solarized

# %% [markdown]
# In a pipeline the operator joins the fused group of its neighbors. The picture of the graph shows
# it: one box holds everything from the decoder to the last step. gradiva compiled nothing new for
# that; the group calls the row kernel that you see above, so the bits are those of separate calls.


# %%
def look(files: Any, threshold: Any) -> Any:
    pictures = gradiva.resize(gradiva.decoders.image(files), size=(160, 160))
    pictures = gradiva.brightness_contrast(pictures, contrast=1.2)
    return gradiva.saturation(solarize(pictures, threshold=threshold), saturation=0.6)


@gradiva.pipeline_def(batch_size=4, num_threads=2)
def looks() -> Any:
    encoded, _labels = fn.readers.file(files=files)
    return look(encoded, 140)


pipe = looks()
outputs = pipe.run()[0]
for encoded, _labels in reader.next_epoch(batch_size=4):
    assert same(outputs, look(encoded, 140))
pipe.close()
outputs

# %%
graph = capture.optimize(looks().graph)
assert "fused(" in str(graph)
assert ".3 = tutorial.solarize" in str(graph)
print(graph)
graph

# %% [markdown]
# ## Random operators
#
# A random operator is declared with `random=True`. It must not use a generator of its own, because
# then its values would depend on earlier draws. Instead each call has a *key*, and each sample has
# a *position* in the data. `extension.draws(call, 2)` turns them into two numbers per sample, from
# 0 to 1. The next tutorial explains this.
#
# `Sampled` in place of `Common` gives the operator the arguments `seed=` and `rng=`. The row
# kernel is the one from above: only the parameters are new.


# %%
@extension.operator("tutorial.random_solarize", random=True, same_shapes=True)
def random_solarize(
    input: SampleType, /, *, lowest: FloatArg = 0.0, **common: Unpack[Sampled]
) -> SampleType:
    """Solarize with a random threshold for each sample, uniform from `lowest` to 255."""
    extension.require_dtype(input, (gradiva.uint8,))
    return input


@extension.pixelwise(random_solarize, solarize_row)
def random_solarize_parameters(call: Call) -> np.ndarray[Any, Any]:
    lowest = call["lowest"]
    threshold = lowest + extension.draws(call, 1)[:, 0] * (np.float32(255.0) - lowest)
    return threshold.reshape(-1, 1, 1)


@gradiva.pipeline_def(batch_size=2, num_threads=2, seed=11)
def randomly() -> Any:
    encoded, _labels = fn.readers.file(files=files)
    pictures = fn.resize(fn.decoders.image(encoded), size=(160, 160))
    return random_solarize(pictures, lowest=40)


gradiva.random.set_seed(11)
reader = gradiva.readers.File(files=files)  # a new one: each epoch has random values of its own
for encoded, _labels in reader.next_epoch(batch_size=4):
    pictures = gradiva.resize(gradiva.decoders.image(encoded), size=(160, 160))
    eager = random_solarize(pictures, lowest=40)

pipe = randomly()
halves = [sample for _ in range(2) for sample in pipe.run()[0]]
pipe.close()
assert same(halves, eager)
print("two batches of two in a pipeline, one of four at once: the same bits")
eager

# %% [markdown]
# ## Cases: examples that are tests
#
# An operator of gradiva lists examples of its own use, right below its kernel: calls with the
# values that an *independent* computation expects, and calls that must fail. `extension.samples`
# makes batches of noise. Small and odd shapes find more errors than large ones.


# %%
@solarize.cases
def solarize_cases() -> list[extension.Case]:
    case = extension.case
    noise = extension.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))

    def expected(*limits: int) -> list[np.ndarray[Any, Any]]:
        arrays = [noise.at(index) for index in range(3)]
        return [np.where(a >= t, 255 - a, a) for a, t in zip(arrays, limits, strict=True)]

    return [
        case("default", noise).equals(expected(128, 128, 128)),
        case("per sample", noise, threshold=[0, 99, 300]).equals(expected(0, 99, 300)),
        case("empty", extension.samples()).equals([]),
        case("floats", extension.samples((2, 2, 3), dtype=gradiva.float32)).type_error("uint8"),
        case("too few thresholds", noise, threshold=[1, 2]).value_error("`threshold`"),
    ]


made = extension.check_operator(solarize)
assert made > 10
print(made, "checks passed")

# %% [markdown]
# `check_operator` is one line in your test suite. It runs the checks of gradiva's own operators:
# values, one thread against three, eager against pipeline, single against fused, unchanged inputs,
# types known in advance, errors that name the operator. A case with a wrong expectation shows what
# a failure looks like:


# %%
@random_solarize.cases
def wrong_cases() -> list[extension.Case]:
    noise = extension.samples((2, 2, 1))
    failing = extension.case("floats", noise, lowest="x").type_error()
    empty = extension.case("empty", extension.samples()).equals([])
    nothing = extension.case("unchanged", noise, seed=1, lowest=0).equals([255 - noise.at(0)])
    return [empty, nothing, failing, failing, failing]


try:
    extension.check_operator(random_solarize)
except AssertionError as error:
    text = str(error)
    print(text.partition("\n")[0])
else:
    raise AssertionError("the case is wrong, and nobody noticed")
assert text.startswith("tutorial.random_solarize, case 'unchanged'")

# %% [markdown]
# ## The short ways
#
# For one experiment you may not want types, shapes and cases. `python_function` calls any
# function with a NumPy array for each sample:


# %%
def negative_corner(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    image[:60, :60] = 255 - image[:60, :60]
    return image


gradiva.python_function(images, function=negative_corner, output_layouts="HWC")

# %% [markdown]
# It works in pipelines too, and an error in the function names its line. But Python runs one sample
# at a time, and gradiva knows nothing about the function: it cannot move it, fuse it, or know its
# types in advance. In a captured loop it runs where it stands, unless you declare with
# `gradiva.prefetchable` that it only computes its result.

# %%
message = error_of(lambda: gradiva.python_function(images, function=lambda image: image.shape[9]))
assert "IndexError" in message

# %% [markdown]
# `numba_function` compiles a function that writes its result into an array. It needs the types,
# runs the samples over all threads, and is called in the same way in pipelines:

# %%
from gradiva.plugin.numba.fn.experimental import numba_function  # noqa: E402


def checkerboard(out: Any, image: Any) -> None:
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for c in range(image.shape[2]):
                value = image[y, x, c]
                out[y, x, c] = value if (y // 20 + x // 20) % 2 else value // 3


uint8 = [gradiva.uint8]
boards = numba_function(
    images, run_fn=checkerboard, in_types=uint8, out_types=uint8, ins_ndim=[3], outs_ndim=[3]
)
assert boards.at(0)[0, 0, 0] == images.at(0)[0, 0, 0] // 3
assert boards.at(0)[0, 20, 0] == images.at(0)[0, 20, 0]
gradiva.reshape(boards, layout="HWC")

# %% [markdown]
# ## Which one?
#
# | way | runs on | fuses | good for |
# |---|---|---|---|
# | `python_function` | one sample at a time | no | trying something, calling another library |
# | `numba_function` | all threads, compiled | no | loops over pixels, used once |
# | operator with `.cpu` | all threads | no | operators for other people, sizes that change |
# | operator with `pixelwise` | all threads, compiled | yes | arithmetic on single values |
#
# Next: `ops/image/flip.py` is a complete operator of gradiva in one file, and
# `CONTRIBUTING.md` says how to add one to the library itself.
