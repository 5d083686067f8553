#!/bin/sh
# The same transparent PNG gives other pixel values to an image processor of transformers 5 when the processor gets the
# opened image than when it gets what `load_image` makes of the path (as chat templates do): the first is blended with
# white, the second loses its alpha, and shows the colors that were stored below transparent pixels.
# One would expect the path of a file and the file to be the same image.
# Exit 1 if that changes.
# Seen: transformers 5.24.0, Pillow 13.0.0: red pixels of alpha 0 are white in
# one case, and red in the other.
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cat > "$folder/show.py" <<'P'
import sys
import numpy as np, PIL, transformers
from PIL import Image
from transformers import CLIPImageProcessorPil
from transformers.image_utils import load_image
pixels = np.zeros((224, 224, 4), np.uint8)
pixels[..., 0] = 255  # red, and wholly transparent
Image.fromarray(pixels).save("clear.png")
processor = CLIPImageProcessorPil(do_normalize=False)
by_image = processor(Image.open("clear.png"), return_tensors="np")["pixel_values"][0, :, 0, 0]
by_path = processor(load_image("clear.png"), return_tensors="np")["pixel_values"][0, :, 0, 0]
print("transformers", transformers.__version__, "Pillow", PIL.__version__)
print("the opened image:", by_image.tolist(), "the path by load_image:", by_path.tolist())
sys.exit(not (by_image.tolist() == [1, 1, 1] and by_path.tolist() == [1, 0, 0]))
P
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q "transformers==5.24.0" "pillow==13.0.0" "numpy==2.3.5"
cd "$folder" && HF_HUB_OFFLINE=1 v/bin/python show.py
