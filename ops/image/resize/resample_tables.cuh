// For each output of each axis, the first input that it reads and the weights of all, to the bit as
// `fill_axis` of taps.py has them. The weights of an axis are those of all outputs for the
// first input, then for the second ...: neighboring threads read neighboring ones.
struct Axis {
    i64 starts, weights;          // where its tables begin
    f64 inverse, size;            // steps of the curve for one input; steps of all of it
    f32 scale, offset, base;      // inputs for one output; where the filter, and the region, begin
    i32 inputs, taps, wide;       // wide: inputs that the filter covers, the border included
    i32 curve, origin, first;     // curve: where it begins; first: the first output that is wanted
    i32 what, outputs;            // what: the sum of 1 nearest, 2 in steps, 4 mirrored
    i32 unused;
};

DEVICE f64 curve_at(const f32* curve, f64 size, f64 at) {
    if (at < 0.0 || at >= size) return 0.0;
    const i32 step = i32(at);
    const f64 low = f64(curve[step]);
    return low + (at - f64(step)) * (f64(curve[step + 1]) - low);
}

DEVICE i64 within(i64 value, i64 low, i64 high) {
    const i64 raised = value > low ? value : low;
    return raised < high ? raised : high;
}

// The nearest input of an output. Rows and slices sum float32 steps, columns take a product.
DEVICE i64 nearest(const Axis& axis, i32 output) {
    f32 at = (f32(output) + 0.5f) * axis.scale + axis.base;
    if (axis.what & 2) {
        at = axis.base + 0.5f * axis.scale;
        for (i32 k = 0; k < output; k++) at = at + axis.scale;
    }
    return within(i64(floorf(at)) + axis.origin, 0, axis.inputs - 1);
}

KERNEL(resample_tables)(
    const f32* curves, const Axis* axes, const i64* blocks, i32* starts, f32* weights
) {
    const Block block = block_at(blocks);
    const Axis axis = axes[block.sample];
    const u32 outputs = u32(axis.outputs), first = u32(block.first);
    const u32 end = outputs - first < SPAN ? outputs : first + SPAN;
    for (u32 number = first + threadIdx.x; number < end; number += THREADS) {
        const i32 output = axis.first + i32(number);
        const i64 to = axis.what & 4 ? outputs - 1 - number : number;
        f32* own = weights + axis.weights + to;
        if (axis.what & 1) {
            starts[axis.starts + to] = i32(nearest(axis, output));
            *own = 1.0f;
            continue;
        }
        const f32* curve = curves + axis.curve;
        const f64 left = f64(f32(output) * axis.scale + axis.offset);
        const i64 begin = i64(ceil(left));
        const i64 start = within(begin + axis.origin, 0, axis.inputs - axis.taps);
        starts[axis.starts + to] = i32(start);
        f64 total = 0.0;
        for (i32 k = 0; k < axis.wide; k++) {
            total = total + curve_at(curve, axis.size, (f64(begin + k) - left) * axis.inverse);
        }
        const f64 norm = 1.0 / total;
        for (i32 k = 0; k < axis.taps; k++) own[i64(k) * outputs] = 0.0f;
        for (i32 k = 0; k < axis.wide; k++) {
            const f64 value = curve_at(curve, axis.size, (f64(begin + k) - left) * axis.inverse);
            const i64 slot = within(begin + axis.origin + k, 0, axis.inputs - 1) - start;
            own[slot * outputs] = own[slot * outputs] + f32(value * norm);
        }
    }
}
