"""Names for those who write operators of their own, outside of this package.

An operator declared with `operator` is used like those of gradiva: it runs at once, is recorded
in pipelines, and takes arguments per sample. `tutorials/04_writing_an_operator.py` builds some,
and `check_operator` puts one through the checks that all operators of gradiva pass.

The annotation of an argument says of what kind it is (`IntArg`, `int`, `Layout`, ...), by whatever
name: aliases are as good. Kinds that end in `Arg` may be given per sample.
"""

from gradiva.eager.extension import *  # noqa: F403 (the same names as in gradiva's own files)
from gradiva.extension.checks import check_operator as check_operator
from gradiva.extension.draws import draws as draws

Geometry = BatchShape  # noqa: F405
takes = uses_arguments  # noqa: F405
"""The older names."""
