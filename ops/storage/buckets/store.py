"""The objects of a bucket, by obstore: its functions wait for an answer, without the interpreter,
and run in threads. That takes half of the CPU time of its coroutines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from gradiva.ops.storage.errors import StatusError
from gradiva.ops.storage.ranges import Data

from .failures import cause, translated
from .library import has_obstore, library
from .options import Bucket, bucket_of, environment

if TYPE_CHECKING:
    from gradiva.ops.storage.http_checks import Expected

__all__ = ["OddNamesError", "Store", "has_obstore", "store_of"]

_STORES: Final = {"s3": "S3Store", "gcs": "GCSStore", "azure": "AzureStore"}

PROTOCOL: Final = ("obstore",)
_LIST_TRIES: Final = 5
"""The times that each page of a list is asked for: a list of many pages is not begun again."""
_WHOLE: Final = 10
"""A request may take that many times what may pass without a byte."""


class OddNamesError(Exception):
    """A folder has names that obstore cannot list."""


class Store:
    """The functions of fsspec's file systems that are needed. environment: what obstore reads from
    there; timeout: seconds without a byte. Raises ValueError for options."""

    protocol = PROTOCOL

    def __init__(self, bucket: Bucket, environment: dict[str, str], timeout: float) -> None:
        self.made_from = bucket, environment
        self._library = library()
        self._wrong = (self._library.exceptions.BaseError, FileNotFoundError, ValueError)
        kind = getattr(self._library._store, _STORES[bucket.service])
        pause = timedelta(seconds=timeout)
        limits = {"connect_timeout": pause, "read_timeout": pause, "timeout": _WHOLE * pause}

        def made(retries: int) -> Any:
            return kind(
                bucket.name,
                config=bucket.config,
                client_options={**limits, **bucket.client},
                retry_config={"max_retries": retries},
            )

        # `Transport` sends requests again, except for the pages of a list.
        try:
            self._store, self._lister = made(0), made(_LIST_TRIES - 1)
        except self._library.exceptions.BaseError as error:
            raise ValueError(cause(error)) from error

    @staticmethod
    def _strip_protocol(url: str) -> str:
        return url.split("/", 3)[3] if url.count("/") > 2 else ""

    def info(self, key: str) -> dict[str, Any]:
        """Raises OSError."""
        if not key or key.endswith("/"):
            raise IsADirectoryError("it is a folder")
        try:
            return _info(self._library.head(self._store, key))
        except self._wrong as error:
            failed = translated(error)
        if isinstance(failed, StatusError) and failed.status != 404 and not failed.explained:
            self.read(key, 0, 1, None)  # the answer to HEAD has no body, which would say why
        raise failed

    def ls(self, folder: str, detail: bool = True) -> list[dict[str, Any]]:
        """What is in a folder. Raises OSError, OddNamesError."""
        prefix = folder.rstrip("/")
        try:
            found = self._library.list_with_delimiter(self._lister, prefix or None)
        except self._wrong as error:
            if isinstance(error, self._library.exceptions.InvalidPathError):
                raise OddNamesError(str(error).partition("\n")[0]) from error
            raise translated(error) from None
        folders = [{"name": name, "type": "directory"} for name in found["common_prefixes"]]
        files = [_info(one) for one in found["objects"]]
        if prefix and not folders and not files:
            raise FileNotFoundError(folder)
        return files + folders

    def read(self, key: str, begin: int, end: int, expected: Expected | None) -> Data:
        """These bytes, fewer at the end of the object. Of an object of unknown size all bytes, or
        the first ones up to this end. expected: sees what the answer says of the object, before its
        bytes are waited for. Raises OSError, and what `expected` raises."""
        if key.endswith("/"):
            raise IsADirectoryError("it is a folder")
        whole = begin == 0 and expected is not None and expected.size is None
        options = None if whole else {"range": (begin, end)}
        try:
            answer = self._library.get(self._store, key, options=options)
            facts = answer.meta
            if expected is not None:
                expected.tell(facts["size"], _versions(facts))
            if whole and facts["size"] > end:
                return memoryview(next(iter(answer.stream(end))))[:end]
            return memoryview(answer.bytes())
        except self._wrong as error:
            raise translated(error) from None


def store_of(
    url: str, given: Mapping[str, Any], timeout: float, known: Store | None
) -> Store | None:
    """The store for the bucket of a URL; None where fsspec has to read it. Raises ValueError and
    TypeError for options. given: the `storage_options`; known: a store of this bucket that was made
    earlier, which is good as long as the environment is the same."""
    bucket = bucket_of(url, given) if has_obstore() else None
    if bucket is None:
        return None
    made_from = bucket, environment()
    return known if known and known.made_from == made_from else Store(*made_from, timeout)


def _info(facts: Any) -> dict[str, Any]:
    return {"name": facts["path"], "type": "file", "size": facts["size"], **_versions(facts)}


def _versions(facts: Any) -> dict[str, str]:
    """The attributes that change with the bytes, as s3fs names them, in the same form for a list
    (which may leave out quotes, and tell parts of a second) and for an answer."""
    tag, changed = facts["e_tag"] or "", int(facts["last_modified"].timestamp())
    if tag and not tag.endswith('"'):
        tag = f'"{tag}"'
    found = {"ETag": tag, "LastModified": str(changed) if changed else ""}
    return {name: value for name, value in found.items() if value}
