"""`gradiva.convert.huggingface`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradiva.convert.core.calls import Name, call
from gradiva.convert.core.converted import Converted, converted
from gradiva.convert.core.writer import NoCounterpartError, Writer, check_fallback
from gradiva.eager.support.errors import GradivaError, OperatorTypeError, describe, user_location

from .configuration import OPERATOR, Configuration, read
from .original import Original
from .processors import PROCESSORS
from .steps import write

__all__ = ["huggingface"]


def huggingface(
    processor: Any,
    *,
    backend: str | None = None,
    decode: bool = False,
    fallback: str | None = None,
    ignore: Sequence[str] = (),
) -> Converted:
    """Convert an image processor of Hugging Face's transformers.

    The result is a function of batches with the bits of the processor. Nothing is downloaded, and
    transformers is needed for reports and for `fallback` alone.

    Args:
        processor: an image processor, or one of several kinds of data that has one; or its
            configuration: a dictionary, the path of `preprocessor_config.json` or
            `processor_config.json`, or that of a folder with one of them.
        backend: whose arithmetic resizes and normalizes: "pil", as of the processors that are
            called slow, or "torchvision", as of the fast ones. By default that of the processor;
            for a configuration "torchvision" if its class ends in Fast, else "pil".
        decode: take encoded files, and decode them first.
        fallback: "python" runs a processor without counterpart in `python_function`; by default
            such a processor is an error.
        ignore: settings that are not known here, and that change no pixels.

    Returns:
        The function: of images (H, W, 3), uint8, RGB, to `pixel_values`, (3, H, W), float32; with
        "pixel_mask", int64, for processors of the family of DETR, which pad; for those of Qwen2-VL
        the patches and `image_grid_thw`, as `gradiva.patches` returns them.

    Raises:
        OperatorTypeError: for processors that have no counterpart, and for what is no processor.
        OperatorValueError: for settings that are not usable or not known, and for files that
            cannot be read.

    Example:
        settings = {"image_processor_type": "ViTImageProcessor", "size": 224, "resample": 2}
        prepare = gradiva.convert.huggingface(settings)
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        prepare(images).shape  # [(3, 224, 224), (3, 224, 224)]
    """
    check_fallback(fallback, OPERATOR)
    configuration = read(processor, backend)
    original = Original(configuration)
    supported = f"one of {', '.join(PROCESSORS)}"
    writer = Writer(OPERATOR, fallback, supported)
    try:
        if configuration.known is None:
            raise NoCounterpartError(f"gradiva has no steps for {configuration.name}")
        if configuration.backend == "pil" and not configuration.known.slow:
            raise NoCounterpartError("it has no backend that uses Pillow")
        settings = _settings(configuration, ignore, fallback)
        write(writer, configuration.known.family, settings, original)
    except NoCounterpartError as reason:
        if fallback is None:
            raise _refused(configuration, str(reason), supported) from None
        writer = Writer(OPERATOR, fallback, supported)
        _in_python(writer, configuration, original, str(reason))
    name = f"{configuration.name} ({configuration.backend})"
    return converted(name, writer, original.comparison(writer.outputs), decode)


def _settings(
    configuration: Configuration, ignore: Sequence[str], fallback: str | None
) -> dict[str, Any]:
    """The settings; those that are refused are a reason to run the processor itself."""
    try:
        return configuration.settings(ignore)
    except GradivaError as error:
        if fallback is None:
            raise
        raise NoCounterpartError(str(error)) from None


def _refused(configuration: Configuration, reason: str, supported: str) -> OperatorTypeError:
    return OperatorTypeError(
        f"{configuration.name} has no counterpart: {reason} "
        '(fallback="python" runs it in python_function, which is slow)',
        operator=OPERATOR,
        argument="processor",
        expected=supported,
        got=describe(configuration.name),
        location=user_location(),
    )


def _in_python(
    writer: Writer, configuration: Configuration, original: Original, reason: str
) -> None:
    """The processor itself as the only step."""
    names, per_image = original.probe()
    function = original.function(names, per_image)
    line = call(
        "gradiva.python_function",
        "images",
        function=Name("processor"),
        num_outputs=len(names),
        batch_processing=True,
    )
    writer.step(
        f"{configuration.name} itself",
        f"{', '.join(names)} = {line}",
        outputs=names,
        layout="",
        note=reason,
        python=True,
        objects={"processor": function},
    )
