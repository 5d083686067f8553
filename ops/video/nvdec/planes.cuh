// A frame of luma, and of blue and red chroma side by side, becomes RGB. It is the arithmetic of
// ops/video/color_rows.py, for one pixel at a time: 15 bits for samples, sums that wrap at 32.
struct Form {
    i64 pitch, chroma_pitch;  // samples from one row to the next
    i64 height, width;        // of the picture, as it is stored
    i64 count;                // pairs in a row of chroma
    i64 depth, drop;          // bits of a sample, and bits below them in its word
    i64 turns;                // quarters, counter-clockwise
};

// One place, made of the sample `first` and the one after it.
struct Tap { i64 first, one, other; };

DEVICE i32 at_most(i32 value, i32 most) { return value < most ? value : most; }

DEVICE u8 byte_of(u32 total) {
    const i32 value = i32(total) >> 22;
    return u8(value < 0 ? 0 : value > 255 ? 255 : value);
}

DEVICE i32 across_row(const Sample* row, const Form& form, const Tap& tap) {
    const i32 drop = i32(form.drop), shift = i32(form.depth) - 1;
    const i64 next = tap.first + 1 < form.count ? tap.first + 1 : form.count - 1;
    const i32 one = i32(row[2 * tap.first]) >> drop, other = i32(row[2 * next]) >> drop;
    return at_most((one * i32(tap.one) + other * i32(tap.other)) >> shift, 32767);
}

// Chroma of one color about zero, times 4.
DEVICE u32 chroma_at(const Sample* plane, const Form& form, const Tap& across, const Tap& down) {
    const Sample* row = plane + down.first * form.chroma_pitch;
    const i32 one = across_row(row, form, across);
    const i32 share = i32(down.other);
    const i32 other = share ? across_row(row + form.chroma_pitch, form, across) : one;
    return u32((one * (4096 - share) + other * share - (128 << 19)) >> 10);
}

// targets: where the picture goes, which may be several places. A thread makes a pixel.
KERNEL(planes)(
    const Sample* luma, const Sample* chroma, u8* target, const i64* targets, const i64* blocks,
    const Form* forms, const Tap* across, const Tap* down, const i64* numbers
) {
    const Block block = block_at(blocks);
    const Form& form = *forms;
    const u32 height = u32(form.height), width = u32(form.width), turns = u32(form.turns);
    const u32 columns = turns & 1 ? height : width;
    const u32 first = u32(block.first), pixels = height * width;
    const u32 end = pixels - first < SPAN ? pixels : first + SPAN;
    // Of 16 bits the last one is dropped before anything is computed.
    const i32 depth = i32(form.depth), down_bits = depth > 15 ? 1 : 0;
    const i32 up = (depth < 15 ? 15 - depth : 0) + 2;
    const u32 scale = u32(numbers[0] << up);
    const u32 least = (1u << 21) - u32(numbers[1] * numbers[0]);
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const u32 row = pixel / columns, column = pixel - row * columns;
        const u32 along = turns & 1 ? column : row, beside = turns & 1 ? row : column;
        const u32 y = turns >= 2 ? height - 1 - along : along;
        const u32 x = turns == 1 || turns == 2 ? width - 1 - beside : beside;
        const i32 light = i32(luma[y * form.pitch + x]) >> i32(form.drop);
        const u32 bright = u32(light >> down_bits) * scale + least;
        const u32 u = chroma_at(chroma, form, across[x], down[y]);
        const u32 v = chroma_at(chroma + 1, form, across[x], down[y]);
        u8* to = target + targets[block.sample] + 3 * i64(pixel);
        to[0] = byte_of(bright + v * u32(numbers[2]));
        to[1] = byte_of(bright + u * u32(numbers[4]) + v * u32(numbers[3]));
        to[2] = byte_of(bright + u * u32(numbers[5]));
    }
}
