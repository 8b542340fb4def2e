"""Everything that is wrong or surprising about this machine's skills, and how to mend it.

The catalogue's report names what was skipped, shadowed, repaired or hidden. The doctor adds what only a closer look
brings up: skills buried inside other skills, missing setup, leftovers of interrupted writes, the state of Whet's own
files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import WhetError
from whet.library.discovery import OLD_MAINS, SKIPPED
from whet.library.readiness import missing
from whet.library.report import Entry
from whet.library.spots import MAIN
from whet.library.state import TABLES, state_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.api import Library
    from whet.library.card import Card

_ORDER = {"error": 0, "warning": 1, "info": 2}
_MAX_LOOKED_AT = 500
"""Directories looked at inside one skill."""


def examine(library: Library) -> tuple[Entry, ...]:
    """The whole report, worst first. A library that cannot even be looked at still gets a report that says why."""
    entries = list(_own_files(library))
    try:
        entries.extend((*library.report(), *_roots(library), *_leftovers(library)))
        for card in library.catalogue.cards:
            entries.extend(_nested(card))
            entries.extend(
                Entry("not-ready", "info", card.full_name, card.path, f"Missing {item.kind} {item.name}.", item.help)
                for item in missing(card.gates, library.probe)
            )
    except WhetError as error:
        if error.code not in {entry.code for entry in entries}:
            entries.append(Entry(error.code, "error", "", "", error.message, error.hint))
    return tuple(sorted(dict.fromkeys(entries), key=lambda entry: (_ORDER[entry.severity], entry.code, entry.path)))


def _roots(library: Library) -> Iterator[Entry]:
    for root in library.survey().roots:
        if not os.path.isdir(root.real):
            hint = "Make the directory, or take the root out."
            yield Entry("root-missing", "warning", "", root.path, "This root does not exist.", hint)


def _nested(card: Card) -> Iterator[Entry]:
    """Skills inside a skill: they are supporting files, which surprises whoever put them there."""
    if card.kind != "skill" or card.directory == card.root.path:
        return
    pending, looked_at = [card.directory], 0
    while pending and looked_at < _MAX_LOOKED_AT:
        looked_at += 1
        directory = pending.pop()
        try:
            with os.scandir(directory) as found:
                entries = list(found)
        except OSError as error:
            message = f"Cannot be searched: {error.strerror}."
            yield Entry("unreadable-directory", "warning", card.full_name, directory, message, "Check its permissions.")
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name[0] != "." and entry.name not in SKIPPED:
                    pending.append(entry.path)
            elif directory != card.directory and (entry.name == MAIN or entry.name in OLD_MAINS):
                hint = "Move it out of the skill to have it listed."
                message = f"Part of the skill {card.full_name}, not a skill of its own."
                yield Entry("nested-skill", "info", card.full_name, entry.path, message, hint)


def _leftovers(library: Library) -> Iterator[Entry]:
    from whet.store.atomic import leftovers

    for shelf_root in library.survey().roots:
        if os.path.isdir(shelf_root.real):
            for path in leftovers(shelf_root.real):
                hint = "Run `whet doctor --repair`."
                yield Entry("leftover", "warning", "", path, "Left behind by an interrupted write.", hint)


def _own_files(library: Library) -> Iterator[Entry]:
    from whet.store.database import check

    path = library.decisions.path
    if os.path.exists(path) and (problem := check(path)):
        hint = "Run `whet doctor --repair`: it sets the file aside and saves what can still be read."
        yield Entry("state-corrupt", "error", "", path, f"The state database is damaged: {problem}.", hint)
    state = library.place.state
    if os.path.isdir(state) and not os.access(state, os.W_OK):
        hint = "Make it writable, or set WHET_HOME to another directory."
        yield Entry("home-read-only", "warning", "", state, "Whet cannot write here; every start is a cold one.", hint)


def repair(library: Library) -> dict[str, Any]:
    """Mend what can be mended without asking: leftovers, a damaged state database. Tells what was done and lost."""
    from whet.store.atomic import clean_leftovers
    from whet.store.database import check
    from whet.store.database import repair as repair_database

    done: list[str] = []
    lost: list[str] = []
    path = library.decisions.path
    if os.path.exists(path) and check(path):
        library.decisions.close()
        outcome = repair_database(path, state_schema(), TABLES)
        rows = sum(outcome.salvage.rows.values())
        done.append(f"Set the damaged state database aside as {outcome.set_aside} and saved {rows} decisions from it.")
        lost.extend(outcome.salvage.lost)
    for root in library.survey().roots:
        if os.path.isdir(root.real):
            try:
                done.extend(f"Cleaned up {item.path}." for item in clean_leftovers(root.real))
            except WhetError as error:
                lost.append(error.message)
    return {"repaired": done, "lost": lost}
