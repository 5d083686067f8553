"""The promises, each tested in a short form in CI and in a long one by `pytest -m soak`."""
