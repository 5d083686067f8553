"""Each pixel taken from another place: matrices, maps, waves."""
