# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Data sets: which samples, how often, in which batches
#
# A reader delivers the samples of a data set, and keeps its place in it. This page begins with a
# folder of photographs, and ends with a training loop that reads the rare class more often, in
# batches of pictures of about the same size, learns which samples are hard, and resumes in the
# middle of an epoch after a crash.
#
# One rule is behind all of this. The samples of an epoch are a **function of the seed and the
# epoch**, without any history. So a place is two numbers, and resuming there is exact.

# %%
import importlib.util
import io
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn, pipeline_def
from gradiva.plugin.numpy import DALIRaggedIterator, LastBatchPolicy
from gradiva.samplers import PK, Bucket, Function, Weighted

photographs = Path(gradiva.__file__).parent / "photographs"
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## A folder
#
# Sixty pictures of three classes, one of them rare. The class is in the name of the file, and the
# files are in one folder for each month, as a camera stores them.

# %%
classes = {"cat": 40, "cup": 15, "rocket": 5}
originals = {"cat": "animals/chelsea.jpg", "cup": "things/coffee.jpg", "rocket": "space/rocket.jpg"}
number = 0
for name, count in classes.items():
    picture = (photographs / originals[name]).read_bytes()
    for _ in range(count):
        path = folder / f"2026-{number % 3 + 1:02}" / "camera" / f"{number:03}_{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Trailing bytes make files of different sizes: decoders do not mind.
        path.write_bytes(picture + bytes(number * 997))
        number += 1

# %% [markdown]
# `recursive` finds them, and `label_fn` takes the label from the name: a regular expression, or a
# function. `split` reads a part. It uses a hash of the name, so a file stays in its part when
# others are added or removed, and you need no lists.

# %%
names: dict[str, Any] = {"file_root": folder, "recursive": True, "label_fn": r"_(\w+)\.jpg"}
training = gradiva.readers.File(**names, split=(0, 0.8), random_shuffle=True, seed=1)
testing = gradiva.readers.File(**names, split=(0.8, 1))
sizes = [reader.get_metadata()["epoch_size"] for reader in (training, testing)]
print(sizes, "files for training and for testing")
assert sum(sizes) == 60

for files, labels in training.next_epoch(batch_size=4):
    print(labels.as_array().ravel(), [Path(name).name for name in files.source_info()])
    break
gradiva.show(gradiva.resize(gradiva.decoders.image(files), size=(100, 130)), columns=4)

# %% [markdown]
# ## In a few large files
#
# Many small files are slow on many disks. The same pictures in a tar archive are read as
# WebDataset. Nothing else changes: the order of an epoch is one permutation of *all* samples, in
# containers as in folders, not of the contents of a small buffer.

# %%
archive = folder / "training.tar"
with tarfile.open(archive, "w") as tar:
    for path in sorted(folder.rglob("*.jpg")):
        key, label = path.stem.split("_")
        for ending, data in (("jpg", path.read_bytes()), ("cls", label.encode())):
            entry = tarfile.TarInfo(f"{key}.{ending}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))

packed = gradiva.readers.Webdataset(paths=archive, ext=["jpg", "cls"], random_shuffle=True, seed=1)
for _, texts in packed.next_epoch(batch_size=12):
    mixed = [bytes(text).decode() for text in texts.arrays()]
    print(mixed)
assert len(packed.get_state()) >= 4

# %% [markdown]
# ## In a bucket
#
# Every path may be a URL: `s3://`, `gs://`, `https://` (`pip install ".[remote]"`). Here
# `memory://` takes its place, and the cell does nothing without that package. The same seed gives
# the same order, and a state of one reader can be set on the other.

# %%
if importlib.util.find_spec("fsspec"):
    store = importlib.import_module("fsspec").filesystem("memory")
    for path in folder.rglob("*.jpg"):
        store.pipe(f"/camera/{path.relative_to(folder).as_posix()}", path.read_bytes())
    there = {**names, "file_root": "memory://camera"}
    away = gradiva.readers.File(**there, split=(0, 0.8), random_shuffle=True, seed=1)
    away.set_state(training.get_state())
    here, far = next(training.next_epoch(batch_size=8)), next(away.next_epoch(batch_size=8))
    assert all(np.array_equal(a, b) for a, b in zip(here[0].arrays(), far[0].arrays(), strict=True))
    print(far[0].source_info()[0])

# %% [markdown]
# ## Which samples
#
# Eight of twelve pictures are cats. A **sampler** says which samples an epoch has. `"balanced"`
# gives all classes the same share:


# %%
def shares(reader: Any) -> list[int]:
    """How often each label came in an epoch."""
    counts = np.zeros(3, int)
    for _, labels in reader.next_epoch(batch_size=10):
        counts += np.bincount(labels.as_array().ravel(), minlength=3)
    return [int(count) for count in counts]


print("as they are", shares(gradiva.readers.File(**names)))
print("balanced   ", shares(gradiva.readers.File(**names, sampler="balanced")))
assert shares(gradiva.readers.File(**names, sampler="balanced")) == [20, 20, 20]

# %% [markdown]
# `Weighted` takes a number for each sample, `PK(p, k)` makes groups of p classes with k samples
# each, `Subset` reads some samples, and a function of yours returns any numbers. Here is a
# curriculum, which begins with ten samples:


# %%
def curriculum(epoch: int, generator: np.random.Generator) -> Any:
    return generator.permutation(min(10 * (epoch + 1), 60))


growing = gradiva.readers.File(**names, sampler=Function(curriculum))
lengths = [sum(len(labels) for _, labels in growing.next_epoch(batch_size=8)) for _ in range(3)]
print(lengths)
assert lengths == [10, 20, 30]

groups = gradiva.readers.File(**names, sampler=PK(2, 3))
for _, labels in groups.next_epoch(batch_size=6):
    assert len(set(labels.as_array().ravel().tolist())) == 2

# %% [markdown]
# ## Feedback from the training
#
# `feedback` sets the weight of a sample in the next epoch to its score, for example its loss.
# Samples are named by their positions, which every batch has. Here everything except rockets has
# been learned:

# %%
reader = gradiva.readers.File(**names, sampler=Weighted(), seed=1)
for files, labels in reader.next_epoch(batch_size=10):
    losses = np.where(labels.as_array().ravel() == 2, 1.0, 0.01)
    reader.feedback(files, losses)
print(shares(reader))
weights = reader.get_state()["weights"]
assert list(weights) == ["1"], "weights are a part of the place, by the epoch in which they begin"

# %% [markdown]
# ## In which batches
#
# A batch of pictures of different sizes is padded before a network gets it, and the network
# computes the padding for nothing. A **bucket** sorts samples by size within windows, cuts batches
# by a budget, and shuffles the batches. Here the sizes are those of the files; `"pixels"` reads the
# headers, and an array may hold any sizes, such as lengths of texts.


# %%
def padding(reader: Any) -> float:
    """The part of all padded batches that is padding."""
    held = padded = 0
    for files, _ in reader.next_epoch(batch_size=8):
        volumes = files.batch_shape.volumes
        held, padded = held + int(volumes.sum()), padded + len(files) * int(volumes.max())
    return 1 - held / padded


plain = padding(gradiva.readers.File(**names, random_shuffle=True, seed=1))
bucket = Bucket(key="bytes", max_tokens=500_000)
less = padding(gradiva.readers.File(**names, random_shuffle=True, seed=1, bucket=bucket))
print(f"padding: {plain:.0%} without buckets, {less:.0%} with them")
assert less < plain / 2

# %% [markdown]
# The random values of a sample do not change: they belong to its position, not to its batch. With
# several shards, all of them get batches of about the same cost in each step.
#
# ## All at once, and a crash
#
# A sampler with weights, buckets, random augmentations, and a loop whose calls are computed ahead
# (`capture=True`). We leave it in the middle of an epoch.


# %%
def make_reader() -> Any:
    heavy = np.ones(60)
    heavy[55:] = 8
    return gradiva.readers.File(
        **names, sampler=Weighted(heavy), bucket=Bucket(max_tokens=500_000), seed=1
    )


def steps(reader: Any, most: int | None = None) -> list[Any]:
    """Positions and pictures of each step."""
    found = []
    for files, _ in reader.next_epoch(batch_size=8, capture=True):
        images = gradiva.resize(gradiva.decoders.image(files), size=(64, 64))
        mirror = gradiva.random.coin_flip(batch_size=files.batch_size)
        found.append((files.positions, gradiva.flip(images, horizontal=mirror).as_array()))
        if len(found) == most:
            break
    return found


gradiva.random.set_seed(5)
whole = steps(make_reader())

gradiva.random.set_seed(5)
first = make_reader()
before = steps(first, most=4)
state = first.get_state()  # plain data: json.dumps takes it

# %% [markdown]
# In another process, later: the same arguments, and the saved state.

# %%
gradiva.random.set_seed(5)
second = make_reader()
second.set_state(state)
after = steps(second)
print(len(before), "steps before,", len(after), "after, of", len(whole))
assert len(before) + len(after) == len(whole)
for (position, images), (expected, pictures) in zip([*before, *after], whole, strict=True):
    assert np.array_equal(position, expected)
    assert np.array_equal(images, pictures)

# %% [markdown]
# ## Several data sets, in a pipeline
#
# `readers.mix` makes one reader of several, here seven photographs of the package to three of ours.
# In a pipeline, `output_map` of an iterator adds the names and positions of the samples.


# %%
@pipeline_def(batch_size=8, num_threads=2, seed=1)
def several() -> Any:
    ours = gradiva.readers.File(**names, random_shuffle=True)
    theirs = gradiva.readers.File(file_root=photographs, random_shuffle=True)
    files, _, source = fn.readers.mix(
        readers=[theirs, ours], weights=[0.7, 0.3], stop=40, with_source=True, name="both"
    )
    return fn.resize(fn.decoders.image(files), size=(64, 64)), source


pipe = several()
loop = DALIRaggedIterator(
    [pipe],
    ["images", "source", "@path", "@index", "@position"],
    reader_name="both",
    last_batch_policy=LastBatchPolicy.PARTIAL,
)
seen = 0
for (batch,) in loop:
    seen += len(batch["images"])
    print(np.ravel(batch["source"]), batch["@position"][:3], Path(batch["@path"][0]).name)
pipe.close()
assert seen == 40
