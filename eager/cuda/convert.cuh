// The one conversion between types, as eager/rows/convert.py has it for the CPU: round half away from
// zero, saturate, NaN -> 0 for integers. float16 goes by way of float32.
template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };

template <class T> struct Limits;
#define LIMITS(type, float_, signed_, bits_, low_, high_)                                        \
    template <> struct Limits<type> {                                                            \
        static constexpr bool FLOAT = float_, SIGNED = signed_;                                  \
        static constexpr int BITS = bits_;                                                       \
        static constexpr type LOW = low_, HIGH = high_;                                          \
    };
LIMITS(bool, false, false, 8, false, true)
LIMITS(u8, false, false, 8, 0, 255)
LIMITS(i8, false, true, 8, -128, 127)
LIMITS(u16, false, false, 16, 0, 65535)
LIMITS(i16, false, true, 16, -32768, 32767)
LIMITS(u32, false, false, 32, 0, 4294967295u)
LIMITS(i32, false, true, 32, -2147483647 - 1, 2147483647)
LIMITS(u64, false, false, 64, 0, 18446744073709551615ull)
LIMITS(i64, false, true, 64, -9223372036854775807ll - 1, 9223372036854775807ll)
LIMITS(f32, true, true, 32, 0, 0)
LIMITS(f64, true, true, 64, 0, 0)
#undef LIMITS

DEVICE f32 single_of_half(f16 half) {
    // The exponent is moved by a multiplication, which is exact and right for subnormals too.
    u32 rest = half.bits & 0x7FFFu, sign = u32(half.bits & 0x8000u) << 16;
    u32 bits = rest >= 0x7C00u ? 0x7F800000u | ((rest & 0x3FFu) << 13)
                               : BITS_OF_FLOAT(FLOAT_OF_BITS(rest << 13) * 0x1p112f);
    return FLOAT_OF_BITS(bits | sign);
}

DEVICE f16 half_of_single(f32 value) {
    // Ties away from zero, as `to_half` in eager/rows/convert.py.
    u32 bits = BITS_OF_FLOAT(value), size = bits & 0x7FFFFFFFu, half;
    if (size > 0x7F800000u) half = 0x7E00u;
    else if (size >= 0x47800000u) half = 0x7C00u;
    else if (size >= 0x38800000u) half = (size - 0x38000000u + 0x1000u) >> 13;
    else {
        f32 units = FLOAT_OF_BITS(size) * 0x1p24f, whole = floorf(units);
        half = u32(whole) + u32(units - whole >= 0.5f);
    }
    f16 result;
    result.bits = u16(half | ((bits >> 16) & 0x8000u));
    return result;
}

template <class T, class V> DEVICE T float_to_integer(V value) {
    if constexpr (Limits<T>::BITS <= 16) {
        const V low = V(Limits<T>::LOW), high = V(Limits<T>::HIGH);
        V clipped = value == value ? value : V(0);
        clipped = clipped > low ? clipped : low;
        clipped = clipped < high ? clipped : high;
        i32 whole = i32(clipped);
        V rest = clipped - V(whole);
        return T(whole + i32(rest >= V(0.5)) - i32(rest <= V(-0.5)));
    } else if constexpr (Same<T, u64>::value) {
        if (!(value >= V(0.5))) return 0;
        if (value >= V(18446744073709551616.0)) return Limits<T>::HIGH;
        if (value >= V(9223372036854775808.0)) return u64(value);
        i64 whole = i64(value);
        return u64(whole + i64(value - V(whole) >= V(0.5)));
    } else {
        if (!(value > V(Limits<T>::LOW) - V(0.5))) return value == value ? Limits<T>::LOW : T(0);
        if (value >= V(Limits<T>::HIGH)) return Limits<T>::HIGH;
        i64 whole = i64(value);
        V rest = value - V(whole);
        whole += i64(rest >= V(0.5));
        whole -= i64(rest <= V(-0.5));
        const i64 low = i64(Limits<T>::LOW), high = i64(Limits<T>::HIGH);
        return T(whole < low ? low : whole > high ? high : whole);
    }
}

template <class T, class V> DEVICE T integer_to_integer(V value) {
    if constexpr (Same<T, u64>::value) {
        if constexpr (Limits<V>::SIGNED) return u64(value < V(0) ? V(0) : value);
        else return u64(value);
    } else if constexpr (Same<V, u64>::value) {
        return T(value < u64(Limits<T>::HIGH) ? value : u64(Limits<T>::HIGH));
    } else {
        const i64 wide = i64(value), low = i64(Limits<T>::LOW), high = i64(Limits<T>::HIGH);
        return T(wide < low ? low : wide > high ? high : wide);
    }
}

template <class T, class V> DEVICE T convert(V value) {
    if constexpr (Same<T, V>::value) return value;
    else if constexpr (Same<V, f16>::value) return convert<T>(single_of_half(value));
    else if constexpr (Same<T, f16>::value) return half_of_single(f32(value));
    else if constexpr (Limits<T>::FLOAT) return T(value);
    else if constexpr (Same<T, bool>::value) {
        // The rounded value decides; NaN is true.
        if constexpr (Limits<V>::FLOAT) return !((value < V(0) ? -value : value) < V(0.5));
        else return value != V(0);
    }
    else if constexpr (Same<V, bool>::value) return T(value);
    else if constexpr (Limits<V>::FLOAT) return float_to_integer<T>(value);
    else return integer_to_integer<T>(value);
}
