"""What automatic augmentations are made of: `augmentation`, `signed_bin`, `select`, `Policy`."""

from .bins import SignedBin as SignedBin
from .bins import signed_bin as signed_bin
from .declared import Augmentation as Augmentation
from .decorator import augmentation as augmentation
from .policy import Policy as Policy
from .selection import select as select

__path__: list[str] = []  # so that what is below it is looked for: gradiva.compat

_Augmentation = Augmentation

__all__ = ["Augmentation", "Policy", "SignedBin", "augmentation", "select", "signed_bin"]
