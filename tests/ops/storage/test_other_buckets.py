"""Buckets of Google Cloud Storage and of Azure, by obstore, on a server that speaks what of their
protocols is needed to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("obstore")

import gradiva
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.facts import ObjectFacts
from gradiva.ops.storage.ranges import Want
from gradiva.ops.storage.storage import Storage

from .loopback import Loopback
from .test_http import DATA, joined


class Lists(dict[str, bytes]):
    """The objects of a server, and the lists of folders that it answers with."""

    def get(self, path: str, default: Any = None) -> Any:
        if "?" not in path:
            return super().get(unquote(path), default)
        assert "prefix=data" in path
        assert "delimiter=" in path
        return self.azure if "comp=list" in path else self.google

    google = b"""<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>data/a</Key>
    <LastModified>2026-01-02T03:04:05.678Z</LastModified><ETag>"%s"</ETag><Size>300000</Size>
    </Contents><CommonPrefixes><Prefix>data/inner/</Prefix></CommonPrefixes></ListBucketResult>"""
    azure = b"""<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs><Blob>
    <Name>data/a</Name><Properties><Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified>
    <Etag>%s</Etag><Content-Length>300000</Content-Length><Content-Type>x/y</Content-Type>
    </Properties></Blob><BlobPrefix><Name>data/inner/</Name></BlobPrefix></Blobs><NextMarker/>
    </EnumerationResults>"""


@pytest.fixture(params=["gs", "az", "abfs"])
def folder(
    request: pytest.FixtureRequest, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str, str]]:
    """A URL, its path on the server, and the options."""
    server.objects = Lists()
    server.objects.google %= (server.tag(DATA).strip('"').encode(),)
    server.objects.azure %= (server.tag(DATA).strip('"').encode(),)
    if request.param == "gs":
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield "gs://bucket/data", "/bucket/data", "{}"
        return
    key = "a2V5"  # "key"
    text = f"AccountName=name;AccountKey={key};BlobEndpoint={server.url}/name"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    yield f"{request.param}://bucket/data", "/name/bucket/data", "{}"


def test_facts_lists_and_bytes(server: Loopback, folder: tuple[str, str, str]) -> None:
    url, path, options = folder
    server.objects |= {f"{path}/a": DATA, f"{path}/empty": b""}
    facts = ObjectFacts(len(DATA), f"ETag {server.tag(DATA)}")
    storage = Storage(options)
    (rows,) = storage.entries([url])
    assert [(one.name, one.url, one.is_folder, one.facts) for one in rows] == [
        ("a", f"{url}/a", False, facts),
        ("inner", f"{url}/inner", True, None),
    ]
    assert joined(storage.take([Want(f"{url}/a", 10, 999)])[0]) == DATA[10:999]
    assert not server.asked("HEAD")
    assert Storage(options).facts([f"{url}/a"]) == [facts]
    assert storage.read(f"{url}/a") == DATA
    assert storage.read(f"{url}/empty") == b""
    with pytest.raises(StorageError, match=f"there is no such object.*{url}/no"):
        storage.read(f"{url}/no")
    server.faults.append("503 ServerBusy")
    reader = gradiva.readers.File(files=[f"{url}/a"], storage_options=options)
    ((files, _),) = reader.next_epoch(batch_size=1)
    assert files.at(0).tobytes() == DATA
