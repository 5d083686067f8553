#!/bin/sh
# Whoever writes an AV1 video as the superuser (as in most containers) with FFmpeg's libsvtav1 has a thread with
# the highest real-time priority afterwards: SVT-AV1 sets SCHED_FIFO, 99, for the thread that opens the encoder, to
# see whether it may, and never sets it back. All threads and child processes that this thread starts later inherit
# it, long after the video is closed; libx264 in the same PyAV, and AVIF of Pillow, leave it as it was. On two
# cores a loader whose workers wait actively can then stop every other program.
# Needs the superuser. Exit 1 if that changes.
# Seen: PyAV 18.1.0 with SVT-AV1 4.1: policy 0 before, 0 after libx264 and AVIF, 1 (SCHED_FIFO)
# with priority 99 after libsvtav1, and in a child process; set back by hand, the next video sets it again.
set -e
test "$(id -u)" = 0 || { echo "needs the superuser: nothing was shown"; exit 0; }
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cat > "$folder/show.py" <<'P'
import io, os, subprocess, sys
import av, numpy as np
from PIL import Image


def video(codec):
    with av.open(io.BytesIO(), "w", format="mp4") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def policy():
    return os.sched_getscheduler(0), os.sched_getparam(0).sched_priority


found = {"before": policy()}
Image.new("RGB", (64, 64)).save(io.BytesIO(), "AVIF")
found["AVIF"] = policy()
video("libx264")
found["libx264"] = policy()
video("libsvtav1")
found["libsvtav1"] = policy()
code = "import os; print(os.sched_getscheduler(0))"
found["child"] = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
video("libsvtav1")
found["again"] = policy()
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
print("PyAV", av.__version__, found)
high = (os.SCHED_FIFO, 99)
expected = {"before": (0, 0), "AVIF": (0, 0), "libx264": (0, 0), "libsvtav1": high, "child": os.SCHED_FIFO, "again": high}
sys.exit(found != expected)
P
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q "av==18.1.0" "numpy==2.3.5" "pillow==12.0.0"
SVT_LOG=0 "$folder/v/bin/python" "$folder/show.py"
