"""Names for those who write operators of their own, outside of this package.

An operator declared with `operator` is used like those of gradiva: it runs at once, is recorded
in pipelines, and takes arguments per sample. `tutorials/04_writing_an_operator.py` builds some,
and `check_operator` puts one through the checks that all operators of gradiva pass.

A file that declares operators begins with `from __future__ import annotations`: an argument's
annotation is the name of its kind, and kinds that end in `Arg` may be given per sample.
"""

from gradiva.eager.arguments import Common as Common
from gradiva.eager.arguments import FloatArg as FloatArg
from gradiva.eager.arguments import FloatArrayArg as FloatArrayArg
from gradiva.eager.arguments import Floats as Floats
from gradiva.eager.arguments import FloatsArg as FloatsArg
from gradiva.eager.arguments import IntArg as IntArg
from gradiva.eager.arguments import InterpArg as InterpArg
from gradiva.eager.arguments import Ints as Ints
from gradiva.eager.arguments import IntsArg as IntsArg
from gradiva.eager.arguments import MatrixArg as MatrixArg
from gradiva.eager.arguments import RaggedFloatsArg as RaggedFloatsArg
from gradiva.eager.arguments import RaggedIntsArg as RaggedIntsArg
from gradiva.eager.arguments import Sampled as Sampled
from gradiva.eager.arguments import Strings as Strings
from gradiva.eager.case import Case as Case
from gradiva.eager.case import samples as samples
from gradiva.eager.convert import convert_sat as convert_sat
from gradiva.eager.dtypes import DTypeLike as DTypeLike
from gradiva.eager.geometry import Geometry as Geometry
from gradiva.eager.jit import jit as jit
from gradiva.eager.operator import maker as maker
from gradiva.eager.operator import operator as operator
from gradiva.eager.pixelwise import pixelwise as pixelwise
from gradiva.eager.rng import normal_from_word as normal_from_word
from gradiva.eager.rng import philox as philox
from gradiva.eager.rows import row_kernel as row_kernel
from gradiva.eager.rules import require_dtype as require_dtype
from gradiva.eager.rules import require_layout as require_layout
from gradiva.eager.rules import require_ndim as require_ndim
from gradiva.eager.rules import with_layout as with_layout
from gradiva.eager.run import Call as Call
from gradiva.eager.value import SampleType as SampleType
from gradiva.extension.checks import check_operator as check_operator
from gradiva.extension.draws import draws as draws
