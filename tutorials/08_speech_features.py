# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
# ---

# %% [markdown]
# # Speech features for a recognizer
#
# A speech recognizer does not read waveforms. It reads a picture of each recording: the energy in
# each band of frequencies, a hundred times per second. This page shows all steps, from audio files
# and a list of their texts to batches for a network:
#
# 1. a **manifest**: a file that lists recordings and their texts;
# 2. **features**: log-mel spectra of the part that is not silent;
# 3. **batches**: recordings of similar lengths together, padded to one length;
# 4. the same in a captured loop and in a pipeline, bit by bit.
#
# The audio is synthesized here, so nothing has to be downloaded.

# %%
import json
import tempfile
import wave
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn, pipeline_def
from gradiva.samplers import Bucket

RATE = 16000
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Synthetic speech
#
# The vocal cords make a buzz, and the mouth amplifies its harmonics at a few frequencies, the
# formants. Two formants make a vowel. Here a word is a sequence of vowels, with silence around it.

# %%
FORMANTS = {"a": (800, 1200), "e": (500, 1900), "i": (300, 2300), "o": (500, 900), "u": (320, 800)}


def vowel(name: str, pitch: float, seconds: float) -> Any:
    times = np.arange(int(seconds * RATE)) / RATE
    sound = np.zeros(times.size)
    for harmonic in range(1, int(4000 / pitch)):
        frequency = harmonic * pitch
        gain = sum(1 / (1 + ((frequency - formant) / 80) ** 2) for formant in FORMANTS[name])
        sound += gain * np.sin(2 * np.pi * frequency * times)
    return sound * np.hanning(times.size)


def speak(word: str, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    pitch = generator.uniform(90, 220)
    parts = [np.zeros(int(generator.uniform(0.1, 0.4) * RATE))]
    parts += [vowel(letter, pitch, generator.uniform(0.15, 0.3)) for letter in word]
    parts += [np.zeros(int(generator.uniform(0.1, 0.4) * RATE))]
    return 0.3 * np.concatenate(parts)


WORDS = ["a", "ia", "oui", "aeiou", "uoiea", "eao", "io", "aaeeiioouu", "ue", "iaiaia"]
lines = []
for number, word in enumerate(WORDS):
    sound = speak(word, number)
    path = folder / f"{number}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((sound * 32767).clip(-32767, 32767).astype(np.int16).tobytes())
    lines.append({"audio_filepath": str(path), "duration": sound.size / RATE, "text": word})
manifest = folder / "manifest.json"
manifest.write_text("\n".join(map(json.dumps, lines)) + "\n")
print(manifest.read_text().splitlines()[2].replace(str(folder), "..."))

# %% [markdown]
# That is the format of NVIDIA NeMo: a JSON object in each line. `readers.NemoAsr` reads it, decodes
# the audio, and gives the texts as bytes.

# %%
reader = gradiva.readers.NemoAsr(manifest_filepaths=str(manifest))
audio, rates, texts = next(iter(reader.next_epoch(batch_size=3)))
print(audio)
print([bytes(np.asarray(text)).decode() for text in texts])

# %% [markdown]
# A batch does not know its sample rate, so pass it to `gradiva.show`. In a notebook each sample has
# a player.

# %%
gradiva.show(audio, sample_rate=rates, labels=["a", "ia", "oui"], columns=1)

# %% [markdown]
# ## From a waveform to a picture
#
# Four steps. Each is a call whose result you can look at.
#
# **Silence** at both ends contains no information. `nonsilent_region` finds where the signal
# begins, and how long it lasts; `slice` takes that part.

# %%
begin, length = gradiva.nonsilent_region(audio, cutoff_db=-50, window_length=512)
spoken = gradiva.slice(audio, begin, length, axes=[0])
print([one.shape[0] for one in audio.arrays()], "->", [one.shape[0] for one in spoken.arrays()])

# %% [markdown]
# **Pre-emphasis** amplifies high frequencies, which are weak in voices: it subtracts from each
# value 0.97 times the previous one.
#
# The **spectrogram** divides the audio into frames of 20 ms, one every 10 ms, and has the power of
# each frequency in each frame. On a scale of decibels we see harmonics, and how vowels differ.

# %%
emphasized = gradiva.preemphasis_filter(spoken, preemph_coeff=0.97)
spectra = gradiva.spectrogram(emphasized, nfft=512, window_length=320, window_step=160)
print(spectra)
gradiva.show(
    gradiva.to_decibels(spectra, cutoff_db=-60), sample_rate=rates, window_step=160, columns=1
)

# %% [markdown]
# **Mel bands** are the bands that an ear distinguishes: narrow at low frequencies, wide at high
# ones. 40 of them instead of 257 frequencies, again in decibels.

# %%
bands = gradiva.mel_filter_bank(spectra, sample_rate=RATE, nfilter=40)
log_mel = gradiva.to_decibels(bands, cutoff_db=-60)
print(log_mel)
gradiva.show(log_mel, columns=1)

# %% [markdown]
# ## One function
#
# A loud speaker and a soft one should look alike: each band is shifted and scaled to a mean of 0
# and a deviation of 1 over the recording. The result is padded to the longest recording of the
# batch, so that the batch is one array. A network must know how much of it is not padding: the
# lengths.


# %%
def features(sound: Any) -> tuple[Any, Any]:
    begin, length = gradiva.nonsilent_region(sound, cutoff_db=-50, window_length=512)
    sound = gradiva.slice(sound, begin, length, axes=[0])
    sound = gradiva.preemphasis_filter(sound)
    power = gradiva.spectrogram(sound, nfft=512, window_length=320, window_step=160)
    mel = gradiva.mel_filter_bank(power, sample_rate=RATE, nfilter=40)
    mel = gradiva.normalize(gradiva.to_decibels(mel, cutoff_db=-60), axes=[1])
    frames = gradiva.shapes(mel)
    return gradiva.pad(mel, axes=[1]), frames


padded, shapes = features(audio)
print(padded.as_array().shape, shapes.as_array()[:, 1])

# %% [markdown]
# ## Similar lengths together
#
# Padding costs time: if a short recording is in a batch with a long one, most of its row is zeros.
# A `Bucket` puts recordings of about one duration into a batch. The durations are those of the
# manifest; readers of plain audio files take them from the headers. (`min_duration` and
# `max_duration` leave out recordings that are too short or too long.)


# %%
def waste(bucket: Bucket | None) -> float:
    """The share of the padded arrays that is padding."""
    there, all_of_it = 0, 0
    reader = gradiva.readers.NemoAsr(manifest_filepaths=str(manifest), bucket=bucket)
    for audio, _rates, _texts in reader.next_epoch(batch_size=5):
        padded, shapes = features(audio)
        there += int(shapes.as_array()[:, 1].sum())
        all_of_it += padded.as_array().shape[0] * padded.as_array().shape[2]
    return 1 - there / all_of_it


plain, sorted_by_duration = waste(None), waste(Bucket(key="duration"))
print(f"padding: {plain:.0%} of the arrays, {sorted_by_duration:.0%} with a bucket")
assert sorted_by_duration < plain

# %% [markdown]
# ## Captured
#
# With `capture=True` the calls of the loop are computed ahead; the code does not change. The steps
# from the slice to the decibels become one pass over each recording, in blocks of eight frames: no
# intermediate result is written to memory.

# %%
gradiva.random.set_seed(3)
reader = gradiva.readers.NemoAsr(manifest_filepaths=str(manifest), random_shuffle=True)
loop = reader.next_epoch(batch_size=5, capture=True)
captured = []
for audio, _rates, texts in loop:
    padded, shapes = features(audio)
    captured.append((padded.as_array(), shapes.as_array(), texts.arrays()))
print(loop.explain())
assert any("spectrogram" in group.title for group in loop.explain().groups)

# %% [markdown]
# ## As a pipeline
#
# The same function, recorded. Its batches are those of the loop, bit by bit.


# %%
@pipeline_def(batch_size=5, num_threads=2, seed=3)
def recognizer() -> Any:
    audio, _rates, texts = fn.readers.nemo_asr(
        manifest_filepaths=str(manifest), random_shuffle=True
    )
    return *features(audio), texts


with recognizer() as pipe:
    for expected, frames, words in captured:
        made, shapes, texts = pipe.run()
        assert np.array_equal(made.as_array(), expected)
        assert np.array_equal(shapes.as_array(), frames)
        for one, other in zip(texts.arrays(), words, strict=True):
            assert np.array_equal(one, other)

# %% [markdown]
# ## Texts as numbers
#
# A network that is trained with CTC needs letters as numbers. Texts are bytes, so arithmetic on the
# batch is enough: here 1 for a, 2 for b, and 0 for the end of the shorter ones.

# %%
letters = gradiva.pad(gradiva.cast(texts, dtype=gradiva.int32) - 96, axes=[0], fill_value=0)
print(letters.as_array())

# %% [markdown]
# ## In short
#
# | to do | use |
# |---|---|
# | read a manifest | `readers.NemoAsr`, with `min_duration`, `max_duration`, `sample_rate` |
# | decode files, or parts of them | `decoders.audio(offset=..., duration=...)` |
# | know lengths without decoding | `peek_audio` |
# | remove silence | `nonsilent_region`, `slice` |
# | another rate | `audio_resample` |
# | spectra | `spectrogram`, `mel_filter_bank`, `to_decibels`, `mfcc` |
# | one array | `pad` |
# | listen and look | `gradiva.show(audio, sample_rate=rates)` |
