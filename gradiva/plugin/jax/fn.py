"""`jax_function`: a function on JAX arrays, as an operator."""

from gradiva.plugin.jax.function import jax_function

__all__ = ["jax_function"]
