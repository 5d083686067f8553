// `filter`: sums of weights times pixels, layer by layer, row by row; weights of 0 are left out, as
// in OpenCV. A thread makes an element of the result.
struct Filter {
    i64 source, target, weights, fill;  // first elements
    i32 extents[3];  // of the source: depth, height, width
    i32 sizes[3];    // of the target
    i32 window[3];
    i32 before[3];   // how many weights stand before the pixel
    i32 channels;
    u32 volume;      // of the target
};

DEVICE f32 bordering(const Source* plane, const Filter& sample, i64 z, i64 y, i64 x, f32 fill) {
    const i32 zs = bordered(z, sample.extents[0]), ys = bordered(y, sample.extents[1]);
    const i32 xs = bordered(x, sample.extents[2]);
    if ((zs | ys | xs) < 0) return fill;
    const i32 pixel = (zs * sample.extents[1] + ys) * sample.extents[2] + xs;
    return convert<f32>(plane[pixel * sample.channels]);
}

DEVICE bool fits(i32 first, i32 window, i32 extent) {
    return first >= 0 && i64(first) + window <= extent;
}

// What OpenCV rounds itself it rounds half to even.
DEVICE Target rounded(f32 value) {
    if constexpr (EVEN) return convert<Target>(rintf(value));
    else return convert<Target>(value);
}

KERNEL(filter)(
    const Source* source, Target* target, const f32* weights, const Fill* fills,
    const Filter* samples, const i64* blocks
) {
    const Block block = block_at(blocks);
    // Not a copy: its numbers are too many to stay in registers.
    const Filter& sample = samples[block.sample];
    const f32* own = weights + sample.weights;
    const f32 fill = convert<f32>(convert<Source>(fills[sample.fill]));
    const i32 depth = sample.window[0], height = sample.window[1], width = sample.window[2];
    const i32 row = sample.extents[2] * sample.channels, layer = sample.extents[1] * row;
    const u32 first = u32(block.first);
    const u32 end = sample.volume - first < SPAN ? sample.volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        u32 rest = element / u32(sample.channels);
        const i32 channel = i32(element - rest * u32(sample.channels));
        u32 next = rest / u32(sample.sizes[2]);
        const i32 x = i32(rest - next * u32(sample.sizes[2])) - sample.before[2];
        rest = next, next = rest / u32(sample.sizes[1]);
        const i32 y = i32(rest - next * u32(sample.sizes[1])) - sample.before[1];
        rest = next, next = rest / u32(sample.sizes[0]);
        const i32 z = i32(rest - next * u32(sample.sizes[0])) - sample.before[0];
        const Source* plane = source + sample.source + i64(next) * sample.extents[0] * layer;
        plane += channel;
        const bool inside = fits(z, depth, sample.extents[0]) &&
                            fits(y, height, sample.extents[1]) && fits(x, width, sample.extents[2]);
        f32 total = 0.0f;
#pragma unroll 1
        for (i32 q = 0; q < depth; q++) {
            f32 sum = 0.0f;
#pragma unroll 1
            for (i32 r = 0; r < height; r++) {
                const f32* line = own + (q * height + r) * width;
                if (inside) {
                    const Source* at = plane + (z + q) * layer + (y + r) * row + x * sample.channels;
                    for (i32 s = 0; s < width; s++) {
                        if (line[s] != 0.0f) sum += line[s] * convert<f32>(*at);
                        at += sample.channels;
                    }
                } else {
#pragma unroll 1
                    for (i32 s = 0; s < width; s++)
                        if (line[s] != 0.0f)
                            sum += line[s] * bordering(
                                plane, sample, i64(z) + q, i64(y) + r, i64(x) + s, fill
                            );
                }
            }
            total = q ? total + sum : sum;
        }
        target[sample.target + element] = rounded(total);
    }
}
