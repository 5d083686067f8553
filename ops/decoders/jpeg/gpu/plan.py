"""From the files of a batch to jobs: headers, routes, windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.image_info import ImageInfo, Window

from .declarations import Output
from .frame import read_frames
from .job import Job, stored_region
from .route import Options, Path, Reason, route, table


@dataclass(frozen=True, slots=True)
class Plan:
    """The way of each image of a batch.

    engine, hybrid: as `JpegDecoder.decode` takes them; each job must yet be told where to write.
    host: (index, why) of the images that the CPU decodes.
    """

    engine: list[list[Job]]
    hybrid: list[Job]
    host: list[tuple[int, Reason]]


def plan(
    files: Sequence[np.ndarray[Any, Any]],
    infos: Sequence[ImageInfo],
    options: Options,
    windows: Sequence[Window] | None = None,
    adjust_orientation: bool = True,
    batch: op.Batch | None = None,
) -> Plan:
    """Plan a batch. files: the encoded bytes, C-contiguous uint8. infos: what `probe` said of each.
    windows: (top, left, height, width) of each upright image, if only these are wanted. batch: the
    files as a batch, which lets most be read faster.

    Raises ValueError for a file that is no array of bytes."""
    frames = read_frames(files, infos, batch)
    rows = table(frames, options)
    routes = route(rows, options)
    jobs: dict[int, Job] = {}
    for index in np.flatnonzero(routes.path != Path.HOST).tolist():
        frame = frames[index]
        assert frame is not None  # the table sends it to the host
        path, output = Path(routes.path[index]), Output(rows["format"][index])
        window = None if windows is None else windows[index]
        fancy = options.jpeg_fancy_upsampling
        region = stored_region(frame, path, output, window, adjust_orientation, fancy)
        jobs[index] = Job(index, files[index], frame, path, output, region)
    return Plan(
        [[jobs[i] for i in batch.tolist()] for batch in routes.hardware],
        [jobs[i] for i in routes.hybrid.tolist()],
        [(i, Reason(rows["reason"][i])) for i in routes.host.tolist()],
    )
