"""The image processors that can be converted, and their settings where a configuration has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MODELS", "PROCESSORS", "Processor", "base_name"]

_HALF = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_OPENAI = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_LANCZOS, _BILINEAR, _BICUBIC = 1, 2, 3
"""Pillow's numbers, which configurations have, too."""


@dataclass(frozen=True)
class Processor:
    """An image processor of transformers.

    name: of its class, without "Fast" or "Pil". family: which steps it has. models: the
    `model_type` of the models whose processor it is, for folders whose configuration names none.
    settings: those of the class. labels: settings that concern segmentation maps or annotations,
    and no pixels. lacks: settings that transformers ignores for this class. slow: whether there is
    one that uses Pillow.
    """

    name: str
    family: str
    models: tuple[str, ...]
    settings: Mapping[str, Any]
    labels: frozenset[str] = field(default=frozenset())
    lacks: frozenset[str] = field(default=frozenset())
    slow: bool = True


_ALL: Mapping[str, Any] = {
    "do_resize": True,
    "do_center_crop": False,
    "crop_size": None,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "do_convert_rgb": None,
    "do_pad": False,
    "pad_size": None,
    "default_to_square": True,
}
_SEGMENTATION = frozenset({"do_reduce_labels", "reduce_labels", "ignore_index"})
_ANNOTATIONS = frozenset({"format", "do_convert_annotations"})


def _plain(
    name: str,
    models: str,
    size: Any,
    resample: int,
    numbers: Any,
    crop: int | None = None,
    family: str = "plain",
    labels: frozenset[str] = frozenset(),
    lacks: frozenset[str] = frozenset(),
    slow: bool = True,
    **more: Any,
) -> Processor:
    """A processor that resizes, crops the middle where `crop` is given, rescales and normalizes.

    size: a number for a square, (h, w), or a dictionary as in configurations. numbers: the mean and
    the deviation.
    """
    settings = dict(_ALL)
    if isinstance(size, int):
        size = (size, size)
    if isinstance(size, tuple):
        size = {"height": size[0], "width": size[1]}
    if crop is not None:
        settings |= {"do_center_crop": True, "crop_size": {"height": crop, "width": crop}}
    settings |= {"size": size, "resample": resample}
    settings |= {"image_mean": numbers[0], "image_std": numbers[1], **more}
    return Processor(
        f"{name}ImageProcessor", family, tuple(models.split()), settings, labels, lacks, slow
    )


def _shortest(pixels: int) -> dict[str, int]:
    return {"shortest_edge": pixels}


def _detr(name: str, models: str, size: Any = None, **more: Any) -> Processor:
    """A processor that pads to the largest image of the batch, and makes a mask."""
    given = {"shortest_edge": 800, "longest_edge": 1333} if size is None else size
    more = {"do_pad": True, "default_to_square": False, **more}
    return _plain(
        name, models, given, _BILINEAR, _IMAGENET, family="detr", labels=_ANNOTATIONS, **more
    )


_SHORT: Mapping[str, Any] = {"default_to_square": False}
_LIST = (
    _plain(
        "ViT",
        "vit clipseg dinat ijepa mgp-str swiftformer swin swinv2 trocr vit_mae vit_msn",
        224,
        _BILINEAR,
        _HALF,
    ),
    _plain(
        "CLIP",
        "clip aimv2 aimv2_vision_model altclip florence2 git groupvit kosmos-2 metaclip_2 mlcd "
        "vipllava xclip",
        _shortest(224),
        _BICUBIC,
        _OPENAI,
        224,
        **_SHORT,
    ),
    _plain("Siglip", "siglip colpali gemma3n paligemma", 224, _BICUBIC, _HALF, **_SHORT),
    _plain(
        "Bit",
        "bit dinov2 dinov2_with_registers focalnet hiera pixio",
        _shortest(224),
        _BICUBIC,
        _OPENAI,
        224,
        **_SHORT,
    ),
    _plain("Blip", "blip blip-2 instructblip", 384, _BICUBIC, _OPENAI),
    _plain("ChineseCLIP", "chinese_clip", _shortest(224), _BICUBIC, _OPENAI, 224, **_SHORT),
    _plain("DeiT", "deit", 256, _BICUBIC, _HALF, 224),
    _plain("Pvt", "pvt pvt_v2", 224, _BICUBIC, _IMAGENET),
    _plain("OwlViT", "owlvit", 768, _BICUBIC, _OPENAI, 768, do_center_crop=False),
    _plain(
        "Chameleon",
        "chameleon",
        _shortest(512),
        _LANCZOS,
        ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        512,
        rescale_factor=0.0078,
        **_SHORT,
    ),
    _plain("Llava", "llava", _shortest(224), _BICUBIC, _OPENAI, 224, family="llava", **_SHORT),
    _plain(
        "PI0",
        "pi0",
        {"max_height": 224, "max_width": 224},
        _BICUBIC,
        _HALF,
        slow=False,
        do_pad=True,
        pad_size={"height": 224, "width": 224},
        **_SHORT,
    ),
    _plain("MobileNetV1", "mobilenet_v1", _shortest(256), _BILINEAR, _HALF, 224, **_SHORT),
    _plain(
        "MobileNetV2",
        "mobilenet_v2",
        _shortest(256),
        _BILINEAR,
        _HALF,
        224,
        labels=_SEGMENTATION,
        lacks=frozenset({"do_pad"}),
        **_SHORT,
    ),
    _plain(
        "Beit",
        "beit data2vec-vision",
        224,
        _BICUBIC,
        _HALF,
        224,
        labels=_SEGMENTATION,
        lacks=frozenset({"do_pad"}),
        do_center_crop=False,
    ),
    _plain(
        "Segformer",
        "segformer upernet",
        512,
        _BILINEAR,
        _IMAGENET,
        labels=_SEGMENTATION,
        lacks=frozenset({"do_center_crop", "do_pad"}),
    ),
    _plain(
        "ConvNext",
        "convnext convnextv2 cvt regnet resnet",
        _shortest(384),
        _BICUBIC,
        _HALF,
        family="convnext",
        crop_pct=224 / 256,
        lacks=frozenset({"do_pad"}),
        **_SHORT,
    ),
    _plain(
        "DINOv3ViT",
        "dinov3_vit",
        224,
        _BILINEAR,
        _IMAGENET,
        family="dinov3",
        lacks=frozenset({"do_pad"}),
        slow=False,
    ),
    _detr("Detr", "detr omdet-turbo table-transformer"),
    _detr("ConditionalDetr", "conditional_detr"),
    _detr("DeformableDetr", "deformable_detr lw_detr"),
    _detr("GroundingDino", "grounding-dino mm-grounding-dino"),
    _detr("RTDetr", "rt_detr deimv2", (640, 640), do_normalize=False, do_pad=False),
    _plain(
        "Qwen2VL",
        "qwen2_vl colqwen2 qwen2_5_omni qwen2_5_vl qwen3_5 qwen3_5_moe qwen3_omni_moe qwen3_vl "
        "qwen3_vl_moe",
        {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280},
        _BICUBIC,
        _OPENAI,
        family="qwen2_vl",
        patch_size=14,
        temporal_patch_size=2,
        merge_size=2,
        lacks=frozenset({"do_center_crop", "do_pad"}),
        **_SHORT,
    ),
)
PROCESSORS: Mapping[str, Processor] = {one.name: one for one in _LIST}
"""By name."""
MODELS: Mapping[str, str] = {model: one.name for one in _LIST for model in one.models}
"""The processor of a model, by its `model_type`."""
_ENDINGS = {"Fast": "torchvision", "Pil": "pil"}


def base_name(name: str) -> tuple[str, str | None]:
    """The name of a processor without its ending, and the backend that the ending says."""
    if name.endswith("FeatureExtractor"):
        name = f"{name.removesuffix('FeatureExtractor')}ImageProcessor"
    for ending, backend in _ENDINGS.items():
        if name.endswith(f"ImageProcessor{ending}"):
            return name.removesuffix(ending), backend
    return name, None
