# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Clips for action recognition
#
# In which direction does something move? One picture does not show it: a network needs several
# frames of a video, in their order. This page makes such clips, and needs `pip install ".[video]"`:
#
# 1. **videos** of moving squares, one folder for each action, which are made here;
# 2. **clips**: frames that follow one another, or frames at equal distances over the whole video;
# 3. **inputs** of a network: resized, cropped, mirrored, normalized;
# 4. the same in a pipeline, **resumed in the middle** of an epoch, bit by bit.

# %%
import tempfile
from pathlib import Path
from typing import Any

import av
import numpy as np

import gradiva
from gradiva import fn, pipeline_def, types

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Videos
#
# A square goes to the right, to the left, or down, over a background of noise. Videos differ in
# length. The encoder writes files like everyday ones: key frames, and between them frames that
# contain only what has changed.

# %%
ACTIONS = {"down": (1, 0), "left": (0, -1), "right": (0, 1)}
HEIGHT, WIDTH, SIDE = 96, 128, 24


def frame_of(action: str, share: float, background: Any) -> Any:
    """A frame; share: how far the square has come, from 0 to 1."""
    picture = background.copy()
    down, right = ACTIONS[action]
    top = int((share if down else 0.4) * (HEIGHT - SIDE))
    left = int((share if right > 0 else 1 - share if right else 0.4) * (WIDTH - SIDE))
    picture[top : top + SIDE, left : left + SIDE] = (250, 220, 60)
    return picture


def write_video(path: Path, action: str, frames: int, seed: int) -> None:
    background = np.random.default_rng(seed).integers(40, 120, (HEIGHT, WIDTH, 3), np.uint8)
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.bit_rate = 2_000_000
        stream.codec_context.gop_size = 10
        for number in range(frames):
            picture = frame_of(action, number / (frames - 1), background)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


for action in ACTIONS:
    (folder / action).mkdir()
    for number in range(4):
        write_video(folder / action / f"{number}.mp4", action, 30 + 7 * number, number)
print(sorted(str(path.relative_to(folder)) for path in folder.glob("*/0.mp4")))

# %% [markdown]
# ## Frames that follow one another
#
# `experimental.readers.Video` reads the folder: its folders in alphabetical order are the labels. A
# clip here has 6 frames, every third one, so it takes up 18; the next clip begins where it ends.

# %%
reader = gradiva.experimental.readers.Video(
    file_root=str(folder), sequence_length=6, stride=3, enable_frame_num="sequence"
)
clips, labels, numbers = next(iter(reader.next_epoch(batch_size=4)))
print(clips, "labels", labels.as_array().ravel())
print(numbers.as_array())
assert (np.diff(numbers.as_array(), axis=1) == 3).all()

# %% [markdown]
# In a notebook a clip is a strip of frames, with an animation below it.

# %%
clips

# %% [markdown]
# These clips show a third of an action each, and a long video has more of them than a short one.
#
# ## Uniform sampling
#
# To recognize an action, a network should see all of it. `uniform_sample=True` makes one clip of
# each video: frames at equal distances, including the first and the last one. Only the groups of
# frames that contain them are decoded.

# %%
reader = gradiva.experimental.readers.Video(
    file_root=str(folder), sequence_length=6, uniform_sample=True, enable_frame_num="sequence"
)
clips, labels, numbers = next(iter(reader.next_epoch(batch_size=12)))
print(numbers.as_array()[:4])
lengths = [30 + 7 * number for number in range(4)]
assert numbers.as_array()[:4, -1].tolist() == [length - 1 for length in lengths]

# %% [markdown]
# Each frame is exactly the one with its number, however it was encoded. The position of the square
# in each frame confirms it.

# %%
for clip, frames in zip(clips.arrays()[8:], numbers.as_array()[8:], strict=True):
    bright = (clip[..., 0] > 180) & (clip[..., 2] < 130)
    found = [np.flatnonzero(frame.any(0)).mean() for frame in bright]
    wanted = frames / frames[-1] * (WIDTH - SIDE) + (SIDE - 1) / 2
    assert np.abs(found - wanted).max() < 3, "the square is elsewhere"
print("all squares are where their frames have them")

# %% [markdown]
# ## Inputs of a network
#
# The following operators treat a clip as a sequence of images. The window and the mirror are drawn
# once for each clip, not for each frame, so the motion stays smooth. Mirroring changes the action:
# left becomes right. So only clips that go down are mirrored.


# %%
def inputs(clip: Any, label: Any) -> tuple[Any, Any]:
    clip = gradiva.resize(clip, resize_shorter=72)
    clip = gradiva.crop_mirror_normalize(
        clip,
        crop=(64, 64),
        crop_pos_x=fn.random.uniform(range=[0.0, 1.0]),
        mirror=fn.random.coin_flip() * (label == 0),
        mean=[110.0, 110.0, 90.0],
        std=[60.0, 60.0, 60.0],
        dtype=types.FLOAT,
        output_layout="CFHW",
    )
    return clip, label


@pipeline_def(batch_size=4, num_threads=2, seed=5, enable_checkpointing=True)
def training() -> Any:
    clip, label = fn.experimental.readers.video(
        name="reader",
        file_root=str(folder),
        sequence_length=6,
        uniform_sample=True,
        random_shuffle=True,
    )
    return inputs(clip, label)


with training() as pipe:
    epoch = [[batch.as_array() for batch in pipe.run()] for _ in range(6)]
print(epoch[0][0].shape, [labels.ravel().tolist() for _, labels in epoch])
assert epoch[0][0].shape == (4, 3, 6, 64, 64)

# %% [markdown]
# ## Resumed in the middle
#
# Training stops after two of the three batches of an epoch: perhaps the machine is needed for
# something else. A checkpoint stores the place. Another pipeline resumes there, with another number
# of threads, and delivers what the first one would have delivered: the same clips, windows and
# mirrors.

# %%
place = folder / "place.json"
with training() as pipe:
    for _ in range(2):
        pipe.run()
    pipe.checkpoint(str(place))
with training(checkpoint=str(place), num_threads=1) as pipe:
    for expected in epoch[2:]:
        for made, other in zip(pipe.run(), expected, strict=True):
            assert np.array_equal(made.as_array(), other)
print("resumed at batch 2 of 3; the same to the last bit")

# %% [markdown]
# ## In short
#
# | to do | use |
# |---|---|
# | clips of a folder, a list, or by name | `experimental.readers.video` |
# | frames farther apart; clips that overlap | `stride`; `step` |
# | a fixed number of frames from all of each video | `uniform_sample=True` |
# | parts of videos | lines "path label start end" in `file_list` |
# | which frames, and when | `enable_frame_num="sequence"`, `enable_timestamps=True` |
# | the last frames, too few for a clip | `pad_mode` |
# | videos of phones | `apply_rotation=True` |
# | bytes of videos, as frames | `decoders.video` |
#
# [docs/video.md](../docs/video.md) says which frame is which, and what happens to damaged files.
