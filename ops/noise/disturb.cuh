// Noise on every element: `disturbed` makes a value of the old one, the element's random word and
// the sample's parameters. A thread takes four elements, which share a block of random words.
struct Noisy { i64 source, target, count, position; };

KERNEL(disturb)(
    const Source* source, Target* target, const Noisy* samples, const i64* blocks, u64 seed,
    u32 number, const f64* parameters, i64 width
) {
    const Block block = block_at(blocks);
    const Noisy sample = samples[block.sample];
    const f64* own = parameters + block.sample * width;
    const i64 fours = (sample.count + 3) / 4;
    const i64 end = fours - block.first < SPAN ? fours : block.first + SPAN;
    for (i64 four = block.first + threadIdx.x; four < end; four += THREADS) {
        const Words words = philox(u32(four), number, u64(sample.position), seed);
        for (int k = 0; k < 4; k++)
            if (4 * four + k < sample.count)
                target[sample.target + 4 * four + k] =
                    disturbed(source[sample.source + 4 * four + k], words.word[k], own);
    }
}
