// Elements drawn from a sample, or whole numbers below one. A thread moves one element of the result.
// `row_random_choice__element`, which element a word draws, is translated from choice.py.
struct Choices { i64 source, target, volume, inner, size, position; };

// thresholds: `count` of each sample, none if all elements are alike.
KERNEL(choice)(
    const Target* source, Target* target, const Choices* samples, const i64* blocks, u64 seed,
    u32 number, const u64* thresholds, i64 count
) {
    const Block block = block_at(blocks);
    const Choices sample = samples[block.sample];
    const u32 inner = u32(sample.inner);
    const Strip<const u64> own{thresholds + block.sample * count, count};
    const i64 end = sample.volume - block.first < SPAN ? sample.volume : block.first + SPAN;
    for (i64 k = block.first + threadIdx.x; k < end; k += THREADS) {
        const u32 drawn = u32(k) / inner, within = u32(k) - drawn * inner;
        const Words words = philox(drawn / 2, number, u64(sample.position), seed);
        const u32 high = drawn % 2 ? words.word[2] : words.word[0];
        const u32 low = drawn % 2 ? words.word[3] : words.word[1];
        u64 size = u64(sample.size);
        if constexpr (NUMBERS) {
            // Where nothing is there to choose from, the CPU refuses; a GPU gives 0.
            const Target bound = source[sample.source];
            size = bound < Target(1) ? 0 : u64(bound);
            if (size > 0x7FFFFFFFFFFFFFFFull) size = 0x7FFFFFFFFFFFFFFFull;
        }
        const i64 chosen = row_random_choice__element(high, low, size, own);
        if constexpr (NUMBERS) target[sample.target + k] = convert<Target>(chosen);
        else target[sample.target + k] = source[sample.source + chosen * inner + within];
    }
}
