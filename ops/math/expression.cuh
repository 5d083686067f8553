// Element-wise expressions with broadcasting. What is computed, `VALUE`, is generated out of the
// functions here (ops/math/expression.py): each takes operands of any types, converts them to the
// type it computes in, as NumPy does, and returns that type. So one result may be the operand of
// another function. float16 is rounded to even here, after each function, as in NumPy.
template <> struct Limits<f16> {
    static constexpr bool FLOAT = true, SIGNED = true;
    static constexpr int BITS = 16;
};

template <bool, class A, class B> struct Either { typedef A type; };
template <class A, class B> struct Either<false, A, B> { typedef B type; };

// What sums and products of a type are computed in: integers without a sign, so that they wrap.
template <class T> struct Work {
    typedef typename Either<
        Limits<T>::FLOAT, typename Either<Limits<T>::BITS <= 32, f32, f64>::type,
        typename Either<Limits<T>::BITS <= 32, u32, u64>::type>::type type;
};

DEVICE f16 half_to_even(f32 value) {
    const u32 bits = BITS_OF_FLOAT(value), size = bits & 0x7FFFFFFFu;
    u32 half;
    if (size > 0x7F800000u) half = 0x7E00u;
    else if (size >= 0x47800000u) half = 0x7C00u;
    else if (size >= 0x38800000u)
        half = (size - 0x38000000u + 0xFFFu + ((size >> 13) & 1u)) >> 13;
    // Subnormal: the addition rounds to a multiple of 2**-24, the last place of 0.5.
    else half = BITS_OF_FLOAT(FLOAT_OF_BITS(size) + 0.5f) - 0x3F000000u;
    f16 result;
    result.bits = u16(half | ((bits >> 16) & 0x8000u));
    return result;
}

// NumPy's `astype`: integers wrap.
template <class T, class V> DEVICE T cast(V value) {
    if constexpr (Same<T, V>::value) return value;
    else if constexpr (Same<V, f16>::value) return cast<T>(single_of_half(value));
    else if constexpr (Same<T, f16>::value) return half_to_even(f32(value));
    else if constexpr (Same<T, bool>::value) return value != V(0);
    else return T(value);
}

// An operand in the type R, as a number that C++ computes with.
template <class R, class V> DEVICE auto number(V value) {
    if constexpr (Same<R, f16>::value) return single_of_half(cast<f16>(value));
    else return cast<R>(value);
}
template <class R, class V> DEVICE typename Work<R>::type work(V value) {
    return typename Work<R>::type(number<R>(value));
}

template <class R, class A, class B> DEVICE R add(A left, B right) {
    return cast<R>(work<R>(left) + work<R>(right));
}
template <class R, class A, class B> DEVICE R subtract(A left, B right) {
    return cast<R>(work<R>(left) - work<R>(right));
}
template <class R, class A, class B> DEVICE R multiply(A left, B right) {
    return cast<R>(work<R>(left) * work<R>(right));
}

template <class R> DEVICE R negative_of(R value) {
    return cast<R>(typename Work<R>::type(0) - work<R>(value));
}

// Toward zero for integers. A GPU cannot refuse a zero, as the CPU kernel does: the result is 0.
template <class R, class A, class B> DEVICE R divide(A left, B right) {
    if constexpr (Limits<R>::FLOAT) {
        return cast<R>(work<R>(left) / work<R>(right));
    } else {
        const R over = cast<R>(left), under = cast<R>(right);
        if (under == R(0)) return R(0);
        if constexpr (Limits<R>::SIGNED)
            if (under == R(-1)) return negative_of<R>(over);
        return R(over / under);
    }
}

DEVICE f32 rest_of(f32 over, f32 under) { return fmodf(over, under); }
DEVICE f64 rest_of(f64 over, f64 under) { return fmod(over, under); }
template <class R, class A, class B> DEVICE R remainder_of(A left, B right) {
    if constexpr (Limits<A>::FLOAT != Limits<B>::FLOAT) {
        return cast<R>(rest_of(number<f64>(left), number<f64>(right)));
    } else if constexpr (Limits<R>::FLOAT) {
        return cast<R>(rest_of(work<R>(left), work<R>(right)));
    } else {
        const R over = cast<R>(left), under = cast<R>(right);
        if (under == R(0)) return R(0);
        if constexpr (Limits<R>::SIGNED)
            if (under == R(-1)) return R(0);
        return R(over % under);
    }
}

DEVICE f32 power_of(f32 base, f32 exponent) { return powf(base, exponent); }
DEVICE f64 power_of(f64 base, f64 exponent) { return pow(base, exponent); }
DEVICE f32 root_of(f32 value) { return sqrtf(value); }
DEVICE f64 root_of(f64 value) { return sqrt(value); }

template <class R, class A, class B> DEVICE R power(A left, B right) {
    typedef typename Work<R>::type W;
    if constexpr (Limits<R>::FLOAT) {
        const W base = work<R>(left), exponent = work<R>(right);
        if (exponent == W(2)) return cast<R>(base * base);
        if (exponent == W(1)) return cast<R>(left);
        if (exponent == W(-1)) return cast<R>(W(1) / base);
        if (exponent == W(0.5)) {
            // Positive for -0 and minus infinity, where a square root is not.
            const bool infinite = base < W(0) && base - base != W(0) && base == base;
            return cast<R>(infinite ? -base : root_of(base + W(0)));
        }
        return cast<R>(power_of(base, exponent));
    } else {
        const R exponent = cast<R>(right);
        if constexpr (Limits<R>::SIGNED)
            if (exponent < R(0)) return R(0);
        W factor = work<R>(left), product = 1;
        for (W left_over = W(exponent); left_over; left_over >>= 1) {
            if (left_over & 1) product *= factor;
            factor *= factor;
        }
        return cast<R>(product);
    }
}

template <class R, class A, class B> DEVICE R both_bits(A left, B right) {
    return cast<R>(work<R>(left) & work<R>(right));
}
template <class R, class A, class B> DEVICE R any_bits(A left, B right) {
    return cast<R>(work<R>(left) | work<R>(right));
}
template <class R, class A, class B> DEVICE R other_bits(A left, B right) {
    return cast<R>(work<R>(left) ^ work<R>(right));
}
template <class R, class A> DEVICE R turned_bits(A value) {
    if constexpr (Same<R, bool>::value) return !cast<bool>(value);
    else return cast<R>(~work<R>(value));
}

// Narrow types are shifted in 32 bits, by as many places as the lowest bits of the count say.
template <class R, class B> DEVICE u32 places(B count) {
    return u32(work<R>(count)) & (Limits<R>::BITS <= 32 ? 31u : 63u);
}
template <class R, class A, class B> DEVICE R shifted_left(A value, B count) {
    return cast<R>(work<R>(value) << places<R>(count));
}
template <class R, class A, class B> DEVICE R shifted_right(A value, B count) {
    return cast<R>(cast<R>(value) >> places<R>(count));
}

// -1, 0, 1, or 2 for operands that do not compare: integers by value, whatever their types.
template <class R, class A, class B> DEVICE i32 order(A left, B right) {
    if constexpr (Limits<R>::FLOAT) {
        const auto x = number<R>(left), y = number<R>(right);
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    } else if constexpr (Same<A, u64>::value || Same<B, u64>::value) {
        if constexpr (Limits<A>::SIGNED) {
            if (left < A(0)) return -1;
        }
        if constexpr (Limits<B>::SIGNED) {
            if (right < B(0)) return 1;
        }
        return u64(left) < u64(right) ? -1 : u64(left) > u64(right);
    } else {
        return i64(left) < i64(right) ? -1 : i64(left) > i64(right);
    }
}
#define COMPARISON(name, test)                                                                   \
    template <class R, class A, class B> DEVICE bool name(A left, B right) {                     \
        const i32 found = order<R>(left, right);                                                 \
        return test;                                                                             \
    }
COMPARISON(equal, found == 0)
COMPARISON(not_equal, found != 0)
COMPARISON(less, found == -1)
COMPARISON(less_equal, found <= 0)
COMPARISON(greater, found == 1)
COMPARISON(greater_equal, found == 0 || found == 1)
#undef COMPARISON
template <class A> DEVICE bool is_zero(A value) { return number<A>(value) == 0; }

// The second one where the operands are equal or do not compare.
template <class R, class A, class B> DEVICE R smaller(A left, B right) {
    const R x = cast<R>(left), y = cast<R>(right);
    return number<R>(x) < number<R>(y) ? x : y;
}
template <class R, class A, class B> DEVICE R larger(A left, B right) {
    const R x = cast<R>(left), y = cast<R>(right);
    return number<R>(x) > number<R>(y) ? x : y;
}
// NaN passes; `high` wins over `low`.
template <class R, class A, class B, class C> DEVICE R clamped(A value, B low, C high) {
    const R same = cast<R>(value), least = cast<R>(low), most = cast<R>(high);
    const R raised = number<R>(same) < number<R>(least) ? least : same;
    return number<R>(raised) > number<R>(most) ? most : raised;
}

template <class R, class A> DEVICE R same(A value) { return cast<R>(value); }
template <class R, class A> DEVICE R negated(A value) {
    if constexpr (Limits<R>::FLOAT) return cast<R>(-work<R>(value));
    else return negative_of<R>(cast<R>(value));
}
template <class R, class A> DEVICE R absolute(A value) {
    if constexpr (Limits<R>::FLOAT) {
        if constexpr (Limits<R>::BITS == 64) return fabs(cast<R>(value));
        else return cast<R>(fabsf(work<R>(value)));
    } else if constexpr (Limits<R>::SIGNED) {
        const R whole = cast<R>(value);
        return whole < R(0) ? negative_of<R>(whole) : whole;
    } else return cast<R>(value);
}
template <class R, class A> DEVICE R inverse_root(A value) {
    typedef typename Work<R>::type W;
    return cast<R>(W(1) / root_of(work<R>(value)));
}

// Functions of C: `single` for float32 and float16, `wide` for float64.
#define UNARY(name, single, wide)                                                                \
    template <class R, class A> DEVICE R name(A value) {                                         \
        if constexpr (Limits<R>::BITS == 64) return wide(work<R>(value));                        \
        else return cast<R>(single(work<R>(value)));                                             \
    }
UNARY(rounded_down, floorf, floor)
UNARY(rounded_up, ceilf, ceil)
UNARY(root, sqrtf, sqrt)
UNARY(cube_root, cbrtf, cbrt)
UNARY(exponential, expf, exp)
UNARY(logarithm, logf, log)
UNARY(logarithm_2, log2f, log2)
UNARY(logarithm_10, log10f, log10)
UNARY(sine, sinf, sin)
UNARY(cosine, cosf, cos)
UNARY(tangent, tanf, tan)
UNARY(arc_sine, asinf, asin)
UNARY(arc_cosine, acosf, acos)
UNARY(arc_tangent, atanf, atan)
UNARY(hyperbolic_sine, sinhf, sinh)
UNARY(hyperbolic_cosine, coshf, cosh)
UNARY(hyperbolic_tangent, tanhf, tanh)
UNARY(area_sine, asinhf, asinh)
UNARY(area_cosine, acoshf, acosh)
UNARY(area_tangent, atanhf, atanh)
#undef UNARY
template <class R, class A, class B> DEVICE R angle(A left, B right) {
    if constexpr (Limits<R>::BITS == 64) return atan2(work<R>(left), work<R>(right));
    else return cast<R>(atan2f(work<R>(left), work<R>(right)));
}
