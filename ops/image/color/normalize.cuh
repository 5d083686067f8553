// One value of `normalize`; the expression around it is generated.
template <class V> DEVICE Target normalized(V value, f32 mean, f32 scale, f32 shift) {
    if constexpr (Same<V, f16>::value) return normalized(single_of_half(value), mean, scale, shift);
    else return convert<Target>((f32(value) - mean) * scale + shift);
}
