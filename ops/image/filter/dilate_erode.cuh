// The highest, or the lowest, of the pixels in a window along one axis: a rectangle is two of these.
struct Window {
    i64 source, target;  // first elements
    u32 volume;
    u32 length;  // of the axis
    u32 inner;   // elements from one place on the axis to the next
    i32 before, after;  // how far the window goes
    u32 unused;
};

DEVICE Source better(Source one, Source other) {
    return (HIGHEST ? other > one : other < one) ? other : one;
}

// outside: of a constant border.
KERNEL(dilate_erode)(
    const Source* source, Source* target, const Window* samples, const i64* blocks,
    Source outside
) {
    const Block block = block_at(blocks);
    const Window& sample = samples[block.sample];
    const u32 first = u32(block.first);
    const u32 end = sample.volume - first < SPAN ? sample.volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 line = element / sample.inner;
        const i32 at = i32(line - line / sample.length * sample.length);
        const Source* middle = source + sample.source + element;
        const i64 inner = sample.inner;
        Source best = *middle;
        if (at >= sample.before && i64(at) + sample.after < sample.length) {
            for (i32 k = -sample.before; k <= sample.after; k++)
                best = better(best, middle[k * inner]);
        } else {
#pragma unroll 1
            for (i32 k = -sample.before; k <= sample.after; k++) {
                const i32 place = bordered(i64(at) + k, i32(sample.length));
                best = better(best, place < 0 ? outside : middle[(place - at) * inner]);
            }
        }
        target[sample.target + element] = best;
    }
}
