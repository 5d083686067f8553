// `multi_paste`: each element of a canvas from the last region that covers it, so that the order of
// threads does not matter; 0 where there is none.
struct Canvas {
    i64 target;
    u32 extents[5];
    u32 volume;
    u32 first, end;  // regions of the sample
};
struct Region {
    i64 slab;      // which of the inputs
    i64 source;    // element that comes to `lows`
    i64 steps[5];  // elements of the source from one coordinate to the next
    u32 lows[5], extents[5];  // on the canvas
};

// clear: whether what no region covers becomes 0, or stays.
KERNEL(multi_paste)(
    const Source* s0, const Source* s1, const Source* s2, const Source* s3, const Source* s4,
    const Source* s5, const Source* s6, const Source* s7, Target* target, const Canvas* samples,
    const i64* blocks, const Region* regions, i64 clear
) {
    const Block block = block_at(blocks);
    const Canvas sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const Coordinates place = coordinates_of(sample.extents, element);
        bool covered = false;
        Target value = Target();
        for (u32 k = sample.end; k > sample.first && !covered; k--) {
            const Region& region = regions[k - 1];
            i64 from = region.source;
            covered = true;
            for (int axis = 0; axis < 5; axis++) {
                // Below the region it is a large number.
                const u32 at = place.at[axis] - region.lows[axis];
                covered = covered && at < region.extents[axis];
                from += covered ? at * region.steps[axis] : 0;
            }
            if (covered)
                value = convert<Target>(
                    chosen(region.slab, s0, s1, s2, s3, s4, s5, s6, s7)[from]
                );
        }
        if (covered || clear) target[sample.target + element] = value;
    }
}
