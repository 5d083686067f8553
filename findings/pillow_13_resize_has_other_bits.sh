#!/bin/sh
# Image.resize gives other pixels in Pillow 13 than in Pillow 12, for the same photograph and filter, where the
# height loses more pixels than twice those that the width loses: since 13.0 rows are blended before columns there.
# Between the passes values are rounded to bytes and clipped, so the order shows: noise that is made smaller in height
# and larger in width differs by up to 19 of 255, noise that shrinks on both sides by 3. Image processors of
# `transformers` that use Pillow (ViT, CLIP, Qwen2-VL) inherit it. One would expect a filter to stay what it is.
# (12.2 and 12.3 do it in images that are more than 100 times as high as wide.)
# Exit 1 if that changes.
# Seen: Pillow 12.3.0: columns first for all sizes; 13.0.0: rows first for (600 x 200 -> 100 x 150) and
# (200 x 200 -> 150 x 230), columns first for (200 x 600 -> 150 x 100) and (200 x 200 -> 100 x 150).
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cat > "$folder/show.py" <<'P'
import sys
import numpy as np, PIL
from PIL import Image
new = sys.argv[1] == "new"
fits = True
for (h, w), (h2, w2), rows in (
    ((600, 200), (100, 150), True), ((200, 200), (150, 230), True),
    ((200, 600), (150, 100), False), ((200, 200), (100, 150), False),
):
    pixels = np.random.default_rng(0).integers(0, 256, (h, w, 3), np.uint8)
    image = Image.fromarray(pixels)
    made = np.asarray(image.resize((w2, h2), Image.Resampling.BICUBIC)).astype(int)
    one = np.asarray(image.resize((w2, h), Image.Resampling.BICUBIC).resize((w2, h2), Image.Resampling.BICUBIC))
    other = np.asarray(image.resize((w, h2), Image.Resampling.BICUBIC).resize((w2, h2), Image.Resampling.BICUBIC))
    first = "columns" if (made == one).all() else "rows" if (made == other).all() else "?"
    print(f"Pillow {PIL.__version__}: {h} x {w} -> {h2} x {w2}: {first} first; the other order differs by up to",
          np.abs(one.astype(int) - other).max())
    fits = fits and first == ("rows" if rows and new else "columns")
sys.exit(not fits)
P
for pair in "12.3.0 old" "13.0.0 new"; do
    set -- $pair
    python3 -m venv "$folder/$1"
    "$folder/$1/bin/pip" install -q "pillow==$1" "numpy==2.3.5"
    "$folder/$1/bin/python" "$folder/show.py" "$2"
done
