#!/bin/sh
# Raw video with a palette (pal8 in AVI), and even raw gray in MOV, which FFmpeg reads as pal8: the palette goes with
# the first packet of the file only. After opening and seeking to any later key frame (all frames are), as
# loaders with random access do, the frame decodes without an error, and is black. One would guess that a key
# frame of a codec without prediction stands for itself.
# Exit 1 if that changes.
# Seen: PyAV 18.1.0 (FFmpeg 8.1.2): the mean of the last frame is 107 in order and 0 behind a seek, for pal8 in AVI
# and for gray in MOV.
set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "av==18.1.0" "numpy==2.3.5"
cat > "$folder/show.py" <<'P'
import io, sys
import av, numpy as np
black = {}
for form, kind in (("avi", "pal8"), ("mov", "gray")):
    memory = io.BytesIO()
    with av.open(memory, "w", format=form) as container:
        stream = container.add_stream("rawvideo", rate=25)
        stream.height, stream.width, stream.pix_fmt = 32, 64, kind
        for k in range(8):
            frame = av.VideoFrame(64, 32, kind)
            frame.planes[0].update(np.full(frame.planes[0].buffer_size, 100 + k, np.uint8).tobytes())
            if kind == "pal8":
                frame.planes[1].update(np.repeat(np.arange(256, dtype=np.uint8), 4).tobytes())
            frame.pts = k
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    data = memory.getvalue()
    def frame_at(seeks):
        with av.open(io.BytesIO(data)) as container:
            stream = container.streams.video[0]
            if seeks:
                packets = [p.pts for p in container.demux(stream) if p.size]
        with av.open(io.BytesIO(data)) as container:
            stream = container.streams.video[0]
            if seeks:
                container.seek(packets[-1], stream=stream)
                packet = next(container.demux(stream))
                assert packet.is_keyframe and packet.pts == packets[-1]
                (found,) = packet.decode()
            else:
                *_, found = container.decode(stream)
            return found.to_ndarray(format="rgb24").mean()
    black[f"{kind} in {form}"] = (frame_at(False), frame_at(True))
print("PyAV", av.__version__, "FFmpeg", av.ffmpeg_version_info, "mean of the last frame, in order and by a seek:", black)
sys.exit(not all(order > 90 and seek == 0 for order, seek in black.values()))
P
"$folder/venv/bin/python" "$folder/show.py"
