// Beyond the edge of an image, as borders.py has it. BORDER is one of these, chosen when a kernel is
// compiled; their order is that of BORDERS there.
constexpr int REFLECT_101 = 0, REFLECT_1001 = 1, WRAP = 2, CLAMP = 3, CONSTANT = 4;

// The pixel that stands at `index` of an axis, which may lie outside; -1: a constant.
DEVICE i32 bordered(i64 index, i32 size) {
    if (index >= 0 && index < size) return i32(index);
    if constexpr (BORDER == CONSTANT) return -1;
    if (BORDER == CLAMP || size == 1) return index < 0 ? 0 : size - 1;
    const i64 period = BORDER == WRAP ? size : BORDER == REFLECT_101 ? 2 * (i64(size) - 1)
                                                                     : 2 * i64(size);
    index %= period;
    if (index < 0) index += period;
    if (index < size) return i32(index);
    return i32(BORDER == REFLECT_101 ? period - index : period - 1 - index);
}
