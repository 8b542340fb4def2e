"""Three-way merge of a skill: the installed content, the local one, and the new one of its source.

Files are decided one by one. A file changed on one side takes that change; two changes of one text are merged line by
line; the executable bit is merged separately. If both sides changed the same place differently, the file is a *clash*
with the text that the user needs to decide. `prefer` decides all clashes at once, and only those.

    merged = merge(installed, here, there)
    if not merged.clashes:
        write_tree(directory, here, merged.tree)

Line ends, a byte order mark and the end of the last line are removed before a merge and restored afterwards, so that an
editor that changed all of them has changed nothing.

Every change of a skill raises its version, so both sides always change that line of the main file, and it would always
clash. It is therefore replaced with the same word on all sides; the rest is merged, and the version is put back: that
of the side that raised it, or the higher one if both did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from whet.authoring.main_file import said
from whet.authoring.merge import Conflict, Pieces, merge_text
from whet.errors import InvalidError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.edit import set_value
from whet.skill.finder import MAIN_FILES
from whet.skill.frontmatter import Document, read_document
from whet.skill.paths import collides
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.skill.tree import Item, Tree

Prefer = Literal["", "ours", "theirs"]
Kind = Literal[
    "both-changed", "both-added", "changed-and-removed", "removed-and-changed", "binary", "type", "unreadable"
]

CLASHES: dict[Kind, str] = {
    "both-changed": "changed here and in the source",
    "both-added": "was added here and in the source",
    "changed-and-removed": "changed here and was removed in the source",
    "removed-and-changed": "was removed here and changed in the source",
    "binary": "is not text and changed here and in the source",
    "type": "is a different kind of file here and in the source",
    "unreadable": "cannot be merged",
}
"""Description of each kind of clash."""
MAX_BYTES = 1024 * 1024
MAX_LINES = 50_000
"""Larger texts are not merged."""
MAX_TEXT = 6_000
"""Characters shown of a clash."""

_PLACES = (("version",), ("metadata", "version"))
_STEPS = ("strict", "repaired", "rescued", "none")
_BROKEN = frozenset(("unclosed-frontmatter", "duplicate-key", "frontmatter-too-large"))

_NUMBERED = compile_late(r"[vV]?([0-9]{1,18}(?:\.[0-9]{1,18}){0,9})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_RUN = compile_late(r"[0-9]{1,18}|[^0-9]+")
_LONGEST = 200

Key = tuple[tuple[int, int, str], ...]
_BOM = b"\xef\xbb\xbf"


class Clash(NamedTuple):
    """A file that the user must decide about."""

    path: str
    kind: Kind
    text: str
    """The conflicting parts, labelled `yours`, `before` and `theirs`, or a sentence."""

    def to_json(self) -> Json:
        """Return the clash as JSON."""
        return fields_json(self)


class Merged(NamedTuple):
    """The result of a merge. Files with clashes have your version in the tree."""

    tree: Tree
    clashes: tuple[Clash, ...]


class _Sides(NamedTuple):
    """One file in its three states."""

    path: str
    base: Item | None
    local: Item | None
    remote: Item | None


_Outcome: TypeAlias = "Item | Clash | None"
"""The new content of a file, None if it is removed, or a clash."""


def merge(
    base: Mapping[str, Item],
    local: Mapping[str, Item],
    remote: Mapping[str, Item],
    *,
    prefer: Prefer = "",
) -> Merged:
    """Merge the local and remote changes since `base`.

    `prefer` resolves clashes in favour of one side; everything else is merged as usual.
    """
    every = {path: _Sides(path, base.get(path), local.get(path), remote.get(path)) for path in {*base, *local, *remote}}
    outcomes = {path: _settle(every[path], _merge_file(every[path], prefer), prefer) for path in sorted(every)}
    while crowded := _crowded(outcomes, local, remote):  # each round drops a file of one side, so the loop ends
        outcomes |= {path: _settle(every[path], clash, prefer) for path, clash in crowded.items()}
    clashes = tuple(outcome for outcome in outcomes.values() if isinstance(outcome, Clash))
    return Merged(_tree(outcomes, local), clashes)


def _tree(outcomes: Mapping[str, _Outcome], local: Mapping[str, Item]) -> Tree:
    items = {path: local.get(path) if isinstance(found, Clash) else found for path, found in outcomes.items()}
    return {path: item for path, item in items.items() if item is not None}


def _settle(sides: _Sides, outcome: _Outcome, prefer: Prefer) -> _Outcome:
    """Return the outcome; replace a clash with the preferred side, if any."""
    if not isinstance(outcome, Clash) or not prefer:
        return outcome
    return sides.local if prefer == "ours" else sides.remote


def _merge_file(sides: _Sides, prefer: Prefer) -> _Outcome:
    """Merge one file: a change on only one side wins; otherwise it depends on the kind of file."""
    path, base, local, remote = sides
    if remote in (local, base):
        return local
    if local == base:
        return remote
    if local is None:
        text = f"You removed it; the source changed it.\n{_change(path, base, remote, 'theirs')}"
        return _clash(sides, "removed-and-changed", text)
    if remote is None:
        text = f"You changed it; the source removed it.\n{_change(path, base, local, 'yours')}"
        return _clash(sides, "changed-and-removed", text)
    if local.link or remote.link:
        return _clash(sides, "type" if local.link != remote.link else _both(sides), _states(sides))
    return _files(sides, local, remote, prefer)


def _files(sides: _Sides, local: Item, remote: Item, prefer: Prefer) -> _Outcome:
    """Merge a file that both sides changed: content and executable bit separately."""
    base = sides.base if sides.base and not sides.base.link else None
    was = base.executable if base else False
    executable = local.executable if local.executable != was else remote.executable
    before = base.data if base else b""
    if local.data == remote.data or (base and remote.data == before):
        return local._replace(executable=executable)
    if base and local.data == before:
        return remote._replace(executable=executable)
    if not all(map(_is_text, (before, local.data, remote.data))):
        return _clash(sides, "binary", f"It is not text and cannot be merged.\n{_states(sides)}")
    texts, style = _plain(before, local.data, remote.data)
    if any(len(text) > MAX_BYTES or text.count(b"\n") > MAX_LINES for text in texts):
        text = f"It is larger than {MAX_BYTES:,} bytes or {MAX_LINES:,} lines, too large to merge. Choose a side."
        return _clash(sides, _both(sides), text)
    found = _main(texts, prefer) if sides.path in MAIN_FILES else _text(texts, prefer)
    if isinstance(found, bytes):
        return local._replace(data=_styled(found, style), executable=executable)
    kind = found.kind if found.kind == "unreadable" else _both(sides)
    return _clash(sides, kind, found.text)


class _Trouble(NamedTuple):
    kind: Literal["conflict", "unreadable"]
    text: str


def _text(texts: _Texts, prefer: Prefer) -> bytes | _Trouble:
    pieces = merge_text(*texts)
    text = _joined(pieces, prefer)
    return _Trouble("conflict", _conflicts(pieces)) if text is None else text


def _main(texts: _Texts, prefer: Prefer) -> bytes | _Trouble:
    """Merge the main file without its version, then the version."""
    without, blanks = _take_out_versions(texts)
    pieces = merge_text(*without)
    text = _joined(pieces, prefer)
    if text is None:
        return _Trouble("conflict", _conflicts(_show_versions(pieces, blanks)))
    text = _put_back_versions(text, blanks)
    if text is None:  # a side moved the version: merge it like any other line
        found = _text(texts, prefer)
        if not isinstance(found, bytes):
            return found
        text = found
    if problem := _find_damage(text, texts.yours, texts.theirs):
        return _Trouble("unreadable", f"The changes merge line by line, but then {problem}.")
    return text


def _joined(pieces: Pieces, prefer: Prefer) -> bytes | None:
    """Join the pieces, with conflicts resolved by `prefer`; return None if conflicts remain."""
    if not prefer and any(isinstance(piece, Conflict) for piece in pieces):
        return None
    sides = (piece if isinstance(piece, bytes) else piece[0 if prefer == "ours" else 2] for piece in pieces)
    return b"".join(sides)


# --- paths that collide ---------------------------------------------------------------------------------------------


def _crowded(
    outcomes: Mapping[str, _Outcome], local: Mapping[str, Item], remote: Mapping[str, Item]
) -> dict[str, Clash]:
    """Return the files of one side that collide with one of the other: `a` and `a/b`, or `a` and `A`."""
    clashes: dict[str, Clash] = {}
    for one, other in collides(_tree(outcomes, local)):
        if any(one in side and other in side for side in (local, remote)):
            continue  # one side already has both
        nested = other.startswith(f"{one}/") or one.startswith(f"{other}/")
        text = (
            "It is a file on one side and a directory on the other."
            if nested
            else ("Some systems treat these as the same name.")
        )
        for path in (one, other):
            whose = "Yours" if path in local else "Theirs"
            match = other if path == one else one
            clash = Clash(path, "type" if nested else "both-added", f"{whose} is in the way of {match}. {text}")
            clashes.setdefault(path, clash)
    return clashes


# --- descriptions of clashes ----------------------------------------------------------------------------------------


def _clash(sides: _Sides, kind: Kind, text: str) -> Clash:
    shown = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n[... {len(text) - MAX_TEXT:,} more characters]"
    return Clash(sides.path, kind, shown)


def _both(sides: _Sides) -> Kind:
    return "both-changed" if sides.base else "both-added"


def _conflicts(pieces: Pieces) -> str:
    """Describe every conflict with its line in your text."""
    parts: list[str] = []
    line = 1
    for piece in pieces:
        yours = piece if isinstance(piece, bytes) else piece.yours
        if isinstance(piece, Conflict):
            sides = [side.decode("utf-8", "replace") for side in piece]
            labels = ("<<<<<<< yours", "||||||| before", "=======")
            shown = "".join(f"{label}\n{side}" for label, side in zip(labels, sides, strict=True))
            parts.append(f"line {line}:\n{shown}>>>>>>> theirs\n")
        line += yours.count(b"\n")
    return "".join(parts)


def _change(path: str, before: Item | None, after: Item | None, label: str) -> str:
    from whet.authoring.history import difference

    old, new = ({path: item} if item else None for item in (before, after))
    return difference(old, new, ("before", label))


def _states(sides: _Sides) -> str:
    yours, before, theirs = (_described(item) for item in (sides.local, sides.base, sides.remote))
    return f"yours: {yours}\nbefore: {before}\ntheirs: {theirs}"


def _described(item: Item | None) -> str:
    if item is None:
        return "nothing"
    return f"a link to {item.data.decode(errors='replace')}" if item.link else f"a file of {len(item.data):,} bytes"


# --- line ends and marks --------------------------------------------------------------------------------------------


class _Texts(NamedTuple):
    """The three states of a text."""

    before: bytes
    yours: bytes
    theirs: bytes


class _Style(NamedTuple):
    """The byte order mark and line ends of a text."""

    mark: bool
    """Whether it begins with a byte order mark."""
    crlf: bool
    ended: bool
    """Whether its last line has an end."""


def _is_text(data: bytes) -> bool:
    """Return whether this can be merged line by line."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _plain(before: bytes, yours: bytes, theirs: bytes) -> tuple[_Texts, _Style]:
    """Return the texts with plain line ends, and the style of the merged one.

    Marks and line ends stay as in `yours`. Mixed line ends may be intended, so they are kept line by line.
    """
    bare = [text.removeprefix(_BOM) for text in (before, yours, theirs)]
    crlf = False
    if not any(map(_mixed, bare[1:])):
        sample = next((text for text in (bare[1], bare[2]) if b"\n" in text), b"")
        crlf = b"\r\n" in sample
        bare = [text.replace(b"\r\n", b"\n") for text in bare]
    ends = [not text or text.endswith(b"\n") for text in bare]
    ended = ends[1] if ends[1] != ends[0] else ends[2]
    lines = [text if end else text + b"\n" for text, end in zip(bare, ends, strict=True)]
    return _Texts(*lines), _Style(yours.startswith(_BOM), crlf, ended)


def _styled(text: bytes, style: _Style) -> bytes:
    """Return plain lines in a given style."""
    if not style.ended:
        text = text.removesuffix(b"\n")
    if style.crlf:
        text = text.replace(b"\n", b"\r\n")
    return _BOM + text if style.mark else text


def _mixed(text: bytes) -> bool:
    return 0 < text.count(b"\r\n") < text.count(b"\n")


# --- the main file --------------------------------------------------------------------------------------------------


class _Blank(NamedTuple):
    """A version that was replaced with a word in the three texts."""

    key: str
    word: str
    """The word in its place."""
    versions: tuple[str, str, str]
    """Before, yours, theirs; "" if missing."""
    winner: str
    spelled: bool
    """Whether the winner is written without quotes, as a number or a date."""


def _take_out_versions(texts: _Texts) -> tuple[_Texts, tuple[_Blank, ...]]:
    """Replace each version that both sides have with one word; return the texts and the replacements."""
    blanks: list[_Blank] = []
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
        except InvalidError:  # it is not on a line of its own: merge it like any other text
            continue
        winner = choose_version(before, yours, theirs)
        side = documents[1 if winner == yours else 2]
        blanks.append(_Blank(key, word, (before, yours, theirs), winner, key in side.texts))
        texts = _Texts(*changed)
    return texts, tuple(blanks)


def _put_back_versions(text: bytes, blanks: tuple[_Blank, ...]) -> bytes | None:
    """Put the versions back into the merged text; return None if a word does not occur exactly once."""
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
        if word in text:  # the frontmatter now ends before it, so the version was added again
            return None
    return text


def _show_versions(pieces: Pieces, blanks: tuple[_Blank, ...]) -> Pieces:
    """Return the pieces with each side's own version, as they are shown."""
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


def _unused(texts: _Texts, number: int) -> str:
    """Return a word that none of the texts contains and that YAML reads as a plain string."""
    word = f"whet-version-{number}"
    while any(word.encode() in text for text in texts):
        word += "-x"
    return word


# --- which version --------------------------------------------------------------------------------------------------


def choose_version(before: str, yours: str, theirs: str) -> str:
    """Return the version of a merged skill: the changed one, or the higher one if both sides changed it."""
    if before and yours == before:
        return theirs
    if before and theirs == before:
        return yours
    return max(yours, theirs, key=_order)


def _order(version: str) -> tuple[int, Key, int, Key, str]:
    """Return a sort key for versions: numbers after words, a release after its candidates, digits by value.

    The order is total and stable for any text.
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


def _find_damage(merged: bytes, yours: bytes, theirs: bytes) -> str:
    """Return what can no longer be read in a merged main file that both sides could read, or ""."""
    new, *sides = (read_document(text) for text in (merged, yours, theirs))
    worst = max(_STEPS.index(side.step) for side in sides)
    if _STEPS.index(new.step) > worst:
        return "its frontmatter is no longer valid YAML" if new.step != "none" else "it no longer has frontmatter"
    known = {note.code for side in sides for note in side.diagnostics}
    for note in new.diagnostics:
        if note.code in _BROKEN and note.code not in known:
            return note.message[0].lower() + note.message[1:].rstrip(".")
    for key in ("name", "description"):
        if not _has(new, key) and all(_has(side, key) for side in sides):
            return f"it no longer has a {key}"
    return ""


def _has(document: Document, key: str) -> bool:
    return bool(said(document, key).strip())
