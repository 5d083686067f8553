"""`readers.sequence`: sequences of images, from folders with a file for each frame."""

from __future__ import annotations

from collections.abc import Sequence as TypingSequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.formats.decode import decode_into, output_shape
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image_info import ImageInfo
from gradiva.ops.readers.core.identities import file_identities, joined_identity
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.remote_files import prefetch_any_files, read_any_files
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records
from gradiva.ops.storage.storage import Storage

from .listing import FilesTable, digest_of, list_root
from .reader_arguments import SHUFFLED_AFTER, ReaderArguments, ReaderOptions, storage_of
from .sampling.sizes import file_sizes
from .table_source import opens_table

__all__ = ["Sequence", "sequence"]


@source_operator("readers.sequence", schema="readers__Sequence", formerly=("sequence_reader",))
@op.uses_arguments(ReaderArguments)
def sequence(
    *,
    file_root: op.Path,
    sequence_length: int,
    step: int = 1,
    stride: int = 1,
    image_type: op.ImageTypeLike = op.ImageType.RGB,
    **options: op.Unpack[ReaderOptions],
) -> op.SampleType:
    """Read sequences of frames: images in folders, one folder for each stream.

    Args:
        file_root: the folder with the streams' folders. Streams and frames are read in alphabetical
            order.
        sequence_length: the number of frames of a sequence, all of one stream.
        step: the number of frames from the first frame of a sequence to that of the next.
        stride: the number of frames from one frame of a sequence to the next.
        image_type: the colors of the output.

    Returns:
        The decoded frames, uint8, FHWC.

    Raises:
        OperatorValueError: for a missing folder, and one without a whole sequence.
        OperatorRuntimeError: with the first frame of the sequence, for a frame that cannot be read
            or decoded, and for frames of several sizes in one sequence.

    Example:
        reader = gradiva.readers.Sequence(file_root="frames", sequence_length=2)
        for clips in reader.next_epoch(batch_size=4):
            print(clips.shape)  # [(2, 48, 64, 3), (2, 48, 64, 3), (2, 48, 64, 3)]
    """
    return op.SampleType(op.uint8, 4, "FHWC", "cpu")


class SequenceTable(FilesTable):
    """Sequences of frames."""

    libraries = "cv2", "simplejpeg", "PIL"

    def __init__(
        self, paths: list[str], firsts: list[int], given: dict[str, Any], storage: Storage
    ) -> None:
        super().__init__(paths, storage)
        self._firsts = np.array(firsts, np.int64)
        self._frames = np.arange(given["sequence_length"]) * given["stride"]
        self._color = op.ImageType(given["image_type"]).name

    def __len__(self) -> int:
        return len(self._firsts)

    def _files(self, indices: op.Int64Array) -> list[str]:
        """The frames of sequences, one after the other."""
        frames = self._firsts[indices][:, None] + self._frames
        return [self._paths[frame] for frame in frames.ravel().tolist()]

    def names(self, indices: op.Int64Array) -> list[str]:
        return [self._paths[first] for first in self._firsts[indices].tolist()]

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        files, length = self._files(indices), len(self._frames)
        unread: Failures = {}
        raw = read_any_files(files, None, pool, unread, storage=self.storage)
        failures: Failures = {}
        for frame in sorted(unread):
            failures.setdefault(frame // length, _of(files[frame], unread[frame].problem))
        encoded = raw.batch_shape.views(raw.data)
        infos, shapes = self._headers(files, encoded, failures)
        made = op.Batch.empty(op.BatchShape.of(shapes), op.SampleType(op.uint8, 4, "FHWC", "cpu"))
        targets = made.batch_shape.views(made.data)

        def decode(begin: int, end: int) -> None:
            for frame in range(begin, end):
                sample = frame // length
                info = infos[frame]
                if sample in failures or info is None:
                    continue
                try:
                    target = targets[sample][frame % length]
                    decode_into(encoded[frame], info, target, output_type=self._color)
                except ValueError as error:
                    failures[sample] = _of(files[frame], str(error))

        pool.run(decode, [(frame, frame + 1) for frame in range(len(files))])
        for sample in failures:
            targets[sample][...] = 0
        return Records((made,), failures)

    def _headers(
        self, files: list[str], encoded: list[Array], failures: Failures
    ) -> tuple[list[ImageInfo | None], op.Int64Array]:
        """What the headers of all frames say, and the shapes of the sequences."""
        length = len(self._frames)
        shapes = np.zeros((len(files) // length, 4), np.int64)
        infos: list[ImageInfo | None] = []
        for frame, data in enumerate(encoded):
            sample, info = frame // length, None
            if sample not in failures:
                try:
                    info = probe(data)
                    shape = output_shape(info, self._color)
                    wanted = tuple(shapes[sample, 1:].tolist())
                    if frame % length == 0:
                        shapes[sample] = length, *shape
                    elif shape != wanted:
                        failures[sample] = op.SampleDataError(
                            f"frames of a sequence have one shape; {files[frame]}",
                            expected=str(wanted),
                            got=str(shape),
                        )
                except ValueError as error:
                    failures[sample] = _of(files[frame], str(error))
            infos.append(info)
        for sample in failures:
            shapes[sample] = 0
        return infos, shapes

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> TypingSequence[str | None]:
        """Those of the files of all frames."""
        length = len(self._frames)
        files = file_identities(self._files(indices), self.storage, before)
        return [
            joined_identity(files[begin : begin + length]) for begin in range(0, len(files), length)
        ]

    def sizes(self) -> op.Int64Array:
        """The bytes of the files of all frames."""
        files = file_sizes(self._paths, self.storage)
        found: op.Int64Array = files[self._firsts[:, None] + self._frames].sum(axis=1)
        return found

    def digest(self) -> dict[str, Any]:
        names = digest_of(self._paths, [0] * len(self._paths))
        layout = [*self._frames.tolist(), *self._firsts[:2].tolist()]
        return {"sequences": len(self), "names": names, "frames": layout}

    def prefetch(self, indices: op.Int64Array) -> None:
        prefetch_any_files(self._files(indices), self.storage)


def _of(file: str, problem: str) -> op.SampleDataError:
    return op.SampleDataError(f"frame {file}: {problem}")


sequence.not_serializable(*SHUFFLED_AFTER)


@opens_table(sequence)
def _open(given: dict[str, Any]) -> SequenceTable:
    for name in ("sequence_length", "step", "stride"):
        if given[name] < 1:
            raise op.wrong_value(name, "at least 1", given[name])
    root, storage = given["file_root"], storage_of(given)
    paths: list[str] = []
    firsts: list[int] = []
    reach = (given["sequence_length"] - 1) * given["stride"]
    for entries in list_root(root, storage)[2]:
        frames = [one.path for one in entries if one.is_file]
        whole = range(0, max(len(frames) - reach, 0), given["step"])
        firsts += [len(paths) + first for first in whole]
        paths += frames
    if not firsts:
        expected = f"folders with {reach + 1} frames and more"
        raise op.wrong_value("file_root", expected, repr(root))
    return SequenceTable(paths, firsts, given, storage)


Sequence = reader_class("Sequence", sequence)
