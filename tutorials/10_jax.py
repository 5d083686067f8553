# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Training with JAX
#
# A small network learns the photographs of this package in two epochs. The training is stopped in
# the middle, and resumes in a new iterator as if nothing had happened. Then the same runs on all
# devices that JAX finds.
#
# It needs JAX: `pip install ".[jax]"`.

# %%
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gradiva
from gradiva import fn
from gradiva.plugin.jax import data_iterator
from gradiva.plugin.jax.fn import jax_function

photographs = Path(gradiva.__file__).parent / "photographs"
classes = sorted(folder.name for folder in photographs.iterdir() if folder.is_dir())
print(len(classes), "classes:", ", ".join(classes))

# %% [markdown]
# ## From a function to an iterator
#
# `data_iterator` turns a function that calls operators into a maker of iterators (it also works as
# a decorator). Each step gives a dict of JAX arrays. The epochs are those of the named reader. If
# the photographs do not fill the last batch, the stream continues into the next epoch
# (`LastBatchPolicy.FILL`), because JAX compiles a function for each shape, so all batches should
# have the same one.


# %%
def augmented(shard_id: int = 0, num_shards: int = 1) -> Any:
    files, labels = fn.readers.file(
        file_root=str(photographs),
        random_shuffle=True,
        name="reader",
        shard_id=shard_id,
        num_shards=num_shards,
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


training = data_iterator(augmented, output_map=["images", "labels"], reader_name="reader")
iterator = training(batch_size=2, num_threads=2, seed=7)
turn = next(iterator)
print({name: (array.shape, array.dtype) for name, array in turn.items()})
assert turn["images"].shape == (2, 32, 32, 3)
gradiva.as_batch(np.asarray(turn["images"] * 58 + 115).clip(0, 255).astype(np.uint8), layout="HWC")

# %% [markdown]
# The array of images uses the memory that the last operator has written: nothing was copied. JAX
# needs memory that begins at a multiple of 64 bytes, as that of each batch does. The memory is
# reused only after JAX has released the array, so you may keep arrays, and background computations
# of JAX are safe.

# %%
assert turn["images"].unsafe_buffer_pointer() % 64 == 0

# %% [markdown]
# ## A network
#
# One convolution, one mean, one matrix, in plain JAX.


# %%
def network(parameters: dict[str, Any], images: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    hidden = jax.lax.conv_general_dilated(
        images, parameters["filters"], (2, 2), "SAME", dimension_numbers=numbers
    )
    return jax.nn.relu(hidden).mean(axis=(1, 2)) @ parameters["matrix"]


def loss_of(parameters: dict[str, Any], images: Any, labels: Any) -> Any:
    scores = jax.nn.log_softmax(network(parameters, images))
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


@jax.jit
def step(parameters: dict[str, Any], images: Any, labels: Any) -> Any:
    loss, slopes = jax.value_and_grad(loss_of)(parameters, images, labels)
    moved = jax.tree.map(lambda value, slope: value - 0.1 * slope, parameters, slopes)
    return moved, loss


def fresh_parameters() -> dict[str, Any]:
    first, second = jax.random.split(jax.random.key(3))
    return {
        "filters": jax.random.normal(first, (3, 3, 3, 16)) * 0.2,
        "matrix": jax.random.normal(second, (16, len(classes))) * 0.2,
    }


# %% [markdown]
# ## Two epochs
#
# The loop is the usual one. `len(iterator)` is the number of batches of the epoch; the next loop
# begins the next epoch.

# %%
iterator = training(batch_size=2, seed=7)
parameters = fresh_parameters()
losses = []
for epoch in range(2):
    steps = len(iterator)
    for turn in iterator:
        parameters, loss = step(parameters, turn["images"], turn["labels"])
        losses.append(float(loss))
    print(f"epoch {epoch}: {steps} steps, loss {np.mean(losses[-steps:]):.3f}")
whole = losses

# %% [markdown]
# ## Stopped in the middle
#
# With `enable_checkpointing` an iterator can save its state. That is a few hundred bytes: places in
# the data, and no data. Save them together with the parameters.

# %%
iterator = training(batch_size=2, seed=7, enable_checkpointing=True)
parameters = fresh_parameters()
losses = []
for turn in iterator:
    parameters, loss = step(parameters, turn["images"], turn["labels"])
    losses.append(float(loss))
    if len(losses) == 2:
        break
saved = {"places": iterator.checkpoints(), "parameters": jax.tree.map(np.asarray, parameters)}
del iterator, parameters
print(len(saved["places"][0]), "bytes")

# %% [markdown]
# Another process resumes there: it finishes the first epoch, and then does the second. Its batches,
# including random crops, are those of the training that was never stopped, and so are the losses.

# %%
iterator = training(
    batch_size=2, num_threads=1, enable_checkpointing=True, checkpoints=saved["places"]
)
parameters = saved["parameters"]
for _ in range(2):
    for turn in iterator:
        parameters, loss = step(parameters, turn["images"], turn["labels"])
        losses.append(float(loss))
print([f"{one:.3f}" for one in losses])
assert np.allclose(losses, whole, rtol=1e-6, atol=0)

# %% [markdown]
# ## A JAX function in the graph
#
# `jax_function` makes an operator of a function of JAX. The function gets the whole batch without a
# copy, and runs in advance with the other operators.


# %%
@jax_function
def two_octaves(images: Any) -> Any:
    return jnp.sin(images.astype(jnp.float32) / 40) + jnp.sin(images.astype(jnp.float32) / 20)


reader = gradiva.readers.File(file_root=str(photographs))
for files, _ in reader.next_epoch(batch_size=3):
    images = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
    waves = two_octaves(images)
    break
expected = np.sin(images.as_array().astype(np.float32) / 40)
expected += np.sin(images.as_array().astype(np.float32) / 20)
assert np.allclose(waves.as_array(), expected, atol=1e-5)
assert waves.layout == "HWC"

# %% [markdown]
# ## All devices
#
# With a sharding there is a pipeline for each device, which reads a shard of the data. Each step
# gives arrays that are distributed over all of them; a jitted function then runs on all. On a
# machine without GPUs, `jax.config.update("jax_num_cpu_devices", 4)` makes four devices of the CPU,
# to try it.

# %%
devices = jax.devices()
mesh = jax.sharding.Mesh(np.array(devices), ("batch",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
on_all = data_iterator(
    augmented, output_map=["images", "labels"], reader_name="reader", sharding=sharding
)
iterator = on_all(batch_size=2 * len(devices), seed=7)
parameters = jax.device_put(
    fresh_parameters(), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
)
for turn in iterator:
    assert turn["images"].sharding.is_equivalent_to(sharding, 4)
    parameters, loss = step(parameters, turn["images"], turn["labels"])
print(f"{len(devices)} devices, batches of {turn['images'].shape[0]}, loss {float(loss):.3f}")

# %% [markdown]
# ## In short
#
# | to do | use |
# |---|---|
# | make an iterator of a function | `data_iterator(output_map=..., reader_name=...)` |
# | make one of pipelines that you have | `DALIGenericIterator(pipelines, output_map)` |
# | resume in the middle | `enable_checkpointing=True`, `iterator.checkpoints()`, `checkpoints=` |
# | run on several devices | `sharding=`, or `devices=` for a leading axis of devices |
# | look at the next batch | `gradiva.plugin.jax.clu.peekable_data_iterator` |
# | call JAX in a pipeline | `gradiva.plugin.jax.fn.jax_function` |
