"""The main file in a merge: its version, and whether it is still one.

Whoever changes a skill raises its version, so both sides always changed that line and it would always clash. It is
taken out of the comparison: all sides get the same word in its place, the rest is merged, and the version comes back:
that of the side that raised it, the higher one where both did.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.main_file import said
from whet.authoring.merge import Conflict
from whet.errors import InvalidError
from whet.skill.edit import set_value
from whet.skill.frontmatter import Document, read_document
from whet.sources.merging.style import Texts

if TYPE_CHECKING:
    from whet.authoring.merge import Pieces

_PLACES = (("version",), ("metadata", "version"))
_STEPS = ("strict", "repaired", "rescued", "none")
_BROKEN = frozenset(("unclosed-frontmatter", "duplicate-key", "frontmatter-too-large"))

_NUMBERED = re.compile(r"[vV]?([0-9]{1,18}(?:\.[0-9]{1,18}){0,9})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_RUN = re.compile(r"[0-9]{1,18}|[^0-9]+")
_LONGEST = 200

Key = tuple[tuple[int, int, str], ...]


class Blank(NamedTuple):
    """One version that was taken out of the three texts."""

    key: str
    word: str
    """What stands in its place."""
    versions: tuple[str, str, str]
    """Before, yours, theirs; "" where there is none."""
    winner: str
    spelled: bool
    """The winner is written without quotes, as a number or a date."""


def blanked(texts: Texts) -> tuple[Texts, tuple[Blank, ...]]:
    """The texts with one word for each version that both sides have, and what these words stand for."""
    blanks: list[Blank] = []
    for place in _PLACES:
        documents = [read_document(text.decode()) for text in texts]
        versions = tuple(said(document, *place).strip() for document in documents)
        before, yours, theirs = versions
        if not yours or not theirs or yours == theirs == before:
            continue
        key, word = ".".join(place), _unused(texts, len(blanks))
        try:
            changed = [
                set_value(text.decode(), key, word).encode() if version else text
                for text, version in zip(texts, versions, strict=True)
            ]
        except InvalidError:  # it is not written in a row of its own: it is merged like any other text
            continue
        winner = chosen(before, yours, theirs)
        side = documents[1 if winner == yours else 2]
        blanks.append(Blank(key, word, (before, yours, theirs), winner, key in side.texts))
        texts = Texts(*changed)
    return texts, tuple(blanks)


def filled(text: bytes, blanks: tuple[Blank, ...]) -> bytes | None:
    """The merged text with its versions; None where a version is no longer there exactly once."""
    for blank in blanks:
        word = blank.word.encode()
        if text.count(word) != 1:
            return None
        if blank.spelled:
            text = text.replace(word, blank.winner.encode())
            continue
        try:
            text = set_value(text.decode(), blank.key, blank.winner).encode()
        except InvalidError:
            return None
        if word in text:  # the frontmatter ends before it now, so that the version was set anew
            return None
    return text


def shown(pieces: Pieces, blanks: tuple[Blank, ...]) -> Pieces:
    """The pieces as people shall see them: with each side's own version."""
    for blank in blanks:
        before, yours, theirs = (version.encode() for version in blank.versions)
        word, winner = blank.word.encode(), blank.winner.encode()
        pieces = [
            Conflict(piece[0].replace(word, yours), piece[1].replace(word, before), piece[2].replace(word, theirs))
            if isinstance(piece, Conflict)
            else piece.replace(word, winner)
            for piece in pieces
        ]
    return pieces


def _unused(texts: Texts, number: int) -> str:
    """A word that none of the texts has and YAML takes for nothing else."""
    word = f"whet-version-{number}"
    while any(word.encode() in text for text in texts):
        word += "-x"
    return word


# --- which version --------------------------------------------------------------------------------------------------


def chosen(before: str, yours: str, theirs: str) -> str:
    """The version of a merged skill: the changed one, the higher one where both sides changed it."""
    if before and yours == before:
        return theirs
    if before and theirs == before:
        return yours
    return max(yours, theirs, key=_order)


def _order(version: str) -> tuple[int, Key, int, Key, str]:
    """Versions in order: numbers behind words, a release behind its candidates, runs of digits as the numbers they are.

    Ever the same for the same two, whatever people write there.
    """
    found = _NUMBERED.fullmatch(version[:_LONGEST])
    if not found:
        return 0, _runs(version[:_LONGEST]), 0, (), version
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    candidate = found[2] or ""
    return 1, tuple((0, number, "") for number in numbers), int(not candidate), _candidate(candidate), version


def _candidate(text: str) -> Key:
    parts = text.split(".") if text else []
    return tuple((0, int(part), "") if part.isdigit() and len(part) < 19 else (1, 0, part) for part in parts)


def _runs(text: str) -> Key:
    return tuple((1, int(run), "") if run.isascii() and run.isdigit() else (0, 0, run) for run in _RUN.findall(text))


# --- still a skill --------------------------------------------------------------------------------------------------


def broken(merged: bytes, yours: bytes, theirs: bytes) -> str:
    """What can no longer be read of a merged main file although both sides could be; "" for nothing."""
    new, *sides = (read_document(text) for text in (merged, yours, theirs))
    worst = max(_STEPS.index(side.step) for side in sides)
    if _STEPS.index(new.step) > worst:
        return "its frontmatter is no longer valid YAML" if new.step != "none" else "it has no frontmatter any more"
    known = {note.code for side in sides for note in side.diagnostics}
    for note in new.diagnostics:
        if note.code in _BROKEN and note.code not in known:
            return note.message[0].lower() + note.message[1:].rstrip(".")
    for key in ("name", "description"):
        if not _has(new, key) and all(_has(side, key) for side in sides):
            return f"it has no {key} any more"
    return ""


def _has(document: Document, key: str) -> bool:
    return bool(said(document, key).strip())
