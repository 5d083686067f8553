#!/bin/sh
# obstore 0.12.1: the key "/a" reads the object "a", and "a/" too: slashes at the ends are dropped
# without a word, though these are three objects of a bucket. And one key with ".." or "." as a part
# (or a control character) makes the list of its folder fail as a whole; "a//b" cannot be read.
# One would expect the bytes of the object that was asked for, or an error.
# Versions run: obstore 0.12.1, moto 5.2.5, boto3 1.43.117, Python 3.11.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet obstore==0.12.1 'moto[s3,server]==5.2.5' boto3==1.43.117
cat > "$folder/see.py" <<'PY'
import logging
import platform
import sys

import boto3
import moto
import obstore
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

logging.getLogger("werkzeug").setLevel(logging.ERROR)
print("Python", platform.python_version(), "obstore", obstore.__version__, "moto", moto.__version__)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
endpoint = f"http://{host}:{port}"
client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
client.create_bucket(Bucket="bucket")
for key in ("a", "/a", "a/", "list/b", "list/../c", "list2/b", "list2/d//e"):
    client.put_object(Bucket="bucket", Key=key, Body=f"object {key}".encode())
store = S3Store(
    "bucket",
    endpoint=endpoint,
    region="us-east-1",
    access_key_id="test",
    secret_access_key="test",
    client_options={"allow_http": True},
)


def seen(work):
    try:
        return work()
    except Exception as error:
        return type(error).__name__


found = {key: seen(lambda: bytes(obstore.get(store, key).bytes()).decode()) for key in ("a", "/a", "a/")}
for key, got in found.items():
    print(f"get {key!r}: {got}; boto3: {client.get_object(Bucket='bucket', Key=key)['Body'].read().decode()}")
lists = {
    folder: seen(lambda: [one["path"] for one in obstore.list_with_delimiter(store, folder)["objects"]])
    for folder in ("list", "list2")
}
print("lists:", lists)
double = seen(lambda: bytes(obstore.get(store, "list2/d//e").bytes()))
print("get 'list2/d//e':", double)
as_found = (
    set(found.values()) == {"object a"}
    and lists == {"list": "InvalidPathError", "list2": ["list2/b"]}
    and double == "ValueError"
)
print("as found" if as_found else "CHANGED")
server.stop()
sys.exit(0 if as_found else 1)
PY
"$folder/venv/bin/python" "$folder/see.py"
