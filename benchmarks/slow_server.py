"""A server of the files in a folder, which waits before each answer; for `storage.py`."""

from __future__ import annotations

import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER, LATENCY = Path(sys.argv[1]), float(sys.argv[2])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        time.sleep(LATENCY)
        with (FOLDER / self.path.lstrip("/")).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            begin, end = (int(found[1]), min(int(found[2]) + 1, size)) if found else (0, size)
            head = [
                "HTTP/1.1 206 Partial Content" if found else "HTTP/1.1 200 OK",
                f"Content-Length: {end - begin}",
                f'ETag: "{size}"',
                *([f"Content-Range: bytes {begin}-{end - 1}/{size}"] if found else []),
            ]
            self.wfile.write(("\r\n".join(head) + "\r\n\r\n").encode())
            self.wfile.flush()
            while body and begin < end:
                begin += os.sendfile(self.connection.fileno(), file.fileno(), begin, end - begin)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
