"""Errors of obstore in the form that those of other clients have. They are texts, which name the
status of an answer and hold its body."""

from __future__ import annotations

import html
import re
from typing import Final

from gradiva.ops.storage.errors import CutError, StatusError

__all__ = ["cause", "translated"]

_STATUS: Final = re.compile(r"status code: (\d{3}) ?([^:\n]*)(?:: (.*))?", re.DOTALL)
_CODE: Final = re.compile(r"<Code>([^<]*)</Code>")
_MESSAGE: Final = re.compile(r"<Message>([^<]*)</Message>")
_DETAILS: Final = "\n\nDebug source:"
_NO_CREDENTIALS: Final = ("169.254.", "metadata.google.internal", "fd00:ec2::")
"""What is asked for credentials where nothing else gives them."""
_REGION: Final = "the bucket is in another region: set AWS_REGION"


def translated(error: Exception) -> Exception:
    """The error to raise in place of one of obstore."""
    text, _, details = str(error).partition(_DETAILS)
    answer = _STATUS.search(text)
    if any(place in text for place in _NO_CREDENTIALS):
        return ConnectionError(
            'no credentials were found (for a public bucket, give `storage_options={"anon": True}`)'
        )
    if answer is not None:
        return _refused(int(answer[1]), answer[2].strip(), answer[3] or "")
    if isinstance(error, FileNotFoundError):
        return error
    if "redirect" in text:
        return OSError(_REGION)
    if "non-partial" in text or "Requested " in text:
        return OSError(
            f"the server answers other bytes than it was asked for ({cause(error)}): copy the data "
            "to a disk"
        )
    if "TimedOut" in details or "timed out" in text:
        return TimeoutError("the server does not answer")
    if "body error" in text or "response body" in text:
        return CutError("fewer bytes came")
    if "HTTP error" in text:
        return ConnectionError(f"the server cannot be reached ({cause(error)})")
    return OSError(cause(error))


def _refused(status: int, name: str, body: str) -> Exception:
    code, message = _CODE.search(body), _MESSAGE.search(body)
    if code is not None and code[1] in ("AuthorizationHeaderMalformed", "PermanentRedirect"):
        return OSError(_REGION)
    if status == 404 and code is None:
        return FileNotFoundError(name)
    parts = [html.unescape(one[1]) for one in (code, message) if one is not None and one[1]]
    found = StatusError(status, ": ".join(parts) or name)
    found.explained = bool(parts)
    return found


def cause(error: Exception) -> str:
    """What is wrong, without what obstore says before it and of its own code."""
    text, _, _ = str(error).partition(_DETAILS)
    return text.rpartition(" - ")[2].removeprefix("Generic ")
