"""Random values.

Inside a loop over a reader a value depends on the seed, the number of the call in the step and the
sample; outside, the generator numbers its own calls. `batch_size` asks for one value per sample,
`rng` for another generator than the default one. Two calls with the same `seed` draw the same
values; in a pipeline or such a loop, samples, batches and epochs still differ.
A forked process, and each worker of a torch DataLoader, draws values of its own (docs/dynamic.md).
"""

from typing import TYPE_CHECKING

from gradiva._names import names_of
from gradiva.eager.support.lazy_names import lazy_names

# Nothing is imported before it is asked for; `_names` is made of these lines.
if TYPE_CHECKING:
    from gradiva.eager.random.default_generator import get_default_rng, set_seed
    from gradiva.eager.random.generator import RNG
    from gradiva.ops.random.beta import beta
    from gradiva.ops.random.choice import choice
    from gradiva.ops.random.normal import normal
    from gradiva.ops.random.uniform import coin_flip, uniform
else:
    __getattr__, __dir__ = lazy_names(__name__, names_of(__name__))

__all__ = ["RNG", "beta", "choice", "coin_flip", "get_default_rng", "normal", "set_seed", "uniform"]
