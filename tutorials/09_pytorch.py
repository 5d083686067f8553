# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # PyTorch: a network, two epochs, and a crash in the middle
#
# This page trains a small network on pieces of photographs: which photograph is a piece from? The
# batches come from a pipeline, without a copy. Then the training is stopped in the middle of the
# second epoch, as by a crash, and resumes from the saved state. The final network is the same, bit
# by bit, as that of a training that was never stopped.
#
# It needs PyTorch: `pip install torch`.

# %%
import io
import tempfile
from pathlib import Path
from typing import Any

import PIL.Image
import torch
from torch import nn
from torch.utils.data import DataLoader

import gradiva
from gradiva import fn, pipeline_def, types
from gradiva.plugin.pytorch import DALIGenericIterator, IterableDataset, LastBatchPolicy

photographs = Path(gradiva.__file__).parent / "photographs"
folder = Path(tempfile.mkdtemp())
torch.set_num_threads(1)

# %% [markdown]
# ## Pieces of photographs
#
# Twenty pieces of each of four photographs, as JPEG files, in a folder for each.

# %%
sources = sorted(photographs.rglob("*.jpg"))[:4]
for label, source in enumerate(sources):
    picture = PIL.Image.open(source).convert("RGB").resize((320, 256))
    for number in range(20):
        left, top = 64 * (number % 5), 64 * (number // 5)
        target = folder / str(label) / f"{number:02}.jpg"
        target.parent.mkdir(exist_ok=True)
        picture.crop((left, top, left + 64, top + 64)).save(target, quality=90)
print(len(list(folder.rglob("*.jpg"))), "files")

# %% [markdown]
# ## The pipeline
#
# It reads in an order that depends on the seed and the epoch, decodes, crops a random window, and
# flips at random. `shard_id` and `num_shards` are for later: which part of the data this process
# reads.


# %%
@pipeline_def(batch_size=16, num_threads=1, seed=5)
def pieces(shard_id: int = 0, num_shards: int = 1) -> Any:
    files, labels = fn.readers.file(
        file_root=folder,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        name="reader",
        label_dtype="int64",
        label_shape=(),
    )
    images = fn.random_resized_crop(fn.decoders.image(files), size=(32, 32), random_area=(0.5, 1.0))
    images = fn.crop_mirror_normalize(
        images,
        mirror=fn.random.coin_flip(),
        mean=[128.0] * 3,
        std=[64.0] * 3,
        dtype=types.FLOAT,
        output_layout="CHW",
    )
    return images, labels


pipe = pieces()
images, labels = pipe.run()
gradiva.show(fn.transpose(images, perm=[1, 2, 0]), labels=[str(int(one)) for one in labels])

# %% [markdown]
# ## Batches as torch tensors
#
# `DALIGenericIterator` gives a list with a dict for each pipeline: here one. `len` is exact: eighty
# samples in batches of sixteen. The tensors use the memory that the pipeline wrote, which is not
# reused as long as they exist.

# %%
pipe.close()
iterator = DALIGenericIterator(
    pieces(), ["data", "label"], reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL
)
assert len(iterator) == 5
held = [turn[0]["data"] for turn in iterator]
print([tuple(data.shape) for data in held], held[0].dtype)
assert len({data.data_ptr() for data in held}) == 5
assert all(data.data_ptr() % 64 == 0 for data in held)
iterator._pipes[0].close()

# %% [markdown]
# ## A data set that makes its pipelines in the workers
#
# For a loop of PyTorch's own there is `IterableDataset`. It is given the *function*, not a
# pipeline: each worker of a `DataLoader` makes a pipeline, and they take turns. Without workers the
# main process makes one, and pipelines have threads of their own, so that is usually the fastest.

# %%
dataset = IterableDataset(pieces, ["data", "label"], num_workers=0)
loader = DataLoader(dataset, batch_size=None)  # the data set makes batches already
print(len(loader), "batches in an epoch")

# %% [markdown]
# ## Training
#
# A network that can be read at a glance.


# %%
def made() -> tuple[Any, Any]:
    torch.manual_seed(1)
    network = nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 6 * 6, len(sources)),
    )
    return network, torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)


def step(network: Any, optimizer: Any, turn: Any) -> float:
    loss = nn.functional.cross_entropy(network(turn["data"]), turn["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.item())


network, optimizer = made()
losses = [[step(network, optimizer, turn) for turn in loader] for _ in range(2)]
for epoch, found in enumerate(losses):
    print(f"epoch {epoch}:", " ".join(f"{loss:.3f}" for loss in found))
assert sum(losses[1]) < sum(losses[0])
expected = {name: value.clone() for name, value in network.state_dict().items()}

# %% [markdown]
# ## A crash in the middle
#
# The same again, but after two batches of the second epoch everything is saved to a file: the
# network, the optimizer, and the place in the data. `StatefulDataLoader` of torchdata calls
# `state_dict` and `load_state_dict` of a data set, also in workers; here we call them.

# %%
network, optimizer = made()
dataset = IterableDataset(pieces, ["data", "label"])
for turn in dataset:
    step(network, optimizer, turn)
for number, turn in enumerate(dataset):
    step(network, optimizer, turn)
    if number == 1:
        break
saved = io.BytesIO()
parts = {"network": network, "optimizer": optimizer, "data": dataset}
torch.save({name: part.state_dict() for name, part in parts.items()}, saved)
print(len(saved.getvalue()), "bytes")
del network, optimizer, dataset, parts, turn

# %% [markdown]
# A new process would begin here. It makes the three again, and resumes.

# %%
saved.seek(0)
state = torch.load(saved)
network, optimizer = made()
dataset = IterableDataset(pieces, ["data", "label"])
network.load_state_dict(state["network"])
optimizer.load_state_dict(state["optimizer"])
dataset.load_state_dict(state["data"])
rest = [step(network, optimizer, turn) for turn in dataset]
print("the rest of epoch 1:", " ".join(f"{loss:.3f}" for loss in rest))
assert rest == losses[1][2:]
assert all(torch.equal(value, expected[name]) for name, value in network.state_dict().items())

# %% [markdown]
# The same losses, and the same network, bit by bit. `docs/pytorch.md` has the rest: workers and
# their seeds, several processes, Lightning, and functions of dynamic mode as transforms.
