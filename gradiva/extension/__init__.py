"""Names for those who write operators of their own, outside of this package.

An operator declared with `operator` is used like those of gradiva: it runs at once, is recorded
in pipelines, and takes arguments per sample. `tutorials/04_writing_an_operator.py` builds some,
and `check_operator` puts one through the checks that all operators of gradiva pass.

`help(gradiva.extension.NAME)` explains each of these. They declare:

`operator`, `maker`: an operator with inputs, and one that needs none. The name that they are
given is for error messages and graphs; the call is that of the Python object. It must not be that
of one of gradiva's operators: "mine.gamma" is none.

`argument_group`, `uses_arguments`: arguments that several operators have.

`pixelwise`, `row_kernel`, `jit`: kernels; `convert_sat`, `philox`, `normal_from_word`, `draws`:
what kernels use. `CudaKernel`, `Launch`, `launch_over` and others: kernels on a GPU.

`require_dtype`, `require_ndim`, `require_layout`, `with_layout`, `refuse_samples`: type rules.

`case`, `samples`, `batch`, `check_operator`: cases, and what runs them.

`Call`: what a shape rule and a kernel get; `Plan`, `BatchShape`, `SampleType`.

The annotation of an argument says of what kind it is, by whatever name: aliases are as good. `int`,
`float`, `bool`, `str`, `Any`, `Ints`, `Floats`, `Strings`, `Path`, `Paths`, `Layout`, `DTypeLike`,
`ImageTypeLike`, `InterpTypeLike` and `OnError` hold for the whole batch: `call["name"]` is the
value. The others may also be given per sample, and `call["name"]` has a row for each of the N
samples:

`IntArg`, `FloatArg`, `InterpArg`: a number; int64 or float32, (N,).

`IntsArg`, `FloatsArg`: some numbers, equally many for each sample; (N, k).

`UnevenIntsArg`, `UnevenFloatsArg`: some numbers, of which samples may have more or fewer: (N, k)
where they have equally many, else a list of N arrays.

`RaggedIntsArg`, `RaggedFloatsArg`: the same, always as a list of N arrays.

`MatrixArg`: a matrix, as numbers row by row, (N, k), or with two axes, (N, rows, columns), as it
was given; float32.

`FloatArrayArg`: a number, or an array of any shape for each sample: (N,), or a batch of them.
"""

from gradiva.eager.extension import *  # noqa: F403 (the same names as in gradiva's own files)
from gradiva.extension.checks import check_operator as check_operator
from gradiva.extension.draws import draws as draws

Geometry = BatchShape  # noqa: F405
takes = uses_arguments  # noqa: F405
"""The older names."""
