"""Random programs of what people write every day, on a folder of mixed files: one group each, fused
in every batch, with the bits of dynamic mode."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import gradiva
from gradiva import types
from tests.capture.loop.loops import bits
from tests.capture.runtime.mixed_files import mixed_files
from tests.eager.execution.damaged import as_pipeline, eager
from tests.random_programs.what_ran import watched
from tests.tiers import examples, few

pytestmark = pytest.mark.core

Call = Callable[[Any], Any]
MEAN, STD = [124.0, 116.0, 104.0], [58.0, 57.0, 57.0]


class Drawn:
    """A chain of calls: its text, and the function that makes them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.calls: list[Call] = []
        self.text: list[str] = []
        self._decode()
        if self.chance(0.3):
            self._flip()
        self._resize()
        colored = self.chance(0.4)
        self._end(colored)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choice(self, *options: Any) -> Any:
        return self.random.choice(options)

    def add(self, operator: Any, **given: Any) -> None:
        """A call; arguments that are functions are called with the images."""
        self.text.append(f"{operator.name}({given})")

        def call(images: Any) -> Any:
            own = {
                name: value(images) if isinstance(value, FunctionType) else value
                for name, value in given.items()
            }
            return operator(images, **own)

        self.calls.append(call)

    def __call__(self, files: Any, labels: Any, policy: Any) -> tuple[Any, Any]:
        images = files
        for call in self.calls:
            images = call(images)
        return images, labels

    def __str__(self) -> str:
        return "\n".join(self.text)

    def flag(self) -> Any:
        """0, 1, or one per sample."""
        coin = gradiva.random.coin_flip
        return self.choice(0, 1, lambda images: coin(batch_size=images.batch_size))

    def _decode(self) -> None:
        whole, self.large = self.chance(0.7), True
        given = {"output_type": types.GRAY} if self.chance(0.15) else {}
        self.channels = 1 if given else 3
        if whole:
            size = {"min_size": self.choice(20, (24, 30))} if self.chance(0.3) else {}
            self.large = not size
            self.add(gradiva.decoders.image, **given, **size)
        elif self.chance(0.5):
            self.large = False
            self.add(gradiva.decoders.image_random_crop, **given)
        else:
            self.add(gradiva.decoders.image_crop, crop=(40, 36), **given)

    def _flip(self) -> None:
        self.add(gradiva.flip, horizontal=self.flag(), vertical=self.flag())

    def _resize(self) -> None:
        kind = {
            "interp_type": self.choice(types.INTERP_CUBIC, types.INTERP_NN, types.INTERP_TRIANGULAR)
        }
        given = kind if self.chance(0.3) else {}
        which = self.choice("resize", "resize", "random", "crop", "none")
        if which == "resize" or (which == "none" and not self.large):
            size = self.choice(
                {"size": (30, 34)}, {"resize_shorter": 32}, {"size": 31, "mode": "not_smaller"}
            )
            self.add(gradiva.resize, **size, **given)
        elif which == "random":
            self.add(gradiva.random_resized_crop, size=(31, 33), **given)
        elif which == "crop":
            mirror = self.choice(0, 1, 2, 3, self.flag())
            place = {"crop_pos_x": self.choice(0.0, 0.3, 1.0)}
            crop = self.choice((28, 26), (26, 30), (36, 26))  # also beyond it
            self.add(
                gradiva.resize_crop_mirror,
                resize_shorter=30,
                crop=crop,
                mirror=mirror,
                **place,
                **given,
            )
        else:
            self.add(gradiva.crop, crop=(28, 26), crop_pos_y=self.choice(0.0, 0.5))
        if self.chance(0.3):
            self._flip()

    def _end(self, colored: bool) -> None:
        if colored and self.channels == 3:
            self.add(self.choice(gradiva.color_twist, gradiva.hsv), hue=20.0, saturation=1.2)
        elif colored:
            self.add(gradiva.brightness_contrast, brightness=1.1, contrast=0.9)
        dtype = self.choice(types.FLOAT, types.FLOAT16)
        end = self.choice("normal", "normal", "numbers", "planes", "cast")
        if end == "normal":
            mean, std = (MEAN, STD) if self.channels == 3 else (120.0, 60.0)
            window = {"crop": (24, 22), "crop_pos_x": 0.3} if self.chance(0.5) else {}
            self.add(
                gradiva.crop_mirror_normalize,
                mean=mean,
                std=std,
                mirror=self.flag(),
                dtype=dtype,
                output_layout=self.choice("CHW", "HWC"),
                pad_output=self.chance(0.4),
                **window,
            )
        elif end == "numbers":
            self.add(gradiva.normalize, mean=120.0, stddev=60.0, shift=0.5, scale=2.0, dtype=dtype)
        elif end == "planes":
            self.add(gradiva.transpose, perm=(2, 0, 1))
        else:
            self.add(gradiva.cast, dtype=dtype)


@pytest.fixture(scope="module", name="folder")
def mixed_folder(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return mixed_files(tmp_path_factory.mktemp("mixed"))


@pytest.mark.parametrize("first", few(range(0, 120, 40), 0))
def test_what_people_write_runs_fused(first: int, folder: list[str]) -> None:
    for seed in range(first, first + examples(40)):
        body = Drawn(seed)
        wanted = eager(body, folder, 6, "raise")
        pipe = as_pipeline(body, folder, 6, "raise", prefetch_queue_depth=1, exec_async=False)
        with watched() as ran:
            found = [[bits(out) for out in pipe.run()] for _ in range(2)]
            explained = pipe.explain()
        pipe.close()
        assert found == wanted, body
        ran.check(explained)
        assert len(explained) == 1, f"{seed}: {body}\n{explained}"
        assert explained[0].fused == 2, f"{seed}: {body}\n{explained}"
