#!/bin/sh
# libsndfile (1.2.2, in soundfile 0.14.0): a seek to a sample in the last page of an Ogg Vorbis file is off.
# One would think that a seek and a read give the slice of the whole, as they do in all other pages: libsndfile counts
# the position of the last page back from its granule position, which is the end of the *sound*, and not that of its
# packets (Vorbis I, A.2: the last page may say less than its packets hold, to cut off what is too much). So a read
# after such a seek gives samples that are late by what is cut off, without an error. Exit 0: as described; 1: changed.
# Seen: of 480000 samples the last page begins at about 432128; from there on most seeks are late, by 384 samples.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" -q install soundfile==0.14.0 numpy==2.2.6
"$folder/v/bin/python" - <<'P'
import io, sys
import numpy as np, soundfile as sf

print("soundfile", sf.__version__, "libsndfile", sf.__libsndfile_version__, "numpy", np.__version__)
t = np.arange(30 * 16000) / 16000
sound = np.where((t * 3).astype(int) % 2, 0.3 * np.sin(2 * np.pi * 120 * t) * (1 + np.sin(6 * np.pi * t)), 0.0)
stream = io.BytesIO()
sf.write(stream, sound, 16000, format="OGG", subtype="VORBIS")
data = stream.getvalue()
whole = sf.read(io.BytesIO(data), dtype="float32")[0]
at, ends = 0, []
while at < len(data):  # the pages of the file
    count = data[at + 26]
    ends.append(int.from_bytes(data[at + 6 : at + 14], "little"))
    at += 27 + count + sum(data[at + 27 : at + 27 + count])
print("samples", len(whole), "the last page begins at about", ends[-2])
off = {}
for begin in range(1000, len(whole) - 4000, 1000):
    with sf.SoundFile(io.BytesIO(data)) as file:
        file.seek(begin)
        part = file.read(3000, dtype="float32")
    if not np.array_equal(part, whole[begin : begin + 3000]):
        late = [k for k in range(-2048, 2049) if np.array_equal(part, whole[begin + k : begin + k + 3000])]
        off[begin] = late[:1]
print("seeks that are off (place: samples late):", off)
as_described = bool(off) and min(off) > ends[-2] - 2048
print("as described" if as_described else "changed")
sys.exit(not as_described)
P
