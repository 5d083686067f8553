#!/bin/sh
# Albumentations 2.0.8: `Perspective(fill=255)` fills the border of an RGB image with (255, 0, 0), so
# red, and not white: the number goes to OpenCV as it is, where it is a scalar whose other channels
# are 0. `Rotate(fill=255)` and `Affine(fill=255)` repeat it for each channel, and give white.
# Versions run: Albumentations 2.0.8, opencv-python-headless 4.12.0.88, NumPy 2.2.6, Python 3.11.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet albumentations==2.0.8 opencv-python-headless==4.12.0.88 numpy==2.2.6
cat > "$folder/see.py" <<'PY'
import os
import platform
import sys

os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"
import albumentations as A
import cv2
import numpy as np

print("Python", platform.python_version(), "Albumentations", A.__version__, "OpenCV", cv2.__version__)
image = np.full((60, 80, 3), 100, np.uint8)


def border(transform):
    """The colors of the pixels that came from outside, without the blended ones at the edge."""
    made = A.Compose([transform], seed=3)(image=image)["image"].reshape(-1, 3)
    colors, counts = np.unique(made, axis=0, return_counts=True)
    outside = {tuple(map(int, one)): int(n) for one, n in zip(colors, counts)}
    outside.pop((100, 100, 100), None)
    return max(outside, key=outside.get)


found = {
    "Perspective": border(A.Perspective((0.1, 0.2), fit_output=True, fill=255, p=1)),
    "Rotate": border(A.Rotate((30, 30), fill=255, p=1)),
    "Affine": border(A.Affine(rotate=(30, 30), fill=255, p=1)),
}
for name, color in found.items():
    print(f"{name}(fill=255): the border is {color}")
white = (255, 255, 255)
as_found = found == {"Perspective": (255, 0, 0), "Rotate": white, "Affine": white}
print("as found" if as_found else "CHANGED")
sys.exit(0 if as_found else 1)
PY
"$folder/venv/bin/python" "$folder/see.py"
