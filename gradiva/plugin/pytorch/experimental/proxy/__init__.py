"""A pipeline of the main process for the workers of a torch DataLoader."""

from gradiva.eager.support.lazy_names import lazy_names
from gradiva.plugin.pytorch.experimental.proxy.calls import DALIOutputBatchRef, DALIOutputSampleRef
from gradiva.plugin.pytorch.experimental.proxy.server import DALIServer

__all__ = ["DALIOutputBatchRef", "DALIOutputSampleRef", "DALIServer", "DataLoader"]


# A class of torch's, which is not imported for the server alone.
__getattr__, __dir__ = lazy_names(__name__, {"DataLoader": f"{__name__}.loader:DataLoader"})
