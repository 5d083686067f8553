// `equalize`, first: how often each value occurs in a piece of a plane (one channel of one frame).
struct Piece { i64 source, pixels, step; };

KERNEL(equalize_counts)(const u8* source, u32* counts, const Piece* pieces) {
    __shared__ Histogram histogram;
    clear(histogram);
    const Piece piece = pieces[blockIdx.x];
    const u8* from = source + piece.source;
    for (u32 k = threadIdx.x; k < u32(piece.pixels); k += THREADS) {
        count(histogram, from[k * piece.step]);
    }
    counts[i64(blockIdx.x) * 256 + threadIdx.x] = counted(histogram);
}
