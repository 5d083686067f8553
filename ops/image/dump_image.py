"""`dump_image`: write the images of a batch into files, to look at them."""

from __future__ import annotations

from typing import Any

from gradiva.eager import extension as op
from gradiva.eager.cuda.context import Gpu


@op.operator("dump_image", schema="DumpImage", effects=True)
def dump_image(
    input: op.SampleType,
    /,
    *,
    suffix: str = "",
    input_layout: op.Layout = "HWC",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Write each image into a file of the current folder, and return the batch as it is.

    The files are Netpbm images as text, P2 for one channel and P3 for three. The files are written
    whether the output is used or not.

    Args:
        input: uint8 images, (H, W, 1) or (H, W, 3).
        input_layout: "HWC"; no other one is taken.
        suffix: a part of the names: sample 2 goes to the file `2-{suffix}-0.ppm`. The next batch
            overwrites the files.

    Returns:
        The input as it is.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for other layouts and numbers of channels.
        OperatorRuntimeError: for files that cannot be written.

    Example:
        image = gradiva.imread("cat.jpg")
        image = gradiva.dump_image(image, suffix="cat")  # writes 0-cat-0.ppm
    """
    op.require_dtype(input, (op.uint8,))
    if input_layout != "HWC":
        raise op.wrong_value("input_layout", "'HWC'", repr(input_layout))
    if input.ndim not in (None, 3):
        raise op.OperatorTypeError(expected="images with 3 axes, HWC", got=f"{input.ndim} axes")
    if input.layout not in (None, "", "HWC"):
        raise op.OperatorTypeError(expected="images with the layout HWC", got=str(input.layout))
    return input


dump_image.moves = op.IN_PLACE


@dump_image.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    batch_shape = call.inputs[0].batch_shape
    for sample, channels in enumerate(batch_shape.shapes[:, 2].tolist()):
        if channels not in (1, 3):
            raise op.wrong_value("", "images of 1 or 3 channels", f"{channels}", sample=sample)
    return batch_shape


@dump_image.cpu
def _cpu(call: op.Call) -> None:
    for sample in range(call.size):
        image = call.inputs[0].array(sample)
        call.outputs[0].array(sample)[...] = image
        name = f"{sample}-{call['suffix']}-0.ppm"
        try:
            with open(name, "w", encoding="ascii") as file:
                file.write(_netpbm(image))
        except OSError as error:
            raise op.OperatorRuntimeError(
                f"cannot write {name}: {error.strerror}", sample=sample
            ) from error


@dump_image.mixed_gpu
def _gpu(call: op.Call, gpu: Gpu) -> None:
    """Run the CPU kernel, and copy what it made to the GPU."""
    (there,) = call.outputs
    here = op.Batch.empty(there.batch_shape, there.type.with_(device="cpu"))
    call.outputs = (here,)
    _cpu(call)
    target: Any = there.data
    gpu.write(here.data, target)
    call.outputs = (there,)


def _netpbm(image: Any) -> str:
    """The image as text: a header, then the values of each row in a line."""
    height, width, channels = image.shape
    lines = [f"P{2 if channels == 1 else 3}", f"{width} {height}", "255"]
    lines += ["".join(f"{value} " for value in row) for row in image.reshape(height, -1).tolist()]
    return "\n".join(lines) + "\n"


@dump_image.cases
def _cases() -> list[op.Case]:
    # Nothing is written by these: tests and `warmup` call them, in any folder.
    images = op.samples((4, 5, 3))
    return [
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.float32)).type_error("dtype"),
        op.case("rank", op.samples((2, 2), layout="HW")).type_error("3 axes"),
        op.case("layout", op.samples((3, 2, 2), layout="CHW")).type_error("HWC"),
        op.case("asked layout", images, input_layout="CHW").value_error("`input_layout`"),
        op.case("channels", op.samples((2, 2, 4))).value_error("1 or 3"),
    ]
