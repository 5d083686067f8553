"""The class spelling of inputs under trial; the operators are in other packages."""

from gradiva.compat.dali.class_names import attributes_of

__getattr__, __dir__ = attributes_of("experimental.inputs", globals())
