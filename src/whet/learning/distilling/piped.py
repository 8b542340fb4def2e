"""A session that comes as bytes, from a pipe or a call, and not as a file.

It is read more than once, so it becomes a file for the time being, with its secrets; what a process that was killed
left of one goes when the next comes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.errors import InvalidError
from whet.learning.transcripts.reading import read_transcript
from whet.store.atomic import clean_leftovers, make_directories, staging
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.learning.transcripts.events import Transcript

DIRECTORY = "reading"
"""Below Whet's state directory."""


def read_piped(state: str, pieces: Iterable[bytes], name: str) -> Transcript:
    """The session that these pieces are together; `name` is what errors call it. Raises as `read_transcript` does."""
    directory = os.path.join(state, DIRECTORY)
    with os_failures(state):
        make_directories(directory)
        os.chmod(directory, 0o700)
        clean_leftovers(directory)
        with staging(os.path.join(directory, "session")) as place:
            path = os.path.join(place, "transcript")
            with open(path, "xb") as file:
                file.writelines(pieces)
            try:
                return read_transcript(path)
            except InvalidError as error:
                message = error.message.replace(path, name)
                raise InvalidError("not-a-transcript", message, hint=error.hint) from error
