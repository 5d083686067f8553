"""What obstore is told to reach a bucket: from the URL, `storage_options`, and the environment.

`storage_options` have the names that s3fs, gcsfs and adlfs give them, or those of obstore. Where
obstore knows no counterpart, and where a library of the provider has to make the credentials,
fsspec reads the bucket.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Any, Final, NamedTuple

from gradiva.ops.storage.urls import BUCKETS

__all__ = ["Bucket", "bucket_of", "environment"]

_OWN: Final = {
    "s3": {
        *("access_key_id", "secret_access_key", "session_token", "skip_signature", "region"),
        *("endpoint", "virtual_hosted_style_request", "request_payer"),
    },
    "gcs": {"base_url", "skip_signature", "service_account", "bearer_token"},
    "azure": {
        *("account_name", "account_key", "sas_key", "tenant_id", "client_id", "client_secret"),
        *("endpoint", "skip_signature", "use_emulator", "use_azure_cli"),
    },
}
"""The options of obstore, by service."""
_FSSPEC: Final = {
    "s3": {
        "anon": "skip_signature",
        "key": "access_key_id",
        "secret": "secret_access_key",
        "token": "session_token",
        "endpoint_url": "endpoint",
        "region_name": "region",
        "requester_pays": "request_payer",
    },
    "gcs": {"endpoint_url": "base_url"},
    "azure": {"anon": "skip_signature", "sas_token": "sas_key"},
}
"""What fsspec calls some of them."""
_MADE: Final = ("role_arn", "source_profile", "credential_", "sso_", "web_identity_")
"""The first letters of settings in a profile whose credentials have to be made."""
_GIVEN: Final = (
    *("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE", "AWS_NO_SIGN_REQUEST"),
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
"""With one of these in the environment, the credentials of a profile are not used."""
_CONNECTION: Final = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_key",
    "BlobEndpoint": "endpoint",
}
"""Parts of a connection string of Azure."""

_ENDPOINT: Final = re.compile(r"https?://[\w.:\[\]-]+(?:/[^\s?#]*)?", re.ASCII)

Config = dict[str, Any]


class Bucket(NamedTuple):
    """service: "s3", "gcs" or "azure"; name: of the bucket or container; config: the options of the
    store; client: those of its connections."""

    service: str
    name: str
    config: Config
    client: Config


def bucket_of(url: str, options: Mapping[str, Any]) -> Bucket | None:
    """The bucket of a URL; None where fsspec has to read it. Raises ValueError."""
    scheme, _, rest = url.partition("://")
    service, name = BUCKETS[scheme.lower()], rest.partition("/")[0]
    client: Config = {}
    given = {**options, **(options.get("client_kwargs") or {})}
    given.pop("client_kwargs", None)
    if given.pop("verify", True) is False or _is_set("DALI_S3_NO_VERIFY_SSL"):
        client["allow_invalid_certificates"] = True
    config = {"s3": _s3, "gcs": _gcs, "azure": _azure}[service](given)
    if config is None:
        return None
    if service == "azure" and "@" in name:  # as Hadoop writes it
        name, _, host = name.partition("@")
        config["account_name"] = host.partition(".")[0]
    translated = {_FSSPEC[service].get(one, one): value for one, value in config.items()}
    if not translated.keys() <= _OWN[service] | {"service_account_key", "application_credentials"}:
        return None
    config = {one: value for one, value in translated.items() if value is not None}
    endpoint = config.get("endpoint") or config.get("base_url") or ""
    if endpoint and _ENDPOINT.fullmatch(endpoint) is None:  # obstore would panic
        raise ValueError(f"the endpoint {endpoint!r} is no URL with http:// or https://")
    if endpoint.startswith("http://"):
        client["allow_http"] = True
    return Bucket(service, name, config, client)


def environment() -> dict[str, str]:
    """The variables that say where buckets are and who asks."""
    prefixes = "AWS_", "GOOGLE_", "AZURE_", "STORAGE_EMULATOR_HOST", "DALI_S3_"
    return {name: value for name, value in os.environ.items() if name.startswith(prefixes)}


def _s3(given: Config) -> Config | None:
    profile = given.pop("profile", None)
    settings = _profile(profile)
    named = {"key", "access_key_id", "anon", "skip_signature"}
    own = any(given.get(name) for name in named)
    if not own and (profile or not any(map(_is_set, _GIVEN))):
        if any(name.startswith(_MADE) for name in settings):
            return None
        for name in ("access_key_id", "secret_access_key", "session_token"):
            if (value := settings.get(f"aws_{name}")) is not None:
                given[name] = value
    elif not own and _is_set("AWS_NO_SIGN_REQUEST"):
        given["anon"] = True
    if not given.keys() & {"endpoint_url", "endpoint"}:
        found = _first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
        given["endpoint"] = found or settings.get("endpoint_url")
    if not given.keys() & {"region_name", "region"}:
        given["region"] = _first("AWS_REGION", "AWS_DEFAULT_REGION") or settings.get("region")
    return given


def _profile(name: str | None) -> Mapping[str, str]:
    """The settings of a profile in the files of AWS."""
    name = name or os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE")
    name = name or "default"
    found: dict[str, str] = {}
    for variable, usual in (
        ("AWS_CONFIG_FILE", "~/.aws/config"),
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    ):
        parser = ConfigParser(interpolation=None, default_section="")
        try:
            parser.read(Path(os.environ.get(variable) or usual).expanduser(), "utf-8")
        except (Error, UnicodeDecodeError):
            continue
        for section in (f"profile {name}", name):
            if parser.has_section(section):
                found |= parser[section]
    return found


def _gcs(given: Config) -> Config | None:
    token = given.pop("token", None)
    given.pop("project", None)  # needed to make buckets only
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if emulator and not given.get("endpoint_url"):
        given["base_url"] = emulator if "://" in emulator else f"http://{emulator}"
        token = token or "anon"
    if token == "anon":
        given["skip_signature"] = True
    elif isinstance(token, dict):
        given["service_account_key"] = json.dumps(token)
    elif isinstance(token, str) and os.path.isfile(token):
        given["application_credentials"] = token
    elif token not in (None, "google_default"):
        return None
    return given


def _azure(given: Config) -> Config | None:
    text = given.pop("connection_string", None)
    if text is None and not _is_set("AZURE_STORAGE_ACCOUNT_NAME") and "account_name" not in given:
        text = os.environ.get("AZURE_STORAGE_CONNECTION_STRING")
    for part in (text or "").split(";"):
        name, _, value = part.partition("=")
        if name in _CONNECTION:
            given.setdefault(_CONNECTION[name], value)
    return given


def _first(*variables: str) -> str | None:
    """What the first of them says that is set."""
    return next((os.environ[name] for name in variables if os.environ.get(name)), None)


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in ("", "0", "false", "no")
