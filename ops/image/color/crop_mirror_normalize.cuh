// `crop_mirror_normalize`: (x - mean) * factor for elements that have a source, fill values for the
// others; in any order of axes.
KERNEL(crop_mirror_normalize)(
    const Source* source, Target* target, const Gather* samples, const i64* blocks,
    const f32* mean, const f32* factor, const Target* fill, i64 channels, i64 axis
) {
    const Block block = block_at(blocks);
    const Gather sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const Place place = place_of(sample, element);
        const u32 channel = channel_of(place, axis);
        Target* to = target + sample.target + element;
        if (place.inside) {
            const i64 at = block.sample * channels + channel;
            const f32 value = convert<f32>(source[place.source]);
            *to = convert<Target>((value - mean[at]) * factor[at]);
        } else {
            *to = fill[channel];
        }
    }
}
