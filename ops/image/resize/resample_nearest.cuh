// Whole pixels, each from the place that three tables say: nearest neighbor along D, H and W. A
// thread moves GROUP elements that lie side by side, by way of float32, through `chain`.
struct Nearest {
    i64 source, target;
    i64 steps[4];                // elements of the source from one plane, slice, row, pixel on
    i64 outer_place, plane;      // of the target, from one slice and from one channel to the next
    i64 starts[3];               // where those of D, H and W begin
    u32 volume, extents[3];      // volume: groups of all
    u32 inner, unused;           // inner: groups of a pixel
};

KERNEL(resample_nearest)(
    const Source* source, Target* target, const Nearest* samples, const i64* blocks,
    const i32* starts, const f32* parameters
) {
    const Block block = block_at(blocks);
    const Nearest sample = samples[block.sample];
    const f32* own = parameters + block.sample * PARAMETERS;
    const u32 first = u32(block.first);
    const u32 end = sample.volume - first < SPAN ? sample.volume : first + SPAN;
    for (u32 group = first + threadIdx.x; group < end; group += THREADS) {
        const u32 pixel = group / sample.inner, inner = group - pixel * sample.inner;
        const u32 row = pixel / sample.extents[2], x = pixel - row * sample.extents[2];
        const u32 outer = row / sample.extents[1], y = row - outer * sample.extents[1];
        const u32 frame = outer / sample.extents[0], z = outer - frame * sample.extents[0];
        i64 from = sample.source + i64(frame) * sample.steps[0] + i64(inner) * GROUP;
        from += i64(starts[sample.starts[0] + z]) * sample.steps[1];
        from += i64(starts[sample.starts[1] + y]) * sample.steps[2];
        from += i64(starts[sample.starts[2] + x]) * sample.steps[3];
        f32 values[GROUP];
        for (int c = 0; c < GROUP; c++) values[c] = convert<f32>(source[from + c]);
        const u32 within = group - outer * (sample.extents[1] * sample.extents[2] * sample.inner);
        const i64 to = sample.target + i64(outer) * sample.outer_place + i64(within) * APART;
        chain(values, 1, target + to, sample.plane, own);
    }
}
