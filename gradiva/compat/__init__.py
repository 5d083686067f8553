"""Scripts written for DALI, unchanged: `nvidia.dali` served by gradiva, and what a script uses."""

from gradiva._names import names_of
from gradiva.eager.support.lazy_names import lazy_names

TYPE_CHECKING = False
# Nothing is imported before it is asked for; `_names` is made of these lines.
if TYPE_CHECKING:
    from gradiva.compat.alias import install, installed, uninstall
    from gradiva.compat.check_scripts import check
    from gradiva.compat.report import Finding, Report
else:
    __getattr__, __dir__ = lazy_names(__name__, names_of(__name__))

__all__ = ["Finding", "Report", "check", "install", "installed", "uninstall"]
