"""A hook answered in the client's own process, because no server is there. Imported only then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.interfaces.hooks.answering import Hooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.api import Library


def answer_event(state: str, client: str, kind: str, payload: bytes, cwd: str) -> bytes:
    """What to print; a failure is noted."""
    return Hooks(state, _open_library, patient=False).answer(client, kind, payload, cwd)


def answer_arguments(state: str, arguments: Sequence[str], payload: bytes) -> bytes:
    """The same for a line with further options; one that is wrong is noted, not said: it would stop the client."""
    from whet.api import Library
    from whet.interfaces.cli.verbs import parser_of

    options = parser_of("hook")[0].read(list(arguments[1:]))
    roots = [os.path.abspath(os.path.expanduser(root)) for root in options.root]

    def open_library(directory: str) -> Library:
        return Library.open(roots or None, project=options.project or directory or None)

    hooks = Hooks(state, open_library, patient=False)
    return hooks.answer(options.client or "", options.event, payload, os.path.abspath(options.project or os.curdir))


def note_failure(state: str, client: str, kind: str, error: BaseException) -> None:
    """Note what kept a hook from being answered at all."""
    if not state:
        return  # there is no place for it, and that is what is wrong
    Hooks(state, _open_library).failed(client, kind, error)


def _open_library(directory: str) -> Library:
    from whet.api import Library

    return Library.open(project=directory or None)
