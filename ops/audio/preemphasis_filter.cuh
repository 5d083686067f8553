// `preemphasis_filter`: each value less a share of the one before it, in Real.
struct Emphasis {
    i64 source, target;  // first elements
    f64 share;
    u32 volume;
    i32 border;  // the number of the value before the first; -1 for none
};

KERNEL(preemphasis_filter)(
    const Source* source, Target* target, const Emphasis* samples, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Emphasis& sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    const Source* sound = source + sample.source;
    const Real share = Real(sample.share);
    for (u32 t = first + threadIdx.x; t < end; t += THREADS) {
        Target made;
        if (share == Real(0) || (t == 0 && sample.border < 0)) made = convert<Target>(sound[t]);
        else {
            const u32 border = u32(sample.border) < volume - 1 ? u32(sample.border) : volume - 1;
            const Real before = Real(sound[t > 0 ? t - 1 : border]);
            made = convert<Target>(Real(sound[t]) - share * before);
        }
        target[sample.target + t] = made;
    }
}
