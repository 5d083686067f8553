#!/bin/sh
# Of an MPEG transport stream in which 188 bytes of picture k are missing, FFmpeg's demuxer marks the packet of
# picture k - 1 as corrupt (PyAV: packet.is_corrupt), not that of picture k: the mark is set on the piece of the
# stream (PES) that is being put together, and the parser gives out the picture before it with it. Who drops
# "the corrupt packet" drops a sound picture and keeps the damaged one. A clean file has no marks.
# Exit 0: as described; 1: otherwise.
# Seen: PyAV 18.1.0 (libavformat 62.12): changed packets: [5], marked as corrupt: [4]; marks in the clean file: 0.
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q av==18.1.0 numpy==2.2.6
"$folder/venv/bin/python" - <<'P'
import io, sys
import av, numpy as np

print("PyAV", av.__version__, "libavformat", av.library_versions["libavformat"])

def packets(data):
    with av.open(io.BytesIO(data)) as container:
        return [(bytes(p), p.is_corrupt) for p in container.demux(video=0) if p.size]

stream = io.BytesIO()
with av.open(stream, "w", format="mpegts") as container:
    video = container.add_stream("mpeg2video", rate=25)
    video.width, video.height, video.pix_fmt = 320, 240, "yuv420p"
    video.bit_rate = 4_000_000
    noise = np.random.default_rng(1)
    for _ in range(10):
        picture = noise.integers(0, 256, (240, 320, 3), np.uint8)
        container.mux(video.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
    container.mux(video.encode())
whole = stream.getvalue()
sound = packets(whole)
pieces = [whole[at : at + 188] for at in range(0, len(whole), 188)]
of_video = [k for k, one in enumerate(pieces) if (one[1] & 31) << 8 | one[2] == 256]
begins = [k for k in of_video if pieces[k][1] & 64]
place = of_video[of_video.index(begins[5]) + 3]  # the fourth piece of picture 5
found = packets(b"".join(pieces[:place] + pieces[place + 1 :]))
marked = [k for k, (_, corrupt) in enumerate(found) if corrupt]
changed = [k for k, (one, other) in enumerate(zip(sound, found)) if one[0] != other[0]]
print("marks in the clean file:", sum(corrupt for _, corrupt in sound))
print("changed packets:", changed, "marked as corrupt:", marked)
sys.exit(not (changed == [5] and marked == [4] and not any(c for _, c in sound)))
P
