"""The examples of servers answer their clients."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.gradiva.serve.gates import Gate

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def files(photographs: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(photographs.rglob("*.jpg"))[:6]]


def test_aiohttp(files: list[bytes]) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    example = loaded(EXAMPLES / "serve_with_aiohttp.py")
    wanted = example.prepare(files).as_array()

    async def clients() -> list[tuple[int, bytes]]:
        runner = aiohttp.web.AppRunner(example.application(max_batch=4))
        await runner.setup()
        await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with aiohttp.ClientSession() as session:

            async def post(data: bytes, query: str = "?deadline_ms=60000") -> tuple[int, bytes]:
                async with session.post(f"{address}/prepare{query}", data=data) as response:
                    return response.status, await response.read()

            found = await asyncio.gather(*map(post, files), post(b"no picture"), post(b""))
            found.append(await post(files[0], "?deadline_ms=soon"))
            found.append(await post(files[0], "?deadline_ms=0.001"))
            async with session.get(f"{address}/stats") as response:
                found.append((response.status, await response.read()))
        await runner.cleanup()
        return found

    *found, damaged, empty, soon, late, stats = asyncio.run(clients())
    for (status, body), image in zip(found, wanted, strict=True):
        assert status == 200
        np.testing.assert_array_equal(np.load(io.BytesIO(body)), image)
    assert damaged[0] == empty[0] == soon[0] == 400
    assert damaged[1].startswith(b"decoders.image: unknown image format")
    assert b"\n" not in damaged[1]
    assert late[0] == 504
    told = json.loads(stats[1])
    assert (told["done"], told["failed"], told["late"]) == (6, 2, 1)


def test_aiohttp_overloaded(files: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """503, and when to come again; and requests that wait when the server ends are answered."""
    aiohttp = pytest.importorskip("aiohttp")
    example = loaded(EXAMPLES / "serve_with_aiohttp.py")
    gate = Gate(opened=True)

    async def clients() -> Any:
        monkeypatch.setattr(example, "prepare", gate)
        app = example.application(max_queue=1)
        runner = aiohttp.web.AppRunner(app)
        await runner.setup()
        await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/prepare?deadline_ms=60000"
        gate.open.clear()
        batcher = app[example.BATCHER]
        async with aiohttp.ClientSession() as session:
            tasks = []
            for running, queued in ((1, 0), (1, 1)):
                tasks.append(asyncio.create_task(session.post(address, data=files[0])))
                while (batcher.stats()["running"], batcher.stats()["queued"]) != (running, queued):
                    await asyncio.sleep(0.001)
            async with session.post(address, data=files[0]) as response:
                refused = response.status, response.headers["Retry-After"], await response.text()
            gate.open.set()
            answered = []
            for task in tasks:
                async with await task as response:
                    answered.append(response.status)
        await runner.cleanup()
        assert batcher.closed
        return refused, answered

    (status, seconds, text), answered = asyncio.run(clients())
    assert status == 503
    assert int(seconds) >= 1
    assert text == "Batcher: the queue is full: 1 requests wait (`max_queue`)"
    assert answered == [200, 200]


class FakeTensor:
    """A tensor of the Python backend."""

    def __init__(self, name: str, data: Any) -> None:
        self.name, self.data = name, data

    def as_numpy(self) -> Any:
        return self.data


def backend() -> ModuleType:
    """The parts of `triton_python_backend_utils` that the example uses, without Triton."""
    module: Any = ModuleType("triton_python_backend_utils")
    module.Tensor = FakeTensor
    module.TritonError = lambda message: SimpleNamespace(message=lambda: message)
    module.InferenceResponse = lambda output_tensors=(), error=None: SimpleNamespace(
        output_tensors=lambda: [*output_tensors], error=error, has_error=lambda: error is not None
    )
    module.get_input_tensor_by_name = lambda request, name: next(
        (one for one in request if one.name == name), None
    )
    return module  # type: ignore[no-any-return]


def test_triton(files: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", backend())
    example = loaded(EXAMPLES / "triton" / "1" / "model.py")
    wanted = example.prepare(files).as_array()
    model = example.TritonPythonModel()
    model.initialize({"model_config": json.dumps({"max_batch_size": 4})})

    def request(*images: bytes) -> list[FakeTensor]:
        """A row for each image."""
        return [FakeTensor("files", np.array([[one] for one in images], np.object_))]

    requests = [request(*files[:3]), request(b"no picture", files[0]), request(*files[3:])]
    first, damaged, second = model.execute(requests)
    for response, images in ((first, wanted[:3]), (second, wanted[3:])):
        assert not response.has_error()
        (output,) = response.output_tensors()
        assert output.name == "images"
        assert output.data.dtype == np.float32
        np.testing.assert_array_equal(output.data, images)
    assert damaged.has_error()
    assert damaged.error.message().startswith("decoders.image: unknown image format")
    assert model.execute([]) == []
    model.finalize()
    assert model.batcher.closed


def test_the_configuration_of_triton() -> None:
    """It names what the model reads and returns."""
    text = (EXAMPLES / "triton" / "config.pbtxt").read_text("utf-8")
    code = (EXAMPLES / "triton" / "1" / "model.py").read_text("utf-8")
    kinds = dict(re.findall(r'name: "(\w+)", data_type: (\w+)', text))
    assert kinds == {"files": "TYPE_STRING", "images": "TYPE_FP32"}
    assert 'get_input_tensor_by_name(request, "files")' in code
    assert 'pb_utils.Tensor("images", images)' in code
    assert "dims: [ 3, 224, 224 ]" in text
    assert "crop=(224, 224)" in code
    assert 'backend: "python"' in text
    assert re.search(r"^max_batch_size: \d+$", text, re.MULTILINE)
