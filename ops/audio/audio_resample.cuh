// `audio_resample`: sums over windowed sinc functions, as in resampling.py: a thread makes one value.
// Positions are counted by float32 steps in blocks of 256 outputs.
struct Sound {
    i64 source, target;  // first elements
    f64 ratio;
    i64 size;      // samples of the input, of each channel
    u32 volume, channels;
    i32 equal, unused;  // equal: nothing is resampled
};

// Numbers from -1 to 1, and back, as in audio_types.py.
template <class T> DEVICE f32 unit_of(T value, f32 step, f32 zero) {
    if constexpr (Limits<T>::FLOAT) return value;
    else return f32(value) * step - zero;
}
template <class T> DEVICE T value_of(f32 unit, f32 most, f32 zero) {
    if constexpr (Limits<T>::FLOAT) return unit;
    else return convert<T>((unit + zero) * most);
}

KERNEL(audio_resample)(
    const Source* source, Target* target, const Sound* samples, const i64* blocks,
    const f32* table, i32 lobes, f32 step_in, f32 zero_in, f32 most_out, f32 zero_out
) {
    const Block block = block_at(blocks);
    const Sound& sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first), channels = sample.channels;
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    const Source* sound = source + sample.source;
    const i32 taps = 2 * lobes, whole = taps - taps % 8, pitch = taps + 2;
    const f32 center = f32(lobes * 32), step = f32(sample.ratio);
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        if (sample.equal) {
            if constexpr (Same<Source, Target>::value) target[sample.target + element] = sound[element];
            else {
                const f32 unit = unit_of(sound[element], step_in, zero_in);
                target[sample.target + element] = value_of<Target>(unit, most_out, zero_out);
            }
            continue;
        }
        const u32 k = element / channels, channel = element - k * channels;
        const f64 exact = f64(k - k % 256) * sample.ratio;
        const i64 base = i64(floor(exact));
        f32 place = f32(exact - f64(base));
        for (u32 count = k % 256; count > 0; count--) place += step;
        const i64 upper = i64(ceilf(place)), head = base + upper - lobes;
        const i64 absent = head < 0 ? -head : 0;
        const f32 start = f32(upper - lobes + absent) - place;
        const f32 entry = start * 32.0f + center, floored = floorf(entry);
        const i64 number = i64(floored);
        const i64 low = (number & 31) * pitch + (number >> 5) - absent;
        const f32 skipped = f32(absent);
        f32 sums[8] = {}, rest = 0.0f;
        for (i32 j = 0; j < taps; j++) {
            const f32 along = f32(j) - skipped;
            const f32 at = (start + along) * 32.0f + center;
            const f32 share = at - (floored + 32.0f * along);
            const f32 left = table[low + j], right = table[low + pitch + j];
            const f32 weight = left + share * (right - left);
            const i64 from = head + j;
            const bool there = from >= 0 && from < sample.size;
            const f32 value =
                there ? unit_of(sound[from * channels + channel], step_in, zero_in) : 0.0f;
            if (j < whole) sums[j & 7] += value * weight;
            else rest += value * weight;
        }
        const f32 total = ((sums[0] + sums[1]) + (sums[2] + sums[3]))
            + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        target[sample.target + element] = value_of<Target>(total + rest, most_out, zero_out);
    }
}
