// Elements drawn from a sample, or whole numbers below one. A thread moves one element of the result.
struct Choices { i64 source, target, volume, inner, size, position; };

// floor(word * bound / 2**64), as `scaled` in scaled.py.
DEVICE u64 scaled(u64 word, u64 bound) {
    const u64 high = word >> 32, low = word & 0xFFFFFFFFu;
    const u64 bound_high = bound >> 32, bound_low = bound & 0xFFFFFFFFu;
    const u64 first = high * bound_low + ((low * bound_low) >> 32);
    const u64 second = low * bound_high + (first & 0xFFFFFFFFu);
    return high * bound_high + (first >> 32) + (second >> 32);
}

// thresholds: `count` of each sample, none if all elements are alike.
KERNEL(choice)(
    const Target* source, Target* target, const Choices* samples, const Block* blocks, u64 seed,
    u32 number, const u64* thresholds, i64 count
) {
    const Block block = blocks[blockIdx.x];
    const Choices sample = samples[block.sample];
    const u32 inner = u32(sample.inner);
    const u64* own = thresholds + block.sample * count;
    const i64 end = sample.volume - block.first < SPAN ? sample.volume : block.first + SPAN;
    for (i64 k = block.first + threadIdx.x; k < end; k += THREADS) {
        const u32 drawn = u32(k) / inner, within = u32(k) - drawn * inner;
        const Words words = philox(drawn / 2, number, u64(sample.position), seed);
        const u64 word = drawn % 2 ? (u64(words.word[2]) << 32) | words.word[3]
                                   : (u64(words.word[0]) << 32) | words.word[1];
        i64 chosen = 0;
        if (count == 0) {
            u64 size = u64(sample.size);
            if constexpr (NUMBERS) {
                // Where nothing is there to choose from, the CPU refuses; a GPU gives 0.
                const Target bound = source[sample.source];
                size = bound < Target(1) ? 0 : u64(bound);
                if (size > 0x7FFFFFFFFFFFFFFFull) size = 0x7FFFFFFFFFFFFFFFull;
            }
            chosen = i64(scaled(word, size));
        } else {
            const u64 fraction = word >> 11;
            i64 last = count - 1;
            while (chosen < last) {
                const i64 middle = (chosen + last) / 2;
                if (fraction < own[middle]) last = middle;
                else chosen = middle + 1;
            }
        }
        if constexpr (NUMBERS) target[sample.target + k] = convert<Target>(chosen);
        else target[sample.target + k] = source[sample.source + chosen * inner + within];
    }
}
