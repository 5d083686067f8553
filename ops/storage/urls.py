"""URLs where a path may stand. Without a scheme, and with `file://`, it is a file here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
"""With what fsspec puts in front of it, as in `simplecache::s3://bucket/key`."""
_SECRETS = re.compile(r"(?<=://)[^/@]*@|\?.*", re.DOTALL)

BUCKETS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "azure"),
}
"""The services whose buckets obstore reads, by scheme; and the names of the extras."""
_ODD = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f]")
"""What obstore refuses in keys, or drops, so that they name another object."""

_FORBIDDEN = re.compile(rb"%(?![0-9A-Fa-f]{2})|[^\w.~!$&'()*+,;=:@/?%-]")
"""Bytes that neither a path nor a query can have, and a sign of encoding that encodes nothing."""


def is_url(path: str) -> bool:
    """Whether a path names an object that is no file of this machine."""
    found = _URL.match(path) if "://" in path else None
    return found is not None and not _is_local(found)


def _is_local(found: re.Match[str]) -> bool:
    return found[1].lower() in ("file", "local") and "::" not in found[0]


def any_url(paths: Iterable[str]) -> bool:
    """Whether one of them is a URL."""
    return "://" in "\0".join(paths) and any(is_url(path) for path in paths)


def local_path(path: str) -> str:
    """A path without `file://`; others as they are."""
    found = _URL.match(path) if "://" in path else None
    return path[found.end() :] if found is not None and _is_local(found) else path


def scheme_of(url: str) -> str:
    """Such as "s3"."""
    found = _URL.match(url)
    assert found is not None, url
    return found[1].lower()


def place_of(url: str) -> str:
    """What has a client of its own: scheme and host or bucket; a chain; and of a bucket what has
    names that obstore does not take."""
    if "::" in url:
        return url
    parts = url.split("/", 3)
    place = "/".join(parts[:3])
    if len(parts) > 3 and service_of(url) is not None and _ODD.search(parts[3].removesuffix("/")):
        return f"{place}{ODD_NAMES}" if parts[3] else place
    return place


ODD_NAMES = "//"
"""How places for such names end."""


def service_of(url: str) -> str | None:
    """The service of a bucket: "s3", "gcs" or "azure"; None for other URLs."""
    return BUCKETS.get(url.partition("://")[0].lower())


def join(folder: str, name: str) -> str:
    """A name below a folder; a name that is a URL stands for itself."""
    return name if "://" in name and _URL.match(name) else os.path.join(folder, name)


def parent(path: str) -> str:
    """The folder that a file is in."""
    return os.path.dirname(path)


def shown(url: str) -> str:
    """The URL without what may be secret: a user's name with a password, and the query."""
    return _SECRETS.sub("", url)


def sendable(path: str, query: str) -> str:
    """What is asked of an HTTP server: path and query as they are. What cannot stand there, such as
    a space, is encoded; steps to other folders, `.` and `..`, are taken (RFC 3986, 5.2.4)."""
    if "/." in path:
        steps: list[str] = []
        for step in path.split("/"):
            if step not in (".", ".."):
                steps.append(step)
            elif step == ".." and len(steps) > 1:
                steps.pop()
        if path.endswith(("/.", "/..")):
            steps.append("")
        path = "/".join(steps)
    whole = f"{path or '/'}?{query}" if query else path or "/"
    raw = whole.encode("utf-8", "surrogateescape")
    return _FORBIDDEN.sub(lambda found: b"%%%02X" % found[0][0], raw).decode("ascii")
