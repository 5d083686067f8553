// `jpeg_compression_distortion`, first: what quantization leaves of a square of 16 x 16 pixels. In
// integers, as libjpeg-turbo has it: colors, chroma of half the resolution, the "islow" transforms.
// A square becomes 384 bytes: 256 of luma, 64 of each chroma.
struct Frame { i64 source, target, height, width, square, across, sample; };

DEVICE i32 descaled(i32 value, i32 bits) { return (value + (1 << (bits - 1))) >> bits; }

struct Odd { i32 a, b, c, d; };

// The part that both transforms share, for the coefficients of odd number.
DEVICE Odd odd_part(i32 a, i32 b, i32 c, i32 d) {
    const i32 both = (a + c + b + d) * 9633;
    const i32 ad = (a + d) * -7373, bc = (b + c) * -20995;
    const i32 ac = (a + c) * -16069 + both, bd = (b + d) * -3196 + both;
    return Odd{a * 2446 + ad + ac, b * 16819 + bc + bd, c * 25172 + bc + ac, d * 12299 + ad + bd};
}

// Eight values `step` apart, there and back. first: whether it is the first of the two passes.
DEVICE void forward(i32* v, i32 step, bool first) {
    const i32 s0 = v[0] + v[7 * step], s1 = v[step] + v[6 * step], s2 = v[2 * step] + v[5 * step];
    const i32 s3 = v[3 * step] + v[4 * step], even = s0 + s3, other = s1 + s2;
    const i32 bits = first ? 11 : 15;
    const Odd odd = odd_part(
        v[3 * step] - v[4 * step], v[2 * step] - v[5 * step], v[step] - v[6 * step], v[0] - v[7 * step]
    );
    const i32 turned = (s0 - s3 + s1 - s2) * 4433;
    v[0] = first ? (even + other) * 4 : descaled(even + other, 2);
    v[4 * step] = first ? (even - other) * 4 : descaled(even - other, 2);
    v[2 * step] = descaled(turned + (s0 - s3) * 6270, bits);
    v[6 * step] = descaled(turned + (s1 - s2) * -15137, bits);
    v[7 * step] = descaled(odd.a, bits), v[5 * step] = descaled(odd.b, bits);
    v[3 * step] = descaled(odd.c, bits), v[step] = descaled(odd.d, bits);
}

DEVICE void backward(i32* v, i32 step, bool first) {
    const i32 turned = (v[2 * step] + v[6 * step]) * 4433, bits = first ? 11 : 18;
    const i32 low = turned + v[2 * step] * 6270, high = turned + v[6 * step] * -15137;
    const i32 sum = (v[0] + v[4 * step]) * 8192, rest = (v[0] - v[4 * step]) * 8192;
    const Odd odd = odd_part(v[7 * step], v[5 * step], v[3 * step], v[step]);
    const i32 even[4] = {sum + low, rest + high, rest - high, sum - low};
    const i32 added[4] = {odd.d, odd.c, odd.b, odd.a};
    for (i32 k = 0; k < 4; k++) {
        v[k * step] = descaled(even[k] + added[k], bits);
        v[(7 - k) * step] = descaled(even[k] - added[k], bits);
    }
}

KERNEL(jpeg_squares)(
    const u8* source, u8* squares, const Frame* frames, const i64* blocks, const u16* quanta
) {
    __shared__ i32 values[6 * 64];     // four blocks of luma, two of chroma
    __shared__ i32 chroma[2][16 * 16];
    const Block block = block_at(blocks);
    const Frame frame = frames[block.sample];
    const i32 height = i32(frame.height), width = i32(frame.width), thread = i32(threadIdx.x);
    const i32 top = i32(block.first / frame.across) * 16, left = i32(block.first % frame.across) * 16;
    const i32 row = thread / 16, column = thread % 16;
    // Beyond the image its last column goes on, and below it the last row of what is encoded: for
    // chroma that is a row of half the resolution.
    const i32 last = (height + 1) / 2 * 2;
    const i32 x = left + column < width ? left + column : width - 1;
    for (i32 part = 0; part < 2; part++) {
        i32 y = top + row;
        if (part && y >= last) y = last - 2 + row % 2;
        if (y >= height) y = height - 1;
        const u8* pixel = source + frame.source + (i64(y) * width + x) * 3;
        const i32 red = pixel[0], green = pixel[1], blue = pixel[2];
        if (part) {
            const i32 middle = (128 << 16) + 32767;
            chroma[0][thread] = (-11059 * red - 21709 * green + 32768 * blue + middle) >> 16;
            chroma[1][thread] = (32768 * red - 27439 * green - 5329 * blue + middle) >> 16;
        } else {
            const i32 luma = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
            values[(row / 8 * 2 + column / 8) * 64 + row % 8 * 8 + column % 8] = luma - 128;
        }
    }
    __syncthreads();
    if (thread < 128) {
        const i32* from = chroma[thread / 64] + thread % 64 / 8 * 32 + thread % 8 * 2;
        // Halves are rounded down and up in turns.
        const i32 sum = from[0] + from[1] + from[16] + from[17] + 1 + thread % 2;
        values[256 + thread] = (sum >> 2) - 128;
    }
    __syncthreads();
    i32* line = values + thread / 8 * 64 + thread % 8;
    if (thread < 48) forward(values + thread * 8, 1, true);
    __syncthreads();
    if (thread < 48) forward(line, 8, false);
    __syncthreads();
    for (i32 k = thread; k < 384; k += THREADS) {
        const i32 quantum = quanta[frame.sample * 128 + (k < 256 ? 0 : 64) + k % 64];
        const i32 value = values[k], size = value < 0 ? -value : value;
        const i32 count = (size + quantum * 4) / (quantum * 8);
        values[k] = (value < 0 ? -count : count) * quantum;
    }
    __syncthreads();
    if (thread < 48) backward(line, 8, true);
    __syncthreads();
    if (thread < 48) backward(values + thread * 8, 1, false);
    __syncthreads();
    u8* to = squares + (frame.square + block.first) * 384;
    for (i32 k = thread; k < 384; k += THREADS) {
        const i32 value = values[k] + 128;
        const i32 at = k < 256 ? (k / 128 * 8 + k % 64 / 8) * 16 + k / 64 % 2 * 8 + k % 8 : k;
        to[at] = u8(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}
