"""Everything that is wrong or surprising about this machine's skills, and how to mend it.

The catalogue's report names what was skipped, shadowed, repaired or hidden. The doctor adds what only a closer look
brings up: skills buried inside other skills, files that cannot be part of a package, missing setup, leftovers of
interrupted writes, the state of Whet's own files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.errors import FailedError, WhetError
from whet.guard.sandbox.box import NO_SANDBOX_HINT
from whet.library.card import main_file
from whet.library.package import Listing, list_package
from whet.library.readiness import missing
from whet.notes import Note
from whet.skill.finder import LIBRARY, MAIN_FILES
from whet.store.atomic import Cleaned, clean_leftovers, leftovers
from whet.store.directories import find_loose, is_loose, tighten
from whet.store.repair import Repaired
from whet.store.state import FILE as STATE_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whet.guard.sandbox.levels import Level
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.readiness import Probe
    from whet.library.roots import Root

_WORKPLACES = ("fetching", "publishing")
"""Directories of the state in which repositories lie for a moment."""
_MAX_SEARCHED = 100_000
"""Directories of one root that are searched for leftovers."""


def examine(catalogue: Catalogue, probe: Probe) -> Iterator[Note]:
    """What a closer look at the skills and their roots brings up, beyond the catalogue's own report."""
    for root in catalogue.roots:
        if not os.path.isdir(root.real):
            hint = "Make the directory, or take the root out."
            yield Note("root-missing", "warning", "This root does not exist.", hint, path=root.path)
            continue
        for path in (path for directory in _directories(root.real) for path in _leftovers(directory)):
            hint = "Run `whet doctor --repair`."
            yield Note("leftover", "warning", "Left behind by an interrupted write.", hint, path=path)
    for card in catalogue.cards:
        yield from _contents(card)
        for item in missing(card.gates, probe):
            message = f"Missing {item.kind} {item.name}."
            yield Note("not-ready", "info", message, item.help, skill=card.full_name, path=card.path)


def _contents(card: Card) -> Iterator[Note]:
    """What is among a skill's files and cannot be part of a package, and skills that lie there and are none."""
    if card.kind != "skill":
        return
    try:
        listing = list_package(card.directory, main=main_file(card))
    except WhetError as error:
        listing = Listing((), (error,))
    for problem in listing.problems:
        yield Note.from_error(problem, "warning", skill=card.full_name, path=card.directory)
    if card.directory == card.root.path:
        return
    for *above, name in (item.path.split("/") for item in listing.files):
        if above and name in MAIN_FILES and all(map(LIBRARY.enters, above)):
            hint = "Move it out of the skill to have it listed."
            message = f"Part of the skill {card.full_name}, not a skill of its own."
            path = os.path.join(card.directory, *above, name)
            yield Note("nested-skill", "info", message, hint, skill=card.full_name, path=path)


def examine_state(state: str) -> Iterator[Note]:
    """What is wrong with Whet's own directory."""
    from whet.store.repair import examine_databases

    yield from examine_databases(state)
    for path in (path for name in _WORKPLACES for path in _leftovers(os.path.join(state, name))):
        hint = "Run `whet doctor --repair`."
        yield Note("leftover", "warning", "Left behind by an interrupted fetch.", hint, path=path)
    if is_loose(state) and os.path.lexists(os.path.join(state, STATE_FILE)):
        message = f"Other users may look into it; they have rights to {len([*find_loose(state)]):,} of the files there."
        hint = "Run `whet doctor --repair`; copies of your skills are kept here."
        yield Note("state-readable-by-others", "warning", message, hint, path=state)
    if os.path.isdir(state) and not os.access(state, os.W_OK):
        hint = "Make it writable, or set WHET_HOME to another directory."
        yield Note("home-read-only", "warning", "Whet cannot write here; every start is a cold one.", hint, path=state)


def examine_sandbox(find_level: Callable[[], Level]) -> Note:
    """How well programs of skills can be isolated on this machine; finding out takes a tenth of a second."""
    try:
        level = find_level()
    except OSError as error:
        message = f"No sandbox can be tried: {error.strerror or error}. Inline commands are not run."
        return Note("no-sandbox", "warning", message, "Check that there is room for temporary files.")
    if level.isolates:
        return Note("sandbox", "info", level.sentence)
    message = f"{level.sentence} Inline commands are not run."
    return Note("no-sandbox", "warning", message, NO_SANDBOX_HINT)


def worst_first(entries: Iterable[Note]) -> tuple[Note, ...]:
    """The entries without doubles, sorted by severity, code and place."""
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(dict.fromkeys(entries), key=lambda entry: (order[entry.severity], entry.code, entry.path)))


def _directories(top: str) -> Iterator[str]:
    """A directory and those below it where skills and their files are; links are not followed."""
    pending, searched = [top], 0
    while pending and searched < _MAX_SEARCHED:
        searched += 1
        directory = pending.pop()
        yield directory
        try:
            with os.scandir(directory) as found:
                pending.extend(
                    entry.path for entry in found if LIBRARY.enters(entry.name) and entry.is_dir(follow_symlinks=False)
                )
        except OSError:
            continue  # the catalogue, or the look inside the skill, reports it


def _leftovers(directory: str) -> list[str]:
    try:
        return leftovers(directory)
    except FailedError:
        return []  # cannot be listed; that is reported by whoever looks for skills in it


def repair_workplaces(state: str) -> Repaired:
    """Keep others out of the state, and remove what killed fetches left behind."""
    tighten(path for path in (*find_loose(state), state) if is_loose(path))
    return _told(item for name in _WORKPLACES for item in clean_leftovers(os.path.join(state, name)))


def repair_roots(roots: Iterable[Root]) -> Repaired:
    """Finish or undo what interrupted writes left behind."""
    cleaned: list[Cleaned] = []
    for root in roots:
        for directory in _directories(root.real):
            if _leftovers(directory):
                cleaned.extend(clean_leftovers(directory))
    return _told(cleaned)


def _told(outcomes: Iterable[Cleaned]) -> Repaired:
    cleaned = tuple(outcomes)
    done = tuple(f"{item.path}: {item.outcome}." for item in cleaned if item.outcome != "failed")
    return Repaired(done, tuple(f"{item.path}: {item.detail}." for item in cleaned if item.outcome == "failed"))
