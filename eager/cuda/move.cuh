// Elements of a result in order, each from a place that AXES steps lead to, converted. All of them
// have a source; gather.cuh is for windows that may leave theirs.
struct Move {
    i64 source;       // element of the source for coordinate 0
    i64 target;       // first element of the result
    i64 steps[AXES];  // elements of the source from one coordinate to the next
    u32 extents[AXES];
    u32 volume;
};

DEVICE i64 source_of(const Move& sample, u32 element) {
    i64 source = sample.source;
    for (int axis = AXES - 1; axis > 0; axis--) {
        const u32 rest = quotient(element, sample.extents[axis]);
        source += i64(element - rest * sample.extents[axis]) * sample.steps[axis];
        element = rest;
    }
    return source + i64(element) * sample.steps[0];
}

DEVICE void move_span(const Source* source, Target* target, const Move& sample, u32 first) {
    const u32 end = sample.volume - first < SPAN ? sample.volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS)
        target[sample.target + element] = convert<Target>(source[source_of(sample, element)]);
}

KERNEL(move)(const Source* source, Target* target, const Move* samples, const i64* blocks) {
    const Block block = block_at(blocks);
    if constexpr (AXES <= 6) {
        const Move sample = samples[block.sample];
        move_span(source, target, sample, u32(block.first));
    } else {
        // More axes would not fit into registers.
        move_span(source, target, samples[block.sample], u32(block.first));
    }
}
