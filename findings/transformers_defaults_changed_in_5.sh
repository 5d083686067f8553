#!/bin/sh
# Image processors of transformers have other default settings in version 5 than in version 4, so a
# preprocessor_config.json that leaves a setting out, or a processor made without arguments, gives other pixels:
# ConvNextImageProcessor and PvtImageProcessor resize with BICUBIC in place of BILINEAR, and BeitImageProcessor resizes
# to 224 pixels, in place of 256 with a window of 224.
# One would expect the settings that a stored configuration leaves out to stay what they were when it was written.
# Exit 1 if that changes.
# Seen: transformers 4.57.6 and 5.24.0, Pillow 12.0.0.
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cat > "$folder/show.py" <<'P'
import json, sys
import numpy as np, transformers
from transformers import AutoImageProcessor
new = transformers.__version__.startswith("5")
more = {"backend": "pil"} if new else {"use_fast": False}
image = (np.indices((300, 400)).sum(0)[..., None] * np.array([3, 5, 7]) % 256).astype(np.uint8)
found = {}
for name in ("Beit", "ConvNext", "Pvt"):
    with open("preprocessor_config.json", "w") as file:
        json.dump({"image_processor_type": f"{name}ImageProcessor"}, file)
    made = AutoImageProcessor.from_pretrained(".", **more)
    values = np.asarray(made(images=image, return_tensors="np")["pixel_values"], np.float64)
    found[name] = round(float(np.abs(values).mean()), 6)
    print("transformers", transformers.__version__, name, "mean of the absolute values", found[name])
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
P
for number in 4.57.6 5.24.0; do
  python3 -m venv "$folder/v$number"
  "$folder/v$number/bin/pip" install -q "transformers==$number" "pillow==12.0.0" "numpy==2.3.5"
  (cd "$folder" && HF_HUB_OFFLINE=1 "v$number/bin/python" show.py "$number.json")
done
cd "$folder" && python3 -c '
import json, sys
old, new = (json.load(open(f"{number}.json")) for number in ("4.57.6", "5.24.0"))
sys.exit(any(old[name] == new[name] for name in old))'
