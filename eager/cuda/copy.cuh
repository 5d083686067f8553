// Windows of samples, mirrored or not, with fill values around. Floats that become integers lose
// their fraction here, as in ops/image/window_copy.py.
template <class T, class V> DEVICE T moved(V value) {
    if constexpr (Same<T, V>::value) return value;
    else if constexpr (Same<V, f16>::value) return moved<T>(single_of_half(value));
    else if constexpr (Same<T, f16>::value || Same<T, bool>::value) return convert<T>(value);
    else if constexpr (Same<V, f32>::value && !Limits<T>::FLOAT) return convert<T>(truncf(value));
    else if constexpr (Same<V, f64>::value && !Limits<T>::FLOAT) return convert<T>(trunc(value));
    else return convert<T>(value);
}

// fill: `fills` values for each sample; which one, the coordinate on `axis` says.
KERNEL(copy)(
    const Source* source, Target* target, const Gather* samples, const i64* blocks,
    const Target* fill, i64 fills, i64 axis
) {
    const Block block = block_at(blocks);
    const Gather sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const Place place = place_of(sample, element);
        Target* to = target + sample.target + element;
        if (place.inside) *to = moved<Target>(source[place.source]);
        else *to = fill[block.sample * fills + i64(channel_of(place, axis) % u32(fills))];
    }
}
