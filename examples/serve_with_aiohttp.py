"""A web server that prepares images for a model, in batches of what its clients send.

`pip install gradiva aiohttp` and `python examples/serve_with_aiohttp.py`, then
`curl --data-binary @photo.jpg http://localhost:8080/prepare --output image.npy`. The answer is a
float32 array, CHW, in the format of `numpy.load`. `/stats` says what the server has done.
"""

from __future__ import annotations

import asyncio
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
from aiohttp import web

import gradiva
from gradiva.serve import Batcher, BatcherClosed, DeadlineExceeded, Overloaded

BATCHER: web.AppKey[Batcher] = web.AppKey("batcher", Batcher)
DEADLINE_MS = 200.0
LARGEST = 32 << 20
"""Bytes of a request."""


def prepare(files: Any) -> Any:
    """Encoded images as a model expects them. A file that is damaged fails alone."""
    images = gradiva.decoders.image(files, on_error="skip")
    images = gradiva.resize(images, resize_shorter=256)
    mean, std = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
    return gradiva.crop_mirror_normalize(images, crop=(224, 224), mean=mean, std=std)


async def answer(request: web.Request) -> web.Response:
    """One image; a client may set another deadline, `?deadline_ms=50`."""
    batcher = request.app[BATCHER]
    data = await request.read()
    try:
        deadline = float(request.query.get("deadline_ms", DEADLINE_MS))
        image = await batcher.submit_async(data, deadline_ms=deadline)
    except Overloaded as error:
        seconds = str(math.ceil((error.predicted_ms or 1e3) / 1e3))
        headers = {"Retry-After": seconds}
        raise web.HTTPServiceUnavailable(text=_line(error), headers=headers) from None
    except BatcherClosed as error:
        raise web.HTTPServiceUnavailable(text=_line(error)) from None
    except DeadlineExceeded as error:
        raise web.HTTPGatewayTimeout(text=_line(error)) from None
    except (gradiva.GradivaError, ValueError) as error:  # a damaged file; a deadline of "soon"
        raise web.HTTPBadRequest(text=_line(error)) from None
    stream = io.BytesIO()
    np.save(stream, np.asarray(image))
    return web.Response(body=stream.getvalue(), content_type="application/octet-stream")


def _line(error: Exception) -> str:
    """The error without the place in this file, which is nothing for clients."""
    return str(error).partition("\n")[0]


async def stats(request: web.Request) -> web.Response:
    return web.json_response(request.app[BATCHER].stats())


def application(**options: Any) -> web.Application:
    """The server. options: of the Batcher."""

    async def batching(app: web.Application) -> Any:
        batcher = Batcher(prepare, **{"max_batch": 16, "max_delay_ms": 2.0, **options})
        app[BATCHER] = batcher
        await asyncio.to_thread(batcher.warm_up, _example())
        yield
        await asyncio.to_thread(batcher.close, drain=True)

    app = web.Application(client_max_size=LARGEST)
    app.cleanup_ctx.append(batching)
    app.add_routes([web.post("/prepare", answer), web.get("/stats", stats)])
    return app


def _example() -> bytes:
    """An image as clients send them: those that are JPEG need the same kernels as this one."""
    return sorted((Path(gradiva.__file__).parent / "photographs").rglob("*.jpg"))[0].read_bytes()


if __name__ == "__main__":
    web.run_app(application(), port=8080)
