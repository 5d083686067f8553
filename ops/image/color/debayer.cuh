// `debayer`: a thread makes a pixel.
struct Sample { i64 source, target, pixels, height, width, green, red; };

DEVICE i32 within(i32 at, i32 low, i32 high) { return at < low ? low : at > high ? high : at; }

KERNEL(debayer)(
    const Source* source, Source* target, const Sample* samples, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Sample sample = samples[block.sample];
    const u32 pixels = u32(sample.pixels), first = u32(block.first);
    const u32 end = pixels - first < SPAN ? pixels : first + SPAN;
    const i32 height = i32(sample.height), width = i32(sample.width);
    const bool small = height < 3 || width < 3;
    // What needs no border leaves small images to a way that does.
    const i32 border = height < 8 || width < 8 ? 1 : Way::BORDER;
    for (u32 k = first + threadIdx.x; k < end; k += THREADS) {
        const u32 row = k / u32(width), frame = row / u32(height);
        const i32 y = i32(row - frame * u32(height)), x = i32(k - row * u32(width));
        i32 made[Way::CHANNELS] = {};
        if (!small) {
            const Source* values = source + sample.source + i64(frame) * height * width;
            const Mosaic mosaic{values, height, width, sample.green != 0, sample.red != 0};
            const i32 row_of = within(y, border, height - 1 - border);
            Way::make(mosaic, row_of, within(x, border, width - 1 - border), made);
        }
        Source* to = target + sample.target + i64(k) * Way::CHANNELS;
        for (i32 c = 0; c < Way::CHANNELS; c++) to[c] = convert<Source>(made[c]);
    }
}
