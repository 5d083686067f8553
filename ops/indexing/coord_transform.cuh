// `coord_transform`: M v + T; a thread makes one number, by sums in the order of the axes, T last.
struct Vectors { i64 source, target, volume; };  // volume: of the result

// matrices: [M T] of each sample, `rows` times `size` + 1 numbers.
KERNEL(coord_transform)(
    const Source* source, Target* target, const Vectors* samples, const i64* blocks,
    const f32* matrices, u32 rows, u32 size
) {
    const Block block = block_at(blocks);
    const Vectors sample = samples[block.sample];
    const u32 volume = u32(sample.volume), first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    const f32* matrix = matrices + block.sample * rows * (size + 1);
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 vector = element / rows;
        const f32* numbers = matrix + (element - vector * rows) * (size + 1);
        const Source* from = source + sample.source + i64(vector) * size;
        f32 total = 0.0f;
        for (u32 k = 0; k < size; k++) total += numbers[k] * convert<f32>(from[k]);
        target[sample.target + element] = convert<Target>(total + numbers[size]);
    }
}
