// `nonsilent_region`: sums of the squares of the `window` values that end at each one, in Kind, as
// `_powers` in nonsilent_region.py adds them. A thread takes a block of `window` values: what of the
// windows lies in the block before it is added from its end on, the rest from its beginning.
struct Sound {
    i64 source, sums;  // first elements
    u32 volume, window;
};

KERNEL(window_sums)(
    const Source* source, Kind* sums, const Sound* audio, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Sound& sound = audio[block.sample];
    const i64 window = sound.window, first = (block.first + threadIdx.x) * window;
    if (first >= sound.volume) return;
    const i64 left = sound.volume - first, count = left < window ? left : window;
    const Source* values = source + sound.source + first;
    Kind* made = sums + sound.sums + first;
    if (first > 0) {
        Kind total = Kind(0);
        for (i64 t = window - 1; t > 0; t--) {
            const Kind value = Kind(values[t - window]);
            total += value * value;
            if (t <= count) made[t - 1] = total;
        }
    }
    Kind inside = Kind(0);
    for (i64 t = 0; t < count; t++) {
        const Kind value = Kind(values[t]);
        inside += value * value;
        made[t] = inside + (first > 0 && t + 1 < window ? made[t] : Kind(0));
    }
}
