"""How the image decoders run on a GPU: files in host memory, pixels in the GPU's.

nvJPEG decodes what it can, right into the output where its pixels are those that were asked for,
else into scratch memory, from which one kernel makes them. The CPU decodes the rest into pinned
memory, in the same threads, and the device copies that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.device_array import DeviceArray
from gradiva.eager.runtime.host_memory import allocate, is_leased
from gradiva.eager.runtime.worker_pool import Task
from gradiva.eager.support.errors import failure_text
from gradiva.ops.decoders.image_info import Window
from gradiva.ops.decoders.jpeg.gpu.decoder import JpegDecoder
from gradiva.ops.decoders.jpeg.gpu.decoder_pool import DecoderPool, Settings
from gradiva.ops.decoders.jpeg.gpu.finish import finish_launch, is_finished, window_of
from gradiva.ops.decoders.jpeg.gpu.job import Job
from gradiva.ops.decoders.jpeg.gpu.plan import plan
from gradiva.ops.decoders.jpeg.gpu.route import Options

from .plan import DecodePlan

_ALIGNED = 256


def decode_on_gpu(call: op.Call, gpu: Gpu, decoding: DecodePlan) -> None:
    """The GPU work of the image decoders: `Operator.mixed_gpu`."""
    options = Options(
        output_type=op.ImageType(call["output_type"]).name,
        hw_decoder_load=call["hw_decoder_load"],
        hybrid_huffman_threshold=call["hybrid_huffman_threshold"],
        jpeg_fancy_upsampling=call["jpeg_fancy_upsampling"],
    )
    settings = Settings(
        hardware=options.hw_decoder_load != 0,
        width=call["preallocate_width_hint"],
        height=call["preallocate_height_hint"],
        device_padding=call["device_memory_padding"],
        pinned_padding=call["host_memory_padding"],
        fancy_upsampling=options.jpeg_fancy_upsampling,
    ).check()
    gpu.runtime.activate()
    decoder = None
    if any(info.format == "jpeg" for info in decoding.infos):
        decoder = gpu.tool(DecoderPool).find(settings, call.size)
    host = _Host(call, gpu)
    if decoder is None:
        host.add(range(call.size))
    else:
        _by_library(call, gpu, decoder, options, host)
    host.finish()


def _by_library(
    call: op.Call, gpu: Gpu, decoder: JpegDecoder, options: Options, host: _Host
) -> None:
    """Give nvJPEG its images, and the others to `host`."""
    decoding = DecodePlan.of(call)
    infos, windows = decoding.infos, None
    if decoding.windows is not None:
        windows = [(top, left, *size) for top, left, *size in decoding.windows.tolist()]
    turned: bool = call["adjust_orientation"]
    options = replace(options, engines=decoder.engines)
    files = call.inputs[0]
    made = plan(files.arrays(), infos, options, windows, turned, files)
    host.add([index for index, _ in made.host])
    jobs = [*made.hybrid, *(job for batch in made.engine for job in batch)]
    if not is_leased(files.data):
        for job in jobs:  # the user's memory may change when this returns: the GPU is not done then
            job.data = _copied(job.data)
    rows = _placed(call, gpu, jobs, windows, options.output_type, turned)
    refused = decoder.decode(made.engine, made.hybrid, gpu.stream.handle, host.beside)
    failed = {job.index for job, _ in refused}
    host.add(sorted(failed))
    rest = [row for row in rows.jobs if row[0].index not in failed]
    if rest:
        target = call.outputs[0]
        gpu.run([finish_launch(rest, rows.scratch, target, options.output_type, turned)])


def _copied(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    made = allocate(data.size, data.dtype)
    made[...] = data
    return made


class _Placed(NamedTuple):
    """The jobs whose pixels are not yet those of the result: as `finish_launch` takes them, and the
    memory in which they lie."""

    jobs: list[tuple[Job, int, Window]]
    scratch: DeviceArray


def _placed(
    call: op.Call,
    gpu: Gpu,
    jobs: Sequence[Job],
    windows: Sequence[Window] | None,
    output_type: str,
    turned: bool,
) -> _Placed:
    """Tell each job where to write: into the output, where its pixels are those of the result."""
    batch_shape, data = call.outputs[0].batch_shape, call.outputs[0].data
    assert isinstance(data, DeviceArray)
    rows: list[tuple[Job, int, Window]] = []
    size = 0
    for job in jobs:
        index = job.index
        part = window_of(job, None if windows is None else windows[index], turned)
        upright = job.frame.info.orientation == 1 or not turned
        if upright and is_finished(job, part, output_type, data.dtype):
            job.write_to(data.address + int(batch_shape.offsets[index]))
        else:
            rows.append((job, size, part))
            size += -(-math.prod(job.shape) // _ALIGNED) * _ALIGNED
    scratch = gpu.empty(size, np.dtype(np.uint8))
    for job, start, _ in rows:
        job.write_to(scratch.address + start)
    return _Placed(rows, scratch)


def _nothing(_begin: int, _end: int) -> None:
    pass


class _Host:
    """The images that the CPU decodes, in the threads of the call."""

    def __init__(self, call: op.Call, gpu: Gpu) -> None:
        self._call = call
        self._gpu = gpu
        self._stream = gpu.stream
        self._make, self._costs = call.operator.fusion_role.decode(call)
        self._waiting: list[int] = []
        self._failures: dict[int, op.GradivaError] = {}

    def add(self, samples: Sequence[int]) -> None:
        """To be decoded, but for those that have failed already."""
        failed = self._call.failures or ()
        self._waiting += [sample for sample in samples if sample not in failed]

    def beside(self, task: Task, ranges: Sequence[tuple[int, int]]) -> None:
        """Run a task over ranges, and decode what waits at the same time."""
        samples, self._waiting = sorted(self._waiting, key=lambda s: -self._costs[s]), []
        count = len(samples)

        def work(begin: int, end: int) -> None:
            for number in range(begin, end):
                if number < count:
                    self._decode(samples[number])
                else:
                    task(*ranges[number - count])

        total = count + len(ranges)
        self._call.pool.run(work, [(number, number + 1) for number in range(total)])

    def finish(self) -> None:
        """Decode what still waits. Raises the error of the first sample that failed, in a call that
        does not go on after that."""
        self.beside(_nothing, [])
        for sample in sorted(self._failures):
            if not self._continues_after(sample):
                raise self._failures.pop(sample)  # its frames must not hold it

    def _continues_after(self, sample: int) -> bool:
        error = self._failures[sample]
        return isinstance(error, op.SampleDataError) and self._call.goes_on_after(error)

    def _decode(self, sample: int) -> None:
        try:
            self._gpu.runtime.activate()  # a thread of the pool may come from another device
            self._decode_into(self._call.outputs[0].array(sample), sample)
        except op.GradivaError as error:
            self._failures[sample] = op.without_frames(error.complete(sample=sample))
        except Exception as error:  # noqa: BLE001  raised by `finish`
            failure = op.OperatorRuntimeError(failure_text(error), sample=sample)
            failure.__cause__ = error
            self._failures[sample] = op.without_frames(failure)

    def _decode_into(self, target: Any, sample: int) -> None:
        assert isinstance(target, DeviceArray)
        staging = self._gpu.pinned.allocate(target.nbytes)
        self._make(sample, staging.array.view(target.dtype).reshape(target.shape))
        self._gpu.write_pinned(staging, target.address, self._stream)
