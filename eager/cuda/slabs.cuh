// One of eight slabs: a number that is known when the kernel runs must not index registers.
template <class T>
DEVICE const T* chosen(
    i64 slab, const T* s0, const T* s1, const T* s2, const T* s3, const T* s4, const T* s5,
    const T* s6, const T* s7
) {
    const T* low = slab < 2 ? (slab == 0 ? s0 : s1) : (slab == 2 ? s2 : s3);
    const T* high = slab < 6 ? (slab == 4 ? s4 : s5) : (slab == 6 ? s6 : s7);
    return slab < 4 ? low : high;
}
