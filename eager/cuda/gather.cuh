// Elements of a result in order, each from a place in the source that five steps lead to: windows,
// mirroring, other orders of axes. A thread works on elements THREADS apart, so that neighbors
// write side by side.
struct Gather {
    i64 source;      // element of the source for coordinate 0, which may lie outside of the sample
    i64 target;      // first element of the result
    i64 steps[5];    // elements of the source from one coordinate to the next
    u32 extents[5];  // of the result
    u32 lows[5];     // coordinates below these, or from `highs` on, have no source
    u32 highs[5];
    u32 volume;
};

struct Place {
    i64 source;
    bool inside;
    u32 at[5];
};

DEVICE Place place_of(const Gather& sample, u32 element) {
    Place place;
    place.source = sample.source;
    place.inside = true;
    for (int axis = 4; axis >= 0; axis--) {
        const u32 rest = quotient(element, sample.extents[axis]);
        const u32 at = element - rest * sample.extents[axis];
        element = rest;
        place.at[axis] = at;
        place.source += i64(at) * sample.steps[axis];
        place.inside = place.inside && at >= sample.lows[axis] && at < sample.highs[axis];
    }
    return place;
}

// The coordinate that says which channel an element is of: a number that is known when the kernel
// runs must not index registers.
DEVICE u32 channel_of(const Place& place, i64 axis) {
    u32 channel = place.at[4];
    for (int other = 0; other < 4; other++) channel = axis == other ? place.at[other] : channel;
    return channel;
}
