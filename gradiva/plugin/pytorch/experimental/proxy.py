"""A pipeline of the main process for the workers of a torch DataLoader."""

from gradiva.eager.support.lazy_names import lazy_names
from gradiva.plugin.pytorch.proxy_calls import DALIOutputBatchRef, DALIOutputSampleRef
from gradiva.plugin.pytorch.proxy_server import DALIServer

__all__ = ["DALIOutputBatchRef", "DALIOutputSampleRef", "DALIServer", "DataLoader"]  # noqa: F822


# A class of torch's, which is not imported for the server alone.
__getattr__, __dir__ = lazy_names(
    __name__, {"DataLoader": "gradiva.plugin.pytorch.proxy_loader:DataLoader"}
)
