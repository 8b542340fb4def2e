"""The lock file: the installed skills of a root, their sources and their exact content.

`whet-lock.json` is beside the root and made for git: keys are sorted, each skill is one block of lines, and paths are
relative to the lock, so that it is the same on every machine. It is the truth about what is installed. Users edit it,
merge it and pull it; an unreadable lock is therefore an error with a line number, and never counts as empty. Fields
that a later version of Whet adds to an entry are preserved (`extra`).
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whet.errors import FailedError, UsageError
from whet.library.files import inside, read_file
from whet.library.roots import LOCK_NAME
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.paths import check, collides, shown
from whet.store.atomic import write_bytes
from whet.store.directories import make_directories, sync_directory
from whet.store.failures import os_failure, os_failures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.values import Json

VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
_MAX_DEPTH = 32

_DIGEST = compile_late(r"sha256:[0-9a-f]{64}")
_HASH = compile_late(r"[0-9a-f]{64}")
_MARKER = compile_late(r"^(?:<{7}|\|{7}|={7}|>{7})(?: .*)?\r?$", re.MULTILINE)
_LOCAL = ("path", "archive", "marketplace")
"""Kinds of sources whose location may be a local path."""

_REPAIR = "Fix it, restore it from git, or run `whet doctor --repair`."
_MERGE = "Resolve the merge, or run `whet doctor --repair` to keep both sides and what is on disk."


class LockDamagedError(FailedError):
    """A lock that cannot be read as one (`lock-damaged`)."""


class Installed(NamedTuple):
    """An installed skill."""

    path: str
    """Its directory, relative to the lock, with forward slashes."""
    name: str
    source: str
    """The text of its ref (`whet.sources.refs`) as `stored_source` writes it; "" for a skill without a source."""
    revision: str
    marker: str
    version: str
    digest: str
    """Digest of the source's content, which local edits are compared with."""
    trust: str
    verdict: str
    ruleset: str
    files: tuple[tuple[str, str], ...]
    """Path and SHA-256 of each file of that content, sorted."""
    installed: str
    updated: str
    pinned: str = ""
    """Reason of the pin; "" if it is not pinned."""
    extra: str = ""
    """Fields of a later version of Whet, as JSON text."""
    dependency: str = ""
    """The skill that it was installed for; "" if the user asked for it."""
    signer: str = ""
    """The key that signed it (`whet.skill.signature`); "" if it is not signed or the key is unknown."""
    log_key: str = ""
    """Log key of the hub that it came from (`whet.sources.transparency`); "" for other sources."""
    log_entry: str = ""
    """Entry of the hub's log about exactly this version."""
    log_proof: str = ""
    """Proof that the entry is in the log; the key is enough to check it offline."""
    log_act: str = ""
    """For a private skill: the content that the entry hides, and the salt that proves it."""
    log_salt: str = ""
    merged: str = ""
    """Digest of the content that the last update merged with local edits; "" if there were none."""
    checkout: str = ""
    """For a directory in a git repository: the commit that was checked out (`whet.sources.git.checkout`)."""


class Lock(NamedTuple):
    """The entries of one lock, sorted by path."""

    entries: tuple[Installed, ...] = ()
    extra: str = ""


_TEXTS = ("name", "source", "revision", "marker", "version", "digest", "trust", "verdict", "ruleset")
_OPTIONAL = (
    "installed",
    "updated",
    "pinned",
    "dependency",
    "merged",
    "checkout",
    "signer",
    "log_key",
    "log_entry",
    "log_proof",
    "log_act",
    "log_salt",
)
_NEEDED = ("name", "digest", "files")
_KNOWN = frozenset((*_TEXTS, *_OPTIONAL, "files"))


def lock_file(root: str) -> str:
    """Return the path of the lock of a root."""
    return os.path.join(os.path.dirname(os.path.realpath(root)), LOCK_NAME)


def parse(text: str, path: str) -> Lock:
    """Parse a lock. Raise LockDamagedError or FailedError `lock-newer`."""
    values = loaded(text, path)
    if not isinstance(values, dict):
        raise damaged(path, "It is not an object.", 1)
    version = values.get("version")
    if type(version) is not int or version < 1:
        raise damaged(path, "`version` is missing or not a number.", field="version")
    if version > VERSION:
        message = f"{path} was written by a newer Whet (version {version}; this one knows up to {VERSION})."
        raise FailedError("lock-newer", message, hint="Update Whet.", path=path)
    skills = values.get("skills")
    if not isinstance(skills, dict):
        raise damaged(path, "`skills` is missing or not an object.", field="skills")
    rest = {key: value for key, value in values.items() if key not in ("version", "skills")}
    at = ""
    entries = []
    try:
        extra = _extra("", rest)
        for at in sorted(skills):
            entries.append(entry_of(at, skills[at]))
    except LockDamagedError as error:
        raise damaged(path, error.message, _line(text, at), field=error.details["field"]) from None
    for one, other in collides(entry.path for entry in entries):
        what = f"{shown(one)} and {shown(other)} cannot both be skills."
        raise damaged(path, what, _line(text, other), field=other)
    return Lock(tuple(entries), extra)


def dump(lock: Lock) -> str:
    """Return the text of a lock; equal locks have equal text."""
    skills = {entry.path: entry_json(entry) for entry in lock.entries}
    values = {**_fields(lock.extra), "version": VERSION, "skills": skills}
    text = json.dumps(values, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(values, indent=2, sort_keys=True) + "\n"  # file names that are not UTF-8
    return text


def entry_of(path: str, values: object) -> Installed:
    """Read an entry from JSON. Raise LockDamagedError, with the field in its details."""
    try:
        check(path)
    except UsageError as error:
        raise _wrong(path, error.message) from None
    if not isinstance(values, dict):
        raise _wrong(path, f"{path} is not an object.")
    for name in (*_TEXTS, *_OPTIONAL):
        if not isinstance(values.get(name, ""), str):
            raise _wrong(f"{path}.{name}", f"`{name}` of {path} is not text.")
    for name in _NEEDED:
        if name not in values:
            raise _wrong(f"{path}.{name}", f"`{name}` of {path} is missing.")
    if not _DIGEST.fullmatch(values["digest"]):
        raise _wrong(f"{path}.digest", f"`digest` of {path} is {shown(values['digest'])}, which is not a digest.")
    files = values["files"]
    if not isinstance(files, dict):
        raise _wrong(f"{path}.files", f"`files` of {path} is not an object.")
    for file, hash_ in files.items():
        if not _is_inner(file):
            raise _wrong(f"{path}.files", f"`files` of {path} names {shown(file)}, which is not a path inside a skill.")
        if not isinstance(hash_, str) or not _HASH.fullmatch(hash_):
            raise _wrong(f"{path}.files", f"`files` of {path} has no SHA-256 for {shown(file)}.")
    texts = {name: values.get(name, "") for name in (*_TEXTS, *_OPTIONAL)}
    rest = {name: value for name, value in values.items() if name not in _KNOWN}
    return Installed(path=path, files=tuple(sorted(files.items())), extra=_extra(path, rest), **texts)


def entry_json(entry: Installed) -> Json:
    """Return an entry as JSON, without empty fields."""
    known = {**{name: getattr(entry, name) for name in (*_TEXTS, *_OPTIONAL)}, "files": dict(entry.files)}
    said = {name: value for name, value in known.items() if value or name in _NEEDED}
    return {**_fields(entry.extra), **said}


def read(path: str) -> Lock:
    """Read a lock file; a missing one is empty. Raise WhetError if it cannot be read."""
    data = content(path)
    return Lock() if data is None else parse(decoded(data, path), path)


def content(path: str) -> bytes | None:
    """Return the bytes of the file; None if it does not exist."""
    try:
        data = read_file(path, MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_failure(error, path, doing="read", other="read-failed") from error
    if len(data) > MAX_BYTES:
        raise damaged(path, f"It is larger than {MAX_BYTES:,} bytes.")
    return data


def decoded(data: bytes, path: str) -> str:
    """Decode the bytes. Raise LockDamagedError."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise damaged(path, f"The byte 0x{data[error.start]:02x} is not UTF-8.", line) from None


def write(path: str, lock: Lock) -> None:
    """Write the lock to the file, atomically."""
    make_directories(os.path.dirname(path))
    write_bytes(path, dump(lock).encode())


def remove(path: str) -> None:
    """Remove the file, if it exists."""
    with os_failures(path, doing="remove"), suppress(FileNotFoundError):
        os.unlink(path)
        sync_directory(os.path.dirname(path))


def changed(lock: Lock, path: str, entry: Installed | None) -> Lock:
    """Return the lock with another entry for a path, or none."""
    others = [known for known in lock.entries if known.path != path]
    if entry is not None:
        others.append(entry)
    return lock._replace(entries=tuple(sorted(others, key=lambda known: known.path)))


def loaded(text: str, path: str) -> Any:
    """Parse JSON without duplicate keys. Raise LockDamagedError."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        if found := _MARKER.search(text):
            line = text.count("\n", 0, found.start()) + 1
            raise damaged(path, "It has unresolved merge markers.", line, hint=_MERGE) from None
        raise damaged(path, f"It is not valid JSON: {error.msg}.", error.lineno) from None
    except _TwiceError as error:
        key = str(error)
        raise damaged(path, f"It names {shown(key)} twice.", _line(text, key, last=True), field=key) from None
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"It is not valid JSON: {error}.") from None


def stored_source(text: str, directory: str) -> str:
    """Return the text of a ref for a lock in `directory`: a path in the same project becomes relative.

    The project is the lock's directory, or its parent if that is a client's own directory (`.agents`).
    """
    kind, location, rest = _parts(text)
    if kind not in _LOCAL or "://" in location or not os.path.isabs(location):
        return text
    hidden = os.path.basename(directory).startswith(".")
    if not inside(location, os.path.dirname(directory) if hidden else directory):
        return text
    return _ref_text(kind, os.path.relpath(location, directory).replace(os.sep, "/")) + rest


def opened_source(text: str, directory: str) -> str:
    """Return the text of a ref from a lock in `directory`, with an absolute path."""
    kind, location, rest = _parts(text)
    if kind not in _LOCAL or not location or "://" in location or os.path.isabs(location):
        return text
    return _ref_text(kind, os.path.normpath(os.path.join(directory, *location.split("/")))) + rest


def _ref_text(kind: str, location: str) -> str:
    from whet.sources.model import Ref
    from whet.sources.refs.parse import ref_text  # imported late, so that reading a lock is quick

    return ref_text(Ref(kind, location))


def _parts(text: str) -> tuple[str, str, str]:
    """Split a ref into kind, decoded location, and the rest from the `#` on."""
    kind, _, after = text.partition(":")
    location, mark, rest = after.partition("#")
    from urllib.parse import unquote

    return kind, unquote(location, errors="surrogatepass") if kind in _LOCAL else location, mark + rest


def _is_inner(path: str) -> bool:
    """Return whether a path stays inside its skill; other odd names are allowed, because it is only compared."""
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _extra(path: str, fields: Mapping[str, object]) -> str:
    """Return the unknown fields as JSON text."""
    for name, value in fields.items():
        if _is_deep(value, _MAX_DEPTH):
            raise _wrong(f"{path}.{name}", f"`{name}` is nested too deeply.")
    return json.dumps(fields, sort_keys=True, separators=(",", ":")) if fields else ""


def _is_deep(value: object, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left < 0 or any(_is_deep(item, left - 1) for item in inner)


def _fields(extra: str) -> Json:
    fields: Json = json.loads(extra) if extra else {}
    return fields


class _TwiceError(Exception):
    """A duplicate key in an object."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(f"{text} is out of range")
    return number


def _line(text: str, key: str, *, last: bool = False) -> int:
    """Return the line of a key; 0 if it is not found in our spelling."""
    word = json.dumps(key, ensure_ascii=False)
    at = text.rfind(word) if last else text.find(word) if key else -1
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def _wrong(field: str, message: str) -> LockDamagedError:
    return LockDamagedError("lock-damaged", message, hint=_REPAIR, field=field)


def damaged(path: str, what: str, line: int = 0, *, hint: str = _REPAIR, **details: Any) -> LockDamagedError:
    """Return the error for an unreadable lock, with the line and the problem."""
    where = f"{path}, line {line}" if line else path
    return LockDamagedError("lock-damaged", f"{where}: {what}", hint=hint, path=path, line=line or None, **details)
