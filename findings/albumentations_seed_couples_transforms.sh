#!/bin/sh
# Albumentations 2.0.8: `Compose(..., seed=137)` gives every transform a random generator of its own
# with the same seed. So two transforms draw the same numbers: HorizontalFlip(p=0.5) and
# VerticalFlip(p=0.5) are always applied together or not at all, for all images. One would expect
# independent coins, as without a seed, where each of the four results comes in a quarter of calls.
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
image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
results = {
    "neither": image,
    "horizontal": image[:, ::-1],
    "vertical": image[::-1],
    "both": image[::-1, ::-1],
}


def count(**arguments):
    compose = A.Compose([A.HorizontalFlip(p=0.5), A.VerticalFlip(p=0.5)], **arguments)
    counts = dict.fromkeys(results, 0)
    for _ in range(1000):
        made = compose(image=image)["image"]
        counts[next(name for name, one in results.items() if np.array_equal(one, made))] += 1
    return counts


free, seeded = count(), count(seed=137)
print("without a seed:", free)
print("with seed=137: ", seeded)
as_found = min(free.values()) > 150 and seeded["horizontal"] == seeded["vertical"] == 0
print("as found" if as_found else "CHANGED")
sys.exit(0 if as_found else 1)
PY
"$folder/venv/bin/python" "$folder/see.py"
