"""What users write: no type checker finds anything here. It is checked, not run."""

from __future__ import annotations

import numpy as np

import gradiva
from gradiva import (
    Batch,
    DataNode,
    DType,
    EvalContext,
    EvalMode,
    Pipeline,
    Tensor,
    capture,
    checkpoint,
    fn,
    ops,
    pipeline_def,
    types,
)


def augment(files: Batch) -> Batch:
    images = gradiva.decoders.image(files)
    images = gradiva.resize(images, size=(224, 224), interp_type=types.INTERP_CUBIC)
    mirror = gradiva.random.coin_flip(batch_size=images.batch_size)
    angles = gradiva.random.uniform(range=(-10.0, 10.0), batch_size=len(images))
    images = gradiva.rotate(images, angle=angles, keep_size=True)
    images = images * 2 + 1 - images / 2.0
    mask: Batch = images > 3
    images = gradiva.flip(images, horizontal=mirror, vertical=[0, 1, 0])
    both = gradiva.cat(images, images, axis=0)
    red = images.slice[:, :, 0]
    print(mask.dtype, both.shape, red.layout)
    return gradiva.crop_mirror_normalize(images, crop=(200, 200), mean=[1.0], std=[2.0])


def lists(
    first: bytes, second: bytes, array: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
) -> None:
    images: Batch = gradiva.decoders.image([first, second])
    print(images.shape, gradiva.resize([array, array], size=(8, 8), interp_type="cubic"))


def some_values(values: Tensor) -> Batch:
    return gradiva.batch([values, values])


reader = gradiva.readers.File(file_root="photos", random_shuffle=True)
for files, labels in reader.next_epoch(batch_size=4, progress=True):
    made = augment(files)
    first: Tensor = made.tensors[0]
    array = np.asarray(first)
    print(array.sum(), labels, first.shape, first.item(), made.select(0))

loop = reader.next_epoch(batch_size=4, capture=True)
for files, _ in loop:
    augment(files)
print(loop.explain(), loop.graph)


@pipeline_def(batch_size=2, num_threads=2, seed=7, enable_conditionals=True)
def training(size: int) -> tuple[DataNode, DataNode]:
    files, numbers = fn.readers.file(file_root="photos", name="reader")
    images = fn.decoders.image(files, on_error="skip")
    images = fn.resize(images, size=(size, size))
    images = fn.brightness_contrast(images, brightness=fn.random.uniform(range=(0.8, 1.2)))
    images = fn.cast(images, dtype=types.FLOAT) / 255
    attributes: list[DataNode] = fn.nonsilent_region(images)
    print(attributes)
    return images, numbers


pipe: Pipeline = training(64)
outputs = pipe.run()
print(outputs[0].as_array(), pipe.graph, pipe.epoch_size("reader"))
saved: bytes = pipe.checkpoint()
pipe.close()

fast = capture.compile(augment)
result: Batch = fast(gradiva.as_batch(np.zeros((2, 8, 8, 3), np.uint8), layout="HWC"))
with EvalMode.deferred:
    later: Batch = gradiva.flip(result)
later.evaluate()

flip = ops.Flip(horizontal=1)
print(flip(result))

generator = gradiva.random.RNG(5)
gradiva.random.set_seed(3)
values = gradiva.random.normal(mean=0.0, stddev=1.0, shape=(3,), batch_size=2, rng=generator)
state = generator.get_state()
generator.set_state(state)
copy = generator.clone()

tensor: Tensor = gradiva.tensor([1, 2, 3], dtype=gradiva.float32, layout="X")
view: Tensor = gradiva.as_tensor(np.ones(3))
part = tensor[1:]
total: Tensor = -(tensor + 1) * view / np.ones(3)
mixed: Batch = tensor + some_values(tensor)
also: Batch = some_values(tensor) * tensor
kind: DType = tensor.dtype
some: Batch = gradiva.batch([np.zeros(3), np.zeros(4)])
broad = Batch.broadcast(1.0, batch_size=4)
root = gradiva.math.sqrt(broad)
one = gradiva.flip(np.zeros((4, 4, 3), np.uint8))
shown = gradiva.show(result, labels=[1, 2], boxes=[[0, 0, 1, 1]] * 2, columns=3, size=100)
shown.save("x.png")
with EvalContext(num_threads=2):
    gradiva.gaussian_blur(result, sigma=1.0, window_size=3)
gradiva.set_num_threads(2)
try:
    gradiva.resize(result, size=(1, 1))
except gradiva.OperatorValueError as error:
    print(error)
means = gradiva.reductions.mean(result, axes=[0, 1])
transform = gradiva.transforms.rotation(angle=30.0, batch_size=2)
warped = gradiva.warp_affine(result, matrix=transform)
print(tensor.torch(), result.torch(pad=True), result.cpu(), tensor.cpu())
source = gradiva.ExternalSource(lambda: np.zeros((2, 3)))
saver = checkpoint.Checkpoint()
metadata = reader.get_metadata()
reader.set_state(reader.get_state())
for sample in tensor:
    print(sample)
for item in result:
    print(item.shape)


def several(boxes: Batch, labels: Batch, images: Batch, image: Tensor) -> tuple[Batch, Batch]:
    """Calls with several outputs."""
    near, numbers = gradiva.box_encoder(boxes, labels, anchors=[0.0, 0.0, 1.0, 1.0])
    encoded: tuple[Batch, Batch] = (near, numbers)
    anchor, shape = gradiva.random_crop_generator(image)
    of_tensors: tuple[Tensor, Tensor] = (anchor, shape)
    begin, size, *others = gradiva.random_bbox_crop(boxes, labels)
    window: list[Batch] = [begin, size, *others]
    small, sizes = gradiva.resize(images, size=(4, 4), save_attrs=True)
    turned, kept = gradiva.bbox_rotate(boxes, labels, angle=3.0, input_shape=(4, 4))
    print(of_tensors, window, small, sizes, turned, kept)
    return encoded


documented: str = gradiva.resize.operator.name
