"""Which test draws the arguments of each operator, and why some have none.

`tests/eager/operators/test_drawn_operators.py` holds this list against the registry, so that a new
operator cannot go without. Operators in the tables of `lines.py` and `test_drawn_random.py` need no
line here.
"""

from __future__ import annotations

__all__ = ["ELSEWHERE", "WITHOUT"]

ARITHMETIC = (
    "abs add bitand bitnot bitor bitxor div eq fdiv geq gt leq lt minus mod mul neq plus pow shl "
    "shr sub"
)
MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil clamp cos cosh exp fabs floor fpow log log10 "
    "log2 max min rsqrt sin sinh sqrt tan tanh"
)
REDUCTIONS = "max mean mean_square min rms std_dev sum variance"
SOUNDS = (
    "audio_resample mel_filter_bank mfcc nonsilent_region power_spectrum preemphasis_filter "
    "spectrogram to_decibels"
)

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(ARITHMETIC.split(), "oracle/test_arithmetic.py::test_drawn"),
    **{f"math.{name}": "oracle/test_math.py::test_drawn" for name in MATH.split()},
    **{
        f"reductions.{name}": "oracle/test_reductions.py::test_random_axes"
        for name in REDUCTIONS.split()
    },
    **{name: f"oracle/test_audio.py::test_{name}" for name in SOUNDS.split()},
    "batch_permutation": "oracle/test_drawn_random.py::test_permutations",
    "bb_flip": "oracle/test_boxes.py::test_bb_flip",
    "bbox_paste": "oracle/test_boxes.py::test_bbox_paste",
    "bbox_rotate": "oracle/test_boxes.py::test_bbox_rotate",
    "box_encoder": "oracle/test_boxes.py::test_box_encoder",
    "brightness_contrast": "oracle/test_brightness_contrast.py::test_pictures",
    "cast": "oracle/test_cast.py::test_any_float",
    "cat": "oracle/test_join.py::test_any_shapes",
    "clahe": "oracle/test_tables.py::test_clahe_numbers",
    "color_twist": "oracle/test_color.py::test_color_twist",
    "coord_transform": "oracle/test_transforms.py::test_points",
    "crop": "oracle/test_crop.py::test_pictures",
    "crop_mirror_normalize": "oracle/test_crop_mirror_normalize.py::test_pictures",
    "decoders.audio": "oracle/test_decoders_audio.py::test_drawn",
    "element_extract": "oracle/test_frames.py::test_any_order",
    "erase": "oracle/test_erase.py::test_pictures",
    "filter": "oracle/test_filter.py::test_pictures",
    "full": "oracle/test_fill.py::test_any_full",
    "full_like": "oracle/test_fill.py::test_any_full",
    "gaussian_blur": "oracle/test_gaussian_blur.py::test_pictures",
    "grid_mask": "oracle/test_grid_mask.py::test_pictures",
    "laplacian": "oracle/test_laplacian.py::test_pictures",
    "normalize": "oracle/test_normalize.py::test_random_axes",
    "one_hot": "oracle/test_fill.py::test_any_one_hot",
    "ones": "oracle/test_fill.py::test_any_constant",
    "pad": "oracle/test_pad.py::test_pictures",
    "paste": "oracle/test_paste.py::test_paste_pictures",
    "permute_batch": "oracle/test_frames.py::test_any_order",
    "random.choice": "oracle/test_drawn_random.py::test_choice",
    "random_bbox_crop": "oracle/test_boxes.py::test_windows_keep_their_promises",
    "readers.file": "oracle/test_readers_file.py::test_drawn",
    "reinterpret": "oracle/test_reshape.py::test_any_dtypes",
    "reshape": "oracle/test_reshape.py::test_any_shape",
    "resize": "oracle/test_resize.py::test_sizes",
    "resize_crop_mirror": "oracle/test_resize_crop_mirror.py::test_pictures",
    "rotate": "oracle/test_rotate.py::test_drawn",
    "sequence_rearrange": "oracle/test_frames.py::test_any_order",
    "slice": "oracle/test_slice.py::test_pictures",
    "stack": "oracle/test_join.py::test_any_shapes",
    "subscript": "oracle/test_subscript.py::test_drawn",
    "tensor_resize": "oracle/test_tensor_resize.py::test_pictures",
    "warp_affine": "oracle/test_warp_affine.py::test_drawn",
    "water": "oracle/test_displace.py::test_waves",
    "zeros": "oracle/test_fill.py::test_any_constant",
}
"""The operator's test with drawn arguments, by DALI."""

ON_A_GPU_ONLY = "the reference has it on a GPU only"
FILES_ARE_WRITTEN = "files of its format are written for every argument"
NOT_THERE = "the reference has no such reader"
NO_SUCH = "the reference has no such operator"
A_PART = "a part of compiled graphs or of pipelines, no operator of users"
WITHOUT: dict[str, tuple[str, str]] = {
    "experimental.dilate": (ON_A_GPU_ONLY, "ops/image/test_morphology.py::test_as_opencv"),
    "experimental.erode": (ON_A_GPU_ONLY, "ops/image/test_morphology.py::test_as_opencv"),
    "experimental.median_blur": (ON_A_GPU_ONLY, "ops/image/test_morphology.py::test_median"),
    "experimental.remap": (ON_A_GPU_ONLY, "ops/image/test_remap.py::test_like_opencv"),
    "decoders.inflate": (ON_A_GPU_ONLY, "ops/decoders/test_inflate.py::test_against_the_library"),
    "optical_flow": (ON_A_GPU_ONLY, "ops/video/test_optical_flow.py::test_distances"),
    **dict.fromkeys(
        ("readers.video", "readers.video_resize"),
        (ON_A_GPU_ONLY, "ops/readers/test_video.py::test_resized"),
    ),
    "decoders.video": (FILES_ARE_WRITTEN, "oracle/test_video.py::test_decoder"),
    "experimental.inputs.video": (FILES_ARE_WRITTEN, "oracle/test_video.py::test_input"),
    "experimental.readers.video": (FILES_ARE_WRITTEN, "oracle/test_video.py::test_drawn_readers"),
    "jitter": (ON_A_GPU_ONLY, "ops/image/test_remap.py::test_jitter_stays_near"),
    "experimental.readers.fits": (ON_A_GPU_ONLY, "ops/readers/test_fits.py::test_types"),
    **dict.fromkeys(
        ("readers.mxnet", "readers.sequence", "readers.tfrecord", "readers.webdataset"),
        (FILES_ARE_WRITTEN, "oracle/test_readers_formats.py::test_shards"),
    ),
    **dict.fromkeys(
        ("readers.caffe", "readers.caffe2"),
        (FILES_ARE_WRITTEN, "oracle/test_readers_caffe.py::test_records"),
    ),
    **dict.fromkeys(
        ("readers.csv", "readers.hdf5", "readers.jsonl", "readers.npz", "readers.parquet"),
        (NOT_THERE, "ops/readers/test_rows.py::test_values_of_json"),
    ),
    **dict.fromkeys(
        ("autocontrast", "gamma", "posterize", "sharpness", "solarize"),
        (NOT_THERE, "ops/image/test_compat_colors.py::test_bytes_of_torchvision"),
    ),
    **dict.fromkeys(
        ("affine", "perspective"),
        (NOT_THERE, "ops/image/test_compat_warps.py::test_affine_of_torchvision"),
    ),
    "readers.nemo_asr": (FILES_ARE_WRITTEN, "oracle/test_readers_formats.py::test_shards"),
    "readers.table": (NOT_THERE, "ops/readers/test_table.py::test_rows_in_our_order"),
    "readers.mix": (NOT_THERE, "ops/readers/test_mix.py::test_any_batch_size_place_and_shard"),
    "peek_audio": (NO_SUCH, "ops/decoders/test_audio.py::test_headers_are_replaced_or_left_out"),
    **{
        name: (NO_SUCH, f"ops/mixing/test_{file}.py::test_{test}")
        for name, file, test in (
            ("mixup", "mixup", "mixup"),
            ("cutmix", "mixup", "cutmix"),
            ("mosaic", "mosaic", "pixels"),
            ("copy_paste", "copy_paste", "every_object"),
        )
    },
    "random_erasing": (NO_SUCH, "ops/image/test_random_erasing.py::test_layouts"),
    "readers.coco": (FILES_ARE_WRITTEN, "oracle/test_readers_coco.py::test_arguments"),
    "readers.numpy": (FILES_ARE_WRITTEN, "oracle/test_readers_numpy.py::test_regions"),
    "io.file.read": ("its input is a path", "oracle/test_segmentation.py::test_files"),
    "constant": ("no arguments but the values", "oracle/test_python_function.py::test_fn_constant"),
    "dump_image": ("writes files", "oracle/test_python_function.py::test_dump_image"),
    "numba_function": (
        "its argument is a function",
        "ops/external_source/test_numba_function.py::test_scalars_and_single_tensors",
    ),
    "python_function": (
        "its argument is a function",
        "oracle/test_python_function.py::test_results",
    ),
    "external_source": (
        "its argument is a function",
        "oracle/test_python_function.py::test_results",
    ),
    "normalize_pixels": (
        f"{A_PART}: crop_mirror_normalize is it",
        "oracle/test_crop_mirror_normalize.py::test_pictures",
    ),
    **dict.fromkeys(
        ("brightness_of_tensors", "gray_of_tensors", "hue_of_tensors", "saturation_of_tensors"),
        (
            f"{A_PART}: the operators with `compat` are it",
            "ops/image/test_compat_colors.py::test_pixel_by_pixel_in_a_fused_group",
        ),
    ),
    "jitter_colors": (
        f"{A_PART}: torchvision's ColorJitter is it",
        "gradiva/torchvision/test_transforms.py::test_same_bits_in_all_modes",
    ),
    "normalize_by_numbers": (
        f"{A_PART}: normalize is it",
        "random_programs/test_everyday_drawn.py::test_what_people_write_runs_fused",
    ),
    "pad_channels": (
        f"{A_PART}: crop_mirror_normalize is it",
        "random_programs/test_everyday_drawn.py::test_what_people_write_runs_fused",
    ),
    "_conditional.boolean": (A_PART, "oracle/test_conditionals.py::test_forms"),
    "_conditional.merge": (A_PART, "oracle/test_conditionals.py::test_forms"),
    "_conditional.not_": (A_PART, "oracle/test_conditionals.py::test_forms"),
    "_conditional.split": (A_PART, "oracle/test_conditionals.py::test_forms"),
    "random_window": (
        f"{A_PART}: decoders.image_random_crop is it",
        "capture/caches/test_caches.py::test_windows_of_whole_images",
    ),
    **{
        f"targets.{name}": (A_PART, "ops/targets/test_painted.py::test_painted_points")
        for name in ("canvas", "chosen", "boxes", "keypoints", "masks", "polygons", "cameras")
    },
    "targets.frames": (A_PART, "ops/targets/test_frames.py::test_painted_points"),
    "targets.past": (A_PART, "ops/targets/test_bends.py::test_same_in_all_modes"),
    "targets.bent_points": (
        A_PART,
        "ops/targets/test_bends.py::test_points_come_from_where_they_were",
    ),
    "targets.bent_polygons": (
        A_PART,
        "ops/targets/test_bends.py::test_polygons_have_the_area_of_their_masks",
    ),
    "composed_warp": (
        A_PART,
        "ops/targets/test_composed_warps.py::test_within_a_bound_of_the_chain",
    ),
    "patches": ("DALI has none", "ops/image/test_patches.py::test_values"),
    "patch_blocks": (A_PART, "ops/image/test_patches.py::test_modes"),
    "patch_grid": (A_PART, "ops/image/test_patches.py::test_modes"),
    "patch_rows": (A_PART, "ops/image/test_patches.py::test_modes"),
    **dict.fromkeys(
        ("albumentations.draw", "albumentations.choose"),
        ("DALI has none", "gradiva/convert/test_albumentations_draws.py::test_arguments"),
    ),
    **dict.fromkeys(
        ("albumentations.pixels", "albumentations.geometry", "albumentations.recast"),
        ("DALI has none", "gradiva/convert/test_albumentations_exact.py::test_bytes"),
    ),
    "rescale_normalize": ("DALI has none", "ops/image/test_rescale_normalize.py::test_values"),
    "smart_resize": ("DALI has none", "ops/image/test_smart_resize.py::test_sizes"),
    "cache": ("it changes nothing", "capture/caches/test_digests.py::test_cold_and_warm"),
    "cached": (A_PART, "capture/caches/test_digests.py::test_cold_and_warm"),
    "scheduled": (A_PART, "capture/test_schedules.py::test_all_modes_give_the_same_bits"),
    "fused": (A_PART, "random_programs/test_programs.py::test_same_bits_and_errors"),
    "input": (A_PART, "random_programs/test_programs.py::test_same_bits_and_errors"),
    "random_key": (A_PART, "eager/random/test_rng.py::test_steps_of_a_loop"),
}
"""Why an operator is not drawn, and the test that checks it instead."""
