// What is left to do for a decoded JPEG: its window is cut and turned upright, its colors become
// those that were asked for, its values those of the result's type. All as the CPU decoder does it
// (ops/decoders/formats). A thread makes a pixel.
struct Picture {
    i64 source;       // byte of the upright window's first pixel
    i64 target;       // first element of the result
    i64 row, column;  // bytes from one upright row or column to the next
    i64 plane;        // bytes from one channel to the next
    u32 width, pixels;
    u32 channels, made;
    u32 inks, color;
};

// `inks`: what the channels of a file with four of them need.
constexpr u32 FROM_YCCK = 1, INVERTED = 2, TO_RGB = 4;
// `color`: what RGB becomes then.
constexpr u32 SWAPPED = 1, GRAY = 2, YCBCR = 3;

DEVICE i32 within_byte(i32 value) { return value < 0 ? 0 : value > 255 ? 255 : value; }

// libjpeg's conversion, in 16 bits of fraction.
DEVICE void inks_of_ycck(i32* v) {
    const i32 y = v[0], cb = v[1] - 128, cr = v[2] - 128;
    v[0] = within_byte(255 - (y + ((91881 * cr + 32768) >> 16)));
    v[1] = within_byte(255 - (y + ((-22554 * cb - 46802 * cr + 32768) >> 16)));
    v[2] = within_byte(255 - (y + ((116130 * cb + 32768) >> 16)));
}

// Positive, and within the range: the offset leaves room on both sides.
DEVICE Target level_of(f32 value) {
    if constexpr (Limits<Target>::FLOAT) return value;
    else if constexpr (Limits<Target>::BITS == 32) return Target(i64(f64(value) + 0.5));
    else return Target(i32(value + 0.5f));
}

DEVICE Target value_of(i32 byte, const Target* values) {
    if constexpr (Same<Target, u8>::value) return u8(byte);
    else return values[byte];
}

// values: what each byte becomes. weights: rows for Y, Cb, Cr: of red, green, blue; offset.
KERNEL(finish)(
    const u8* source, Target* target, const Picture* pictures, const i64* blocks,
    const Target* values, const f32* weights
) {
    const Block block = block_at(blocks);
    const Picture picture = pictures[block.sample];
    const u32 first = u32(block.first), pixels = picture.pixels;
    const u32 end = pixels - first < SPAN ? pixels : first + SPAN;
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const u32 row = pixel / picture.width, column = pixel - row * picture.width;
        const u8* from = source + picture.source + row * picture.row + column * picture.column;
        i32 v[4] = {0, 0, 0, 0};
        for (u32 c = 0; c < 4; c++)
            if (c < picture.channels) v[c] = from[c * picture.plane];
        if (picture.inks & FROM_YCCK) inks_of_ycck(v);
        if (picture.inks & INVERTED)
            for (int c = 0; c < 4; c++) v[c] = 255 - v[c];
        if (picture.inks & TO_RGB)
            for (int c = 0; c < 3; c++) v[c] = v[c] * v[3] / 255;
        Target* to = target + picture.target + i64(pixel) * picture.made;
        if (picture.color == YCBCR) {
            const f32 red = f32(v[0]), green = f32(v[1]), blue = f32(v[2]);
            for (int c = 0; c < 3; c++) {
                const f32* w = weights + 4 * c;
                f32 value = red * w[0];
                value += green * w[1];
                value += blue * w[2];
                to[c] = level_of(value + w[3]);
            }
            continue;
        }
        if (picture.color == GRAY) {
            f32 gray = f32(v[0]) * 0.299f;
            gray += f32(v[1]) * 0.587f;
            gray += f32(v[2]) * 0.114f;
            v[0] = i32(gray);
        } else if (picture.color == SWAPPED) {
            const i32 red = v[0];
            v[0] = v[2];
            v[2] = red;
        }
        for (u32 c = 0; c < 4; c++)
            if (c < picture.made) to[c] = value_of(v[c], values);
    }
}
