// `erase`: each element as it is, or the fill value of its sample and channel where a region is.
struct Erased {
    i64 source, target;  // first elements
    u32 extents[5];
    u32 volume;
    u32 first, end;  // regions of the sample
};
struct Region { u32 lows[5], highs[5]; };

DEVICE bool within(const Region& region, const Coordinates& place) {
    bool inside = true;
    for (int axis = 0; axis < 5; axis++)
        inside = inside && place.at[axis] >= region.lows[axis] &&
                 place.at[axis] < region.highs[axis];
    return inside;
}

// fill: `fills` values for each sample; which one, the coordinate on `axis` says.
KERNEL(erase)(
    const Target* source, Target* target, const Erased* samples, const i64* blocks,
    const Region* regions, const Target* fill, i64 fills, i64 axis
) {
    const Block block = block_at(blocks);
    const Erased sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const Coordinates place = coordinates_of(sample.extents, element);
        bool erased = false;
        for (u32 k = sample.first; k < sample.end && !erased; k++)
            erased = within(regions[k], place);
        const u32 channel = fills == 1 ? 0 : coordinate(place, axis);
        target[sample.target + element] = erased ? fill[block.sample * fills + channel]
                                                 : source[sample.source + element];
    }
}
