// Random values: the words of a sample's counter, four at a time, and what `drawn` makes of each.
struct Draws {
    i64 target;  // first element
    i64 count;
    i64 position;  // of the sample in its stream
};

KERNEL(draw)(
    Target* target, const Draws* samples, const i64* blocks, u64 seed, u32 number,
    const Parameter* parameters, i64 width
) {
    const Block block = block_at(blocks);
    const Draws sample = samples[block.sample];
    const i64 fours = (sample.count + 3) / 4;
    const i64 end = fours - block.first < SPAN ? fours : block.first + SPAN;
    for (i64 four = block.first + threadIdx.x; four < end; four += THREADS) {
        const Words words = philox(u32(four), number, u64(sample.position), seed);
        for (int k = 0; k < 4; k++)
            if (4 * four + k < sample.count)
                target[sample.target + 4 * four + k] = convert<Target>(
                    drawn(words.word[k], parameters + block.sample * width, width)
                );
    }
}
