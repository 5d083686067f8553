# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Training with TensorFlow
#
# A small network learns the photographs of this package in two epochs: in a loop that is stopped in
# the middle and resumes as if nothing had happened, and with Keras `fit`. Then a pipeline is one
# part of a `tf.data` program.
#
# It needs TensorFlow: `pip install ".[tf]"`. The plugin has no compiled part that would have to
# match the version of TensorFlow.

# %%
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import gradiva
from gradiva import fn, pipeline_def
from gradiva.plugin.tf import DALIDataset, DALIGenericIterator
from gradiva.plugin.tf.experimental import DALIDatasetWithInputs

photographs = Path(gradiva.__file__).parent / "photographs"
classes = sorted(folder.name for folder in photographs.iterdir() if folder.is_dir())
print(len(classes), "classes:", ", ".join(classes))

# %% [markdown]
# ## From a function to tensors
#
# The function is an ordinary pipeline function. The iterator gives eager tensors: a tuple of them,
# as Keras expects, or a dict where `output_map` names the outputs.


# %%
@pipeline_def(batch_size=2, num_threads=2, seed=7)
def training() -> Any:
    files, labels = fn.readers.file(
        file_root=str(photographs), random_shuffle=True, pad_last_batch=True, name="reader"
    )
    images = fn.random_resized_crop(fn.decoders.image(files), size=(32, 32))
    images = fn.crop_mirror_normalize(
        images,
        mirror=fn.random.coin_flip(),
        mean=[124.0, 116.0, 104.0],
        std=[58.0, 57.0, 57.0],
        output_layout="HWC",
    )
    return images, fn.squeeze(labels, axes=0)


iterator = DALIGenericIterator(training(), reader_name="reader")
images, labels = next(iterator)
print(images.shape, images.dtype, labels.shape, labels.dtype)
assert images.shape == (2, 32, 32, 3)
gradiva.as_batch((images.numpy() * 58 + 115).clip(0, 255).astype(np.uint8), layout="HWC")

# %% [markdown]
# The tensor of images uses the memory that the last operator has written: nothing was copied. The
# memory is reused only after TensorFlow has released the tensor, so you may keep tensors.

# %%
assert np.from_dlpack(images).ctypes.data % 64 == 0

# %% [markdown]
# ## A network and a loop
#
# The loop is the usual one. `len(iterator)` is the number of batches of the epoch; the next loop
# begins the next epoch.


# %%
def fresh_model() -> Any:
    tf.keras.utils.set_random_seed(3)
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((32, 32, 3)),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(len(classes)),
        ]
    )


loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def step(model: Any, images: Any, labels: Any) -> float:
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(images, training=True))
    values = model.trainable_variables
    for value, slope in zip(values, tape.gradient(loss, values), strict=True):
        value.assign_sub(0.1 * slope)
    return float(loss)


iterator = DALIGenericIterator(training(), reader_name="reader")
model = fresh_model()
whole = []
for epoch in range(2):
    steps = len(iterator)
    whole += [step(model, images, labels) for images, labels in iterator]
    print(f"epoch {epoch}: {steps} steps, loss {np.mean(whole[-steps:]):.3f}")

# %% [markdown]
# ## Stopped in the middle
#
# With `enable_checkpointing` an iterator can save its state. That is a few hundred bytes: places in
# the data, and no data. Save them together with the weights.

# %%
iterator = DALIGenericIterator(training(enable_checkpointing=True), reader_name="reader")
model = fresh_model()
losses = []
for images, labels in iterator:
    losses.append(step(model, images, labels))
    if len(losses) == 2:
        break
(place,) = iterator.checkpoints()
weights = model.get_weights()
del iterator, model
print(len(place), "bytes")

# %% [markdown]
# Another process resumes there: it finishes the first epoch, and then does the second. Its batches,
# including random crops, are those of the training that was never stopped, and so are the losses.

# %%
restored = training(enable_checkpointing=True, checkpoint=place, num_threads=1)
iterator = DALIGenericIterator(restored, reader_name="reader")
model = fresh_model()
model.set_weights(weights)
for _ in range(2):
    losses += [step(model, images, labels) for images, labels in iterator]
print([f"{one:.3f}" for one in losses])
assert np.allclose(losses, whole, rtol=1e-5, atol=0)

# %% [markdown]
# ## Keras
#
# `iterator.dataset()` is a `tf.data.Dataset` of which each loop is an epoch of the iterator, and
# `steps` tells Keras how many batches that has. TensorFlow prefetches batches here, so save
# checkpoints between epochs, or in a loop like the one above.

# %%
iterator = DALIGenericIterator(training(), reader_name="reader")
model = fresh_model()
model.compile("sgd", loss_of)
history = model.fit(
    iterator.dataset(steps=len(iterator)), epochs=2, verbose=0, shuffle=False
).history
print("Keras:", [f"{one:.3f}" for one in history["loss"]])
assert len(history["loss"]) == 2

# %% [markdown]
# ## `DALIDataset`
#
# The data set of scripts for DALI is endless: give Keras `steps_per_epoch`. It uses the graph of
# the pipeline, with its own batch size and threads. Each loop over it starts from the beginning. It
# is an ordinary data set, so `map`, `zip`, `prefetch` and so on work.

# %%
data = DALIDataset(
    training(), (tf.float32, tf.int32), ((4, 32, 32, 3), (4,)), batch_size=4, num_threads=2
)
model.fit(data, steps_per_epoch=2, verbose=0, shuffle=False)
bright = data.map(lambda images, labels: (images + 0.5, labels)).unbatch().batch(3).take(2)
assert [tuple(images.shape) for images, _ in bright] == [(3, 32, 32, 3)] * 2

# %% [markdown]
# ## Data sets as inputs
#
# In the other direction, a data set feeds a pipeline: here files that `tf.data` has found and read.
# Inputs are external sources with a name.


# %%
@pipeline_def
def thumbnails() -> Any:
    images = fn.decoders.image(fn.external_source(name="files"))
    return fn.resize(images, size=(48, 48))


names = sorted(str(path) for path in photographs.glob("*/*.jpg"))
files = tf.data.Dataset.from_tensor_slices(names).map(tf.io.read_file)
made = DALIDatasetWithInputs(
    thumbnails(batch_size=4), tf.uint8, batch_size=4, input_datasets={"files": files}
)
counts = [int(images.shape[0]) for (images,) in made]
print("batches of", counts)
assert sum(counts) == len(names)

# %% [markdown]
# ## In short
#
# | to do | use |
# |---|---|
# | loop over eager tensors | `DALIGenericIterator(pipeline, reader_name=...)` |
# | resume in the middle | `enable_checkpointing=True`, `iterator.checkpoints()`, `checkpoint=` |
# | train with Keras | `iterator.dataset(steps=len(iterator))` |
# | run scripts for DALI | `DALIDataset`, and Keras with `steps_per_epoch` |
# | feed a pipeline from `tf.data` | `experimental.DALIDatasetWithInputs` |
