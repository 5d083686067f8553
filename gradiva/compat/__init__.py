"""Scripts written for DALI, unchanged: `nvidia.dali` served by gradiva, and what a script uses."""

from gradiva.compat.alias import install, installed, uninstall
from gradiva.compat.check_scripts import check
from gradiva.compat.report import Finding, Report

__all__ = ["Finding", "Report", "check", "install", "installed", "uninstall"]
