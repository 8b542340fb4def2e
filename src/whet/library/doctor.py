"""Problems of this machine's skills, and how to repair them.

The catalogue's report names skills that were skipped, shadowed, repaired or hidden. The doctor adds problems that need
a closer look: skills buried inside other skills, files that cannot be part of a package, missing setup, leftovers of
interrupted writes, the state of Whet's own files.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, WhetError
from whet.guard.sandbox.box import NO_SANDBOX_HINT
from whet.library.card import main_file
from whet.library.dependencies import examine_dependencies
from whet.library.files import read_file
from whet.library.package import LIMITS, Listing, list_package
from whet.library.readiness import missing
from whet.library.roots import user_root
from whet.notes import Note, Progress
from whet.skill.finder import LIBRARY, MAIN_FILES
from whet.skill.model import MAX_DESCRIPTION
from whet.skill.names import slug, spec_problems
from whet.skill.paths import MAX_SEGMENTS, shown, unportable
from whet.skill.tree import IGNORED
from whet.store.atomic import Cleaned, clean_leftovers, is_leftover, leftovers, move_aside
from whet.store.blobs import CONTENTS
from whet.store.cache import FILE as CACHE_FILE
from whet.store.database import COMPANIONS
from whet.store.directories import KEPT, PRIVATE, find_loose, is_loose, tighten
from whet.store.failures import os_failures
from whet.store.home import LOGS
from whet.store.packed import DIRECTORY
from whet.store.regular import is_irregular
from whet.store.repair import Repaired
from whet.store.state import FILE as STATE_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from whet.guard.sandbox.levels import Level
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.readiness import Probe
    from whet.library.roots import Place, Root

_OWN_FILES = ("config.toml", "hooks.log", "hooks.log.1", "mcp-token")
"""Files in Whet's own directory besides the databases and their logs."""
_ROOM = 1 << 16
"""Free bytes that Whet needs to save anything."""
_READ = 2_000
"""Largest library, in skills, whose instructions are read; a larger one takes too long."""
_LARGEST = 1024 * 1024
"""Bytes of the instructions that are read."""
_OFTEN = 100
"""Number of skills between two progress reports."""
MOST_SCANNED = 100
"""Number of skills that one examination scans for the first time; each takes about 15 ms."""
_MAX_SEARCHED = 100_000
"""Number of directories of one root that are searched for leftovers."""


def examine(
    catalogue: Catalogue, probe: Probe, progress: Callable[[Progress], object] = lambda _: None
) -> Iterator[Note]:
    """Yield problems of skills and roots that are not in the catalogue's own report.

    Every directory is listed once: those of skills with the skill, the others with their root.
    """
    apart = {card.root.real + card.directory[len(card.root.path) :] for card in catalogue.cards if _is_apart(card)}
    for root in catalogue.roots:
        if not os.path.isdir(root.real):
            hint = "Create the directory, or remove the root."
            yield Note("root-missing", "warning", "This root does not exist.", hint, path=root.path)
            continue
        yield from (_leftover(path) for _, left in _search(root.real, apart) for path in left)
    yield from examine_dependencies(catalogue.cards)
    for done, card in enumerate(catalogue.cards):
        if done % _OFTEN == 0:
            progress(Progress("Checking", done, len(catalogue.cards), "skills"))
        if card.kind == "skill":
            yield from _contents(card, read=len(catalogue.cards) <= _READ)
        yield from _portable(card)
        for item in missing(card.gates, probe):
            kind = "environment variable" if item.kind == "env" else item.kind
            message = f"It needs the {kind} {item.name}, which is missing."
            yield Note("not-ready", "info", message, item.help, skill=card.full_name, path=card.path)


def note_unscanned(count: int) -> Iterator[Note]:
    """Yield a note with the number of skills that have not been scanned, if there are any."""
    if count:
        message = f"{count:,} {'skill has' if count == 1 else 'skills have'} not been scanned."
        yield Note("unscanned", "info", message, "`whet scan --all` scans every skill.")


def _portable(card: Card) -> Iterator[Note]:
    """Yield notes about fields that Whet reads and other clients may refuse; `whet list --client` shows which."""
    if (length := len(card.description)) > MAX_DESCRIPTION:
        message = f"The description has {length:,} characters; clients cut or refuse more than {MAX_DESCRIPTION:,}."
        hint = "Shorten it; say first what the skill does and when to use it."
        yield Note("description-too-long", "warning", message, hint, skill=card.full_name, path=card.path)
    if problem := next(iter(spec_problems(card.name)), None):
        hint = f"Rename it, for example to {slug(card.name)}: `whet skill rename`."
        message = f"{problem.message} Strict clients refuse such a name."
        yield Note("name-not-portable", "info", message, hint, skill=card.full_name, path=card.path)


def _leftover(path: str) -> Note:
    hint = "Run `whet doctor --repair`."
    return Note("leftover", "warning", "An interrupted write left this behind.", hint, path=path)


def _is_apart(card: Card) -> bool:
    """Return whether this is a skill in its own directory below its root."""
    return card.kind == "skill" and not card.real and card.directory != card.root.path


def _named_files(card: Card, files: list[str]) -> Iterator[Note]:
    """Yield notes about files that a skill's instructions name and that do not exist."""
    from whet.skill.validate import names_files

    with suppress(OSError):
        text = read_file(card.path, _LARGEST).decode("utf-8", "replace")
        if names_files(text):
            from whet.skill.validate.quality import check_named_files

            hint = "Restore the file, or remove the reference to it."
            for note in check_named_files(text, 1, files):
                yield note._replace(hint=hint, skill=card.full_name, path=card.path)


def _contents(card: Card, *, read: bool) -> Iterator[Note]:
    """Yield notes about files that cannot be part of a package, and about nested skills, which are not loaded.

    With `read`, also about files that the instructions name and that do not exist.
    """
    seen = _glance(card.directory)
    if seen is None:
        try:
            listing = list_package(card.directory, main=main_file(card))
        except WhetError as error:
            listing = Listing((), (error,))
        for problem in listing.problems:
            yield Note.from_error(problem, "warning", skill=card.full_name, path=card.directory)
        left = [path for _, found in _search(card.directory) for path in found] if _is_apart(card) else []
        seen = _Glance([item.path for item in listing.files], left)
    if _is_apart(card):
        yield from (_leftover(card.root.real + path[len(card.root.path) :]) for path in seen.leftovers)
    if card.directory == card.root.path:
        return
    if read:
        yield from _named_files(card, seen.files)
    for path, what in unportable(sorted(seen.files)):
        hint = "Rename the file, so that the skill can be used on every system."
        where = os.path.join(card.directory, path)
        message = f"The file {shown(path)} {what}."
        yield Note("path-not-portable", "warning", message, hint, skill=card.full_name, path=where)
    for *above, name in (path.split("/") for path in seen.files):
        if above and name in MAIN_FILES and all(map(LIBRARY.enters, above)):
            hint = "Move it out of the skill to list it."
            message = f"This belongs to the skill {card.full_name}; it is not a separate skill."
            path = os.path.join(card.directory, *above, name)
            yield Note("nested-skill", "info", message, hint, skill=card.full_name, path=path)


class _Glance(NamedTuple):
    """The names in a skill's directories."""

    files: list[str]
    """Paths relative to the skill, with forward slashes."""
    leftovers: list[str]


def _glance(directory: str) -> _Glance | None:
    """List the names of a skill's files; None if links, odd files or their number need a closer look."""
    found, count = _Glance([], []), 0
    pending = [(directory, "", True)]
    while pending:
        place, prefix, searched = pending.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    name = entry.name
                    count += 1
                    if name[0] == "." and is_leftover(name):
                        if searched and not entry.is_symlink():
                            found.leftovers.append(entry.path)
                    elif name in IGNORED:
                        continue
                    elif entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, f"{prefix}{name}/", searched and LIBRARY.enters(name)))
                    elif not entry.is_file(follow_symlinks=False):
                        return None
                    else:
                        found.files.append(prefix + name)
        except OSError:
            return None
        if count > LIMITS.files or prefix.count("/") + 1 >= MAX_SEGMENTS:
            return None
    return found


def check_home(state: str) -> Note | None:
    """Return a note if Whet's own directory cannot exist at its path."""
    there = state
    while not os.path.lexists(there) and os.path.dirname(there) != there:
        there = os.path.dirname(there)
    if os.path.isdir(there):
        return None
    what = "Whet's state directory" if there == state else f"The parent of {state}"
    hint = "Move the file, or set WHET_HOME to another directory."
    return Note(
        "home-not-directory", "error", f"{what} is not a directory, so Whet cannot store anything.", hint, path=there
    )


def examine_place(place: Place) -> Iterator[Note]:
    """Yield notes about the user's home and their own root, if they exist and are not directories."""
    for path, what, hint in (
        (place.home, "HOME", "Set HOME to your home directory."),
        (user_root(place), "The root for your own skills", "Move the file."),
    ):
        if os.path.lexists(path) and not os.path.isdir(path):
            message = f"{what} is not a directory, so Whet cannot find skills in it."
            yield Note("home-not-directory", "error", message, hint, path=path)


def examine_state(state: str, find_locks: Callable[[], Iterable[str]]) -> Iterator[Note]:
    """Yield problems of Whet's own directory and of the lock files; `find_locks` may open a database."""
    from whet.store.repair import examine_databases

    if problem := check_home(state):
        yield problem
        return
    open_to_others = is_loose(state) and os.path.lexists(
        os.path.join(state, STATE_FILE)
    )  # opening the database removes access for others
    loose = len([*find_loose(state)]) if open_to_others else 0
    yield from examine_databases(state)
    hint = "Run `whet doctor --repair`."
    for path, kind in _obstructions(state, find_locks()):
        code = "home-not-directory" if kind == "directory" else "not-a-file"
        yield Note(code, "error", f"Whet expects a {kind} here, and this is not one.", hint, path=path)
    for path in _closed_locks(state):
        yield Note("lock-closed", "error", "Whet locks this file, but its owner cannot open it.", hint, path=path)
    for path in (path for directory in _workplaces(state) for path in _leftovers(directory)):
        yield Note("leftover", "warning", "An interrupted command left this behind.", hint, path=path)
    if open_to_others:
        message = f"Other users can access it, including {loose:,} of its files."
        hint = "Run `whet doctor --repair`; this directory holds copies of your skills."
        yield Note("state-readable-by-others", "warning", message, hint, path=state)
    if os.path.isdir(state) and not os.access(state, os.W_OK):
        hint = "Make it writable, or set WHET_HOME to another directory."
        yield Note(
            "home-read-only", "warning", "Whet cannot write here, so nothing is cached between runs.", hint, path=state
        )
    elif os.path.isdir(state) and shutil.disk_usage(state).free < _ROOM:
        message = "The disk is full: Whet can read, but it cannot save anything here."
        yield Note("disk-full", "error", message, "Free some space.", path=state)


def examine_sandbox(find_level: Callable[[], Level]) -> Note:
    """Return a note about the sandbox for programs of skills on this machine; the test takes a tenth of a second."""
    try:
        level = find_level()
    except OSError as error:
        message = f"Whet cannot test the sandbox: {error.strerror or error}. Inline commands do not run."
        return Note("no-sandbox", "warning", message, "Check that there is space for temporary files.")
    if level.isolates:
        return Note("sandbox", "info", level.sentence)
    message = f"{level.sentence} Inline commands do not run."
    return Note("no-sandbox", "warning", message, NO_SANDBOX_HINT)


def worst_first(entries: Iterable[Note]) -> tuple[Note, ...]:
    """Return the entries without duplicates, sorted by severity, code and path."""
    order = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(dict.fromkeys(entries), key=lambda entry: (order[entry.severity], entry.code, entry.path)))


def _search(top: str, apart: Container[str] = ()) -> Iterator[tuple[str, list[str]]]:
    """Yield a directory and the directories below it, each with its leftovers.

    Links are not followed, and the directories in `apart` are not entered.
    """
    pending, searched = [top], 0
    while pending and searched < _MAX_SEARCHED:
        searched += 1
        directory, left = pending.pop(), []
        with (
            suppress(OSError),
            os.scandir(directory) as found,
        ):  # reported by the catalogue, or when the skill is examined
            for entry in found:
                if is_leftover(entry.name):
                    left += [] if entry.is_symlink() else [entry.path]
                elif LIBRARY.enters(entry.name) and entry.is_dir(follow_symlinks=False) and entry.path not in apart:
                    pending.append(entry.path)
        yield directory, sorted(left)


def _leftovers(directory: str) -> list[str]:
    try:
        return leftovers(directory)
    except FailedError:
        return []  # it cannot be listed, which discovery reports


def repair_workplaces(state: str) -> Repaired:
    """Remove access for others to the state directory, and delete leftovers of killed commands."""
    from whet.store.database import BUSY_MS, opening

    tighten(path for path in (*find_loose(state), state) if is_loose(path))
    if not os.path.isdir(state):
        return Repaired()
    with opening(os.path.join(state, STATE_FILE), BUSY_MS):  # a repair makes its database next to the old one
        return _told(item for directory in _workplaces(state) for item in clean_leftovers(directory))


def move_obstructions(state: str, locks: Iterable[str]) -> Repaired:
    """Move aside anything that is in the place of Whet's directories and files, and make locks readable again."""
    moved = [
        f"{path} is not a {kind}; Whet moved it to {move_aside(path)}." for path, kind in _obstructions(state, locks)
    ]
    closed = _closed_locks(state)
    for path in closed:
        with os_failures(path, doing="change the permissions of"):
            os.chmod(path, PRIVATE)
    return Repaired((*moved, *(f"{path} can be opened again." for path in closed)))


def _closed_locks(state: str) -> list[str]:
    """Return the lock files that their owner may not open, in a writable state directory."""
    found: list[str] = []
    for place in ("locks", os.path.join(CONTENTS, "locks")):
        with suppress(OSError), os.scandir(os.path.join(state, place)) as entries:
            found += [entry.path for entry in entries if entry.is_file() and entry.stat().st_mode & PRIVATE != PRIVATE]
    return sorted(found) if os.access(state, os.W_OK) else []


def _obstructions(state: str, locks: Iterable[str]) -> list[tuple[str, str]]:
    """Return the paths that should be Whet's directories or files and are not, with the expected kind."""
    paths = [os.path.join(state, name) for name in sorted(KEPT)]
    found = [(path, "directory") for path in paths if os.path.lexists(path) and not os.path.isdir(path)]
    databases = [name + part for name in (STATE_FILE, CACHE_FILE) for part in ("", *COMPANIONS)]
    files = [os.path.join(state, name) for name in (*databases, *LOGS.values(), *_OWN_FILES)]
    places = [os.path.join(state, name) for name in (DIRECTORY, "connections", "locks", "usage", CONTENTS)]
    odd = [*filter(is_irregular, (*files, *locks)), *(path for place in places for path in _find_irregular(place))]
    return [*found, *((path, "file") for path in odd)]


def _find_irregular(top: str, depth: int = 0) -> Iterator[str]:
    """Yield entries in Whet's directories and their subdirectories that are not files, except those moved aside."""
    with suppress(OSError), os.scandir(top) as entries:  # a directory that cannot be listed is reported elsewhere
        for entry in entries:
            if entry.is_file(follow_symlinks=False) or ".broken-" in entry.name:
                continue
            if not depth and "." not in entry.name and os.path.isdir(entry.path):
                yield from _find_irregular(entry.path, 1)
            elif is_irregular(entry.path):
                yield entry.path


def _workplaces(state: str) -> Iterator[str]:
    """Yield the directories of the state in which files are written and renamed."""
    yield state
    for name in ("bundles", DIRECTORY, "connections", "fetching", "publishing", "reading"):
        yield os.path.join(state, name)
    contents = os.path.join(state, CONTENTS)
    with suppress(OSError), os.scandir(contents) as entries:
        yield from sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))


def repair_roots(roots: Iterable[Root]) -> Repaired:
    """Finish or undo interrupted writes."""
    cleaned: list[Cleaned] = []
    for root in roots:
        for directory, left in _search(root.real):
            if left:
                cleaned.extend(clean_leftovers(directory))
    return _told(cleaned)


def _told(outcomes: Iterable[Cleaned]) -> Repaired:
    cleaned = tuple(outcomes)
    done = tuple(f"{item.path}: {item.outcome}." for item in cleaned if item.outcome != "failed")
    return Repaired(done, tuple(f"{item.path}: {item.detail}." for item in cleaned if item.outcome == "failed"))
