// Symmetric windows along one axis, as `symmetric` in blur_rows.py: the middle, then the pairs at
// distance 1, 2, ..., each added to what is there. Neighboring threads read neighboring elements,
// whatever the axis is.
struct Axis {
    i64 source, target;  // first elements
    u32 volume;
    u32 length;  // of the axis
    u32 inner;   // elements from one place on the axis to the next
    u32 half;    // of the window
};

// The border is mirrored without the outermost pixel.
DEVICE u32 reflected(u32 index, u32 size) {
    if (index < size) return index;
    const u32 period = 2 * (size - 1);
    if (index <= period) return period - index;
    if (size == 1) return 0;
    index %= period;
    return index < size ? index : period - index;
}

// weights: `width` for each sample. SUMMED: 0: the target is what comes out; 1: that times the
// sample's factor; 2: the same, added to `before`, which lies like the target and may be it.
KERNEL(blur)(
    const Source* source, Target* target, const f32* before, const Axis* samples,
    const i64* blocks, const f32* weights, i64 width, const f32* factors
) {
    const Block block = block_at(blocks);
    const Axis sample = samples[block.sample];
    const f32* own = weights + block.sample * width;
    const u32 first = u32(block.first);
    const u32 end = sample.volume - first < SPAN ? sample.volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 line = element / sample.inner;
        const u32 at = line - line / sample.length * sample.length;
        const Source* middle = source + sample.source + element;
        f32 value = own[0] * convert<f32>(*middle);
        if (at >= sample.half && at + sample.half < sample.length) {
            const Source *low = middle, *high = middle;
            for (u32 k = 1; k <= sample.half; k++) {
                low -= sample.inner, high += sample.inner;
                value += own[k] * (convert<f32>(*low) + convert<f32>(*high));
            }
        } else {
            const Source* begin = middle - at * sample.inner;
            for (u32 k = 1; k <= sample.half; k++) {
                const u32 low = reflected(at < k ? k - at : at - k, sample.length);
                const u32 high = reflected(at + k, sample.length);
                value += own[k] * (
                    convert<f32>(begin[low * sample.inner]) +
                    convert<f32>(begin[high * sample.inner])
                );
            }
        }
        const i64 place = sample.target + element;
        if constexpr (SUMMED == 1) value = 0.0f + factors[block.sample] * value;
        if constexpr (SUMMED == 2) value = before[place] + factors[block.sample] * value;
        target[place] = convert<Target>(value);
    }
}
