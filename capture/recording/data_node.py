"""Symbols: what operators return while a graph is being recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from gradiva.capture.graph.graph import Edge, Node
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import Location, OperatorTypeError, user_location
from gradiva.eager.types.coordinate_maps import Bends
from gradiva.eager.types.device import Device, DeviceLike
from gradiva.eager.types.device import device as to_device
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.value import Symbolic, Value
from gradiva.ops.arrays.copy import copy
from gradiva.ops.indexing.properties import get_property, shapes

from .attribute_hints import HINTS
from .branches import Branches

__all__ = ["BatchSize", "DataNode", "SymbolRecorder", "WholeBatch"]


class SymbolRecorder(Protocol):
    """A recorder, as its symbols know it."""

    gpu: Device | None
    branches: Branches

    def name_of(self, node: Node) -> str:
        """The name that the user gave, or that of the operator."""
        ...

    def locations_of(self, node: Node) -> tuple[Location, ...]:
        """The lines of the user's that made a node."""
        ...

    def input_edge(self, value: Any, index: int) -> Edge:
        """A symbol or a constant as input `index` of a call in the current branch."""
        ...

    def add(
        self, operator: OperatorBase, edges: tuple[Edge, ...], where: Location | None, origin: str
    ) -> DataNode:
        """A node for no call of the user's."""
        ...


class BatchSize(Symbolic):
    """The number of samples of a batch that does not exist yet; good for `batch_size=` only."""

    __slots__ = ("_node",)

    def __init__(self, node: DataNode) -> None:
        self._node = node

    def _refuse(self, *_: Any) -> NoReturn:
        self._node._refuse("its batch size, which may differ from run to run, as a number")

    __index__ = __int__ = __float__ = __bool__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __mul__ = __rmul__ = __floordiv__ = __truediv__ = __mod__ = __lt__ = __le__ = __gt__ = _refuse
    __ge__ = __eq__ = __ne__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<batch size, known when the pipeline runs>"


class WholeBatch(Symbolic):
    """`batch_size` of the pipeline spelling of random operators: one value for each sample."""

    def __repr__(self) -> str:
        return "the batch size of the pipeline"


class Shape:
    """`symbol.shape`, which is called: the extents are data, and not known while recording."""

    __slots__ = ("_node",)

    def __init__(self, node: DataNode) -> None:
        self._node = node

    def __call__(self, *, dtype: Any = None, device: DeviceLike = "cpu") -> DataNode:
        """The extents of each sample, as data: int64, or `dtype`; see `shapes`."""
        return self._node._beside(shapes, device, {} if dtype is None else {"dtype": dtype})

    def _refuse(self, *_: Any) -> NoReturn:
        self._node._refuse(
            "its shape as numbers, which may differ from sample to sample; `shape()` is the shape "
            "as data, and `shape()[0]` an extent"
        )

    __getitem__ = __len__ = __iter__ = __eq__ = __ne__ = __bool__ = __add__ = __contains__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<shape, known when the pipeline runs>"


class DataNode(Value, Symbolic):
    """A symbol for a batch: one output of one operator in a graph.

    It takes part in arithmetic and in calls of operators, which are recorded. It holds no data:
    `if`, `len` and conversion to an array raise, naming the operator and its line, and a loop over
    it is Python's own TypeError.
    """

    __slots__ = ("edge", "recorder")

    def __init__(self, edge: Edge, recorder: SymbolRecorder) -> None:
        self.edge = edge
        self.recorder = recorder

    def moved_since(self, earlier: Any) -> str:
        node, moved = self.edge.node, ""
        while isinstance(earlier, DataNode) and node is not earlier.edge.node:
            if callable(node.operator.moves) or isinstance(node.operator.moves, Bends):
                moved = node.operator.name
            if not node.inputs:
                return ""
            node = node.inputs[0].node
        return moved

    @property
    def type(self) -> SampleType:
        """dtype, rank and layout, as far as they are known before the pipeline runs."""
        return self.edge.node.type[self.edge.output]

    @property
    def name(self) -> str:
        """The operator's name, with the number of the output if there are several."""
        node = self.edge.node
        base = self.recorder.name_of(node)
        return base if len(node.type) == 1 else f"{base}[{self.edge.output}]"

    @property
    def dtype(self) -> Any:
        return self._known("dtype", self.type.dtype)

    @property
    def ndim(self) -> int:
        return int(self._known("rank", self.type.ndim))

    @property
    def layout(self) -> str:
        return str(self._known("layout", self.type.layout))

    @property
    def device(self) -> Device:
        gpu = self.recorder.gpu
        return gpu if gpu is not None and self.type.device == "gpu" else Device(self.type.device)

    @property
    def batch_size(self) -> Any:
        """A stand-in for the number of samples, for the `batch_size` argument of operators."""
        return BatchSize(self)

    def cpu(self) -> DataNode:
        """The samples in host memory: a transfer, if they are on the GPU."""
        return self.to_device("cpu")

    def gpu(self) -> DataNode:
        """The samples on the GPU of the pipeline: a transfer, if they are not there."""
        return self.to_device("gpu")

    def to_device(self, device: DeviceLike, force_copy: bool = False) -> DataNode:
        """The samples on a device; a copy if they are there, with `force_copy`."""
        if to_device(device).device_type == self.type.device and not force_copy:
            return self
        made: DataNode = copy.bind((self,), {"device": device})
        return made

    @property
    def shape(self) -> Shape:
        """Called, `shape(dtype=...)`: the extents of each sample, as data; see `shapes`."""
        return Shape(self)

    def property(self, key: str, *, device: DeviceLike = "cpu") -> DataNode:
        """The "source_info" or "layout" of each sample, as data; see `get_property`."""
        return self._beside(get_property, device, {"key": key})

    def source_info(self, *, device: DeviceLike = "cpu") -> DataNode:
        """The file or key that each sample came from, as data: the bytes of its name."""
        return self.property("source_info", device=device)

    def _beside(
        self, operator: OperatorBase, device: DeviceLike, given: dict[str, Any]
    ) -> DataNode:
        made: DataNode = operator.bind((self,), {**given, "device": device})
        return made

    def evaluate(self) -> DataNode:
        """Return the symbol itself, so that code that evaluates can be captured."""
        return self

    def _known(self, what: str, value: Any) -> Any:
        if value is None:
            self._refuse(f"its {what}, which is not known before the first batch")
        return value

    def _refuse(self, what: str) -> NoReturn:
        lines = self.recorder.locations_of(self.edge.node)
        made = f", made at {lines[0]}" if lines else ""
        raise OperatorTypeError(
            f"this is the symbol of an output of `{self.edge.node.operator.name}`{made}; while a "
            f"graph is recorded there is no data behind it, so one cannot ask for {what}",
            location=user_location(),
        )

    if not TYPE_CHECKING:  # type checkers are to report such names

        def __getattr__(self, name: str) -> NoReturn:
            if name not in HINTS:
                return object.__getattribute__(self, name)  # Python's own error
            problem = f"{type(self).__name__!r} object has no attribute {name!r}: {HINTS[name]}"
            raise AttributeError(problem, name=name, obj=self)

    def __bool__(self) -> bool:
        self._refuse(
            "its truth value (in `if`, `while`, `and`, `or`, `not`); in a pipeline defined with "
            "`pipeline_def(enable_conditionals=True)`, `if`, `and`, `or` and `not` take symbols"
        )

    def __len__(self) -> int:
        self._refuse(
            "its length; `.batch_size` is the number of samples in all modes, as the `batch_size` "
            "of a random operator"
        )

    __iter__ = None
    """Scripts ask `isinstance(outputs, Iterable)`, as they ask for lists: one output is none.
    Python itself refuses loops over it, and unpacking."""

    def __getitem__(self, ranges: Any) -> DataNode:
        """A part of each sample, as `slice`: recorded."""
        return self.slice[ranges]

    def __contains__(self, item: Any) -> bool:
        self._refuse("whether it contains something")

    def __int__(self) -> int:
        self._refuse("an integer")

    def __index__(self) -> int:
        self._refuse("an integer")

    def __float__(self) -> float:
        self._refuse("a number")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._refuse(
            "its values as an array. NumPy's functions need data: use gradiva's operators (such as "
            "reductions.mean for np.mean), or put them into python_function"
        )

    def __dlpack__(self, **options: Any) -> Any:
        self._refuse("its values by DLPack")

    def __repr__(self) -> str:
        return f"DataNode({self.name}: {self.type})"
