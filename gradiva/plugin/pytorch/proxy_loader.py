"""`DataLoader`: torch's, with the outputs of a pipeline in its batches."""

from __future__ import annotations

import weakref
from typing import Any

import torch.utils.data

from .proxy_ahead import Ahead
from .proxy_server import DALIServer

__all__ = ["DataLoader"]


class DataLoader(torch.utils.data.DataLoader):  # type: ignore[misc]
    """torch's DataLoader, whose batches hold what the pipeline of the server makes of the samples.

    The arguments after `dali_server` are torch's. A thread makes batches ahead, as many as the
    queue of the pipeline is deep; a loop that is begun ends the one before it.
    """

    def __init__(self, dali_server: DALIServer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dali_server = dali_server
        self._loop: weakref.ref[Ahead] | None = None

    def __iter__(self) -> Ahead:
        before = None if self._loop is None else self._loop()
        if before is not None:
            before.close()
        depth = self.dali_server._pipeline.cpu_queue_size
        loop = Ahead(super().__iter__(), self.dali_server.produce_data, depth)
        self._loop = weakref.ref(loop)
        self.dali_server._follow(loop)
        return loop

    def ensure_server_listening(self) -> None:
        """Start the server, if it is not running; a loop does so itself."""
        self.dali_server.start_thread()
