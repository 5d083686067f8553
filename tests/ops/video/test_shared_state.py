"""Open decoders of videos, which several batches use at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gradiva.ops.video.decoders import DecodeRange, Decoders
from tests.hammer import hammer

TIMES = 60


class Decoder:
    """Notes how often it was closed."""

    def __init__(self, source: Any, index: Any) -> None:
        self.name, self.index, self.at, self.closed, self.users = source.name, index, 0, 0, 0

    def distance(self, frame: int) -> int:
        return abs(frame - self.at)

    def passes(self, frame: int) -> bool:
        return False

    def close(self) -> None:
        self.closed += 1


def test_a_decoder_has_one_user_and_is_closed_once() -> None:
    made: list[Decoder] = []
    index: Any = SimpleNamespace(group_of=lambda frame: range(frame, frame + 1))

    def make(source: Any, index: Any) -> Any:
        made.append(Decoder(source, index))
        return made[-1]

    decoders = Decoders(3, make)

    def work(number: int) -> bool:
        good = True
        for k in range(TIMES):
            source: Any = SimpleNamespace(name=f"video {(number + k) % 3}")
            frames = DecodeRange(source, index, 2 * k, 2 * k)
            decoders.plan([frames])
            decoder: Any = decoders.take(frames)
            decoder.users += 1
            good &= decoder.users == 1 and not decoder.closed
            decoder.users -= 1
            decoders.end(frames, decoder)
            if k % 10 == number:
                decoders.close()
        return good

    assert all(hammer(work))
    decoders.close()
    assert not decoders._under_way
    assert {one.closed for one in made} == {1}
