// What every kernel stands on: names of types, and what differs between NVRTC and the CPU shim.
// No headers: NVRTC needs no include path then.
#ifndef GRADIVA_CPU
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(THREADS) name
#define DEVICE __device__ __forceinline__
#define BITS_OF_FLOAT(value) __float_as_uint(value)
#define FLOAT_OF_BITS(bits) __uint_as_float(bits)
#endif

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };

// A piece of the work on one sample: the elements from `first` on, as many as a block takes.
struct Block { i64 sample, first; };

// How many elements a block takes; eager/cuda/launch.py knows it as SPAN.
constexpr u32 SPAN = 2048;

// value / by. A division takes twenty instructions, which a missing axis (one frame, one channel)
// need not cost.
DEVICE u32 quotient(u32 value, u32 by) {
    if (value < by) return 0;
    return by == 1 ? value : value / by;
}

// What this block of threads works on, by the table that `blocks_of` of eager/cuda/launch.py makes:
// the number of samples, the span if it is one for all, the blocks of a sample if all have as many;
// then the first block of each sample, and the span of each.
DEVICE Block block_at(const i64* blocks) {
    const u32 number = blockIdx.x, samples = u32(blocks[0]), each = u32(blocks[2]);
    const i64* starts = blocks + 3;
    u32 sample = 0, high = samples - 1;
    if (each) sample = high = number / each;
    // The last sample whose blocks begin here or before: those before it that begin at the same
    // place have none.
    while (sample < high) {
        const u32 middle = (sample + high + 1) / 2;
        if (u32(starts[middle]) <= number) sample = middle;
        else high = middle - 1;
    }
    const i64 span = blocks[1] ? blocks[1] : starts[samples + sample];
    return {i64(sample), (number - starts[sample]) * span};
}
