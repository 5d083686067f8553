// The anchor that fits a box best, the last one of equals: a block for each box. `block.first` is
// the number of the box in its sample.
KERNEL(box_forced)(
    const f32* boxes, i32* forced, const Matched* samples, const i64* blocks,
    const f32* anchors, i32 count
) {
    __shared__ f32 overlaps[THREADS];
    __shared__ i32 numbers[THREADS];
    const Block block = block_at(blocks);
    const Matched sample = samples[block.sample];
    const f32* box = boxes + sample.boxes + 4 * block.first;
    const i32 own = i32(threadIdx.x);
    f32 most = 0.0f;
    i32 best = -1;
    for (i32 a = own; a < count; a += THREADS) {
        const f32 value = overlap(box, anchors + 4 * i64(a));
        if (value >= most) most = value, best = a;
    }
    overlaps[own] = most, numbers[own] = best;
    for (i32 half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (own >= half) continue;
        const f32 value = overlaps[own + half];
        const i32 other = numbers[own + half];
        if (value > most || (value == most && other > best)) most = value, best = other;
        overlaps[own] = most, numbers[own] = best;
    }
    // Without any overlap that can be compared it is the last anchor.
    if (own == 0) forced[sample.first + block.first] = best < 0 ? count - 1 : best;
}
