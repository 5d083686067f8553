"""A server that speaks S3, of the files in the folder `bucket` of a folder: moto's, which waits
before each answer; for `object_store.py`.

The objects are in its memory. The latency is real: no byte of an answer is sent before
it has passed. HEAD of `/cpu` answers with its seconds of CPU until then.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

FOLDER, LATENCY = Path(sys.argv[1]), float(sys.argv[2])


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    backend: Any = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    backend.create_bucket("bucket", "us-east-1")
    for path in (FOLDER / "bucket").iterdir():
        backend.put_object("bucket", path.name, path.read_bytes())
    answered = DomainDispatcherApplication(create_backend_app)

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/cpu":
            start("200 OK", [("Content-Length", str(int(time.process_time() * 1e6)))])
            return []
        time.sleep(LATENCY)
        return answered(environ, start)

    WSGIRequestHandler.protocol_version = "HTTP/1.1"  # connections are kept
    server = make_server("127.0.0.1", 0, application, threaded=True)
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
    main()
