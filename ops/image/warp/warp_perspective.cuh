// `warp_perspective`: places in float64, in the order of OpenCV's sums, then TAPS by TAPS pixels: 1
// for nearest neighbor, 2 linear, 4 cubic.
struct Perspective {
    i64 source, target;  // first elements
    i64 matrix;          // number of the first one
    i64 frames_apart;    // matrices from one frame to the next
    i32 height, width;   // of the source
    i32 down, across;    // extents of the target
    i32 channels;        // of a pixel
    i32 planes;          // of a frame: its channels, where they come first
    u32 pixels;          // of all planes
    i32 stretch;         // pixels of a row for which OpenCV computes a place of its own
};

struct Where { i64 first; f32 weight; };  // the pixel before a place, and how far it is from there
struct Taps {
    i32 at[TAPS];  // -1: the constant border
    f32 weight;
};

// Rows times the place, then the division, with the fused step that OpenCV takes here.
DEVICE f32 projected(const f64* m, i32 x, i32 y) {
    return fmaf(f32(m[0]), f32(x), f32(m[1]) * f32(y) + f32(m[2]));
}
template <class T> DEVICE i64 whole_of(T place) {
    const T low = T(-2147483648.0), high = T(2147483520.0);
    return i64(place >= low ? (place < high ? place : high) : low);
}
DEVICE Where fine(f32 place) {
    if constexpr (TAPS == 1) return Where{whole_of(rintf(place)), 0.0f};
    const f32 whole = floorf(place);
    return Where{whole_of(whole), place - whole};
}
// place: in 32nds of a pixel, if between pixels; whole pixels have 16 bits.
DEVICE Where rough(f64 place) {
    const i64 parts = whole_of(rint(place));
    const i64 first = TAPS == 1 ? parts : parts >> 5;
    return Where{
        first < -32768 ? -32768 : first > 32767 ? 32767 : first, f32(parts & 31) * 0.03125f
    };
}

DEVICE Taps taps_of(const Where& where, i32 size) {
    Taps taps;
    taps.weight = where.weight;
#pragma unroll
    for (i32 k = 0; k < TAPS; k++) taps.at[k] = bordered(where.first + k - (TAPS == 4), size);
    return taps;
}

struct Weights { f32 of[4]; };

DEVICE Weights cubic(f32 q) {
    const f32 a = -0.75f, p = q + 1.0f, r = 1.0f - q;
    Weights weights;
    weights.of[0] = ((a * p - 5.0f * a) * p + 8.0f * a) * p - 4.0f * a;
    weights.of[1] = ((a + 2.0f) * q - (a + 3.0f)) * q * q + 1.0f;
    weights.of[2] = ((a + 2.0f) * r - (a + 3.0f)) * r * r + 1.0f;
    weights.of[3] = 1.0f - weights.of[0] - weights.of[1] - weights.of[2];
    return weights;
}

// One channel, from what `value` gives at places of `xs` and `ys`.
template <class Value>
DEVICE f32 mixed(const Taps& xs, const Taps& ys, bool classic, const Value& value) {
    if constexpr (TAPS == 1) return value(ys.at[0], xs.at[0]);
    else if constexpr (TAPS == 2) {
        const f32 a = value(ys.at[0], xs.at[0]), b = value(ys.at[0], xs.at[1]);
        const f32 c = value(ys.at[1], xs.at[0]), d = value(ys.at[1], xs.at[1]);
        const f32 qx = xs.weight, qy = ys.weight, px = 1.0f - qx, py = 1.0f - qy;
        if (classic) return a * (py * px) + b * (py * qx) + c * (qy * px) + d * (qy * qx);
        const f32 top = fmaf(qx, b - a, a), bottom = fmaf(qx, d - c, c);
        return fmaf(qy, bottom - top, top);
    } else {
        const Weights across = cubic(xs.weight), down = cubic(ys.weight);
        f32 total = 0.0f;
#pragma unroll 1
        for (i32 r = 0; r < 4; r++) {
            // A number that is known when the kernel runs must not index registers.
            const i32 row = r < 2 ? (r ? ys.at[1] : ys.at[0]) : r < 3 ? ys.at[2] : ys.at[3];
            const f32 weight =
                r < 2 ? (r ? down.of[1] : down.of[0]) : r < 3 ? down.of[2] : down.of[3];
            f32 sum = 0.0f;
#pragma unroll
            for (i32 s = 0; s < 4; s++) sum += across.of[s] * value(row, xs.at[s]);
            total += weight * sum;
        }
        return total;
    }
}

DEVICE Source rounded(f32 value, bool classic) {
    if constexpr (Limits<Source>::FLOAT) return value;
    else if (Same<Source, u8>::value && classic) return convert<Source>(floorf(value + 0.5f));
    else return convert<Source>(rintf(value));
}

// CLASSIC: whether OpenCV takes the older of its two ways: 0 never, 1 always, 2 for pairs of
// channels. That computes in float64, on from the first pixel of a stretch.
KERNEL(warp_perspective)(
    const Source* source, Source* target, const f64* matrices, const Perspective* samples,
    const i64* blocks, const Source* fill
) {
    const Block block = block_at(blocks);
    const Perspective& sample = samples[block.sample];
    const u32 first = u32(block.first);
    const u32 end = sample.pixels - first < SPAN ? sample.pixels : first + SPAN;
    const i32 channels = sample.channels;
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const u32 line = pixel / u32(sample.across), plane = line / u32(sample.down);
        const u32 frame = plane / u32(sample.planes);
        const i32 x = i32(pixel - line * u32(sample.across));
        const i32 y = i32(line - plane * u32(sample.down));
        const f64* m = matrices + (sample.matrix + frame * sample.frames_apart) * 9;
        const i64 before = i64(plane) * sample.height * sample.width * channels;
        const Source* from = source + sample.source + before;
        Source* to = target + sample.target + i64(pixel) * channels;
        const Source* own = fill + (plane - frame * u32(sample.planes));
        // OpenCV takes four channels at a time.
        for (i32 part = 0; part < channels; part += 4) {
            const i32 stop = channels < part + 4 ? channels : part + 4;
            const bool classic = CLASSIC == 1 || (CLASSIC == 2 && stop - part == 2);
            Where right, down;
            if (classic) {
                const i32 rest = x % sample.stretch, begin = x - rest;
                const f64 below = (m[6] * begin + m[7] * y + m[8]) + m[6] * rest;
                const f64 factor = below != 0 ? (TAPS == 1 ? 1 : 32) / below : 0;
                right = rough(((m[0] * begin + m[1] * y + m[2]) + m[0] * rest) * factor);
                down = rough(((m[3] * begin + m[4] * y + m[5]) + m[3] * rest) * factor);
            } else {
                const f32 below = projected(m + 6, x, y);
                right = fine(projected(m, x, y) / below);
                down = fine(projected(m + 3, x, y) / below);
            }
            const Taps xs = taps_of(right, sample.width), ys = taps_of(down, sample.height);
#pragma unroll 1
            for (i32 c = part; c < stop; c++) {
                const f32 value = mixed(xs, ys, classic, [&](i32 row, i32 column) {
                    const i32 at = (row * sample.width + column) * channels + c;
                    const bool outside = BORDER == CONSTANT && (row | column) < 0;
                    return convert<f32>(outside ? own[c] : from[at]);
                });
                to[c] = rounded(value, classic);
            }
        }
    }
}
