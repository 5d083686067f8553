"""What intrinsics and checks use of the parts of Numba that it calls its own.

Numba may change them with any version: each has a test, which runs with the oldest and the newest
version that `pyproject.toml` allows. Compiling, and keeping what was compiled, is in
`numba_compiler.py`.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar


def fingerprint(arguments: tuple[Any, ...]) -> bytes:
    """What says of values how they are compiled: equal for those of the same types. In
    microseconds."""
    found: bytes = importlib.import_module("numba._dispatcher").compute_fingerprint(arguments)
    return found


def compile_error() -> type[Exception]:
    """What Numba raises for a function that it cannot compile."""
    found: type[Exception] = importlib.import_module("numba.core.errors").NumbaError
    return found


def llvm() -> tuple[Any, Any]:
    """The builder of LLVM's code that intrinsics use, and Numba's loops and variables for it."""
    cgutils = importlib.import_module("numba.core.cgutils")
    return cgutils.ir, cgutils


def first_element(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """In an intrinsic: the address of an array's first element. kind: the array's type."""
    return context.make_array(kind)(context, builder, array).data


def has_feature(context: Any, name: str) -> bool:
    """In an intrinsic: whether the CPU that is compiled for has a feature, as LLVM names
    it."""
    _, _, features = context.codegen().magic_tuple()
    return f"+{name}" in features.split(",")


def leave_out_features(context: Any, function: Any, prefix: str) -> None:
    """In an intrinsic: have the function that is being made use no instructions of the CPU's
    features with such names. It is not put into others."""
    _, _, features = context.codegen().magic_tuple()
    chosen = [f"-{one[1:]}" if one[1:].startswith(prefix) else one for one in features.split(",")]
    attributes = function.attributes
    attributes.add("noinline")
    # llvmlite knows no such attributes, and hands on what it holds.
    set.add(attributes, f'"target-features"="{",".join(chosen)}"')


def ownerless_array(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """In an intrinsic: the array, with nothing to count who holds it."""
    made = context.make_array(kind)(context, builder, array)
    for name in ("meminfo", "parent"):
        setattr(made, name, getattr(made, name).type(None))
    return made._getvalue()


def array_part(context: Any, builder: Any, kind: Any, array: Any, first: Any, size: Any) -> Any:
    """In an intrinsic: `size` elements of a contiguous 1-D array from `first` on, with nothing to
    count who holds it."""
    whole = context.make_array(kind)(context, builder, array)
    part = context.make_array(kind)(context, builder)
    part.data = builder.gep(whole.data, [first])
    part.shape = importlib.import_module("numba.core.cgutils").pack_array(builder, [size])
    part.nitems, part.itemsize, part.strides = size, whole.itemsize, whole.strides
    for name in ("meminfo", "parent"):
        setattr(part, name, getattr(part, name).type(None))
    return part._getvalue()


def local_array(context: Any, builder: Any, kind: Any, size: int) -> Any:
    """In an intrinsic: a contiguous 1-D array of so many elements on the stack of the function,
    whose content is undefined. kind: its type."""
    cgutils = importlib.import_module("numba.core.cgutils")
    element = context.get_data_type(kind.dtype)
    made = context.make_array(kind)(context, builder)
    word = made.nitems.type
    items, bytes_each = word(size), word(context.get_abi_sizeof(element))
    made.data = builder.bitcast(cgutils.alloca_once(builder, element, items), made.data.type)
    made.shape = cgutils.pack_array(builder, [items])
    made.strides = cgutils.pack_array(builder, [bytes_each])
    made.nitems, made.itemsize = items, bytes_each
    for name in ("meminfo", "parent"):
        setattr(made, name, getattr(made, name).type(None))
    return made._getvalue()


class _Vectors:
    """The types that were made, so that each is made once."""

    made: ClassVar[dict[tuple[int, int], Any]] = {}


def vector_type(numba: Any, lanes: int, bits: int = 32) -> Any:
    """The type of local variables of kernels that are vectors of floats."""
    made = _Vectors.made
    if (lanes, bits) not in made:
        number = llvm()[0].FloatType() if bits == 32 else llvm()[0].DoubleType()
        base = numba.extending.models.PrimitiveModel
        kind: Any = type(f"Float{bits}x{lanes}", (numba.types.Type,), {})

        def describe(self: Any, manager: Any, described: Any) -> None:
            base.__init__(self, manager, described, llvm()[0].VectorType(number, lanes))

        numba.extending.register_model(kind)(type("VectorModel", (base,), {"__init__": describe}))
        made[lanes, bits] = kind(name=f"float{bits}x{lanes}")
    return made[lanes, bits]


def vector_root(builder: Any, vector: Any) -> Any:
    """In an intrinsic: the square root of each lane of a vector of float32."""
    ir, cgutils = llvm()
    kind = ir.FunctionType(vector.type, [vector.type])
    name = f"llvm.sqrt.v{vector.type.count}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [vector])


def no_value(context: Any) -> Any:
    """In an intrinsic: what one returns that returns nothing."""
    return context.get_dummy_value()


def fixed_tuple() -> Any:
    """For compiled functions: `(array, size)` to a tuple of so many of its elements."""
    return importlib.import_module("numba.np.unsafe.ndarray").to_fixed_tuple


def can_compile(function: Any) -> bool:
    """Whether it can be compiled for new types, unlike a dispatcher with given signatures."""
    return bool(getattr(function, "_can_compile", True))
