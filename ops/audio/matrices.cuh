// Small matrices along an axis, as in matrices.py: sums in float64, in the order of the CPU.
struct Sample {
    i64 source, target;  // first elements
    i64 rows_at, weights_at;  // where the rows of its matrix begin, and its weights
    u32 volume, rows, columns, inner;
};

KERNEL(matrices)(
    const f32* source, f32* target, const Sample* samples, const i64* blocks,
    const i64* begins, const i64* offsets, const f32* weights
) {
    const Block block = block_at(blocks);
    const Sample& sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 line = element / sample.inner, column = element - line * sample.inner;
        const u32 outer = line / sample.rows, row = line - outer * sample.rows;
        const i64 place = sample.rows_at + row;
        const i64 from = offsets[place], count = offsets[place + 1] - from;
        const f32* own = weights + sample.weights_at + from;
        const i64 beginning = (i64(outer) * sample.columns + begins[place]) * sample.inner + column;
        const f32* values = source + sample.source + beginning;
        f64 sums[4] = {0.0, 0.0, 0.0, 0.0};
        if (sample.inner > 1) {
            for (i64 k = 0; k < count; k++) sums[0] += f64(own[k]) * f64(values[k * sample.inner]);
        } else {
            i64 k = 0;
            for (; k + 4 <= count; k += 4) {
                sums[0] += f64(own[k]) * f64(values[k]);
                sums[1] += f64(own[k + 1]) * f64(values[k + 1]);
                sums[2] += f64(own[k + 2]) * f64(values[k + 2]);
                sums[3] += f64(own[k + 3]) * f64(values[k + 3]);
            }
            if (k < count) sums[0] += f64(own[k]) * f64(values[k]);
            if (k + 1 < count) sums[1] += f64(own[k + 1]) * f64(values[k + 1]);
            if (k + 2 < count) sums[2] += f64(own[k + 2]) * f64(values[k + 2]);
        }
        const f64 total = sample.inner > 1 ? sums[0] : (sums[0] + sums[1]) + (sums[2] + sums[3]);
        target[sample.target + element] = f32(total);
    }
}
