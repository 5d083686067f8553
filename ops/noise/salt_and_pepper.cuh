// Pixels that are set to one of two values. A thread takes four pixels, with all their channels.
struct Scatter { i64 source, target, pixels, channels, inner, position; };

KERNEL(scatter)(
    const Target* source, Target* target, const Scatter* samples, const i64* blocks, u64 seed,
    u32 number, const u64* thresholds, const Target* values
) {
    const Block block = block_at(blocks);
    const Scatter sample = samples[block.sample];
    const u64 salted = thresholds[2 * block.sample], changed = thresholds[2 * block.sample + 1];
    const Target salt = values[2 * block.sample], pepper = values[2 * block.sample + 1];
    const i64 fours = (sample.pixels + 3) / 4;
    const i64 end = fours - block.first < SPAN ? fours : block.first + SPAN;
    for (i64 four = block.first + threadIdx.x; four < end; four += THREADS) {
        const Words words = philox(u32(four), number, u64(sample.position), seed);
        for (int k = 0; k < 4; k++) {
            const i64 pixel = 4 * four + k;
            if (pixel >= sample.pixels) break;
            const bool other = words.word[k] < changed;
            const Target value = words.word[k] < salted ? salt : pepper;
            const u32 frame = u32(pixel) / u32(sample.inner);
            i64 at = pixel + i64(frame) * (sample.channels - 1) * sample.inner;
            #pragma unroll 1
            for (i64 c = 0; c < sample.channels; c++, at += sample.inner)
                target[sample.target + at] = other ? value : source[sample.source + at];
        }
    }
}
