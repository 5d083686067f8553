// The place of an element in a sample of five axes.
struct Coordinates { u32 at[5]; };

DEVICE Coordinates coordinates_of(const u32* extents, u32 element) {
    Coordinates place;
    for (int axis = 4; axis > 0; axis--) {
        const u32 rest = element / extents[axis];
        place.at[axis] = element - rest * extents[axis];
        element = rest;
    }
    place.at[0] = element;
    return place;
}

// The coordinate on one axis: a number that is known when the kernel runs must not index registers.
DEVICE u32 coordinate(const Coordinates& place, i64 axis) {
    u32 found = place.at[4];
    for (int other = 0; other < 4; other++) found = axis == other ? place.at[other] : found;
    return found;
}
