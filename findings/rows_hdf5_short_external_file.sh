#!/bin/sh
# HDF5's external storage: a raw file that is too short is read as zeros, without an error or a
# warning (a raw file that is missing is an error). A copy that was cut, or a file that is still
# being written, looks like data. Seen with h5py 3.16.0 (HDF5 2.0.0). Exit 1 if that changes.
# Seen: of a file cut to 5 of 12 bytes: [[1, 2, 3], [4, 5, 0], [0, 0, 0], [0, 0, 0]]; of a missing file: OSError.
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q h5py==3.16.0 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os, sys
import h5py, numpy as np

print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version, "numpy", np.__version__)
with h5py.File("a.h5", "w") as file:
    data = file.create_dataset("x", (4, 3), "u1", external=[("raw.bin", 0, 12)])
    data[:] = np.arange(1, 13).reshape(4, 3)
os.truncate("raw.bin", 5)
with h5py.File("a.h5", "r") as file:
    found = file["x"][:].tolist()
print("of a file cut to 5 of 12 bytes:", found)
short = found == [[1, 2, 3], [4, 5, 0], [0, 0, 0], [0, 0, 0]]
os.remove("raw.bin")
try:
    with h5py.File("a.h5", "r") as file:
        print("of a missing file:", file["x"][:].tolist())
    missing = False
except OSError as error:
    print("of a missing file:", type(error).__name__)
    missing = True
sys.exit(not (short and missing))
PYTHON
