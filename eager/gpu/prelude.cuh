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
constexpr u32 SPAN = 1024;
