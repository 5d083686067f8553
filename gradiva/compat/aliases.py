"""Which old import path stands for which module: a table, without imports, because the build of a
wheel runs this file where gradiva is not installed."""

from __future__ import annotations

__all__ = ["ALIASES", "CLASS_PACKAGES"]

_DALI = "gradiva.compat.dali"
_OWN = (
    *("backend", "backend_impl", "data_node", "experimental", "external_source", "pickling"),
    *("pipeline", "plugin_manager", "sysconfig", "tensors", "tfrecord"),
)
ALIASES = {
    **{f"gradiva.{name}": f"{_DALI}.{name}" for name in _OWN},
    "gradiva.auto_aug.core.decorator": "gradiva.auto_aug.decorator",
    "gradiva.auto_aug.core.policy": "gradiva.auto_aug.policy",
    "gradiva.experimental.torchvision.functional": (
        f"{_DALI}.experimental.torchvision.v2.functional"
    ),
    "gradiva.fn._old_functions": f"{_DALI}.old_functions",
    "gradiva.fn._old_names": f"{_DALI}.old_names",
    "gradiva.namespaces": _DALI,
    "gradiva.namespaces.places": "gradiva._names",
    "gradiva.namespaces.recorded": "gradiva.fn._recorded",
    "gradiva.operators": "gradiva.fn._shared_operators",
    "gradiva.ops.class_names": f"{_DALI}.class_names",
    "gradiva.ops.places": "gradiva._names",
    "gradiva.plugin.mxnet": f"{_DALI}.mxnet",
    "gradiva.pytorch": "gradiva.plugin.pytorch",
    "gradiva.plugin.pytorch.loader_evaluator.loader": "gradiva.plugin.pytorch.loader_evaluator",
}
"""Old paths and the modules that they stand for. The modules in a package come along with it."""

CLASS_PACKAGES = (
    *("", "decoders", "io", "io.file", "noise", "random", "readers", "reductions"),
    *("segmentation", "transforms"),
    *("experimental", "experimental.decoders", "experimental.inputs", "experimental.readers"),
)
"""The packages in `gradiva.ops` that show classes, "" for itself. Some have no file."""
