"""Small changes of a skill's instructions: what they may be, and applying them exactly or not at all.

Edits are bounded so that a change can be understood, and blamed. An anchor is a text of the instructions that occurs
once; what it is not is never guessed. An edit that repeats a task of the evals would teach the test and nothing else,
and one that holds a secret is nobody's instruction: neither is taken.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.patching import patch
from whet.errors import WhetError
from whet.guard.secrets.hide import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

APPEND, INSERT, REPLACE, DELETE = "append", "insert_after", "replace", "delete"
KINDS = (APPEND, INSERT, REPLACE, DELETE)
LONGEST = 4_000
"""Characters of a new text."""
LONGEST_ANCHOR = 2_000
RUN = 8
"""So many words of a task in a row are copied from it."""
_LEAST = 4
"""Words of a task that is short, but long enough to be known again."""
_TAUGHT = "The text repeats a task. Say what holds for every task of its kind."
_WORD = re.compile(r"\w+")


class Edit(NamedTuple):
    """One change."""

    kind: str
    """One of `KINDS`."""
    anchor: str = ""
    """The text that it is about; empty for `append`."""
    text: str = ""
    """What is new; empty for `delete`."""
    why: str = ""

    def to_json(self) -> dict[str, str]:
        """As answers hold it, without what looks like a secret."""
        return {field: hide_secrets(value)[0] for field, value in self._asdict().items()}


class Refused(NamedTuple):
    """An edit that was not applied."""

    edit: Edit
    reason: str

    def to_json(self) -> dict[str, str]:
        """As answers hold it."""
        return {**self.edit.to_json(), "reason": self.reason}


class Edited(NamedTuple):
    """A text after edits."""

    text: str
    done: tuple[Edit, ...] = ()
    refused: tuple[Refused, ...] = ()


def edited(text: str, edits: Iterable[Edit], tasks: Sequence[str] = ()) -> Edited:
    """The text with these edits, one after the other; what cannot be applied is left out, with why.

    `tasks` are the prompts of the evals, of which nothing may be copied.
    """
    done: list[Edit] = []
    refused: list[Refused] = []
    for edit in edits:
        reason = _problem(edit) or (_TAUGHT if _copied(edit.text, text, tasks) else "")
        new = text
        if not reason:
            try:
                new = _applied(text, edit)
            except WhetError as error:
                reason = _told(error)
        if not reason and new == text:
            reason = "It changes nothing."
        if reason:
            refused.append(Refused(edit, reason))
        else:
            text = new
            done.append(edit)
    return Edited(text, tuple(done), tuple(refused))


def _problem(edit: Edit) -> str:
    """Why an edit is not wanted, whatever the text is."""
    if edit.kind != APPEND and not edit.anchor.strip():
        return f"{edit.kind} needs an anchor: a text of the instructions, copied exactly."
    if edit.kind != DELETE and not edit.text.strip():
        return f"{edit.kind} needs a text."
    if hide_secrets(edit.text)[1]:
        return "The text holds what looks like a secret."
    return ""


def _applied(text: str, edit: Edit) -> str:
    """The text with one edit. Raises WhetError for an anchor that is not there, or there more than once."""
    new = edit.text.replace("\r\n", "\n").rstrip("\n")
    if edit.kind == APPEND:
        before = text.rstrip("\n")
        return f"{before}\n\n{new.lstrip(chr(10))}\n" if before else f"{new}\n"
    anchor = edit.anchor.replace("\r\n", "\n")
    if edit.kind == REPLACE:
        return text if anchor == new else patch(text, anchor, edit.text.replace("\r\n", "\n")).text
    gone = patch(text, anchor, "").text  # raises unless the anchor is there once
    start = text.index(anchor)
    end = start + len(anchor)
    if edit.kind == DELETE:
        whole = (not start or text[start - 1] == "\n") and text[end : end + 1] == "\n"
        return text[:start] + text[end + 1 :] if whole and not anchor.endswith("\n") else gone
    line = end if anchor.endswith("\n") else text.find("\n", end)
    if line < 0:
        return f"{text}\n{new}\n"
    return f"{text[:line]}{new}\n{text[line:]}" if anchor.endswith("\n") else f"{text[:line]}\n{new}{text[line:]}"


def _told(error: WhetError) -> str:
    """What is wrong with an anchor, in the words that edits are asked for with."""
    if error.code == "patch-ambiguous":
        return f"The anchor occurs {error.details['count']} times. Copy more of the text around it."
    if error.code == "patch-not-found":
        near = next((place["text"] for place in error.details["closest"]), "")
        return f"The anchor is not there.{f' The closest is {near!r}.' if near else ''} Copy it exactly."
    return error.message


def _copied(new: str, old: str, tasks: Sequence[str]) -> bool:
    """Does a new text repeat a task, which the old one does not?"""
    known, said = _WORD.findall(old.casefold()), _WORD.findall(new.casefold())
    for task in tasks:
        words = _WORD.findall(task.casefold())
        size = min(RUN, len(words))
        if size >= _LEAST and (_runs(words, size) & _runs(said, size)) - _runs(known, size):
            return True
    return False


def _runs(words: list[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}
