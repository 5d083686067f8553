"""Names for those who write operators of their own, outside of this package.

An operator declared with `operator` is used like those of gradiva: it runs at once, is recorded
in pipelines, and takes arguments per sample. `tutorials/04_writing_an_operator.py` builds some,
and `check_operator` puts one through the checks that all operators of gradiva pass.

A file that declares operators begins with `from __future__ import annotations`: an argument's
annotation is the name of its kind, and kinds that end in `Arg` may be given per sample.
"""

from gradiva.eager.jit.convert import convert_sat as convert_sat
from gradiva.eager.jit.jit import jit as jit
from gradiva.eager.jit.row_kernel import row_kernel as row_kernel
from gradiva.eager.operators.arguments import Common as Common
from gradiva.eager.operators.arguments import FloatArg as FloatArg
from gradiva.eager.operators.arguments import FloatArrayArg as FloatArrayArg
from gradiva.eager.operators.arguments import Floats as Floats
from gradiva.eager.operators.arguments import FloatsArg as FloatsArg
from gradiva.eager.operators.arguments import IntArg as IntArg
from gradiva.eager.operators.arguments import InterpArg as InterpArg
from gradiva.eager.operators.arguments import Ints as Ints
from gradiva.eager.operators.arguments import IntsArg as IntsArg
from gradiva.eager.operators.arguments import MatrixArg as MatrixArg
from gradiva.eager.operators.arguments import RaggedFloatsArg as RaggedFloatsArg
from gradiva.eager.operators.arguments import RaggedIntsArg as RaggedIntsArg
from gradiva.eager.operators.arguments import Sampled as Sampled
from gradiva.eager.operators.arguments import Strings as Strings
from gradiva.eager.operators.call import Call as Call
from gradiva.eager.operators.cases import Case as Case
from gradiva.eager.operators.cases import case as case
from gradiva.eager.operators.cases import samples as samples
from gradiva.eager.operators.operator import maker as maker
from gradiva.eager.operators.operator import operator as operator
from gradiva.eager.operators.pixelwise import pixelwise as pixelwise
from gradiva.eager.operators.type_rules import require_dtype as require_dtype
from gradiva.eager.operators.type_rules import require_layout as require_layout
from gradiva.eager.operators.type_rules import require_ndim as require_ndim
from gradiva.eager.operators.type_rules import with_layout as with_layout
from gradiva.eager.random.philox import normal_from_word as normal_from_word
from gradiva.eager.random.philox import philox as philox
from gradiva.eager.types.batch_shape import Geometry as Geometry
from gradiva.eager.types.dtypes import DTypeLike as DTypeLike
from gradiva.eager.types.sample_type import SampleType as SampleType
from gradiva.extension.checks import check_operator as check_operator
from gradiva.extension.draws import draws as draws
