"""Names for those who write operators of their own, outside of this package.

An operator declared with `operator` is used like those of gradiva: it runs at once, is recorded
in pipelines, and takes arguments per sample. docs/tasks.md has a short recipe,
`tutorials/04_writing_an_operator.py` builds three operators, and `check_operator` puts one through
the checks that all operators of gradiva pass. `help(gradiva.extension.NAME)` explains each name.

The parts of an operator are functions, each under a decorator:

`@operator("mine.NAME")`: the type rule. From the type of each input and the arguments it returns
the type of the output. Its signature is the one that users see. The name is for error messages and
graphs; it must not be that of one of gradiva's operators.

`@NAME.shapes`: the shape rule. From the `Call` it returns the shapes of the outputs. It is not
needed with `operator("mine.NAME", same_shapes=True)`.

`@NAME.coordinate_map`: where pixels go, for `gradiva.Targets`. From the `Call` it returns a matrix
for each sample, float64, (N, 2, 3) or (N, 3, 3), that takes a place (x, y) in the input, in pixels
from the corner of the first one, to its place in the output. With same_shapes=True and without a
map, pixels stay where they are.

`@NAME.displacement`: where pixels come from, of an operator that bends images, so that no matrix
says where they go. From the `Call` it returns, for each sample, float32 (h, w, 2): the place (x, y)
in the input of the center of each pixel of the output; or None, if that sample does not move.

`@NAME.cpu`: the kernel. It gets the `Call`, and fills `call.outputs`, which have these shapes:
with a Python function for each sample (`call.each_sample`), or with compiled code (`jit`,
`call.for_slabs`). Or `@pixelwise(NAME, row)` in its place, with a row kernel: then the operator
joins fused groups.

`@NAME.cases`: a function that returns example calls, with what they must give or raise.
`check_operator(NAME)` runs them, in dynamic mode and in a pipeline.

The names are:

`operator`, `maker`, `Operator`: an operator with inputs, one that needs none, and their class.
`argument_group`, `uses_arguments`: arguments that several operators have. `Common`, `Sampled`:
arguments that all operators have, and those that draw random values; `Unpack`: for
`**common: Unpack[Common]`.

`Call`: what a shape rule and a kernel get; `Plan`: what a shape rule may return, with values for
the kernel; `SampleType`: a type; `BatchShape`: the shapes of the samples of a batch, their offsets
and volumes; `Provenance`, `NamesOnDemand`: positions and files of samples.

`pixelwise`, `row_kernel`, `jit`: kernels. `convert_sat`, `philox`, `normal_from_word`, `draws`:
what kernels use. `Int64Array`, `WorkerPool`: types of what a `Call` holds.

`axis_map`, `window_map`, `spatial_axes`: coordinate maps. `IN_PLACE`, `NoMap`: `NAME.moves` of an
operator that moves no pixels, and of one whose pixels go where no matrix tells.

`require_dtype`, `require_ndim`, `require_layout`, `with_layout`: type rules. `refuse_samples`,
`wrong_type`, `wrong_value`, `describe`: errors and their texts. `GradivaError`,
`OperatorTypeError`, `OperatorValueError`, `OperatorRuntimeError`, `SampleDataError`: the classes
of errors. `without_frames`: an error that may be kept; `warn_of_mixed_channels`: a warning.

`Case`, `case`, `samples`, `check_operator`: cases, batches of noise, and what runs the cases.

`Batch`, `batch`, `Tensor`, `Value`: batches, and single samples.

`DType`, `bool_`, `int8`, `int16`, `int32`, `int64`, `uint8`, `uint16`, `uint32`, `uint64`,
`float16`, `float32`, `float64`: types of elements. `ImageType`, `InterpType`: colors and filters.

`CudaKernel`, `Launch`, `OutputArg`, `Scratch`, `launch_over`, `blocks_of`, `numbered`,
`struct_rows`, `refuse_large`, `type_name`: kernels on a GPU.

The annotation of an argument says of what kind it is, by whatever name: aliases are as good. `int`,
`float`, `bool`, `str`, `Any`, `Ints`, `Floats`, `Strings`, `Path`, `Paths`, `Layout`, `DTypeLike`,
`ImageTypeLike`, `InterpTypeLike` and `OnError` hold for the whole batch: `call["name"]` is the
value. The others may also be given per sample, and `call["name"]` has a row for each of the N
samples:

`IntArg`, `FloatArg`, `InterpArg`: a number; int64 or float32, (N,). `DoubleArg`: in float64.

`IntsArg`, `FloatsArg`, `DoublesArg`: some numbers, equally many for each sample; (N, k).

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
