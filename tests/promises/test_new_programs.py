"""Promise: programs run captured as they run eagerly, and the reports of capture say what ran; for
programs that no other test has drawn."""

from __future__ import annotations

import pytest

from tests.random_programs.program_drawing import WIDE, draw_program
from tests.random_programs.test_explained_programs import checked
from tests.random_programs.test_programs import check_program
from tests.soaking import Figures, scaled

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore:samples that cannot be read")]


@pytest.mark.parametrize("first", [20_000, WIDE + 20_000])
def test_eager_against_captured(first: int, figures: Figures) -> None:
    for seed in range(first, first + scaled(2)):
        check_program(seed)
    figures(programs=scaled(2))


def test_reports_of_capture(figures: Figures) -> None:
    totals = checked(range(30_000, 30_000 + scaled(3)), draw_program)
    assert totals["in_all"] == totals["groups"] > 0, totals
    figures(programs=scaled(3), groups=totals["groups"], fused=totals["fused"])
