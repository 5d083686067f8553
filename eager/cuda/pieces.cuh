// Bytes moved as they lie: each piece is a run of bytes in one of up to eight slabs. A block takes
// SPAN words of 16 bytes; the widest words are used that suit both places in memory.
struct Piece {
    i64 slab;            // from which of the slabs
    i64 source, target;  // first bytes
    i64 size;
};
struct alignas(16) Sixteen { u64 low, high; };

template <class Word> DEVICE void copy_words(const u8* from, u8* to, u32 size) {
    const u32 words = size / u32(sizeof(Word));
    const Word* wide_from = reinterpret_cast<const Word*>(from);
    Word* wide_to = reinterpret_cast<Word*>(to);
    for (u32 k = threadIdx.x; k < words; k += THREADS) wide_to[k] = wide_from[k];
    for (u32 k = words * u32(sizeof(Word)) + threadIdx.x; k < size; k += THREADS) to[k] = from[k];
}

KERNEL(pieces)(
    const u8* s0, const u8* s1, const u8* s2, const u8* s3, const u8* s4, const u8* s5,
    const u8* s6, const u8* s7, u8* target, const Piece* pieces, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Piece piece = pieces[block.sample];
    const i64 first = 16 * block.first, rest = piece.size - first;
    const u32 size = rest < i64(16 * SPAN) ? u32(rest) : 16 * SPAN;
    const u8* from = chosen(piece.slab, s0, s1, s2, s3, s4, s5, s6, s7) + piece.source + first;
    u8* to = target + piece.target + first;
    const u32 apart = u32((u64(from) ^ u64(to)) & 15);
    // Bytes before the first place that is a multiple of 16.
    const u32 lead = u32(-u64(to) & 15), head = lead < size ? lead : size;
    if (threadIdx.x < head) to[threadIdx.x] = from[threadIdx.x];
    from += head, to += head;
    if (apart == 0) copy_words<Sixteen>(from, to, size - head);
    else if (apart % 8 == 0) copy_words<u64>(from, to, size - head);
    else if (apart % 4 == 0) copy_words<u32>(from, to, size - head);
    else if (apart % 2 == 0) copy_words<u16>(from, to, size - head);
    else copy_words<u8>(from, to, size - head);
}
