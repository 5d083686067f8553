"""Functions of C libraries that report an error by a jump, called from kernels.

Such a library (libjpeg, libpng) calls a handler that must not return. It has to leave by C's
`longjmp`, to a place that `setjmp` has marked. Here that place is a function of a few instructions
around each single call. So a jump leaves out frames of the library and of the handler alone, none
of ours; and these hold nothing that would have to be given back.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any, Final

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import register_intrinsic

MARK_BYTES: Final = 1024
"""Room for a C library's `jmp_buf`: glibc takes 200 bytes (x86-64) or 312 (64-bit ARM), macOS
fewer."""
_CALL: Final = "gradiva_call_guarded"
_LEAVE: Final = "gradiva_leave_guarded"
_SILENT: Final = "gradiva_silent_handler"


def can_guard() -> bool:
    """Whether this system jumps as it is assumed here: not Windows, which unwinds the stack."""
    return os.name == "posix" and struct.calcsize("P") == 8


def call_guarded(mark: int, address: int, first: int, second: int, third: int, fourth: int) -> int:
    """Call a function of at most four integers or addresses; for kernels only.

    mark: the address of `MARK_BYTES` of memory, a multiple of 16. Returns what the function returns
    as an `int`, its 32 bits as a number from 0 on; -1 if it was left by `leaving_handler`.
    """
    raise NotImplementedError


@register_intrinsic(call_guarded)
def _call_guarded_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `call_guarded`: one function in each module, which is not inlined, as
    a place to jump to holds for as long as its function runs."""
    ir, _ = numba_adapter.llvm()
    integer = numba.types.int64
    word, number, address = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()

    def define(module: Any) -> Any:
        function = ir.Function(module, ir.FunctionType(word, [word] * 6), _CALL)
        function.linkage = "internal"
        function.attributes.add("noinline")
        kind = ir.FunctionType(number, [address])
        mark_place = ir.Function(module, kind, "_setjmp")
        mark_place.attributes.add("returns_twice")
        builder = ir.IRBuilder(function.append_basic_block())
        mark, called, *arguments = function.args
        jumped = builder.call(mark_place, [builder.inttoptr(mark, address)])
        with builder.if_then(builder.icmp_signed("!=", jumped, ir.Constant(number, 0))):
            builder.ret(ir.Constant(word, -1))
        kind = ir.FunctionType(number, [word] * 4)
        made = builder.call(builder.inttoptr(called, kind.as_pointer()), arguments)
        builder.ret(builder.zext(made, word))
        return function

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function = builder.module.globals.get(_CALL) or define(builder.module)
        return builder.call(function, values)

    def call(typing_context, mark, address, first, second, third, fourth):  # type: ignore[no-untyped-def]
        return integer(*[integer] * 6), generate

    return call


def leaving_handler() -> int:
    """The address of a C function that leaves the guarded call; for kernels only.

    Its first argument must point right behind the mark of that call.
    """
    raise NotImplementedError


@register_intrinsic(leaving_handler)
def _leaving_handler_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `leaving_handler`."""
    ir, _ = numba_adapter.llvm()
    number, address = ir.IntType(32), ir.IntType(8).as_pointer()

    def fill(module: Any, function: Any) -> None:
        jump = ir.Function(module, ir.FunctionType(ir.VoidType(), [address, number]), "longjmp")
        jump.attributes.add("noreturn")
        builder = ir.IRBuilder(function.append_basic_block())
        mark = builder.gep(function.args[0], [ir.Constant(number, -MARK_BYTES)])
        builder.call(jump, [mark, ir.Constant(number, 1)])
        builder.unreachable()

    return _handler(numba, _LEAVE, fill)


def silent_handler() -> int:
    """The address of a C function that does nothing, whatever it is given; for kernels only."""
    raise NotImplementedError


@register_intrinsic(silent_handler)
def _silent_handler_in_kernels(numba: Any) -> Callable[..., Any]:
    """What Numba compiles for `silent_handler`."""
    ir, _ = numba_adapter.llvm()

    def fill(module: Any, function: Any) -> None:
        ir.IRBuilder(function.append_basic_block()).ret_void()

    return _handler(numba, _SILENT, fill)


def _handler(numba: Any, name: str, fill: Callable[[Any, Any], None]) -> Callable[..., Any]:
    """The address of a C function of one pointer, in each module that asks for it."""
    ir, _ = numba_adapter.llvm()
    word, address = ir.IntType(64), ir.IntType(8).as_pointer()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        module = builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(ir.VoidType(), [address]), name)
            function.linkage = "internal"
            fill(module, function)
        return builder.ptrtoint(function, word)

    def call(typing_context):  # type: ignore[no-untyped-def]
        return numba.types.int64(), generate

    return call
