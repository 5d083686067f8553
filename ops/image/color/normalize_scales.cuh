// What sums over samples become, for `normalize`: means, or what distances from means are multiplied
// by. Generated: MEANS, which of the two; SHARED: the sums of all samples are added first, in order.
struct Sums { i64 first, count; f64 factor; };  // SHARED: a divisor

KERNEL(scales)(
    const f64* sums, Made* made, const Sums* samples, const i64* blocks, i64 together, f64 scale,
    f64 epsilon
) {
    const Block block = block_at(blocks);
    const Sums sample = samples[block.sample];
    const i64 end = sample.count - block.first < SPAN ? sample.count : block.first + SPAN;
    for (i64 k = block.first + threadIdx.x; k < end; k += THREADS) {
        f64 sum = sums[sample.first + k];
        for (i64 other = 1; other < together; other++) sum += sums[other * sample.count + k];
        if constexpr (MEANS) made[sample.first + k] = sum / sample.factor;
        else {
            const f64 variance =
                !SHARED ? sum * sample.factor : sample.factor > 0 ? sum / sample.factor : 0.0;
            const f64 root = sqrt(variance + epsilon);
            made[sample.first + k] = f32(root > 0 ? scale / root : 0.0);
        }
    }
}
