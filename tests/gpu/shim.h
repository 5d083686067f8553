// CUDA's words for a C++ compiler, so that the source of a kernel runs on the CPU. Threads of a
// block are fibers that take turns at __syncthreads, in rising or in falling order. It shows wrong
// arithmetic, wrong places and missing barriers; not speed, and not races between blocks.
//
// Each kernel is an object file of its own, which has its own threadIdx and fibers: all is static.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define GRADIVA_CPU 1
#define __shared__ static
#define __syncthreads shim::barrier
#define KERNEL(name) void name
#define DEVICE inline
#define BITS_OF_FLOAT(value) shim::bits_of_float(value)
#define FLOAT_OF_BITS(bits) shim::float_of_bits(bits)

struct Three { unsigned x, y, z; };
static Three threadIdx, blockIdx, blockDim, gridDim;

// Threads take turns, so that nothing comes between.
static inline unsigned atomicAdd(unsigned* place, unsigned value) {
    const unsigned before = *place;
    *place += value;
    return before;
}

namespace shim {

static inline unsigned bits_of_float(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}
static inline float float_of_bits(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

constexpr int STACK = 1 << 16;
struct Fiber { ucontext_t context; char* stack; bool done; };
static Fiber* fibers;
static ucontext_t home;
static unsigned current;
static void (*body)(void**);
static void** given;

static inline void barrier() {
    const unsigned own = current;
    swapcontext(&fibers[own].context, &home);
    threadIdx.x = own;
}

static inline void enter() {
    threadIdx.x = current;
    body(given);
    fibers[current].done = true;
}

// One block after the other. A kernel without barriers needs no fibers.
static inline void launch(
    void (*kernel)(void**), void** arguments, unsigned blocks, unsigned threads, bool barriers,
    bool backward
) {
    gridDim = {blocks, 1, 1}, blockDim = {threads, 1, 1};
    if (barriers && !fibers) {
        fibers = new Fiber[threads];
        for (unsigned k = 0; k < threads; k++) fibers[k].stack = new char[STACK];
    }
    body = kernel, given = arguments;
    for (unsigned b = 0; b < blocks; b++) {
        blockIdx = {backward ? blocks - 1 - b : b, 0, 0};
        if (!barriers) {
            for (unsigned t = 0; t < threads; t++) {
                threadIdx = {backward ? threads - 1 - t : t, 0, 0};
                kernel(arguments);
            }
            continue;
        }
        for (unsigned t = 0; t < threads; t++) {
            Fiber& fiber = fibers[t];
            fiber.done = false;
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack;
            fiber.context.uc_stack.ss_size = STACK;
            fiber.context.uc_link = &home;
            makecontext(&fiber.context, enter, 0);
        }
        for (bool live = true; live;) {
            live = false;
            for (unsigned t = 0; t < threads; t++) {
                current = backward ? threads - 1 - t : t;
                if (fibers[current].done) continue;
                swapcontext(&home, &fibers[current].context);
                live |= !fibers[current].done;
            }
        }
    }
}

// The kernel's arguments out of an array of pointers to them, as a launch on a GPU has it.
template <int... K> struct Places {};
template <int N, int... K> struct Count : Count<N - 1, N - 1, K...> {};
template <int... K> struct Count<0, K...> { typedef Places<K...> type; };
template <class... A, int... K>
static void call(void (*kernel)(A...), void** arguments, Places<K...>) {
    kernel(*static_cast<A*>(arguments[K])...);
}
template <class... A> static void call(void (*kernel)(A...), void** arguments) {
    call(kernel, arguments, typename Count<sizeof...(A)>::type{});
}

// A kernel as its object file has it: arguments, blocks, threads, whether backward.
typedef void (*Launcher)(void**, unsigned, unsigned, bool);

static inline int64_t number(FILE* file) {
    int64_t value = 0;
    if (std::fread(&value, 8, 1, file) != 1) std::exit(3);
    return value;
}

// Buffers and launches from one file, results into another: see tests/gpu/shim.py for what is in
// them. Each buffer has memory of its own, of its exact size, so that a sanitizer sees a step
// beside it.
static inline int run(const Launcher* launchers, unsigned threads, int count, char** words) {
    if (count != 4) return 2;
    FILE* in = std::fopen(words[1], "rb");
    FILE* out = std::fopen(words[2], "wb");
    const bool backward = words[3][0] == 'b';
    const int64_t buffers = number(in);
    void** arrays = new void*[buffers];
    int64_t* sizes = new int64_t[buffers];
    int64_t* written = new int64_t[buffers];
    for (int64_t k = 0; k < buffers; k++) {
        written[k] = number(in), sizes[k] = number(in);
        arrays[k] = std::malloc(sizes[k]);
        if (sizes[k] && std::fread(arrays[k], sizes[k], 1, in) != 1) return 3;
    }
    for (int64_t left = number(in); left > 0; left--) {
        const Launcher launcher = launchers[number(in)];
        const int64_t blocks = number(in), arguments = number(in);
        void** places = new void*[arguments];
        void** values = new void*[arguments];
        for (int64_t k = 0; k < arguments; k++) {
            const int64_t buffer = number(in), size = number(in);
            values[k] = std::malloc(size);
            if (size && std::fread(values[k], size, 1, in) != 1) return 3;
            places[k] = buffer < 0 ? values[k] : static_cast<void*>(&arrays[buffer]);
        }
        launcher(places, blocks, threads, backward);
        for (int64_t k = 0; k < arguments; k++) std::free(values[k]);
        delete[] places;
        delete[] values;
    }
    for (int64_t k = 0; k < buffers; k++) {
        if (written[k] && sizes[k] && std::fwrite(arrays[k], sizes[k], 1, out) != 1) return 4;
        std::free(arrays[k]);
    }
    delete[] arrays;
    delete[] sizes;
    delete[] written;
    std::fclose(in);
    return std::fclose(out);
}

}  // namespace shim
