#!/bin/sh
# A cast of Arrow's list views to lists loses the values of the last list, without an error: it has
# no elements then (and, where there is one list, all is lost). `to_pylist`, `take`, `flatten` and
# Parquet files with such columns are right. One would expect that a cast between two ways of
# storing the same lists changes none of them. Seen with pyarrow 18.1.0, 21.0.0, 25.0.0 and 26.0.1.
# Exit 1 if that changes.
# Seen: list views [[1], [2, 3], [4]] cast to lists: [[1], [2, 3], []].
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import pyarrow as pa

rows = [[1], [2, 3], [4]]
wrong = True
print("pyarrow", pa.__version__)
for view in (pa.list_view, pa.large_list_view):
    column = pa.array(rows, view(pa.int64()))
    assert column.to_pylist() == rows
    assert column.validate(full=True) is None
    for kind in (pa.list_, pa.large_list):
        found = column.cast(kind(pa.int64())).to_pylist()
        print(f"{view.__name__} {rows} cast to {kind.__name__}: {found}")
        wrong = wrong and found == [[1], [2, 3], []]
sys.exit(not wrong)
PYTHON
