"""The states of sources, which one thread records and another one delivers."""

from __future__ import annotations

import time
from typing import Any, cast

from gradiva.capture.pipeline.source_states import SourceStates
from tests.hammer import hammer

BATCHES = 3000


def test_states_are_delivered_in_order_while_others_are_recorded() -> None:
    class Source:
        at = 0

        def get_state(self) -> int:
            return self.at

    class Key:
        def attribute(self, _name: str) -> int:
            return 0

    source = Source()
    states = SourceStates(cast(Any, {Key(): source}))
    states.begin(0)

    def work(number: int) -> bool:
        good = True
        for batch in range(1, BATCHES + 1):
            if number == 0:
                while len(states._waiting) > 1:
                    time.sleep(0)
                moved = batch % 3 != 0
                source.at += moved
                states.record(batch, moved)
            else:
                while not states._waiting:
                    time.sleep(0)
                states.deliver()
                assert states.delivered is not None
                good &= states.delivered.by_source == {"0": batch - batch // 3}
        return good

    assert all(hammer(work, 2))
