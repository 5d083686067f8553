"""Values of arguments, as the file format holds them."""

from __future__ import annotations

from typing import Any

from gradiva.eager.operators.arguments import Argument
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, wrong_value
from gradiva.eager.types.dtypes import DType, bfloat16

from .names import element_type, to_single


def add_argument(made: Any, name: str, value: Any, argument: Argument | None) -> None:
    """Add an Argument to an OpDef. Raises OperatorTypeError or OperatorValueError."""
    try:
        kind = element_type(argument, value)
        if not isinstance(value, list | tuple):
            stored = made.args.add(name=name, type=kind, is_vector=False)
            _add_value(stored, kind, value)
            return
        stored = made.args.add(name=name, type=kind, is_vector=True)
        for index, item in enumerate(value):
            element = stored.extra_args.add(name=f"element {index}", type=kind, is_vector=False)
            _add_value(element, kind, item)
    except OverflowError as error:
        raise OperatorValueError(str(error), argument=name) from None
    except UnicodeEncodeError:
        raise wrong_value(name, "a text that UTF-8 can write", repr(value)) from None
    except TypeError as error:
        raise OperatorTypeError(str(error), argument=name) from None
    except ValueError:
        raise wrong_value(
            name,
            "64-bit integers, float32 numbers, booleans, text or dtypes but bfloat16",
            repr(value),
            "a value that the format has no place for",
        ) from None


def _add_value(stored: Any, kind: str, value: Any) -> None:
    if value is bfloat16:
        raise ValueError
    if kind == "int64":
        stored.ints.append(value.id if isinstance(value, DType) else int(value))
    elif kind == "float":
        stored.floats.append(to_single(value))
    elif kind == "bool":
        stored.bools.append(bool(value))
    else:
        stored.strings.append(value)
