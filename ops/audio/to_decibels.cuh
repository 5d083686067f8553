// `to_decibels`: the arithmetic of `decibels` in levels.py, one value at a time.
struct Sample {
    i64 source, target;  // first elements
    i64 volume;
};

KERNEL(to_decibels)(
    const f32* source, f32* target, const Sample* samples, const i64* blocks,
    const f32* references, f32 given, f32 least, f32 lowest, f32 multiplier
) {
    const Block block = block_at(blocks);
    const Sample sample = samples[block.sample];
    const f32 reference = given == 0.0f ? references[block.sample] : given;
    const i64 end = sample.volume - block.first < SPAN ? sample.volume : block.first + SPAN;
    for (i64 k = block.first + threadIdx.x; k < end; k += THREADS) {
        const f32 ratio = source[sample.source + k] / reference;
        const bool small = ratio < 1.17549435e-38f;
        const i32 bits = i32(BITS_OF_FLOAT(small ? ratio * 16777216.0f : ratio));
        i32 exponent = (bits >> 23) - 127 - (small ? 24 : 0);
        f32 mantissa = 1.0f + f32(bits & 0x7FFFFF) * 1.1920929e-07f;
        const bool high = mantissa > 1.4142135623730951f;
        mantissa = high ? mantissa * 0.5f : mantissa;
        const f32 octaves = f32(exponent + (high ? 1 : 0));
        const f32 s = (mantissa - 1.0f) / (mantissa + 1.0f);
        const f32 square = s * s;
        f32 series = 0.1111111111111111f * square + 0.14285714285714285f;
        series = series * square + 0.2f;
        series = series * square + 0.3333333333333333f;
        series = series * square * s + s;
        f32 logarithm = octaves * 0.3010299956639812f + series * 0.8685889638065035f;
        logarithm = ratio > 3.4028234663852886e38f ? ratio : logarithm;
        target[sample.target + k] = ratio > least ? multiplier * logarithm : lowest;
    }
}
