// Runs of up to eight slabs beside each other: a row of the result has a run of each. Threads follow
// the result, so that neighbors write side by side, whatever the lengths of the runs are.
struct Join {
    i64 target;  // where the first of the runs begins
    i64 pitch;   // elements from one row of the result to the next
    u32 width;   // of the runs together
    u32 volume;
    i64 sources[8];  // first elements
    u32 ends[8];     // where each run ends within `width`
};

KERNEL(join)(
    const Source* s0, const Source* s1, const Source* s2, const Source* s3, const Source* s4,
    const Source* s5, const Source* s6, const Source* s7, Source* target, const Join* samples,
    const i64* blocks
) {
    const Block block = block_at(blocks);
    const Join& sample = samples[block.sample];
    const u32 volume = sample.volume, width = sample.width, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    Source* to = target + sample.target;
    const i64 pitch = sample.pitch;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 row = element / width, at = element - row * width;
        u32 slab = 0, begin = 0;
        while (at >= sample.ends[slab]) begin = sample.ends[slab++];
        const u32 run = sample.ends[slab] - begin;
        const Source* from = chosen(i64(slab), s0, s1, s2, s3, s4, s5, s6, s7);
        to[row * pitch + at] = from[sample.sources[slab] + i64(row) * run + (at - begin)];
    }
}
