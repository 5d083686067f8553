// The kernel of element-wise expressions. Generated: COUNT operands, whose samples are spread over
// the result's by steps along AXES axes; OPERANDS, pointers to them, `operand0` and so on; VALUE, an
// element of the result, from the operands' elements `at[0]` and so on.
struct Spread {
    i64 target, volume;
    i64 sources[COUNT];  // first elements
    i64 extents[AXES];
    i64 steps[COUNT][AXES];  // elements from one coordinate to the next, 0 where they are one
};

// Functions of float64 are long, and several of them side by side need more registers than there are.
constexpr int UNROLLED = Limits<Target>::FLOAT && Limits<Target>::BITS == 64 ? 1 : 4;

KERNEL(spread)(Target* target, const Spread* samples, const i64* blocks, OPERANDS) {
    const Block block = block_at(blocks);
    const Spread& sample = samples[block.sample];
    const u32 volume = u32(sample.volume), first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    Target* to = target + sample.target;
    #pragma unroll UNROLLED
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        i64 at[COUNT];
        for (int k = 0; k < COUNT; k++) at[k] = sample.sources[k];
        u32 rest = element;
        for (int axis = AXES - 1; axis >= 0; axis--) {
            // Along the first axis nothing is left to divide off.
            const u32 extent = u32(sample.extents[axis]), over = axis ? rest / extent : 0;
            const i64 coordinate = rest - over * extent;
            for (int k = 0; k < COUNT; k++) at[k] += coordinate * sample.steps[k][axis];
            rest = over;
        }
        to[element] = VALUE;
    }
}
