"""`cache`: where a graph keeps results, so that later epochs read them."""

from __future__ import annotations

import os

from gradiva.eager import extension as op

IN_MEMORY = "ram"
"""What `where` is for a cache in memory."""


def check_place(where: str, argument: str) -> None:
    """Raises OperatorValueError for what is no place of a cache. argument: that it was given for.

    "ram" in other letters is more often a mistake than the name of a folder.
    """
    problem = ""
    if where != IN_MEMORY and where.lower() == IN_MEMORY:
        problem = f"a folder of this name is {os.path.join(os.curdir, where)!r}"
    elif where and "\0" not in where:
        return
    raise op.wrong_value(argument, "'ram' or a folder", op.describe(where), problem)


@op.operator("cache", bfloat16=True)
def cache(
    input: op.SampleType,
    /,
    *,
    where: op.Path = IN_MEMORY,
    cache_bytes: int | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Store the samples, so that later epochs read them in place of computing them again.

    In a pipeline, a captured loop and a compiled function, what is above this call runs only for
    samples that the cache does not have. So it must be a function of each sample: no random values,
    no function of yours, nothing that looks at other samples of the batch. A sample is known by the
    operators and arguments above this call, by the versions of what computes the values, and by
    where it comes from: the path, size and time of its file, or the contents of what is read. A
    change of any of them is a miss, never a wrong hit. The values have the same bits with and
    without a cache. In dynamic mode the input has been computed already: it is returned as it is.

    `pipeline_def(cache=...)` finds a good place for this call by measuring (docs/cache.md).

    Args:
        input: samples on the CPU, of any dtype, rank and layout.
        where: "ram" for the memory of this process, or a folder, which processes and runs share;
            a folder that is called "ram" itself is "./ram".
        cache_bytes: how much it may store; by default half of the memory that is available, or 80 %
            of the disk space that is free. What does not fit is computed again in each epoch.

    Returns:
        The same samples.

    Raises:
        OperatorTypeError: for samples on a GPU.
        OperatorValueError: with the name of the call, where something above is random, calls a
            function of yours, or depends on other samples; for "RAM", which could mean both.

    Example:
        @gradiva.pipeline_def(batch_size=4, num_threads=2)
        def training():
            files, labels = fn.readers.file(file_root="photos", random_shuffle=True)
            images = fn.resize(fn.decoders.image(files), resize_shorter=256)
            images = fn.cache(images, where="ram")
            return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip()), labels
    """
    if input.device != "cpu":
        raise op.wrong_type("input", "samples on the CPU", "samples on a GPU")
    check_place(os.fspath(where), "where")
    if cache_bytes is not None and cache_bytes < 1:
        raise op.wrong_value("cache_bytes", "a positive number of bytes", cache_bytes)
    return input


@cache.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    return call.inputs[0].batch_shape


@cache.view
def _same(call: op.Call) -> op.Batch:
    batch = call.inputs[0]
    if batch.drawn_at:
        raise op.OperatorValueError(
            "random values are other ones in each step, so they cannot be stored: draw them after "
            "the cache"
        )
    return batch


@cache.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    return [
        op.case("ragged", images).equals(images.arrays()).no_oracle(),
        op.case("scalars", op.samples((), (), dtype=op.float16, layout="")).no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("no folder", images, where="").value_error("got ''"),
        op.case("capitals", images, where="RAM").value_error("'./RAM'"),
        op.case("no path", images, where="a\0b").value_error("`where`"),
        op.case("no bytes", images, cache_bytes=0).value_error("`cache_bytes`"),
    ]
