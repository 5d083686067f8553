"""A server that speaks S3, on this machine: moto's, behind one that may do what it should not."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import boto3
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

from .loopback import Loopback, loopback

__all__ = ["S3", "s3"]


class S3:
    """client: of boto3, for the server itself; proxy: in front of it, for who reads."""

    def __init__(self, client: Any, proxy: Loopback) -> None:
        self.client, self.proxy = client, proxy

    def put(self, key: str, content: bytes) -> None:
        _backend().put_object("bucket", key.lstrip("/"), content)

    def clear(self) -> None:
        """Forget all objects and faults."""
        _backend().buckets["bucket"].keys.clear()
        self.proxy.requests.clear()
        self.proxy.faults.clear()
        self.proxy.always.clear()


def _backend() -> Any:
    """What the server stores: requests for thousands of objects would take a minute."""
    return s3_backends[DEFAULT_ACCOUNT_ID]["aws"]


@contextlib.contextmanager
def s3() -> Iterator[S3]:
    """A server with an empty `bucket`, until it is left."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        client = boto3.client(
            "s3",
            endpoint_url=f"http://{host}:{port}",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        client.create_bucket(Bucket="bucket")
        with loopback() as proxy:
            proxy.behind = f"{host}:{port}"
            yield S3(client, proxy)
    finally:
        server.stop()
