// The totals of blocks of rows, or of their parts, become results, in order.
KERNEL(join)(
    const Total* totals, Made* target, const Reduction* samples, const i64* blocks,
    Total start, Total nothing
) {
    const Block block = block_at(blocks);
    const Reduction& sample = samples[block.sample];
    const i64 end = sample.kept - block.first < SPAN ? sample.kept : block.first + SPAN;
    for (i64 result = block.first + threadIdx.x; result < end; result += THREADS) {
        // All of these numbers are below 2**31.
        u32 rest = u32(result) / u32(sample.columns), turns = 1;
        i64 base = 0, pitch = 1;
        const i64 column = result - rest * sample.columns;
        for (int group = 2 * PAIRS - 2; group >= 0; group--) {
            const u32 extent = u32(sample.extents[group]);
            if (group % 2 == 0) {
                const u32 over = rest / extent;
                base += i64(rest - over * extent) * pitch;
                rest = over;
            } else turns *= extent;
            pitch *= extent;
        }
        Total total = start;
        for (u32 turn = 0; turn < turns; turn++) {
            i64 number = base;
            u32 left = turn;
            pitch = 1;
            for (int group = 2 * PAIRS - 2; group >= 0; group--) {
                const u32 extent = u32(sample.extents[group]);
                if (group % 2) {
                    const u32 over = left / extent;
                    number += i64(left - over * extent) * pitch;
                    left = over;
                }
                pitch *= extent;
            }
            const Total* from = totals + sample.totals + number * sample.splits * sample.columns;
            for (i64 split = 0; split < sample.splits; split++)
                total = joined(total, from[split * sample.columns + column]);
        }
        target[sample.target + result] =
            finished<Made>(sample.reduced ? total : nothing, sample.divisor);
    }
}
