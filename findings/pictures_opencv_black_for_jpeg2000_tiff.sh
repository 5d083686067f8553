#!/bin/sh
# OpenCV's imdecode gives an all-black image, not None, for a valid 8-bit TIFF whose strip is JPEG 2000 (compression 34712),
# which its libtiff cannot decode; for the same picture of 16 bits it gives None.
# Seen: OpenCV 4.12.0, Pillow 12.0.0: 8 bits, every sample stored as 200: uint8 (64, 64), largest value 0; 16 bits: None.
# Exit 1 if that changes.
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" -q install numpy==2.2.6 opencv-python-headless==4.12.0.88 pillow==12.0.0
"$folder/v/bin/python" - <<'P'
import io, struct, sys
import cv2, numpy as np, PIL
from PIL import Image
print("opencv", cv2.__version__, "pillow", PIL.__version__, "numpy", np.__version__)
def tiff(data, bits):
    tags = [(256, 4, 1, 64), (257, 4, 1, 64), (258, 3, 1, bits), (259, 3, 1, 34712), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, 64), (279, 4, 1, len(data))]
    data += bytes(len(data) % 2)
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory
seen = []
for bits, kind in ((8, np.uint8), (16, np.uint16)):
    image = np.full((64, 64), 200, kind)
    out = io.BytesIO(); Image.fromarray(image).save(out, "JPEG2000", no_jp2=True)
    assert (np.asarray(Image.open(io.BytesIO(out.getvalue()))) == 200).all()
    got = cv2.imdecode(np.frombuffer(tiff(out.getvalue(), bits), np.uint8), cv2.IMREAD_UNCHANGED)
    seen.append("None" if got is None else f"{got.dtype} {got.shape}, largest value {got.max()}")
    print(bits, "bits, every sample stored as 200:", seen[-1])
sys.exit(0 if seen[0].endswith("largest value 0") and seen[1] == "None" else 1)
P
