"""`gradiva verify --workers --resume`: each position once, whatever changes in the middle."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.__main__ import main
from gradiva.commands.coverage import Change, Epoch, Numbers, epochs_of, parse_changes
from gradiva.eager.support.errors import OperatorValueError
from gradiva.ops.readers.core.plan import ShardedPlan
from gradiva.ops.readers.sampling.bucket import Bucket
from gradiva.ops.readers.sampling.sampling_arguments import buckets_of
from gradiva.ops.readers.sharding.interleaved import InterleavedPlan
from gradiva.ops.readers.sharding.shard_schedule import LastBatchPolicy

FILE = """
from gradiva import fn, pipeline_def

@pipeline_def(batch_size=4, num_threads=1, device_id=None)
def train():
    return fn.readers.file(files=[__file__] * 1003, random_shuffle=True, name="photos")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text(FILE, "utf-8")
    return str(path)


def verify(*order: str) -> int:
    return main(["verify", *order])


def test_the_table(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["--world", "8", "--workers", "4", "--resume", "3:17", "--resume", "3:5:3x0"]
    assert verify(program, *order, "--batch-size", "4") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "photos: 1003 samples, interleaved shards"
    rows = [line.split() for line in said if line.strip()[0].isdecimal()]
    assert rows[:3] == [[str(epoch), "8", "4", "32", "0", "1003", "1003"] for epoch in range(3)]
    # 17 steps of 32 samples, 5 steps of 32, and the rest in steps of 12.
    assert rows[3:] == [
        ["3", "8", "4", "17", "0", "544", "544"],
        ["3", "8", "4", "5", "544", "704", "160"],
        ["3", "3", "0", "25", "704", "1003", "299"],
    ]
    assert said.count("    each position once") == 4
    assert said[-1] == "  each position once in all epochs"


def test_contiguous_shards(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["--world", "2", "--workers", "0", "--sharding", "contiguous", "--batch-size", "100"]
    assert verify(program, *order, "--resume", "1:2") == 0
    capsys.readouterr()
    assert verify(program, *order, "--resume", "1:2:1x0", "--epochs", "1") == 1
    said = capsys.readouterr().out
    # Shard 0 is read to 200 and shard 1 from 501 to 701; then the one shard goes on at 200.
    assert "each position once" in said
    assert "200 positions more than once (501, 502, 503, 504, 505, ...)" in said
    assert "VIOLATED" in said
    assert verify(program, *order, "--resume", "0:2:3x0", "--epochs", "1") == 1
    said = capsys.readouterr().out
    assert "134 positions missing (200, 201" not in said
    assert "positions missing (" in said


def test_policies(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["--world", "4", "--workers", "2", "--batch-size", "8", "--epochs", "1"]
    assert verify(program, *order, "--last-batch", "drop") == 0
    assert "each position once, but 11 left out at the end" in capsys.readouterr().out
    assert verify(program, *order, "--last-batch", "fill") == 0
    assert "each position once, 21 repeats" in capsys.readouterr().out
    order = ["--global-batch", "24", "--epochs", "1", "--resume", "0:3:3x1", "--world", "2"]
    assert verify(program, *order) == 0
    assert "72       1003      931" in capsys.readouterr().out


def test_what_is_wrong_is_found(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = InterleavedPlan.positions

    def wrong(self: Any, epoch: int, start: int, stop: int) -> Any:
        found = right(self, epoch, start, stop)
        return np.where(found == epoch * self.order.stride + 77, found - 7, found)

    monkeypatch.setattr(InterleavedPlan, "positions", wrong)
    assert verify(program, "--workers", "2", "--epochs", "1") == 1
    said = capsys.readouterr().out
    assert "1 positions missing (77); 1 positions more than once (70)" in said


def test_bad_input(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    for order, text in (
        (["--resume", "3"], "EPOCH:STEP"),
        (["--resume", "3:x"], "EPOCH:STEP"),
        (["--resume", "3:1:0x2"], "EPOCH:STEP"),
        (["--resume", "3:1", "--resume", "2:1"], "in the order of the epochs"),
        (["--workers", "-1"], "--workers"),
        (["--global-batch", "0"], "--global-batch"),
        (["--world", "5", "--global-batch", "24"], "a multiple of the 5 trainers"),
    ):
        assert verify(program, *order) == 1
        assert text in capsys.readouterr().err
    assert verify(program, "--resume", "0:9999", "--epochs", "1") == 1
    assert "it ends after 1003 steps, before step 9999" in capsys.readouterr().out
    assert verify(program, "--resume", "0:1003", "--resume", "0:1", "--epochs", "1") == 1
    assert "it has ended before its last change" in capsys.readouterr().out


def test_changes() -> None:
    changes = parse_changes(["0:3", "0:2:1x0", "4:1"], Numbers(2, 3))
    assert changes == [
        Change(0, 3, Numbers(2, 3)),
        Change(0, 2, Numbers(1, 0)),
        Change(4, 1, Numbers(1, 0)),
    ]
    with pytest.raises(OperatorValueError):
        parse_changes([""], Numbers(1, 0))


def bucketed() -> ShardedPlan:
    sizes = np.random.default_rng(1).integers(1, 50, 97).astype(np.float64)
    plain = ShardedPlan(97, 5, True)
    return buckets_of(Bucket(sizes, max_tokens=120, window=40), plain, lambda key: None)


@pytest.mark.parametrize("kind", ["plain", "buckets"])
@pytest.mark.parametrize("seed", range(25))
def test_random_plans(kind: str, seed: int) -> None:
    drawn = random.Random(f"{kind} {seed}")
    plan = ShardedPlan(97, 5, True) if kind == "plain" else bucketed()
    policy = drawn.choice([LastBatchPolicy.FILL, LastBatchPolicy.PARTIAL])
    changes = [
        Change(epoch, drawn.randint(0, 2), Numbers(drawn.randint(1, 5), drawn.randint(0, 3)))
        for epoch in range(3)
        for _ in range(drawn.randint(0, 2))
    ]
    found: list[Epoch] = [
        *epochs_of(plan, 3, 3, Numbers(drawn.randint(1, 5), 2), changes, policy, "interleaved")
    ]
    assert [epoch.number for epoch in found] == [0, 1, 2]
    for epoch in found:
        assert epoch.good, (epoch.problems, changes)
        read = [one for phase in epoch.phases for one in phase.positions if one < 1 << 62]
        assert len({int(one) for one in read}) == len(read) == 97
