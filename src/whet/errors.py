"""Every error a caller of Whet can meet.

    WhetError                 the root: a code, a sentence, a hint
    ├── UsageError            the call is wrong: bad argument, bad path, bad setting       (exit 2)
    ├── NotFoundError         nothing of that name, with the closest matches               (exit 1)
    ├── AmbiguousError        several things of that name, with the candidates             (exit 1)
    ├── InvalidError          a skill, an archive or a document that breaks the rules      (exit 1)
    ├── ConflictError         the answer is no because something else is already there     (exit 1)
    ├── RefusedError          policy or trust says no                                      (exit 3)
    └── FailedError           the world failed: I/O, a lock, corruption                    (exit 4)

The class says who must act; the code says what happened and never changes; the hint says what to do next.
Nothing in this module imports anything of Whet. Codes are documented in `docs/codes.md`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class WhetError(Exception):
    """Something a caller can act on. Never raised itself, only its subclasses."""

    exit_code: ClassVar[int] = 4
    http_status: ClassVar[int] = 500

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details
        """More facts for programs, such as `suggestions` or `candidates`; merged into the JSON answer."""

    def to_json(self) -> dict[str, Any]:
        """Return the failure as JSON."""
        return {"success": False, "error": self.message, "code": self.code, "hint": self.hint, **self.details}


class UsageError(WhetError):
    """The caller made a request that cannot be carried out; a different one can."""

    exit_code = 2
    http_status = 400


class NotFoundError(WhetError):
    """There is nothing with that name or path."""

    exit_code = 1
    http_status = 404


class AmbiguousError(WhetError):
    """Several things have that name; a qualified name says which one."""

    exit_code = 1
    http_status = 409


class InvalidError(WhetError):
    """A package or document breaks a rule of its format."""

    exit_code = 1
    http_status = 422


class ConflictError(WhetError):
    """Something is in the way that must not be overwritten."""

    exit_code = 1
    http_status = 409


class RefusedError(WhetError):
    """A policy, or missing trust, forbids it."""

    exit_code = 3
    http_status = 403


class FailedError(WhetError):
    """The machine, a file or a state database failed; nothing was lost."""

    exit_code = 4


def expected_text(code: str, what: str, value: object, *, hint: str = "") -> UsageError:
    """Return the error for a value that is not text; `what` names it in a sentence, such as `A name`."""
    return UsageError(code, f"{what} is text; {value!r:.80} is of type {type(value).__name__}.", hint=hint)


def path_text(path: object) -> str:
    """Return a caller's path as text. Raises UsageError `bad-path` for an invalid one."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise expected_text("bad-path", "A path", path, hint="Pass a `str` or a `pathlib.Path`.")
    if "\0" in text:
        raise UsageError("bad-path", "The path contains a NUL character.", hint="Check the path.")
    return text
