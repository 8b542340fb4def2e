"""Three-way merge of a skill: what was installed, what became of it here, what its source has now.

Decided file by file. Who alone changed a file wins; two changes of one text are merged line by line; the executable
bit is merged for itself. Where both sides want different things in the same place nobody guesses: that is a *clash*,
with what a person needs to decide it. `prefer` decides all of them at once, and only them.

    merged = merge(installed, here, there)
    if not merged.clashes:
        write_tree(directory, here, merged.tree)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.authoring.merge import Conflict, Pieces, merge_text
from whet.skill.finder import MAIN_FILES
from whet.skill.paths import collides
from whet.sources.merging import main as mains
from whet.sources.merging.style import Texts, is_text, plain, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.skill.tree import Item, Tree

Prefer = Literal["", "ours", "theirs"]
Kind = Literal[
    "both-changed", "both-added", "changed-and-removed", "removed-and-changed", "binary", "type", "unreadable"
]
Deed = Literal["theirs", "ours", "merged", "removed", "added"]

MAX_BYTES = 1024 * 1024
MAX_LINES = 50_000
"""Texts beyond this are not merged."""
MAX_TEXT = 6_000
"""Characters that a clash shows."""


class Clash(NamedTuple):
    """One file that a person has to decide about."""

    path: str
    kind: Kind
    text: str
    """The places in question, labelled `yours`, `before` and `theirs`, or a sentence."""

    def to_json(self) -> dict[str, Any]:
        """The clash as JSON carries it."""
        return self._asdict()


class Told(NamedTuple):
    """What was done with one file that either side had changed."""

    path: str
    what: Deed
    """`ours`: your change stays. `theirs`, `added`, `removed`: the source's was taken. `merged`: both are in it."""

    def to_json(self) -> dict[str, Any]:
        """What was done, as JSON carries it."""
        return self._asdict()


class Merged(NamedTuple):
    """The outcome. With clashes, the tree has your version of the files they are about."""

    tree: Tree
    clashes: tuple[Clash, ...]
    told: tuple[Told, ...]


class _Sides(NamedTuple):
    """One file in its three states."""

    path: str
    base: Item | None
    local: Item | None
    remote: Item | None


class _Outcome(NamedTuple):
    item: Item | None
    what: Deed | None
    """None: nobody changed anything."""
    clash: Clash | None = None


def merge(
    base: Mapping[str, Item],
    local: Mapping[str, Item],
    remote: Mapping[str, Item],
    *,
    prefer: Prefer = "",
) -> Merged:
    """Bring what was done here (`local`) and at the source (`remote`) since `base` together.

    `prefer` settles what clashes in favour of one side and leaves the rest as it is merged anyway.
    """
    outcomes: dict[str, _Outcome] = {}
    for path in sorted({*base, *local, *remote}):
        sides = _Sides(path, base.get(path), local.get(path), remote.get(path))
        outcomes[path] = _settled(sides, _merged(sides, prefer), prefer)
    while crowded := _crowded(outcomes, local, remote):  # each round leaves out a file of one side, so it ends
        for path, clash in crowded.items():
            sides = _Sides(path, base.get(path), local.get(path), remote.get(path))
            outcomes[path] = _settled(sides, _Outcome(local.get(path), None, clash), prefer)
    return Merged(
        {path: outcome.item for path, outcome in outcomes.items() if outcome.item is not None},
        tuple(outcome.clash for outcome in outcomes.values() if outcome.clash),
        tuple(Told(path, outcome.what) for path, outcome in outcomes.items() if outcome.what and not outcome.clash),
    )


def _settled(sides: _Sides, outcome: _Outcome, prefer: Prefer) -> _Outcome:
    """The outcome; where it is a clash and a side is preferred, that side."""
    if not outcome.clash or not prefer:
        return outcome
    if prefer == "ours":
        return _Outcome(sides.local, "ours")
    return _Outcome(sides.remote, "removed" if sides.remote is None else "added" if sides.local is None else "theirs")


def _merged(sides: _Sides, prefer: Prefer) -> _Outcome:
    """One file: whoever alone changed it wins; else it depends on what it is."""
    path, base, local, remote = sides
    if local == remote:
        return _Outcome(local, None if local == base else "merged")
    if remote == base:
        return _Outcome(local, "ours")
    if local == base:
        return _Outcome(remote, "added" if local is None else "removed" if remote is None else "theirs")
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
    """A file that both sides changed: its content and its executable bit, each for itself."""
    base = sides.base if sides.base and not sides.base.link else None
    was = base.executable if base else False
    executable = local.executable if local.executable != was else remote.executable
    before = base.data if base else b""
    if local.data == remote.data or (base and remote.data == before):
        return _Outcome(local._replace(executable=executable), "merged")
    if base and local.data == before:
        return _Outcome(remote._replace(executable=executable), "merged")
    if not all(map(is_text, (before, local.data, remote.data))):
        return _clash(sides, "binary", f"It is not text, so it cannot be merged.\n{_states(sides)}")
    texts, style = plain(before, local.data, remote.data)
    if any(len(text) > MAX_BYTES or text.count(b"\n") > MAX_LINES for text in texts):
        text = f"It is larger than {MAX_BYTES:,} bytes or {MAX_LINES:,} lines, too large to be merged. Choose a side."
        return _clash(sides, _both(sides), text)
    found = _main(texts, prefer) if sides.path in MAIN_FILES else _text(texts, prefer)
    if isinstance(found, bytes):
        return _Outcome(local._replace(data=styled(found, style), executable=executable), "merged")
    kind = found.kind if found.kind == "unreadable" else _both(sides)
    return _clash(sides, kind, found.text)


class _Trouble(NamedTuple):
    kind: Literal["conflict", "unreadable"]
    text: str


def _text(texts: Texts, prefer: Prefer) -> bytes | _Trouble:
    pieces = merge_text(*texts)
    text = _joined(pieces, prefer)
    return _Trouble("conflict", _conflicts(pieces)) if text is None else text


def _main(texts: Texts, prefer: Prefer) -> bytes | _Trouble:
    """The main file without its version, and the version for itself."""
    without, blanks = mains.blanked(texts)
    pieces = merge_text(*without)
    text = _joined(pieces, prefer)
    if text is None:
        return _Trouble("conflict", _conflicts(mains.shown(pieces, blanks)))
    text = mains.filled(text, blanks)
    if text is None:  # a side moved the version elsewhere: then it is a line like any other
        found = _text(texts, prefer)
        if not isinstance(found, bytes):
            return found
        text = found
    if problem := mains.broken(text, texts.yours, texts.theirs):
        return _Trouble("unreadable", f"The changes of both sides fit together line by line, but then {problem}.")
    return text


def _joined(pieces: Pieces, prefer: Prefer) -> bytes | None:
    """The text of the pieces, conflicts decided; None when there are any and nobody decides."""
    if not prefer and any(isinstance(piece, Conflict) for piece in pieces):
        return None
    sides = (piece if isinstance(piece, bytes) else piece[0 if prefer == "ours" else 2] for piece in pieces)
    return b"".join(sides)


# --- files that get in each other's way -----------------------------------------------------------------------------


def _crowded(
    outcomes: Mapping[str, _Outcome], local: Mapping[str, Item], remote: Mapping[str, Item]
) -> dict[str, Clash]:
    """The files of one side that cannot lie beside one of the other: `a` and `a/b`, or `a` and `A`."""
    clashes: dict[str, Clash] = {}
    present = [path for path, outcome in outcomes.items() if outcome.item is not None]
    for one, other in collides(present):
        if any(one in side and other in side for side in (local, remote)):
            continue  # a side has both and lives with it
        nested = other.startswith(f"{one}/") or one.startswith(f"{other}/")
        text = "It is a file on one side and a directory on the other." if nested else "Some systems see one name."
        for path in (one, other):
            whose = "Yours" if path in local else "Theirs"
            match = other if path == one else one
            clash = Clash(path, "type" if nested else "both-added", f"{whose} is in the way of {match}. {text}")
            clashes.setdefault(path, clash)
    return clashes


# --- what a person sees ---------------------------------------------------------------------------------------------


def _clash(sides: _Sides, kind: Kind, text: str) -> _Outcome:
    shown = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n[... {len(text) - MAX_TEXT:,} more characters]"
    return _Outcome(sides.local, None, Clash(sides.path, kind, shown))


def _both(sides: _Sides) -> Kind:
    return "both-changed" if sides.base else "both-added"


def _conflicts(pieces: Pieces) -> str:
    """Every conflict with its place in your text."""
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
