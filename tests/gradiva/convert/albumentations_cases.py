"""Transforms of Albumentations for the tests beside this file; needs Albumentations."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

A: Any = pytest.importorskip("albumentations", reason="Albumentations is absent")
pytest.importorskip("torch", reason="torch is absent")
ToTensorV2: Any = pytest.importorskip("albumentations.pytorch").ToTensorV2

__all__ = ["exact", "random", "values_in"]


def exact() -> list[Any]:
    """Transforms that draw nothing, of all kinds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_sizes(), *_windows(), *_turns(), *_colors(), *_filters(), *_dtypes()]


def _sizes() -> list[Any]:
    return [
        *(A.Resize(64, 80, interpolation=filter) for filter in (0, 1, 3, 6)),
        *(A.Resize(160, 70, interpolation=filter) for filter in (2, 4, 5)),
        A.Resize(64, 80, area_for_downscale="image"),
        A.SmallestMaxSize(100),
        A.SmallestMaxSize(max_size_hw=(90, 130)),
        A.LongestMaxSize(101),
        A.LongestMaxSize(max_size_hw=(90, None)),
        A.RandomScale((0.3, 0.3), p=1),
        A.RandomScale((-0.3, -0.3), area_for_downscale="image", p=1),
    ]


def _windows() -> list[Any]:
    return [
        A.CenterCrop(32, 41),
        A.CenterCrop(300, 40, pad_if_needed=True),
        A.CenterCrop(300, 40, pad_if_needed=True, border_mode=4, pad_position="top_right"),
        A.Crop(3, 5, 30, 40),
        A.Crop(3, 5, 300, 400, pad_if_needed=True, fill=7, pad_position="bottom_left"),
        A.Pad(5),
        A.Pad((3, 4), fill=9),
        A.Pad((3, 4, 5, 6), border_mode=2),
        A.PadIfNeeded(300, 310, fill=(1, 2, 3)),
        A.PadIfNeeded(300, 310, border_mode=1, position="bottom_left"),
        A.PadIfNeeded(None, None, 32, 48, border_mode=3),
        A.HorizontalFlip(p=1),
        A.VerticalFlip(p=1),
        A.Transpose(p=1),
    ]


def _turns() -> list[Any]:
    rotations = (
        (30, 1, 0, 0, False),
        (-75.3, 2, 4, 0, False),
        (45, 0, 1, 0, True),
        (91, 1, 0, 17, True),
        (200.5, 4, 0, (9, 8, 7), False),
        (0, 1, 0, 0, False),
        (10, 3, 2, 0, True),
    )
    uneven = {"x": (0.8, 0.8), "y": (1.1, 1.1)}
    shear = {"x": (5, 5), "y": (-7, -7)}
    part = {"rotate": (20, 20), "shear": (5, 5), "translate_px": (7, 7)}
    moved = {"rotate": (-20, -20), "shear": shear, "translate_percent": (0.1, 0.1)}
    return [
        *(
            A.Rotate((d, d), interpolation=i, border_mode=b, fill=f, crop_border=c, p=1)
            for d, i, b, f, c in rotations
        ),
        A.SafeRotate((33, 33), p=1),
        A.SafeRotate((-70, -70), border_mode=4, fill=3, p=1),
        A.Affine(scale=(1.2, 1.2), p=1, **part),
        A.Affine(scale=uneven, fit_output=True, fill=4, p=1, **moved),
        A.Affine(scale=0.7, interpolation=2, border_mode=4, p=1),
        A.ShiftScaleRotate((0.05, 0.05), (0.2, 0.2), (30, 30), p=1),
    ]


def _colors() -> list[Any]:
    def shift(*steps: float) -> Any:
        return A.HueSaturationValue(*((one, one) for one in steps), p=1)

    def contrast(brightness: float, contrast: float, **more: Any) -> Any:
        limits = (brightness, brightness), (contrast, contrast)
        return A.RandomBrightnessContrast(*limits, p=1, **more)

    methods = ("weighted_average", "from_lab", "desaturation", "average", "max")
    return [
        A.InvertImg(p=1),
        A.ToSepia(p=1),
        *(A.ToGray(method=method, p=1) for method in methods),
        *(A.ToGray(1, method=method, p=1) for method in methods),
        contrast(0.15, -0.3),
        contrast(-0.45, 0.6, brightness_by_max=False),
        contrast(0.3, 0.6, ensure_safe_range=True),
        contrast(-0.3, -1.0),
        A.RandomGamma((75, 75), p=1),
        A.RandomGamma((140, 140), p=1),
        shift(13.3, -20.7, 15.2),
        shift(-13.3, 20.7, -15.2),
        shift(0, 0, -15.2),
        A.RGBShift((10, 10), (-20, -20), (3.7, 3.7), p=1),
        A.Posterize((3, 3), p=1),
        A.Posterize([(1, 1), (4, 4), (6, 6)], p=1),
        A.Solarize((0.37, 0.37), p=1),
        A.Equalize(p=1),
        A.Equalize(mode="pil", p=1),
        A.Equalize(by_channels=False, p=1),
        A.CLAHE((3, 3), (6, 5), p=1),
        A.CLAHE((1.5, 1.5), p=1),
    ]


def _filters() -> list[Any]:
    return [
        A.Sharpen((0.3, 0.3), (0.7, 0.7), p=1),
        A.Sharpen((0.3, 0.3), method="gaussian", p=1),
        A.Emboss((0.3, 0.3), (0.7, 0.7), p=1),
        A.UnsharpMask((5, 5), (1.1, 1.1), (0.3, 0.3), p=1),
        A.UnsharpMask((3, 3), 0.0, (0.3, 0.3), p=1),
        A.Blur((5, 5), p=1),
        A.MedianBlur((3, 3), p=1),
        A.MedianBlur((7, 7), p=1),
        A.GaussianBlur((0, 0), (1.3, 1.3), p=1),
        A.GaussianBlur((5, 5), (2.3, 2.3), p=1),
        A.Defocus((4, 4), (0.3, 0.3), p=1),
        A.Defocus((9, 9), (0.3, 0.3), p=1),
        A.ImageCompression("jpeg", (40, 40), p=1),
        A.ImageCompression("webp", (40, 40), p=1),
        A.Downscale((0.3, 0.3), p=1),
        A.Downscale((0.3, 0.3), interpolation_pair={"upscale": 1, "downscale": 3}, p=1),
    ]


def _dtypes() -> list[Any]:
    kinds = ("image", "image_per_channel", "min_max", "min_max_per_channel")
    unit = A.Normalize(max_pixel_value=1.0)
    return [
        A.Normalize(),
        A.Normalize(mean=0.5, std=0.25),
        A.Normalize(mean=(0, 0, 0), std=(1, 1, 1), max_pixel_value=1.0),
        A.Normalize(mean=(0.1, 0.2, 0.3), std=(0.5, 0.26, 0.7), max_pixel_value=200),
        *(A.Normalize(normalization=kind) for kind in kinds),
        A.ToFloat(),
        A.ToFloat(max_value=100.0),
        ToTensorV2(),
        A.Compose([A.ToFloat(), A.FromFloat("uint8")]),
        A.Compose([A.ToFloat(), A.FromFloat("uint16")]),
        A.Compose([A.ToFloat(), unit]),
        A.Compose([A.ToFloat(), unit, ToTensorV2()]),
        A.Compose([A.Normalize(), ToTensorV2()]),
        A.Compose([A.ToGray(1, p=1), ToTensorV2()]),
        *(A.Compose([A.ToFloat(), A.Normalize(normalization=kind)]) for kind in kinds),
    ]


def random() -> list[Any]:
    """Transforms that draw, of all kinds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            A.Affine(scale=(0.7, 1.3), rotate=(-30, 30), shear=(-10, 10), p=1),
            A.Affine(translate_px=(-5, 5), scale=(0.5, 1.5), balanced_scale=True, p=1),
            A.Affine(translate_percent=(-0.2, 0.2), scale=(0.5, 1.5), keep_ratio=True, p=1),
            A.ShiftScaleRotate(p=1),
            A.Rotate(p=0.7),
            A.SafeRotate(p=1),
            A.Perspective(p=1),
            A.Perspective((0.02, 0.1), fit_output=True, keep_size=False, p=1),
            A.RandomCrop(20, 30),
            A.RandomCrop(50, 30, pad_if_needed=True, pad_position="random"),
            A.RandomSizedCrop((10, 30), (24, 32), w2h_ratio=1.2),
            A.RandomResizedCrop((24, 32)),
            A.RandomResizedCrop((24, 32), scale=(0.9, 1.0), ratio=(0.4, 0.5)),
            A.RandomScale((-0.3, 0.3), p=1),
            A.SmallestMaxSize([20, 30, 40]),
            A.PadIfNeeded(50, 60, position="random"),
            A.RandomRotate90(p=0.8),
            A.D4(p=0.9),
            A.HorizontalFlip(p=0.3),
            A.ColorJitter(p=1),
            A.RandomBrightnessContrast(p=0.8),
            A.HueSaturationValue(p=1),
            A.RGBShift(p=1),
            A.RandomGamma(p=1),
            A.CLAHE(p=1),
            A.Posterize((2, 6), p=1),
            A.Solarize((0.2, 0.9), p=1),
            A.Sharpen(p=1),
            A.Emboss(p=1),
            A.UnsharpMask(p=1),
            A.Blur(p=1),
            A.MedianBlur(p=1),
            A.GaussianBlur(p=1),
            A.GaussianBlur((3, 8), p=1),
            A.MotionBlur(p=1),
            A.MotionBlur((3, 9), allow_shifted=False, angle_range=(0, 90), p=1),
            A.Defocus(p=1),
            A.ChannelShuffle(p=1),
            A.ChannelDropout((1, 2), fill=7, p=1),
            A.GaussNoise(p=1),
            A.GaussNoise((0.1, 0.3), (-0.1, 0.2), per_channel=False, noise_scale_factor=0.5, p=1),
            A.ISONoise(p=1),
            A.SaltAndPepper((0.05, 0.3), (0.2, 0.8), p=1),
            A.MultiplicativeNoise((0.5, 1.5), per_channel=True, p=1),
            A.MultiplicativeNoise((0.5, 1.5), elementwise=True, p=1),
            A.ImageCompression(quality_range=(5, 60), p=1),
            A.Downscale((0.2, 0.8), p=1),
            A.CoarseDropout(p=1),
            A.CoarseDropout((1, 4), (2, 9), (3, 12), fill="random", p=1),
            A.GridDropout(p=1),
            A.GridDropout(0.4, unit_size_range=(6, 12), fill="random_uniform", p=1),
            A.GridDropout(0.3, holes_number_xy=(3, 4), p=1),
            A.Erasing(p=1),
            A.Erasing((0.1, 0.3), (0.5, 2.0), fill=(1, 2, 3), p=1),
        ]


def values_in(given: Any) -> Any:
    """What Albumentations returns, as gradiva has it: float32 in place of float64."""
    found = np.asarray(given)
    return found.astype(np.float32) if found.dtype == np.float64 else found
