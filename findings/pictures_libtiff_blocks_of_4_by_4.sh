#!/bin/sh
# Uncompressed YCbCr TIFF whose chroma is subsampled 4 x 4 (a value that TIFF 6.0 allows): where a
# row has an odd number of blocks, libtiff reads too few bytes of a strip, since a row of blocks (18
# bytes for each block) is no multiple of its 4 rows of pixels. The last block comes out green,
# without an error. One would expect the stored gray, or an error. Widths of 8 and 16 are right, 4
# and 12 are wrong. Seen with OpenCV 4.13.0 and its libtiff. Exit 1 if that changes.
# Seen: widths that are right: [8, 16]; the last pixel of 4 and 12: [0, 235, 0].
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q opencv-python-headless==4.13.0.92 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import struct
import sys

import cv2
import numpy as np


def tiff(width: int) -> bytes:
    """4 rows of gray: blocks of 16 luminances of 100 and two neutral chrominances."""
    data = (bytes([100]) * 16 + b"\x80\x80") * (width // 4)
    data += bytes(len(data) % 2)
    size = width // 4 * 18
    entries = [
        (256, 4, 1, width), (257, 4, 1, 4), (258, 3, 3, 8 + len(data)), (259, 3, 1, 1),
        (262, 3, 1, 6), (273, 4, 1, 8), (277, 3, 1, 3), (278, 4, 1, 4), (279, 4, 1, size),
        (284, 3, 1, 1), (530, 3, 2, 4 | 4 << 16),
    ]
    directory = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    bits = struct.pack("<HHH", 8, 8, 8)
    head = b"II*\0" + struct.pack("<I", 8 + len(data) + len(bits))
    return head + data + bits + struct.pack("<H", len(entries)) + directory + bytes(4)


print("OpenCV", cv2.__version__)
right, last = [], {}
for width in (4, 8, 12, 16):
    image = cv2.imdecode(np.frombuffer(tiff(width), np.uint8), cv2.IMREAD_COLOR)
    if (image == 100).all():
        right.append(width)
    else:
        last[width] = image[0, -1, ::-1].tolist()
print("widths that are right:", right)
print("the last pixel of others, as RGB:", last)
sys.exit(not (right == [8, 16] and last == {4: [0, 235, 0], 12: [0, 235, 0]}))
PYTHON
