# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Debugging and profiling
#
# Something is wrong, or something is slow. This page shows where to look: what errors say, what to
# do about damaged files, how to see values in the middle of a pipeline, where time and memory go,
# and what to change then.
#
# One rule comes first. **If a pipeline does something that you do not understand, call its
# function in dynamic mode.** It gives the same bits, each call returns when it is done, and
# `print`, a debugger and pictures work on every line.

# %%
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import capture, fn, pipeline_def

photographs = Path(gradiva.__file__).parent / "photographs"
folder = Path(tempfile.mkdtemp())
names = ["chelsea", "coffee", "rocket", "astronaut", "hubble", "retina"]
files = []
for name in names:
    found = next(photographs.glob(f"*/{name}.jpg"))
    files.append(str(shutil.copy(found, folder / f"{name}.jpg")))
print(len(files), "files")

# %% [markdown]
# ## What an error says
#
# An error names the operator and the argument, what was expected and what was given, the sample
# with its file if the error concerns one sample, and your own line. This helper prints it, without
# the folder:


# %%
def error_of(call: Any) -> gradiva.GradivaError:
    """Run `call`, which must fail; print the error in short form, and return it."""
    try:
        call()
    except gradiva.GradivaError as error:
        here = str(error.location).partition(":")[0]
        text = str(error).replace(here, os.path.basename(here)).replace(str(folder), "...")
        print(f"{type(error).__name__}\n{text}\n")
        return error
    raise AssertionError("the call was expected to fail")


images = gradiva.imread(files)
error_of(lambda: gradiva.resize(images, sise=(64, 64)))
error_of(lambda: gradiva.resize(images, size="large"))
error = error_of(lambda: gradiva.crop(images, crop=(310, 400)))
assert error.operator == "crop"
assert error.sample is not None

# %% [markdown]
# The facts are attributes, so that programs can use them. There are three classes, and each is also
# the built-in error of its name: `OperatorTypeError` (a wrong type), `OperatorValueError` (an
# invalid value), `OperatorRuntimeError` (a file, or a function of yours).

# %%
print(error.operator, error.sample, os.path.basename(error.file or ""))
assert isinstance(error, ValueError)

# %% [markdown]
# ### In a pipeline
#
# Errors that do not depend on the data are raised while the pipeline is defined. Others are raised
# by `run`. They still name the line *that called the operator*, not the line of `run`, and belong
# to their batch: the next `run` returns the next batch.


# %%
@pipeline_def(batch_size=2, num_threads=2)
def crops() -> Any:
    encoded, _labels = fn.readers.file(files=files)
    pictures = fn.decoders.image(encoded)
    return fn.crop(pictures, crop=(310, 400))


pipe = crops()
error = error_of(pipe.run)
assert "fn.crop(pictures" in error.location.text
pipe.run()  # the next two are large enough
pipe.close()

# %% [markdown]
# While a pipeline is defined there are no values yet, only *symbols*. Python needs values for `if`,
# `len` and `for`. These are the most common errors:

# %%


def branching(encoded: Any, labels: Any) -> Any:
    if labels > 2:
        return fn.decoders.image(encoded, output_type=gradiva.types.GRAY)
    return fn.decoders.image(encoded)


@pipeline_def(batch_size=2, num_threads=2)
def with_if() -> Any:
    return branching(*fn.readers.file(files=files))


try:
    with_if()
except TypeError as problem:
    text = str(problem)
    print(text.replace(str(Path(text.partition(" at ")[2].partition(":")[0]).parent) + os.sep, ""))
else:
    raise AssertionError("`if` on a symbol was accepted")

# %% [markdown]
# `pipeline_def(enable_conditionals=True)` makes `if` work on values per sample. The alternative is
# arithmetic: `mirror=labels > 2`.
#
# ## Damaged files
#
# In a large data set some files are truncated or empty. Here are three of them:

# %%
data = (folder / "coffee.jpg").read_bytes()
(folder / "coffee.jpg").write_bytes(data[: len(data) // 3])
(folder / "rocket.jpg").write_bytes(b"no picture at all")
(folder / "hubble.jpg").write_bytes(b"")
error = error_of(lambda: gradiva.imread(files))
assert error.file is not None

# %% [markdown]
# One bad file fails its batch. To continue instead, use `on_error`: `"replace"` puts an image full
# of zeros in its place, `"skip"` leaves the sample out. In both cases the sample is added to a
# list, the **quarantine**.

# %%
with warnings.catch_warnings(), gradiva.Quarantine() as bad:
    warnings.simplefilter("ignore")  # the first entry gives a warning
    replaced = gradiva.imread(files, on_error="replace")
for entry in bad:
    print(f"{os.path.basename(entry.file):12s} {entry.reason[:60]}")
assert [os.path.basename(entry.file) for entry in bad] == ["coffee.jpg", "rocket.jpg", "hubble.jpg"]
gradiva.show(replaced, columns=6, size=120)

# %% [markdown]
# In a pipeline the list is `pipe.quarantine`; `save` writes it as CSV, which is what you send to
# the author of the data set. A skipped sample is removed from all values of its batch at once, so
# labels stay with their images.


# %%
def load(encoded: Any, labels: Any) -> Any:
    pictures = gradiva.decoders.image(encoded, on_error="skip")
    pictures, labels = gradiva.align(pictures, labels)  # in step again, in dynamic mode
    return gradiva.resize(pictures, size=(96, 96)), labels


@pipeline_def(batch_size=6, num_threads=2)
def tolerant() -> Any:
    return load(*fn.readers.file(files=files))


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pipe = tolerant()
    pictures, labels = pipe.run()
    pipe.quarantine.save(folder / "bad.csv")
    pipe.close()
print(labels.as_array().ravel())
print((folder / "bad.csv").read_text().replace(str(folder), "..."))
assert labels.as_array().ravel().tolist() == [0, 3, 5]
gradiva.show(pictures, labels=labels, columns=3, size=120)

# %% [markdown]
# ## Looking inside
#
# In dynamic mode every value has data. Print it, show it, subscript it:

# %%
good = [files[index] for index in (0, 3, 5)]
images = gradiva.resize(gradiva.imread(good), size=(120, 160))
blurred = gradiva.gaussian_blur(images, sigma=4.0)
print(blurred)
print(blurred.at(0)[60, 80], blurred.shape[0], blurred.source_info()[0].rpartition(os.sep)[2])
gradiva.show([*images, *blurred], columns=3, size=120)

# %% [markdown]
# A pipeline returns what the function returns. So the simplest probe is one more output:


# %%
@pipeline_def(batch_size=3, num_threads=2, seed=5)
def probed() -> Any:
    encoded, _labels = fn.readers.file(files=good)
    angle = fn.random.uniform(range=(-90.0, 90.0))
    pictures = fn.resize(fn.decoders.image(encoded), size=(120, 160))
    return fn.rotate(pictures, angle=angle, keep_size=True), angle


pipe = probed()
pictures, angles = pipe.run()
pipe.close()
gradiva.show(pictures, labels=[f"{angle:.1f} degrees" for angle in angles.as_array().ravel()])

# %% [markdown]
# The other probe is a function. `python_function` calls it with an array for each sample, also in
# the middle of a pipeline. Remember that a pipeline prefetches: the function sees a batch before
# you do.

# %%
seen = []


def probe(image: Any) -> Any:
    seen.append((image.shape, int(image.min()), int(image.max())))
    return image


@pipeline_def(batch_size=3, num_threads=2)
def looked_into() -> Any:
    encoded, _labels = fn.readers.file(files=good)
    pictures = fn.python_function(fn.decoders.image(encoded), function=probe, output_layouts="HWC")
    return fn.resize(pictures, size=(64, 64))


pipe = looked_into()
pipe.run()
pipe.close()
print(*seen[:3], sep="\n")
assert len(seen) >= 3

# %% [markdown]
# A pipeline leaves out operators whose results are not used, and fuses others. `before_after` shows
# the recorded graph and the optimized one. If you suspect the optimizer: a node with
# `preserve=True` is kept as it is, and `GRADIVA_PRINT_GRAPH=1` prints the graph after each pass.


# %%
@pipeline_def(batch_size=3, num_threads=2)
def usual() -> Any:
    encoded, _labels = fn.readers.file(files=good)
    pictures = fn.resize(fn.decoders.image(encoded), size=(120, 160))
    fn.gaussian_blur(pictures, sigma=9.0)  # nobody takes the result
    pictures = fn.brightness(pictures, brightness=1.2)
    return fn.flip(pictures)


recorded = usual().graph
optimized = capture.optimize(recorded)
assert "gaussian_blur" in str(recorded)
assert "gaussian_blur" not in str(optimized)
print(optimized)
capture.before_after(recorded, optimized)

# %% [markdown]
# ## Deferred calls
#
# In deferred mode a call is stored, and runs when its result is read. So an error that depends on
# the data is raised when you read the result. It names the line that made the call:

# %%
with gradiva.EvalMode.deferred:
    small = gradiva.resize(gradiva.imread(good), size=(64, 64))
    window = gradiva.crop(small, crop=(100, 100))
    print("the call has returned, nothing was cropped yet")
    error = error_of(window.evaluate)
assert "gradiva.crop(small" in error.location.text

# %% [markdown]
# That makes timing by hand misleading, too: the time is spent where a result is read. To measure
# it, time `evaluate()`. If something is strange in deferred mode, leave out the `with`: the rest of
# the program does not change.
#
# ## Captured loops: `explain`
#
# A loop with `capture=True` computes its calls ahead. Calls that it could not compute ahead run at
# once: the results are the same, but it is slower. `explain` lists these calls, with line and
# reason:

# %%
reader = gradiva.readers.File(files=good * 4)
loop = reader.next_epoch(batch_size=2, capture=True)
for number, (encoded, _labels) in enumerate(loop):
    pictures = gradiva.resize(gradiva.decoders.image(encoded), size=(64, 64))
    bright = gradiva.brightness(pictures, brightness=1.0 + number / 10)  # new in each turn
told = loop.explain()
print(str(told).replace(str(Path(error.location.code.co_filename).parent) + os.sep, ""))
assert told.unserved > 0
assert {entry.operator for entry in told} == {"brightness"}

# %% [markdown]
# The number of the iteration is a different argument each time, so the call cannot be computed
# ahead. The remedy is to make it data: a random value, or something that the reader delivers.
#
# ## Where does the time go?
#
# Here is a pipeline with a mistake that is common: a loop over pixels, in Python.


# %%
def vignette(image: Any) -> Any:
    """Darken the corners, pixel by pixel. Do not do this."""
    height, width = image.shape[:2]
    for y in range(height):
        for x in range(width):
            distance = ((2 * y / height - 1) ** 2 + (2 * x / width - 1) ** 2) / 2
            image[y, x] = image[y, x] * (1 - distance)
    return image


def slow(encoded: Any) -> Any:
    pictures = gradiva.resize(gradiva.decoders.image(encoded), size=(96, 96))
    pictures = gradiva.python_function(pictures, function=vignette, output_layouts="HWC")
    return gradiva.flip(pictures)


@pipeline_def(batch_size=3, num_threads=2, enable_memory_stats=True)
def slow_pipeline() -> Any:
    encoded, _labels = fn.readers.file(files=good)
    return slow(encoded)


pipe = slow_pipeline()
timeline = pipe.trace(batches=4)
print(timeline)
assert "python_function" in str(timeline)
timeline

# %% [markdown]
# `trace` runs the pipeline for some batches. The table adds up the time of each operator; the
# picture has a bar for each thread, and gray is waiting. Its first line says which part waits for
# which:
#
# - *the user waited on an empty queue*: the pipeline is too slow for you. Look at the top of the
#   table;
# - *the scheduler waited on a full queue*: the pipeline is fast enough. Your own loop is slow.
#
# Here one function takes nearly all of the time, and the other threads have nothing to do: Python
# runs one thread at a time. The remedy is to avoid Python. The corners are darkened by a
# multiplication with a fixed image:

# %%
axis = (2 * np.arange(96) / 96 - 1) ** 2
weights = (1 - (axis[:, np.newaxis, np.newaxis] + axis[np.newaxis, :, np.newaxis]) / 2).astype(
    np.float32
)


def quick(encoded: Any) -> Any:
    pictures = gradiva.resize(gradiva.decoders.image(encoded), size=(96, 96))
    pictures = gradiva.cast(pictures * gradiva.as_tensor(weights) - 0.5, dtype=gradiva.uint8)
    return gradiva.flip(pictures)


@pipeline_def(batch_size=3, num_threads=2, enable_memory_stats=True)
def quick_pipeline() -> Any:
    encoded, _labels = fn.readers.file(files=good)
    return quick(encoded)


quicker = quick_pipeline()
timeline = quicker.trace(folder / "trace.json", batches=4)
print(timeline)
for ours, theirs in zip(quicker.run()[0], pipe.run()[0], strict=True):
    difference = np.asarray(ours).astype(int) - np.asarray(theirs)
    assert np.abs(difference).max() <= 1
timeline

# %%
gradiva.show([*quicker.run()[0]], columns=3, size=120)

# %% [markdown]
# `trace.json` opens in https://ui.perfetto.dev, for a closer look at each thread.
#
# For time that is spent inside your own Python, a sampling profiler is the better tool. `py-spy`
# looks at a running process from outside, and needs no change of the program:
#
# ```
# pip install py-spy
# py-spy top --pid 12345                          # what runs now, by function
# py-spy record -o profile.svg -- python train.py # a picture of a whole run
# py-spy dump --pid 12345                         # where each thread stands, if it hangs
# ```
#
# ## Memory
#
# With `enable_memory_stats=True` a pipeline counts the bytes of the results of its operators:

# %%
for operator, sizes in quicker.executor_statistics().items():
    print(f"{operator:28s} {sizes['real_memory_size'][0]:9,d} bytes a batch")
print(gradiva.backend.memory_stats())
assert any(sizes["real_memory_size"][0] for sizes in quicker.executor_statistics().values())
pipe.close()
quicker.close()

# %% [markdown]
# Zeros are not a mistake: the intermediate results of a fused group are never in memory as a whole.
# `memory_stats` is about the process: `leased` is in use, `kept` is free for reuse. If `leased`
# grows from epoch to epoch, your program keeps batches, in a list perhaps.
#
# ### Outputs that are used too late
#
# An output lives for as long as you hold it. Other libraries write the next batch into the same
# memory, and programs that also run with those may rely on that by mistake. `GRADIVA_POISON=1`
# shows it: an output is overwritten when it is no longer in use. This program keeps the first batch
# for too long:

# %%
program = """
import numpy as np
from gradiva import fn, pipeline_def

@pipeline_def(batch_size=2, num_threads=1)
def sevens():
    return fn.external_source(lambda: np.full((2, 3), 7, np.uint8))

pipe = sevens()
first = np.asarray(pipe.run()[0])
pipe.run()
print(first[0])
"""
for setting in ("0", "1"):
    environment = {**os.environ, "GRADIVA_POISON": setting}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(photographs.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    print(f"GRADIVA_POISON={setting}:", run.stdout.strip())
assert run.stdout.strip() == "[255 255 255]"

# %% [markdown]
# ## When a pipeline is slower than you expect
#
# `diagnose` runs a pipeline for some seconds and says what limits it, and how much faster it could
# be. Give it the work of your loop on a batch as `consumer`, and it compares both. Its first table
# has a row for each part: `threads` are the worker threads of the pipeline (`num_threads`),
# `processors` the cores of the machine, `reading` the readers and sources, which one thread runs,
# and `your loop` the consumer. `busy` is the part of the time in which it worked, `samples/s` what
# it would deliver if it never waited. Then go through the list below; each line is quick to check.

# %%
pipe = quick_pipeline()
diagnosis = pipe.diagnose(seconds=1)
print(diagnosis)
assert diagnosis.verdict.startswith("quick_pipeline: ")
pipe.close()
diagnosis

# %% [markdown]
# | what you see | what to do |
# |---|---|
# | only the first batch is slow | kernels compile once per machine: `gradiva warmup` |
# | the scheduler waits on a full queue | the pipeline is not the cause: profile your loop |
# | `python_function` on top | NumPy on whole arrays, `numba_function`, an operator (tutorial 04) |
# | a callback of `external_source` on top | `parallel=True` and `py_num_workers` |
# | `readers.file` on top | a slow disk: larger `prefetch_queue_depth`, or a local copy |
# | decoding on top, all threads busy | more threads, smaller files, `decoders.image_crop` |
# | many threads, little work | larger batches; no more threads than cores |
# | operators outside of the group | a value that is also an output, or `preserve=True` |
# | each batch is slower than the last | the program keeps batches: look at `memory_stats` |
#
# And if a result is wrong, not slow: call the function in dynamic mode, on the one sample that is
# wrong, and print the result of each line.

# %%
shutil.rmtree(folder)
print("the folder of this page is gone again")
