// Samples full of one value. A value is repeated in `pattern`, which fits every place that is a
// multiple of 8; a block takes SPAN words of 16 bytes.
struct Filled { i64 first, size; };  // in bytes
struct alignas(16) Sixteen { u64 low, high; };

KERNEL(fill)(u8* target, const Filled* samples, const i64* blocks, u64 pattern) {
    const Block block = block_at(blocks);
    const Filled sample = samples[block.sample];
    const i64 first = 16 * block.first, rest = sample.size - first;
    const u32 size = rest < i64(16 * SPAN) ? u32(rest) : 16 * SPAN;
    u8* to = target + sample.first + first;
    const u32 lead = u32(-u64(to) & 15), head = lead < size ? lead : size;
    const u32 words = (size - head) / 16;
    Sixteen* wide = reinterpret_cast<Sixteen*>(to + head);
    #pragma unroll 4
    for (u32 k = threadIdx.x; k < words; k += THREADS) wide[k] = Sixteen{pattern, pattern};
    // At most 15 bytes before the words, and 15 after them.
    const u32 bytes = size - 16 * words;
    if (threadIdx.x < bytes) {
        u8* place = to + threadIdx.x + (threadIdx.x < head ? 0 : 16 * words);
        *place = u8(pattern >> (8 * (u64(place) & 7)));
    }
}
