"""What `pipeline_def` has made, pickled: by its name as functions are, or with all it needs."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def

pytestmark = pytest.mark.core


@pipeline_def(batch_size=2, num_threads=1, seed=3)
def numbers(first: int = 0) -> Any:
    return fn.external_source(lambda: np.arange(first, first + 2)) + fn.random.uniform()


class Recipes:
    """Pipelines in a class."""

    @pipeline_def(batch_size=2, num_threads=1)
    def zeros(self) -> Any:
        return fn.external_source(lambda: np.zeros((2, 1)))

    @staticmethod
    @pipeline_def(batch_size=2, num_threads=1)
    def ones() -> Any:
        return fn.external_source(lambda: np.ones((2, 1)))


def local(first: int, **options: Any) -> Any:
    @pipeline_def(batch_size=2, num_threads=1, seed=3, **options)
    def pipe() -> Any:
        return fn.external_source(lambda: np.arange(first, first + 2)) + fn.random.uniform()

    return pipe


def outputs(pipe: Any) -> Any:
    with pipe:
        return pipe.run()[0].as_array()


@pytest.mark.parametrize("made", [numbers, Recipes.zeros, Recipes.ones])
def test_by_name(made: Any) -> None:
    """It is the same one."""
    for protocol in range(4, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(made, protocol)) is made
    assert copy.deepcopy(made) is made
    assert len(pickle.dumps(made)) < 200


def test_without_a_name() -> None:
    """As functions: `pickle` says whose name it has not found."""
    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local(1))
    made = local(5)
    assert np.array_equal(outputs(copy.deepcopy(made)()), outputs(made()))


def test_with_all_that_it_needs() -> None:
    """As Ray sends functions; also those that a name finds in this process only."""
    cloudpickle = pytest.importorskip("cloudpickle")
    sent = cloudpickle.loads(cloudpickle.dumps(local(7)))
    assert np.array_equal(outputs(sent()), outputs(local(7)()))
    assert cloudpickle.loads(cloudpickle.dumps(numbers)) is numbers
    made = local(7)
    wrapped = cloudpickle.loads(cloudpickle.dumps(lambda: made(batch_size=2)))
    assert np.array_equal(outputs(wrapped()), outputs(local(7)()))


SCRIPT = """
import pickle, sys
from pathlib import Path
import cloudpickle
import numpy as np
from gradiva import fn, pipeline_def

@pipeline_def(batch_size=2, num_threads=1)
def script():
    return fn.external_source(lambda: np.arange(2)) + OFFSET

OFFSET = 5
assert pickle.loads(pickle.dumps(script)) is script
Path(sys.argv[1]).write_bytes(cloudpickle.dumps([script, lambda: script(batch_size=2)]))
"""


def test_functions_of_a_script(tmp_path: Path) -> None:
    """Another process has no name for them."""
    pytest.importorskip("cloudpickle")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "sent")]
    subprocess.run(command, check=True, timeout=120)
    for made in pickle.loads((tmp_path / "sent").read_bytes()):
        assert outputs(made()).tolist() == [5, 6]
