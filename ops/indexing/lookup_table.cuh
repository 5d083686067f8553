// `lookup_table`: the value in the place of each number. The last place is for all beyond the table.
struct Lookups { i64 source, target, volume; };

KERNEL(lookup_table)(
    const Source* source, Target* target, const Lookups* samples, const i64* blocks,
    const f32* table, i64 last
) {
    const Block block = block_at(blocks);
    const Lookups sample = samples[block.sample];
    const i64 rest = sample.volume - block.first;
    const i64 end = rest < SPAN ? sample.volume : block.first + SPAN;
    for (i64 k = block.first + threadIdx.x; k < end; k += THREADS) {
        // Unsigned numbers of 64 bits come out negative if they are too large for the table.
        const i64 at = i64(source[sample.source + k]);
        target[sample.target + k] = convert<Target>(table[at < 0 || at > last ? last : at]);
    }
}
