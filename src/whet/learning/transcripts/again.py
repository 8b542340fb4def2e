"""A transcript that somebody made in memory, taken over as an importer takes over a file: bounded, without secrets."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from whet.learning.transcripts.collecting import Collector

if TYPE_CHECKING:
    from whet.learning.transcripts.events import Transcript


def taken_over(transcript: Transcript) -> Transcript:
    """The transcript with its secrets hidden; one that has none, and keeps to the bounds, stays as it is."""
    into = Collector(transcript.client)
    into.session, into.project = transcript.session, transcript.project
    nameless: deque[str] = deque()
    for number, event in enumerate(transcript.events):
        id_ = event.id
        if event.kind == "call" and not id_:
            id_ = f"nameless-{number}"
            nameless.append(id_)
        elif event.kind == "result" and not id_ and nameless:
            id_ = nameless.popleft()
        into.keep(event._replace(id=id_))
    made = into.transcript()
    return made._replace(report=(*transcript.report, *made.report))
