"""What obstore is told to reach a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradiva.ops.storage.buckets.options import bucket_of
from gradiva.ops.storage.urls import place_of

VARIABLES = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
    *("AWS_ENDPOINT", "AWS_SKIP_SIGNATURE", "AWS_NO_SIGN_REQUEST", "AWS_DEFAULT_PROFILE"),
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "DALI_S3_NO_VERIFY_SSL"),
    *("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_CONNECTION_STRING", "STORAGE_EMULATOR_HOST"),
)


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the files of AWS; nothing is set in the environment."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path


def config_of(url: str, **given: Any) -> dict[str, Any]:
    found = bucket_of(url, given)
    assert found is not None
    return found.config


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"anon": True}, {"skip_signature": True}),
        ({"anon": False}, {"skip_signature": False}),
        (
            {"key": "k", "secret": "s", "token": "t"},
            {"access_key_id": "k", "secret_access_key": "s", "session_token": "t"},
        ),
        (
            {"client_kwargs": {"region_name": "eu-west-1", "endpoint_url": "https://a"}},
            {"region": "eu-west-1", "endpoint": "https://a"},
        ),
        ({"endpoint_url": "https://b"}, {"endpoint": "https://b"}),
        ({"requester_pays": True}, {"request_payer": True}),
        ({"region": "r", "skip_signature": True}, {"region": "r", "skip_signature": True}),
    ],
)
def test_options_of_s3(given: dict[str, Any], expected: dict[str, Any]) -> None:
    for scheme in ("s3", "s3a", "S3"):
        found = bucket_of(f"{scheme}://name/key/of.jpg", given)
        assert found is not None
        assert found.service == "s3"
        assert found.name == "name"
        assert found.config == expected
        assert found.client == {}


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("s3://a/b", {"config_kwargs": {"s3": {"addressing_style": "virtual"}}}),
        ("s3://a/b", {"client_kwargs": {"use_ssl": True}}),
        ("gs://a/b", {"token": "browser"}),
        ("az://a/b", {"credential": "x"}),
    ],
)
def test_options_that_only_fsspec_knows(url: str, given: dict[str, Any]) -> None:
    assert bucket_of(url, given) is None


def test_endpoints_and_regions_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    found = bucket_of("s3://a/b", {})
    assert found is not None
    assert found.config == {"endpoint": "http://127.0.0.1:9000", "region": "eu-west-1"}
    assert found.client == {"allow_http": True}
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://c")
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    assert config_of("s3://a/b") == {"endpoint": "https://c", "region": "us-east-2"}
    assert config_of("s3://a/b", endpoint_url="https://d", region="x") == {
        "endpoint": "https://d",
        "region": "x",
    }
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "YES")
    monkeypatch.setenv("DALI_S3_NO_VERIFY_SSL", "1")
    found = bucket_of("s3://a/b", {})
    assert found is not None
    assert found.config["skip_signature"] is True
    assert found.client == {"allow_invalid_certificates": True}


def test_profiles(monkeypatch: pytest.MonkeyPatch, aws: Path) -> None:
    """Keys that stand in a file are used; what has to be made of them is for fsspec."""
    (aws / "credentials").write_text(
        "[default]\naws_access_key_id = K\naws_secret_access_key = S%x\n[other]\n"
        "aws_access_key_id=O\naws_secret_access_key=P\naws_session_token=T\n"
    )
    (aws / "config").write_text(
        "[default]\nregion = eu-west-1\n[profile other]\nregion=us-west-2\n"
        "endpoint_url = http://e\n[profile login]\nsso_session = a\n"
    )
    keys = {"access_key_id": "K", "secret_access_key": "S%x"}
    assert config_of("s3://a/b") == {**keys, "region": "eu-west-1"}
    other = {
        "access_key_id": "O",
        "secret_access_key": "P",
        "session_token": "T",
        "region": "us-west-2",
        "endpoint": "http://e",
    }
    assert config_of("s3://a/b", profile="other") == other
    assert bucket_of("s3://a/b", {"profile": "login"}) is None
    assert config_of("s3://a/b", anon=True) == {"skip_signature": True, "region": "eu-west-1"}
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert config_of("s3://a/b") == other
    # obstore reads the keys in the environment, which come first.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "E")
    assert config_of("s3://a/b") == {"region": "us-west-2", "endpoint": "http://e"}
    monkeypatch.setenv("AWS_PROFILE", "login")
    assert config_of("s3://a/b") == {}
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert bucket_of("s3://a/b", {}) is None
    (aws / "config").write_text("no file of this form")
    assert config_of("s3://a/b") == {}


def test_options_of_other_services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert config_of("gs://a/b", token="anon", project="p") == {"skip_signature": True}
    (tmp_path / "key.json").write_text("{}")
    path = str(tmp_path / "key.json")
    assert config_of("gcs://a/b", token=path) == {"application_credentials": path}
    assert config_of("gs://a/b", token={"x": 1}) == {"service_account_key": '{"x": 1}'}
    assert config_of("gs://a/b", token="google_default") == {}
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:4443")
    found = bucket_of("gs://a/b", {})
    assert found is not None
    assert found.config == {"base_url": "http://127.0.0.1:4443", "skip_signature": True}
    assert found.client == {"allow_http": True}

    given = {"account_name": "n", "account_key": "k", "sas_token": "s"}
    expected = {"account_name": "n", "account_key": "k", "sas_key": "s"}
    assert config_of("az://c/b", **given) == expected
    found = bucket_of("abfs://c@n.dfs.core.windows.net/b", {"anon": True})
    assert found is not None
    assert found.name == "c"
    assert found.config == {"account_name": "n", "skip_signature": True}
    text = "DefaultEndpointsProtocol=http;AccountName=n;AccountKey=k==;BlobEndpoint=http://h/n"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    found = bucket_of("az://c/b", {})
    assert found is not None
    assert found.config == {"account_name": "n", "account_key": "k==", "endpoint": "http://h/n"}
    assert found.client == {"allow_http": True}


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://a", "s3://a"),
        ("s3://a/", "s3://a"),
        ("s3://a/b", "s3://a"),
        ("s3://a/b/", "s3://a"),
        ("s3://a/.b/c../...d/e", "s3://a"),
        ("s3://a//b", "s3://a//"),
        ("s3://a/b//", "s3://a//"),
        ("s3://a/b//c", "s3://a//"),
        ("s3://a/./c", "s3://a//"),
        ("s3://a/b/..", "s3://a//"),
        ("s3://a/b\n", "s3://a//"),
        ("GS://a/b//c", "GS://a//"),
        ("http://a/b//c", "http://a"),
        ("simplecache::s3://a/b", "simplecache::s3://a/b"),
    ],
)
def test_names_that_obstore_does_not_take(url: str, place: str) -> None:
    assert place_of(url) == place
