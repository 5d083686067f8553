"""The files of a data set of videos: their indices, and where their bytes are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.runtime.worker_pool import default_num_threads
from gradiva.ops.readers.core.files import unreadable
from gradiva.ops.readers.core.scan_cache import kept_scan
from gradiva.ops.storage.handles import LoadedFile, load_files
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import any_url, is_url
from gradiva.ops.video.decoded_scan import DecodedScan
from gradiva.ops.video.frame_index import VideoIndex, packed_index, scan_video, unpacked_index
from gradiva.ops.video.video_file import NotMediaError, VideoLoaded, VideoPath, VideoSource

_KIND: Final = "video 3"
_WORTH_KEEPING: Final = 1 << 20
_WORTH_DECODING: Final = 1 << 14
"""Bytes of the smallest file on this machine of which is kept what was found by decoding it."""
_MOST_KEPT: Final = 1 << 26
"""Bytes of indices that stay in memory."""
_SMALL: Final = 1 << 25
"""Files on other machines up to this size are read as a whole, ahead of need."""


class ScannedVideo(NamedTuple):
    """A file. video: its index, None where there is none, because of a `problem`; media: it is of a
    kind that videos are in."""

    facts: tuple[int, int | str] | None
    video: VideoIndex | None
    problem: str
    media: bool


class VideoFiles:
    """Videos by their paths. upright: they are to be turned as they say."""

    def __init__(self, paths: list[str], storage: Storage, upright: bool = False) -> None:
        self.storage = storage if any_url(paths) else None
        self._storage, self._upright = storage, upright
        self._facts: dict[str, tuple[int, int | str] | None] = {}
        self._indices: OrderedDict[str, VideoIndex] = OrderedDict()
        self._kept = 0
        if self.storage is not None:  # of all at once
            self.storage.facts([path for path in paths if is_url(path)])

    def beside(self) -> VideoFiles:
        """The same videos, for another thread."""
        made = copy(self)
        made._indices, made._kept = OrderedDict(), 0
        return made

    def scan(self, paths: list[str]) -> dict[str, ScannedVideo]:
        """What all files are. Raises OperatorRuntimeError where the machine is at its end."""
        found: dict[str, ScannedVideo] = {}

        def look(begin: int, end: int) -> None:
            for path in paths[begin:end]:
                found[path] = self._look(path)

        # Threads that stay would be inherited by processes that are forked later.
        pool = op.WorkerPool(min(default_num_threads(), max(len(paths), 1)))
        try:
            pool.run(look, [(one, one + 1) for one in range(len(paths))])
        finally:
            pool.close()
        for path in paths:
            self._facts[path] = found[path].facts
            index = found[path].video
            if index is not None:
                self._keep(path, index)
        return found

    def _look(self, path: str) -> ScannedVideo:
        facts = None
        try:
            source = VideoPath(path, self._storage)
            facts = source.facts()
            index = self._scanned(VideoPath(path, self._storage, facts))
        except NotMediaError as error:
            return ScannedVideo(facts, None, str(error), False)
        except OSError as error:
            return ScannedVideo(facts, None, unreadable(error, path).problem, True)
        except op.GradivaError as error:
            return ScannedVideo(facts, None, error.problem, True)
        except ValueError as error:
            return ScannedVideo(facts, None, str(error), True)
        return ScannedVideo(facts, index, index.problem, True)

    def _scanned(self, source: VideoPath) -> VideoIndex:
        def keep(decoded: Callable[[], DecodedScan]) -> DecodedScan:
            """Of small files, too: they take longer to decode than to read."""

            def scan(_handle: Any, _size: int) -> Any:
                return np.stack([*decoded()], 1).astype(np.int64), b""

            numbers, _ = kept_scan(
                f"{_KIND}, decoded", source.name, 3, scan, self._storage, _WORTH_DECODING
            )
            times, damaged, intra = numbers.T
            return DecodedScan(np.ascontiguousarray(times), damaged != 0, intra != 0)

        def scan(_handle: Any, _size: int) -> Any:
            return packed_index(scan_video(source, self._upright, keep))

        kind = f"{_KIND}, upright" if self._upright else _KIND
        kept = kept_scan(kind, source.name, 2, scan, self._storage, _WORTH_KEEPING)
        return unpacked_index(*kept)

    def _keep(self, path: str, index: VideoIndex) -> None:
        self._indices[path] = index
        self._kept += index.times.nbytes + index.keys.nbytes
        while self._kept > _MOST_KEPT and len(self._indices) > 1:
            _, old = self._indices.popitem(last=False)
            self._kept -= old.times.nbytes + old.keys.nbytes

    def index(self, path: str) -> VideoIndex:
        """The index of a video, also where it was not kept. Raises OSError, ValueError."""
        found = self._indices.get(path)
        if found is None:
            found = self._scanned(VideoPath(path, self._storage, self._facts[path]))
            self._keep(path, found)
        self._indices.move_to_end(path)
        return found

    def sources(self, paths: list[str]) -> dict[str, VideoSource | OSError]:
        """Where the bytes of these videos are."""
        small = [path for path in paths if self.is_small(path)]
        loaded = load_files(small, self.storage)
        return {path: self._source(path, loaded.get(path)) for path in paths}

    def _source(self, path: str, loaded: LoadedFile | OSError | None) -> VideoSource | OSError:
        if loaded is None:
            return VideoPath(path, self._storage, self._facts[path])
        return loaded if isinstance(loaded, OSError) else VideoLoaded(loaded)

    def is_small(self, path: str) -> bool:
        """Whether it is a file on another machine that is read as a whole."""
        facts = self._facts.get(path)
        return is_url(path) and facts is not None and facts[0] <= _SMALL
