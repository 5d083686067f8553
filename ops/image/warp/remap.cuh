// `remap`: each pixel is taken from the place that two maps have for it.
struct Mapped {
    i64 source, target, across, down;  // first elements
    i64 across_apart, down_apart;      // elements from one frame's map to the next
    i32 height, width, channels;       // of the source
    u32 area;                          // pixels of a frame of the target
    u32 pixels;                        // of all frames
    u32 unused;
};

KERNEL(remap)(
    const Source* source, Source* target, const f32* across, const f32* down,
    const Mapped* samples, const i64* blocks, f32 shift
) {
    const Block block = block_at(blocks);
    const Mapped& sample = samples[block.sample];
    const i32 channels = sample.channels;
    const u32 first = u32(block.first);
    const u32 end = sample.pixels - first < SPAN ? sample.pixels : first + SPAN;
    const i64 volume = sample.height * sample.width * channels;
    const Outside outside{true, Source(0), 0.0f};
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const u32 frame = pixel / sample.area, place = pixel - frame * sample.area;
        const f32 x = across[sample.across + frame * sample.across_apart + place] + shift;
        const f32 y = down[sample.down + frame * sample.down_apart + place] + shift;
        const Image image{
            source + sample.source + frame * volume, sample.height, sample.width, channels
        };
        take_pixel(image, x, y, outside, target + sample.target + i64(pixel) * channels);
    }
}
