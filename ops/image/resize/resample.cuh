// One axis of a separable resampling, for all samples of a batch. A sample has `outer` times `rows`
// lines that are resampled, and `inner` groups of GROUP elements that lie between one place of such
// a line and the next: channels, or whole rows of pixels. A thread makes the GROUP elements of one
// place, adding in the order of the taps as the CPU does, and `chain` takes them on from registers.
struct Pass {
    i64 source;   // element of the source for coordinate 0, which may lie before the first one
    i64 target;
    i64 outer_step, row_step, tap_step;  // elements of the source
    i64 outer_place, plane;              // of the target; plane: from one channel to the next
    i64 starts, weights;                 // where those of this axis begin
    u32 volume, rows, extent, inner;     // volume: groups of all
    u32 taps;
    f32 zero;  // what sums begin with
};

KERNEL(resample)(
    const Source* source, Target* target, const Pass* samples, const i64* blocks,
    const i32* starts, const f32* weights, const f32* parameters
) {
    const Block block = block_at(blocks);
    const Pass pass = samples[block.sample];
    const f32* own = parameters + block.sample * PARAMETERS;
    const u32 first = u32(block.first);
    const u32 end = pass.volume - first < SPAN ? pass.volume : first + SPAN;
    for (u32 group = first + threadIdx.x; group < end; group += THREADS) {
        const u32 lines = quotient(group, pass.inner), inner = group - lines * pass.inner;
        const u32 line = quotient(lines, pass.extent), place = lines - line * pass.extent;
        const u32 outer = quotient(line, pass.rows), row = line - outer * pass.rows;
        i64 from = pass.source + i64(outer) * pass.outer_step + i64(row) * pass.row_step;
        from += i64(starts[pass.starts + place]) * pass.tap_step + i64(inner) * GROUP;
        i64 weight = pass.weights + place;
        f32 sums[GROUP];
        for (int c = 0; c < GROUP; c++) sums[c] = pass.zero;
        for (u32 tap = 0; tap < pass.taps; tap++) {
            const f32 factor = weights[weight];
            for (int c = 0; c < GROUP; c++) {
                sums[c] = sums[c] + factor * convert<f32>(source[from + c]);
            }
            weight += pass.extent;
            from += pass.tap_step;
        }
        const u32 within = group - outer * (pass.rows * pass.extent * pass.inner);
        const i64 to = pass.target + i64(outer) * pass.outer_place + i64(within) * APART;
        chain(sums, 1, target + to, pass.plane, own);
    }
}
