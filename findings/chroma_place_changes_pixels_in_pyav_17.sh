#!/bin/sh
# The same call on the same planes gives other colors since PyAV 17: `frame.reformat(format="rgb24", ...)` now
# heeds the "chroma location" that FFmpeg's decoders of H.264, HEVC, MPEG-2 and MPEG-4 put on each frame (chroma
# on the left), which PyAV shows nowhere: a decoded frame and a copy of its planes, equal in every attribute that
# Python can see, give other pixels. PyAV 16 gives the same pixels for both, those of the copy.
# Exit 1 if that changes.
# Seen: PyAV 16.1.0 (libswscale 9.1): a frame and its copy differ by 0 for all codecs; PyAV 18.1.0 (libswscale 9.5):
# by up to 47 of 255 for libx264, 45 for mpeg2video and mpeg4, 0 for libvpx-vp9.
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cat > "$folder/show.py" <<'P'
import io, sys
import av, numpy as np
EXACT = 2 | 0x2000 | 0x40000  # bilinear, full chroma, accurate rounding
y, x = np.mgrid[0:96, 0:128]
picture = np.stack([x * 3 % 256, y * 5 % 256, (x * 2 + y * 2 + 40) % 256], 2).astype(np.uint8)
found = {}
for codec in ("libx264", "mpeg2video", "mpeg4", "libvpx-vp9"):
    memory = io.BytesIO()
    with av.open(memory, "w", format="matroska") as container:
        stream = container.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt = 96, 128, "yuv420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    with av.open(io.BytesIO(memory.getvalue())) as container:
        frame = next(container.decode(video=0))
    copy = av.VideoFrame.from_ndarray(frame.to_ndarray(format="yuv420p"), format="yuv420p")
    copy.colorspace, copy.color_range = frame.colorspace, frame.color_range
    one, two = (f.reformat(format="rgb24", interpolation=EXACT).to_ndarray().astype(int) for f in (frame, copy))
    found[codec] = int(np.abs(one - two).max())
print("PyAV", av.__version__, "libswscale", av.library_versions["libswscale"], "frame and its copy differ by", found)
new = sys.argv[1] == "new"
expected = found["libvpx-vp9"] == 0 and all((found[c] > 20) == new for c in found if c != "libvpx-vp9")
sys.exit(not expected)
P
for pair in "16.1.0 old" "18.1.0 new"; do
    set -- $pair
    python3 -m venv "$folder/$1"
    "$folder/$1/bin/pip" install -q "av==$1" "numpy==2.3.5"
    "$folder/$1/bin/python" "$folder/show.py" "$2"
done
