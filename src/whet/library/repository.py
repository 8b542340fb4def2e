"""The repository around a directory, and its identity.

Trust is given to a repository, not to a path on disk: all worktrees of one repository share it. The identity is read
from git's own files, without running git. Everything in a project directory may come out of a stranger's archive, so a
reference to another directory is not trusted: a `.git` *file* counts only when the repository it names keeps a record
of this very worktree, and a `.git` *link* counts for nothing. Otherwise an unpacked archive could borrow the identity
of a repository the user trusts.
"""

from __future__ import annotations

import os

from whet.library.files import read_file
from whet.patterns import compile_late
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_LEVELS = 64
_MAX_POINTER = 4096
_MAX_CONFIG = 1_000_000
_SECTION = compile_late(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = compile_late(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_REMOTE = compile_late("[:/]")
_CONTINUED = compile_late(r"\\\r?\n")
_ESCAPED = compile_late(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


class Repository(NamedTuple):
    """A project directory and the identity that its trust belongs to."""

    root: str
    identity: str


def find_repository(start: str, *, home: str, known: dict[str, Repository | None] | None = None) -> Repository:
    """Return the nearest repository at or above `start`; without one, `start` itself. The home is never a project.

    Pass the same `known` for many directories, so that each one is read only once.
    """
    known = {} if known is None else known
    passed: list[str] = []
    found: Repository | None = None
    directory = start
    while directory not in known and len(passed) < _MAX_LEVELS and not is_same(directory, home):
        passed.append(directory)
        marker = os.path.join(directory, ".git")
        if os.path.lexists(marker):
            found = Repository(directory, _identity(directory, marker))
            break
        parent = os.path.dirname(directory)
        if parent == directory:
            break
        directory = parent
    else:
        found = known.get(directory)
    if len(passed) < _MAX_LEVELS:
        known.update(dict.fromkeys(passed, found))
    return found or Repository(start, os.path.realpath(start))


def is_same(one: str, other: str) -> bool:
    """Return whether these are the same directory, even through a link."""
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def project_directories(start: str, repository: Repository) -> tuple[str, ...]:
    """Return the directories whose skills belong to the project, from `start` up to the repository's root."""
    found = [start]
    while found[-1] != repository.root:
        found.append(os.path.dirname(found[-1]))
    return tuple(found)


def _identity(root: str, marker: str) -> str:
    if os.path.islink(marker):
        return os.path.realpath(root)
    if os.path.isdir(marker):
        return os.path.realpath(marker)
    named = _pointer(marker, "gitdir:", root)
    if named:
        record = os.path.realpath(named)
        common = os.path.realpath(_pointer(os.path.join(record, "commondir"), "", record) or root)
        back = _pointer(os.path.join(record, "gitdir"), "", record)
        kept = os.path.dirname(record) == os.path.join(common, "worktrees")
        if kept and back and os.path.realpath(back) == os.path.realpath(marker):
            return common
    return os.path.realpath(root)


def _pointer(path: str, prefix: str, base: str) -> str:
    """Return the path in a one-line git file, or "" if there is none."""
    try:
        line = os.fsdecode(read_file(path, _MAX_POINTER).partition(b"\n")[0]).strip()
    except OSError:
        return ""
    if not line.startswith(prefix) or "\0" in line:
        return ""
    return os.path.join(base, line.removeprefix(prefix).strip())


def find_remotes(repository: Repository) -> tuple[str, ...]:
    """Return the addresses of a repository's remotes; "" stands for one that cannot be determined.

    git is not run and no other file is included: the configuration may be a stranger's. An address counts as it is
    written and as `insteadOf` changes it. A directory without remotes, or without a repository, has no addresses.
    """
    marker = os.path.join(repository.root, ".git")
    if not os.path.lexists(marker):
        return ()
    directory = marker
    if not os.path.isdir(marker):
        record = os.path.realpath(_pointer(marker, "gitdir:", repository.root) or repository.root)
        directory = os.path.realpath(_pointer(os.path.join(record, "commondir"), "", record) or record)
        inside = f"{os.sep}.git{os.sep}modules{os.sep}" in directory and _is_above(directory, repository.root)
        if not inside and directory != repository.identity:
            return ("",)
    elif os.path.islink(marker):
        return ("",)
    found: list[str] = []
    for name in ("config", "config.worktree"):
        try:
            found += _addresses(read_file(os.path.join(directory, name), _MAX_CONFIG).decode("utf-8-sig"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            found.append("")
    return tuple(dict.fromkeys(found))


def _is_above(directory: str, root: str) -> bool:
    """Return whether a submodule's directory belongs to the repository that contains the submodule."""
    return os.path.realpath(root).startswith(directory.partition(f"{os.sep}.git{os.sep}")[0] + os.sep)


def _addresses(text: str) -> Iterator[str]:
    """Yield the addresses in a git configuration. Raises ValueError for a file that git would not read."""
    addresses, changes = [], []
    for section, name, key, value in _entries(text):
        if section in ("include", "includeif") or (section, key) == ("remote", "vcs"):
            yield ""
        elif (section, key) == ("remote", "url") or ((section, key) == ("branch", "remote") and _REMOTE.search(value)):
            addresses.append(value)
        elif (section, key) == ("url", "insteadof"):
            changes.append((value, name))
    for address in addresses:
        yield address
        for start, real in changes:
            if address.startswith(start):
                yield real + address[len(start) :]


def _entries(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, its name, key and value of every line."""
    section = name = ""
    for line in _CONTINUED.sub("", text).splitlines():
        rest = line
        if found := _SECTION.match(rest):
            section, _, name = found[1].lower().partition(".")
            name = name if found[2] is None else _ESCAPED.sub(r"\1", found[2])
            rest = rest[found.end() :]
        if not rest.strip() or rest.strip()[0] in "#;":
            continue
        entry = _ENTRY.fullmatch(rest)
        if entry is None or not section:
            raise ValueError("a line is neither a section nor an entry")
        yield section, name, entry[1].lower(), _value(entry[2] or "")


def _value(text: str) -> str:
    """Return a value without its comment, quotes and escapes."""
    parts, quoted, at = [], False, 0
    while at < len(text):
        letter = text[at]
        if letter == "\\" and at + 1 < len(text):
            at += 1
            parts.append(_ESCAPES.get(text[at], text[at]))
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            parts.append(letter)
        at += 1
    return "".join(parts).strip()
