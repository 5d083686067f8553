// What row kernels are translated to (eager/execution/cuda_translate.py): Python's arithmetic as Numba types
// it. Where Numba would compute in float64 behind the writer's back, compilation stops.
template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<const T> { typedef T type; };

// One row of values. A thread works on one pixel, so `size` is 1 for channels, more for parameters.
template <class T> struct Strip {
    typedef typename Plain<T>::type Value;
    T* data;
    i64 size;
    DEVICE Value operator[](i64 place) const { return data[place]; }
    template <class V> DEVICE void set(i64 place, V value) const {
        static_assert(
            Same<V, Value>::value || (!Limits<V>::FLOAT && !Limits<Value>::FLOAT),
            "convert with convert_sat before storing"
        );
        data[place] = Value(value);
    }
    template <class Other> DEVICE void fill(Other other) const {
        for (i64 place = 0; place < size; place++) set(place, other[place]);
    }
};

// One row of values for each channel.
template <class T> struct Rows {
    T* data;
    i64 channels, pixels;
    DEVICE Strip<T> operator[](i64 channel) const {
        return Strip<T>{data + channel * pixels, pixels};
    }
    DEVICE i64 shape(int axis) const { return axis == 0 ? channels : pixels; }
};

template <class V, class T> DEVICE auto convert_like(V value, Strip<T>) {
    return convert<typename Strip<T>::Value>(value);
}
template <class V, class T> DEVICE auto convert_like(V value, Rows<T>) {
    return convert<typename Strip<T>::Value>(value);
}

template <class T> DEVICE void assign(T& place, T value) { place = value; }

template <bool, class A, class B> struct Choose { typedef A type; };
template <class A, class B> struct Choose<false, A, B> { typedef B type; };

// Integers are computed with in 64 bits.
template <class T> struct Wide {
    typedef typename Choose<
        Limits<T>::FLOAT, T, typename Choose<Limits<T>::SIGNED, i64, u64>::type>::type type;
};
template <class A, class B> struct Common {
    typedef typename Wide<A>::type X;
    typedef typename Wide<B>::type Y;
    static_assert(
        Limits<A>::FLOAT == Limits<B>::FLOAT || Same<A, f64>::value || Same<B, f64>::value,
        "float32 with an integer is computed in float64: write np.float32(...)"
    );
    static_assert(
        Limits<A>::FLOAT || Limits<B>::FLOAT || Limits<A>::SIGNED == Limits<B>::SIGNED ||
            (Limits<A>::SIGNED ? Limits<B>::BITS : Limits<A>::BITS) < 64,
        "uint64 with a signed integer is computed in float64: convert one of them"
    );
    typedef typename Choose<
        Same<X, f64>::value || Same<Y, f64>::value, f64,
        typename Choose<
            Same<X, f32>::value, f32,
            typename Choose<Same<X, i64>::value || Same<Y, i64>::value, i64, u64>::type>::type
    >::type type;
};

#define BINARY(name, sign)                                                                       \
    template <class A, class B> DEVICE auto name(A left, B right) {                              \
        typedef typename Common<A, B>::type T;                                                   \
        return T(left) sign T(right);                                                            \
    }
BINARY(add, +)
BINARY(subtract, -)
BINARY(multiply, *)
BINARY(less, <)
BINARY(less_equal, <=)
BINARY(greater, >)
BINARY(greater_equal, >=)
BINARY(equal, ==)
BINARY(not_equal, !=)
#undef BINARY

// Of two truth values `&` and `|` make one, of integers an integer.
#define BITS(name, sign)                                                                         \
    template <class A, class B> DEVICE auto name(A left, B right) {                              \
        static_assert(!Limits<A>::FLOAT && !Limits<B>::FLOAT, "floats have no bits");            \
        typedef typename Choose<                                                                 \
            Same<A, bool>::value && Same<B, bool>::value, bool, typename Common<A, B>::type      \
        >::type T;                                                                               \
        return T(T(left) sign T(right));                                                         \
    }
BITS(bit_and, &)
BITS(bit_or, |)
BITS(shift_left, <<)
BITS(shift_right, >>)
#undef BITS

// Python's: the second where it is smaller or larger, also if one of them is no number.
template <class A, class B> DEVICE auto minimum(A left, B right) {
    typedef typename Common<A, B>::type T;
    return T(right) < T(left) ? T(right) : T(left);
}
template <class A, class B> DEVICE auto maximum(A left, B right) {
    typedef typename Common<A, B>::type T;
    return T(right) > T(left) ? T(right) : T(left);
}

template <class A, class B> DEVICE auto divide(A left, B right) {
    typedef typename Common<A, B>::type T;
    static_assert(Limits<T>::FLOAT, "integers are divided in float64: convert them");
    return T(left) / T(right);
}
template <class A> DEVICE auto negate(A value) {
    static_assert(Limits<A>::FLOAT || Limits<A>::SIGNED, "the negative of an unsigned number");
    return typename Wide<A>::type(-value);
}
DEVICE f32 square_root(f32 value) { return sqrtf(value); }
DEVICE f64 square_root(f64 value) { return sqrt(value); }
DEVICE f32 next_after(f32 value, f32 toward) { return nextafterf(value, toward); }
DEVICE f32 absolute(f32 value) { return fabsf(value); }
DEVICE f64 absolute(f64 value) { return fabs(value); }

DEVICE f32 rounded_down(f32 value) { return floorf(value); }
DEVICE f64 rounded_down(f64 value) { return floor(value); }
DEVICE f64 times_power_of_two(f64 value, i64 power) { return ldexp(value, int(power)); }

struct MantissaExponent { f64 first; i64 second; };
DEVICE MantissaExponent mantissa_exponent(f64 value) {
    int exponent;
    const f64 mantissa = frexp(value, &exponent);
    return MantissaExponent{mantissa, exponent};
}
