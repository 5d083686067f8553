// Class numbers as vectors. Values of all types are moved as bits; numbers that are no class are -1.
struct OneHotTable { i64 source, target, volume, inner; };

template <class V> DEVICE i64 class_of(V value) {
    if constexpr (Same<V, f16>::value) return class_of(single_of_half(value));
    else if constexpr (Limits<V>::FLOAT)
        return value > V(-1) && value < V(2147483648.0) ? i64(value) : -1;
    else if constexpr (Same<V, u64>::value) return value < 2147483648ull ? i64(value) : -1;
    else return i64(value);
}

KERNEL(one_hot)(
    const Source* source, Target* target, const OneHotTable* samples, const i64* blocks, i64 classes,
    Target on, Target off
) {
    const Block block = block_at(blocks);
    const OneHotTable sample = samples[block.sample];
    const u32 volume = u32(sample.volume), first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN, inner = u32(sample.inner);
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 row = element / inner, outer = row / u32(classes);
        const i64 from = i64(outer) * inner + (element - row * inner);
        const bool marked = class_of(source[sample.source + from]) == i64(row - outer * classes);
        target[sample.target + element] = marked ? on : off;
    }
}
