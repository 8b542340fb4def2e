"""The history of skills: an append-only, hash-chained journal, with every content it names kept by digest.

Each entry says who changed which skill, why, and from which content to which (`whet.store.chain`). `lineage` is one
digest over the contents of all skills the journal knows, before and after: it adds up what each skill contributes, so
that an entry costs the same however many skills there are, and `verify` can prove it from the journal.

A change is recorded *before* it is made (an intent, with both contents stored) and turned into entries when it is done.
After a killed writer, the next process finds the intent and finishes or reverses the change; see `writer`.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from whet.errors import FailedError, NotFoundError, UsageError, WhetError
from whet.library.package import read_tree
from whet.notes import SWITCHES, name_action
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.tree import Item, Tree, entries, manifest, read_manifest
from whet.store.blobs import CONTENTS, Blobs
from whet.store.chain import LOST, ORIGIN, REPAIR_HINT, Chain, Loaded, Problem, in_ranges
from whet.store.clock import iso
from whet.store.intents import EDIT, UNREADABLE, Intents

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping

    from whet.store.clock import Clock
    from whet.store.intents import Intent
    from whet.store.repair import Repaired
    from whet.store.state import StateDatabase
    from whet.values import Json

REVERSALS = ("undo", "redo")
"""The actions that reverse another change; a redo reverses an undo."""
_SPACE = 1 << 256
_AT_ONCE = 500
"""Number of skills that one query asks about."""
_GRACE_NS = 3600 * 10**9
"""Longer than any writer takes from storing a content to recording a reference to it."""


class Entry(NamedTuple):
    """One change of one skill."""

    id: int
    time: int
    actor: str
    """`user`, `agent`, `curator`, or `unknown` for a change that was found."""
    origin: str
    """The actor's context: `foreground`, `background`, or a source. For a decision, the surface; "" for all."""
    action: str
    skill: str
    path: str
    """The skill's directory."""
    reason: str
    before: str
    """Content digest; "" if there was no skill."""
    after: str
    checked: str
    """The result of the check before the write."""
    run: str
    """Shared by the entries of one batch or one run of the curator."""
    modes: str
    """Permissions of the content before (`whet.authoring.permissions`); "" for the usual ones."""
    lineage: str
    """The lineage digest after this entry."""
    previous: str
    hash: str

    @property
    def what(self) -> str:
        """The human-readable name of the change."""
        if self.action == "found":
            return "first seen" if not self.before else "edited by hand" if self.after else "removed by hand"
        return name_action(self.action, self.origin)

    def to_json(self) -> Json:
        """Return the entry as JSON."""
        told = {**self._asdict(), "time": iso(self.time)}
        return told if self.modes else {name: value for name, value in told.items() if name != "modes"}


class Note(NamedTuple):
    """An entry without a place in the chain yet."""

    actor: str
    origin: str
    action: str
    skill: str
    path: str
    reason: str
    before: str
    after: str
    checked: str
    run: str
    modes: str = ""


class Edit(NamedTuple):
    """A change that is about to be made."""

    id: str
    notes: tuple[Note, ...]
    """The entries to add when it is made."""
    lock: Any = None
    """The lock's future entries for these skills, as JSON; for `whet.sources.lock`."""

    @property
    def own(self) -> tuple[Note, ...]:
        """Its own changes; the others are found changes."""
        return tuple(note for note in self.notes if note.action != "found")

    @property
    def paths(self) -> frozenset[str]:
        """The directories that it changes."""
        return frozenset(note.path for note in self.own)

    @classmethod
    def from_intent(cls, intent: Intent) -> Edit:
        """Return the change of an intent of the kind `EDIT`."""
        notes = tuple(Note(*note) for note in intent.payload["notes"])
        return cls(intent.id, notes, intent.payload.get("lock"))


def short_run(run: str) -> str:
    """Return as much of a run's id as `undo` needs."""
    return run if run[:8].isdecimal() else run[:8]  # otherwise it would be the number of an entry


class Journal:
    """The history of one state directory. Reading never creates it."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self.state = state
        self.blobs = Blobs(os.path.join(state.directory, CONTENTS))
        self.clock = clock
        self.intents = Intents(state, clock)
        self._chain = Chain(state, "journal", Entry._make, Entry._fields, _seal)

    # contents

    def keep(self, tree: Mapping[str, Item] | None) -> str:
        """Store a content; return its digest, "" for None."""
        (of,) = self.keep_all((tree,))
        return of

    def keep_all(self, trees: Iterable[Mapping[str, Item] | None]) -> list[str]:
        """Store several contents, synced together; return the digest of each.

        The lists of their files come last. The digest is the hash of such a list, which is stored under it, so that
        every content can be found and verified without a database.
        """
        told = list(trees)
        known = [tree for tree in told if tree is not None]
        files = [
            _recoded(item.data, "surrogateescape", "surrogatepass") if item.link else item.data
            for tree in known
            for item in tree.values()
        ]
        blobs = self.blobs.put_all([*files, *(manifest(entries(tree)) for tree in known)])
        digests = iter(blobs[len(files) :])
        return ["" if tree is None else f"sha256:{next(digests)}" for tree in told]

    def retain(self, path: str, tree: Mapping[str, Item] | None) -> None:
        """Keep a content for a skill's directory, whether it was ever there or not; None releases all of them."""
        of = self.keep(tree)
        with self.state.write() as connection:
            if of:
                connection.execute("INSERT OR IGNORE INTO retained VALUES (?, ?)", (path, of))
            else:
                connection.execute("DELETE FROM retained WHERE path = ?", (path,))

    def content(self, of: str) -> Tree | None:
        """Return the verified content of that digest; None for ""."""
        if not of:
            return None
        tree: Tree = {}
        for path, mark, hash_ in self.files(of):
            data = self.blobs.get(hash_)
            if mark == "link":
                tree[path] = Item(_recoded(data, "surrogatepass", "surrogateescape"), link=True)
            else:
                tree[path] = Item(data, executable=mark == "executable")
        return tree

    def files(self, of: str) -> tuple[tuple[str, str, str], ...]:
        """Return path, mark and hash of every file of a content. Raises NotFoundError and FailedError."""
        try:
            data = self.blobs.get(of.removeprefix("sha256:"))
        except (NotFoundError, UsageError):
            hint = "`whet history NAME` shows the states that are kept."
            raise NotFoundError("no-such-content", f"No content {of} is stored.", hint=hint) from None
        if data and not (found := read_manifest(data)):
            raise FailedError("history-damaged", f"The stored content {of} is not a list of files.", hint=_DOCTOR)
        return found if data else ()

    def unnamed(self) -> Iterator[str]:
        """Yield the digest of every complete content without references: its entries may have been lost."""
        known = self._referred()
        for blob in self.blobs.digests():
            of = f"sha256:{blob}"
            if of not in known and not self.blobs.check(blob):
                files = read_manifest(self.blobs.get(blob))
                if files and not any(self.blobs.check(hash_) for *_, hash_ in files):
                    yield of

    def has_loss(self) -> bool:
        """Return whether entries are lost; otherwise a content without references belongs to no version of a skill."""
        known = self._chain.rows("action = ? OR id = (SELECT min(id) FROM journal)", (LOST,), last=1)
        return not known or known[0].action == LOST

    # entries

    def entries(
        self,
        *,
        skill: str = "",
        path: str = "",
        run: str = "",
        after: int = 0,
        last: int | None = None,
        switches: bool = False,
    ) -> tuple[Entry, ...]:
        """Return entries, oldest first: of one skill by its name or directory, of one run, after a number, or all.

        Without `switches`, only those about contents: no decisions, such as that a skill is disabled.
        """
        where = [(column, value) for column, value in (("skill", skill), ("path", path), ("run", run)) if value]
        condition = f"id > {after:d}" + "".join(f" AND {column} = ?" for column, _ in where)
        if not switches:
            condition += f" AND action NOT IN {SWITCHES}"
        return self._chain.rows(condition, [value for _, value in where], last=last or None)

    def entry(self, number: int) -> Entry:
        """Return one entry by its number. Raises NotFoundError."""
        found = self._chain.rows("id = ?", (number,))
        if not found:
            hint = "`whet history` shows the entries."
            raise NotFoundError("no-such-entry", f"The history has no entry {number}.", hint=hint)
        return found[0]

    def head(self, path: str) -> Entry | None:
        """Return the last entry about a skill's directory."""
        found = self.entries(path=path, last=1)
        return found[0] if found else None

    def heads(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Return the last entry about each of these directories that has one."""
        wanted = list(paths)
        found: dict[str, Entry] = {}
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            last = f"SELECT max(id) FROM journal WHERE path IN ({', '.join('?' * len(some))})"  # noqa: S608  only places
            rows = self._chain.rows(f"id IN ({last} AND action NOT IN {SWITCHES} GROUP BY path)", some)
            found |= {entry.path: entry for entry in rows}
        return found

    # changes

    def begin(self, edit: Edit) -> None:
        """Record an intended change."""
        self._chain.refuse_cut()
        with self.state.write():
            self.intents.begin(EDIT, {"notes": [list(note) for note in edit.notes], "lock": edit.lock}, edit.id)
            self.turn(edit)

    def edits(self) -> list[Edit]:
        """Return the unsettled changes, oldest first; `unreadable` returns the damaged ones."""
        found = []
        for intent in self.intents.open(EDIT):
            with suppress(*UNREADABLE):
                found.append(Edit.from_intent(intent))
        return found

    def unreadable(self) -> list[str]:
        """Return the ids of damaged open changes: they cannot be finished or reversed."""
        known = {edit.id for edit in self.edits()}
        return [intent.id for intent in self.intents.open(EDIT) if intent.id not in known]

    def settle(self, edit: Edit) -> tuple[Entry, ...]:
        """Close a change and append it to the chain, in one step; return () if another process did."""
        with self.state.write():
            return self.append(edit.notes) if self.drop(edit) else ()

    def drop(self, edit: Edit) -> bool:
        """Close a change; return False if another process did."""
        with self.state.write():
            self.turn(edit)
            return self.intents.settle(edit.id)

    def turn(self, edit: Edit) -> None:
        """Notify readers that a change begins, is reversed or ends, if they could see a part of it."""
        if len(edit.paths) > 1:
            self.intents.turn()

    def append(self, notes: Iterable[Note]) -> tuple[Entry, ...]:
        """Append entries to the chain, all or none."""
        with self.state.write() as connection:
            return self._append(connection, notes)

    def _append(self, connection: sqlite3.Connection, notes: Iterable[Note], after: int = 0) -> tuple[Entry, ...]:
        last, rows = self._chain.last(connection), []
        lineage = last.lineage if last else ORIGIN
        for note in notes:
            lineage = advance(lineage, note)
            rows.append((self.clock(), *note, lineage))
        return self._chain.append(connection, rows, after)

    # the whole history

    def verify(self) -> tuple[Problem, ...]:
        """Return every inconsistency of the history: the chain, its log, the lineage, the contents."""
        witness, loaded = self._witness(), self._chain.load()
        return (*self._verify_chain(witness, loaded), *self._damaged(loaded.rows).values())

    def _verify_chain(self, witness: tuple[int, str], loaded: Loaded[Entry]) -> Iterator[Problem]:
        yield from self._chain.verify(loaded)
        previous, lineage = ORIGIN, ORIGIN
        for entry in loaded.rows:
            if entry.previous == previous and not _advances(entry, lineage):
                yield Problem(entry.id, "lineage-broken", "The lineage does not match the entry.")
            previous, lineage = entry.hash, entry.lineage
        if number := self._contradicts(witness, loaded.rows):
            message = f"Entry {number} does not match the decision log."
            yield Problem(number, "history-cut", message)

    def _contradicts(self, witness: tuple[int, str], rows: Iterable[Entry]) -> int:
        """Return the number of an expected but missing entry; 0 if there is none, or its loss is on record."""
        number, of = witness
        held = [entry.hash for entry in rows if entry.id == number]
        return number if number and held != [of] and not self._chain.has_lost(rows, number) else 0

    def _witness(self) -> tuple[int, str]:
        """Return number and hash of the newest entry that the record of decisions knows."""
        rows = self.state.read("SELECT journal FROM audit WHERE journal <> '' ORDER BY id DESC LIMIT 1")
        number, _, of = str(rows[0][0]).partition(" ") if rows else ("", "", "")
        return (int(number), of) if number.isdecimal() and len(number) < len(ORIGIN) // 4 else (0, "")

    def _damaged(self, rows: Iterable[Entry]) -> dict[str, Problem]:
        """Return each referenced content that is damaged or missing, unless an entry says that it is lost."""
        lost = {of for entry in rows if entry.action == LOST for of in _DIGEST.findall(entry.reason)}
        found: dict[str, Problem] = {}
        verdicts: dict[str, str] = {}  # each file is read once

        def judge(hash_: str) -> str:
            if hash_ not in verdicts:
                verdicts[hash_] = self.blobs.check(hash_)
            return verdicts[hash_]

        for of in sorted(self._referred() - lost):
            hash_ = of.removeprefix("sha256:")
            try:
                code = judge(hash_)
                if code:
                    code = "no-such-content" if code == "blob-missing" else code
                else:
                    code = next((verdict for *_, file in self.files(of) if (verdict := judge(file))), "")
            except WhetError as error:
                code = "no-such-content" if isinstance(error, UsageError) else error.code
            if code:
                found[of] = Problem(0, code, f"The stored content {of} is missing or damaged.")
        return found

    def _referred(self) -> set[str]:
        """Return the digest of every referenced content."""
        database = self.state.existing()
        if database is None:
            return set()
        with database.snapshot() as connection:
            found = {of for row in connection.execute("SELECT before, after FROM journal") for of in row}
            found.update(of for (of,) in connection.execute("SELECT digest FROM retained"))
            found.update(of for edit in self.edits() for note in edit.notes for of in (note.before, note.after))
            for (text,) in connection.execute("SELECT changes FROM proposals").fetchall():
                found.update(of for change in json.loads(text) for of in change[3:])
        return found - {""}

    def compact(self) -> int:
        """Remove stored contents that nothing refers to; return the number of files.

        Only if the history is intact, because otherwise the reference may be missing: raises FailedError. After a
        recorded loss, all contents stay.
        """
        now, witness, loaded = self.clock(), self._witness(), self._chain.load()
        if any(entry.action == LOST for entry in loaded.rows):
            return 0
        problem = next(self._verify_chain(witness, loaded), None)
        try:
            kept = self._referred()
            files = {hash_ for of in kept for *_, hash_ in self.files(of)}
        except WhetError as error:
            problem = Problem(0, error.code, error.message)
        if problem:
            message = f"Whet keeps all stored content while the history is damaged: {problem.message}"
            raise FailedError("history-damaged", message, hint=REPAIR_HINT)
        files.update(of.removeprefix("sha256:") for of in kept)
        return len(self.blobs.remove_unreferenced(files, older_than_ns=_GRACE_NS, now_ns=now))

    def repair(self) -> Repaired:
        """Restore everything that the log and the skills still have, and record losses."""
        from whet.store.repair import Repaired

        witness = self._witness()
        done, numbers = self._chain.repair(witness[0])
        rows = self._chain.rows()
        if (number := self._contradicts(witness, rows)) and not any(low <= number <= high for low, high in numbers):
            numbers = (*numbers, (number, number))
        damaged = self._damaged(rows)
        if damaged:
            self.blobs.make_readable()
            for path in sorted({entry.path for entry in rows if entry.path}):
                with suppress(WhetError):
                    self.keep(read_tree(path))
            before, damaged = len(damaged), self._damaged(rows)
            if before > len(damaged):
                done = (*done, f"{before - len(damaged)} stored contents were recovered.")
        lost = [f"entries {in_ranges(numbers)}"] if numbers else []
        lost += [f"contents {' '.join(damaged)}"] if damaged else []
        if not lost:
            return Repaired(done)
        reason = f"Lost: {'; '.join(lost)}."
        with self.state.write() as connection:
            note = Note(*("whet", "repair", LOST, "", "", reason), "", "", "", "")
            self._append(connection, (note,), max((high for _, high in numbers), default=0))
        return Repaired(done, (reason,))


def _recoded(data: bytes, one: str, other: str) -> bytes:
    """Convert the text of a link between digest and file system; they differ if it is not UTF-8."""
    return data.decode("utf-8", one).encode("utf-8", other)


_DIGEST = compile_late(r"sha256:[0-9a-f]{64}")
_DOCTOR = "Run `whet history verify` to see what is damaged."


def _advances(entry: Entry, lineage: str) -> bool:
    """Return whether the lineage of an entry follows from that of the previous one."""
    try:
        return entry.lineage == advance(lineage, entry)
    except FailedError:
        return False


def chained(entry: Entry) -> str:
    """Return the hash of an entry: over all of its other fields, including the previous hash."""
    return _seal(tuple(entry)[:-1])


_MODES = Entry._fields.index("modes")


def _seal(fields: tuple[Any, ...]) -> str:
    if not fields[_MODES]:  # as it was before this field existed
        fields = (*fields[:_MODES], *fields[_MODES + 1 :])
    text = json.dumps([*fields, ""], ensure_ascii=False, separators=(",", ":"), default=str)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def advance(lineage: str, change: Note | Entry) -> str:
    """Return the lineage after a change: the skill's old share is removed, its new share added."""
    try:
        total = int(lineage, 16) - _share(change.path, change.before) + _share(change.path, change.after)
    except ValueError:
        raise FailedError("history-damaged", f"{lineage!r} is not a lineage.", hint=_DOCTOR) from None
    return f"{total % _SPACE:064x}"


def _share(path: str, of: str) -> int:
    """Return the share of one skill with this content, independent of its parent directory; 0 without content."""
    if not of:
        return 0
    name = os.path.basename(path)
    return int.from_bytes(sha256(f"{len(name)}:{name}{of}".encode("utf-8", "surrogatepass")).digest(), "big")
