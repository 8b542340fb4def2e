"""What is said about a transcript that could not be taken over whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENTRIES = {
    "damaged": Note(
        "transcript-line-damaged",
        "warning",
        "Lines or messages left out because they are not JSON: {n}.",
        "Whatever else the file holds was read.",
    ),
    "truncated": Note(
        "transcript-truncated",
        "warning",
        "The end is cut off; what it belongs to was left out.",
        "The session may still be running, or its client was stopped while it wrote.",
    ),
    "long": Note(
        "transcript-line-too-long",
        "warning",
        "Lines or messages left out because they are longer than 4 MiB: {n}.",
        "Such a line is mostly an image or the output of one command.",
    ),
    "encoding": Note(
        "transcript-encoding",
        "warning",
        "Lines that are not UTF-8 and were read as Windows-1252: {n}.",
        "Save the file as UTF-8 if characters are wrong.",
    ),
    "unknown": Note(
        "transcript-record-unknown",
        "info",
        "Records left out because their kind is not known: {n} ({kinds}).",
        "A newer version of whet may know them.",
    ),
    "events": Note(
        "transcript-events-cut",
        "warning",
        "The session is too long; events left out of its middle: {n}.",
        "Split the session, or read the part that matters.",
    ),
    "texts": Note(
        "transcript-text-cut",
        "info",
        "Texts cut in their middle to 16,000 characters: {n}.",
        "Nothing needs to be done.",
    ),
    "secrets": Note("transcript-secrets-hidden", "info", "Secrets hidden: {n}.", "The file itself still holds them."),
    "subagents": Note(
        "transcript-subagent-left-out",
        "info",
        "Records of subagents left out: {n}.",
        "Read a subagent's own transcript to learn from it.",
    ),
    "others": Note(
        "transcript-other-session",
        "warning",
        "Records of other sessions in the file left out: {n}.",
        "Read the other sessions from files of their own.",
    ),
    "repeated": Note(
        "transcript-repeated",
        "info",
        "Records written more than once, as after a resume, and kept once: {n}.",
        "Nothing needs to be done.",
    ),
    "cut": Note("transcript-file-cut", "warning", "Only the first 16 MiB of the file were read.", "Split the file."),
    "empty": Note(
        "transcript-no-events",
        "warning",
        "Nothing was said or done in this session.",
        "Name a session that has messages.",
    ),
}
"""What can be said; the numbers are filled in."""
_KINDS = 8
"""Kinds of unknown records that are named."""


def report(counts: Mapping[str, int], unknown: Mapping[str, int], path: str) -> tuple[Note, ...]:
    """One entry for each thing that happened, with how often."""
    totals = {**counts, "unknown": sum(unknown.values())}
    kinds = ", ".join(sorted(unknown)[:_KINDS]) + (", ..." if len(unknown) > _KINDS else "")
    return tuple(
        entry._replace(path=path, message=entry.message.replace("{n}", f"{count:,}").replace("{kinds}", kinds))
        for key, entry in _ENTRIES.items()
        if (count := totals.get(key, 0))
    )
