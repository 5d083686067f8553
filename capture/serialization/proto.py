"""The messages of the file format, made when they are first needed, and their strict parsing."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.lazy_import import lazy_module

__all__ = ["pack", "parse", "pipeline_message"]

descriptor_pb2 = lazy_module("google.protobuf.descriptor_pb2", "protobuf")
descriptor_pool = lazy_module("google.protobuf.descriptor_pool", "protobuf")
message_factory = lazy_module("google.protobuf.message_factory", "protobuf")
protobuf = lazy_module("google.protobuf.message", "protobuf")
unknown_fields = lazy_module("google.protobuf.unknown_fields", "protobuf")

_PACKAGE = "dali_proto"
_FLOAT, _INT64, _INT32, _BOOL, _STRING, _MESSAGE = 2, 3, 5, 8, 9, 11
_TYPES = {"float": _FLOAT, "int64": _INT64, "int32": _INT32, "bool": _BOOL, "string": _STRING}
_OPTIONAL, _REQUIRED, _REPEATED = 1, 2, 3

# A message: (field, number, type, how often; for optional ones the default, if it has one).
_MESSAGES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "Argument": (
        ("name", 1, "string", _OPTIONAL),
        ("type", 2, "string", _OPTIONAL),
        ("floats", 3, "float", _REPEATED),
        ("ints", 4, "int64", _REPEATED),
        ("strings", 5, "string", _REPEATED),
        ("bools", 6, "bool", _REPEATED),
        ("extra_args", 7, "Argument", _REPEATED),
        ("is_vector", 8, "bool", _REQUIRED),
    ),
    "InputOutput": (
        ("name", 1, "string", _OPTIONAL),
        ("device", 2, "string", _OPTIONAL),
        ("is_argument_input", 3, "bool", _OPTIONAL),
        ("arg_name", 4, "string", _OPTIONAL),
        ("dtype", 5, "int32", _OPTIONAL, "-1"),
        ("ndim", 6, "int32", _OPTIONAL, "-1"),
        ("layout", 7, "string", _OPTIONAL),
    ),
    "OpDef": (
        ("name", 1, "string", _OPTIONAL),
        ("input", 2, "InputOutput", _REPEATED),
        ("output", 3, "InputOutput", _REPEATED),
        ("args", 4, "Argument", _REPEATED),
        ("inst_name", 5, "string", _OPTIONAL),
        ("logical_id", 6, "int32", _OPTIONAL, "-1"),
    ),
    "PipelineDef": (
        ("num_threads", 1, "int64", _OPTIONAL, "4"),
        ("batch_size", 2, "int32", _REQUIRED),
        ("unused_3", 3, "bool", _OPTIONAL),
        ("unused_4", 4, "bool", _OPTIONAL),
        ("op", 5, "OpDef", _REPEATED),
        ("external_inputs", 6, "string", _REPEATED),
        ("pipe_outputs", 7, "InputOutput", _REPEATED),
        ("device_id", 8, "int32", _OPTIONAL, "0"),
        ("seed", 9, "int64", _OPTIONAL, "-1"),
        ("enable_checkpointing", 10, "bool", _OPTIONAL, "false"),
        ("executor_type", 11, "int32", _OPTIONAL, "0"),
        ("executor_flags", 12, "int64", _OPTIONAL, "0"),
        ("prefetch_queue_depth_cpu", 13, "int32", _OPTIONAL, "2"),
        ("prefetch_queue_depth_gpu", 14, "int32", _OPTIONAL, "2"),
        ("bytes_per_sample_hint", 15, "int64", _OPTIONAL, "0"),
    ),
}


@functools.cache
def _pipeline_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="gradiva_pipeline.proto", package=_PACKAGE, syntax="proto2"
    )
    for title, fields in _MESSAGES.items():
        message = file.message_type.add(name=title)
        for name, number, kind, label, *default in fields:
            field = message.field.add(name=name, number=number, label=label)
            field.type = _TYPES.get(kind, _MESSAGE)
            if kind not in _TYPES:
                field.type_name = f".{_PACKAGE}.{kind}"
            if default:
                field.default_value = default[0]
    # A pool of our own: DALI may have put the same names into the default one.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.PipelineDef"))


def pipeline_message() -> Any:
    """An empty PipelineDef."""
    return _pipeline_class()()


def pack(message: Any) -> bytes:
    """The bytes of a PipelineDef. Raises OperatorValueError for more than 2 GiB."""
    try:
        data: bytes = message.SerializeToString(deterministic=True)
    except (protobuf.EncodeError, ValueError) as error:
        raise OperatorValueError(f"the pipeline does not fit into a file: {error}") from None
    return data


def parse(data: bytes) -> Any:
    """A PipelineDef from its bytes. Raises OperatorValueError for what is none."""
    message = pipeline_message()
    try:
        message.MergeFromString(data)
    except protobuf.DecodeError as error:
        raise OperatorValueError(
            f"the data is no stored pipeline, or is cut or damaged ({error})"
        ) from None
    missing = message.FindInitializationErrors()
    if missing:
        raise OperatorValueError(
            f"the stored pipeline lacks the field `{missing[0]}`, which is required"
        )
    try:
        _check_parts(message)
    except UnicodeDecodeError as error:
        raise OperatorValueError(f"the stored pipeline holds a damaged text: {error}") from None
    return message


def _check_parts(message: Any) -> None:
    for part in _all_parts(message):
        known = part.DESCRIPTOR.fields_by_number
        for unknown in unknown_fields.UnknownFieldSet(part):
            # Fields of later versions may be there; a known one ends here by its wire type.
            if unknown.field_number in known:
                name = known[unknown.field_number].name
                raise OperatorValueError(
                    f"the field `{name}` of a {part.DESCRIPTOR.name} is stored as another type "
                    "than the format says"
                )


def _all_parts(message: Any) -> Iterator[Any]:
    """A message and those inside it. Their depth was limited when they were parsed."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        yield part
        for field, value in part.ListFields():
            if field.message_type is not None:
                waiting.extend(value)
            elif field.type == _STRING:
                # Text that is no UTF-8 comes as bytes, or raises.
                texts = [value] if isinstance(value, str | bytes) else value
                if any(isinstance(text, bytes) for text in texts):
                    raise OperatorValueError(
                        f"the field `{field.name}` of a {part.DESCRIPTOR.name} holds a damaged text"
                    )
