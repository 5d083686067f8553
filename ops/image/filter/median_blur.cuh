// The median of a window: the greatest number below which at most half of the pixels lie. It is
// found bit by bit, with the pixels of small windows in registers.
struct Window {
    i64 source, target;  // first elements
    i32 height, width, channels;
    i32 down, across;    // the extents of the window
    u32 volume;
};

constexpr u32 TOP = 1u << (8 * sizeof(Source) - 1);

// Numbers in the order of the values; what is not a number comes last, or first.
DEVICE u32 key_of(Source value) {
    if constexpr (Limits<Source>::FLOAT) {
        const u32 bits = BITS_OF_FLOAT(value);
        return bits & TOP ? ~bits : bits | TOP;
    } else return u32(i32(value) - i32(Limits<Source>::LOW));
}
DEVICE Source value_of(u32 key) {
    if constexpr (Limits<Source>::FLOAT) return FLOAT_OF_BITS(key & TOP ? key ^ TOP : ~key);
    else return Source(i32(key) + i32(Limits<Source>::LOW));
}

DEVICE i32 clamped(i32 index, i32 size) { return index < 0 ? 0 : index < size ? index : size - 1; }

KERNEL(median_blur)(
    const Source* source, Source* target, const Window* samples, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Window& sample = samples[block.sample];
    const u32 first = u32(block.first), channels = u32(sample.channels);
    const u32 end = sample.volume - first < SPAN ? sample.volume : first + SPAN;
    const i32 height = sample.height, width = sample.width;
    const i32 down = SIDE ? SIDE : sample.down, across = SIDE ? SIDE : sample.across;
    const i32 middle = down * across / 2;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 pixel = element / channels, line = pixel / u32(width);
        const i32 y = i32(line % u32(height)) - down / 2;
        const i32 x = i32(pixel - line * u32(width)) - across / 2;
        const Source* plane =
            source + sample.source + i64(line / u32(height)) * height * width * channels;
        plane += element - pixel * channels;
        u32 kept[SIDE ? SIDE * SIDE : 1];
        if constexpr (SIDE > 0) {
#pragma unroll
            for (i32 k = 0; k < SIDE * SIDE; k++) {
                const i32 row = clamped(y + k / SIDE, height) * width;
                kept[k] = key_of(plane[(row + clamped(x + k % SIDE, width)) * sample.channels]);
            }
        }
        u32 found = 0;
        for (u32 bit = TOP; bit; bit >>= 1) {
            const u32 next = found | bit;
            i32 lower = 0;
            if constexpr (SIDE > 0) {
#pragma unroll
                for (i32 k = 0; k < SIDE * SIDE; k++) lower += kept[k] < next;
            } else {
                for (i32 r = 0; r < down; r++) {
                    const i32 row = clamped(y + r, height) * width;
                    for (i32 s = 0; s < across; s++) {
                        const i32 at = row + clamped(x + s, width);
                        lower += key_of(plane[at * sample.channels]) < next;
                    }
                }
            }
            if (lower <= middle) found = next;
        }
        target[sample.target + element] = value_of(found);
    }
}
