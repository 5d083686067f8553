// `jpeg_compression_distortion`, second: pixels from squares of luma and chroma, where chroma is
// smoothed: nine parts of the nearest value, three of those beside it, one of that at the corner.
struct Frame { i64 source, target, height, width, square, across, sample; };

struct Chroma {
    const u8* squares;
    i32 across, rows, columns;

    DEVICE i32 operator()(i32 y, i32 x) const {
        const i32 square = y / 8 * across + x / 8;
        return squares[i64(square) * 384 + y % 8 * 8 + x % 8];
    }
    // For a pixel of the image.
    DEVICE i32 smooth(i32 y, i32 x) const {
        const i32 row = y / 2, column = x / 2;
        if (columns <= 2) return (*this)(row, column);
        i32 other = y % 2 ? row + 1 : row - 1, beside = x % 2 ? column + 1 : column - 1;
        other = other < 0 ? 0 : other < rows ? other : rows - 1;
        beside = beside < 0 ? 0 : beside < columns ? beside : columns - 1;
        const i32 here = (*this)(row, column) * 3 + (*this)(other, column);
        const i32 there = (*this)(row, beside) * 3 + (*this)(other, beside);
        return (here * 3 + there + (x % 2 ? 7 : 8)) >> 4;
    }
};

DEVICE u8 byte_of(i32 value) { return u8(value < 0 ? 0 : value > 255 ? 255 : value); }

KERNEL(jpeg_compression_distortion)(
    const u8* squares, u8* target, const Frame* frames, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Frame frame = frames[block.sample];
    const u32 width = u32(frame.width), pixels = u32(frame.height) * width;
    const u32 first = u32(block.first), end = pixels - first < SPAN ? pixels : first + SPAN;
    const u8* from = squares + frame.square * 384;
    const i32 across = i32(frame.across);
    const i32 rows = i32(frame.height + 1) / 2, columns = i32(frame.width + 1) / 2;
    const Chroma blue{from + 256, across, rows, columns}, red{from + 320, across, rows, columns};
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const i32 y = i32(pixel / width), x = i32(pixel % width);
        const i32 luma = from[i64(y / 16 * across + x / 16) * 384 + y % 16 * 16 + x % 16];
        const i32 b = blue.smooth(y, x) - 128, r = red.smooth(y, x) - 128;
        u8* to = target + frame.target + i64(pixel) * 3;
        to[0] = byte_of(luma + ((91881 * r + 32768) >> 16));
        to[1] = byte_of(luma + ((-22554 * b - 46802 * r + 32768) >> 16));
        to[2] = byte_of(luma + ((116130 * b + 32768) >> 16));
    }
}
