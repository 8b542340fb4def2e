"""The lock: which skills of a root were installed, from where, and exactly which content that was.

`whet-lock.json` lies beside the root and is made for git: keys are sorted, each skill is one block of lines, and a path
is written as it is seen from the lock, so that it says the same on every machine. It is the truth about what is
installed. People edit it, merge it and pull it; a lock that cannot be read is therefore an error with a place in the
file, and never an empty one. What a later Whet adds to an entry is kept as it is (`extra`).
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whet.errors import FailedError, InvalidError, UsageError
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
"""Kinds of sources whose location may be a place on this machine."""

_REPAIR = "Fix it, restore it from git, or run `whet doctor --repair`."
_MERGE = "Resolve the merge, or run `whet doctor --repair` to keep both sides and what is on disk."


class Installed(NamedTuple):
    """One skill as it was installed."""

    path: str
    """Its directory, seen from the lock, with forward slashes."""
    name: str
    source: str
    """The text of its ref (`whet.sources.refs`) as `stored_source` writes it; "" for a skill without a source."""
    revision: str
    marker: str
    version: str
    digest: str
    """The digest of the content as the source has it: what local edits are told from."""
    trust: str
    verdict: str
    ruleset: str
    files: tuple[tuple[str, str], ...]
    """Path and SHA-256 of each file of that content, sorted."""
    installed: str
    updated: str
    pinned: str = ""
    """Why it stays as it is; "" when it does not."""
    extra: str = ""
    """The fields of a later Whet, as JSON text."""
    dependency: str = ""
    """The skill that it was installed for; "" for one that somebody wanted."""
    signer: str = ""
    """The key that signed it (`whet.skill.signature`); "" where nobody did, or nobody whose key is known."""
    log_key: str = ""
    """The key of the log of the hub that it came from (`whet.sources.transparency`); "" for other sources."""
    log_entry: str = ""
    """What the hub wrote into its log when it published exactly this."""
    log_proof: str = ""
    """That the entry is in the log: whoever has the key can check it without asking the hub."""
    log_act: str = ""
    """Of a private skill: what the entry hides; and with it, what shows that it does."""
    log_salt: str = ""
    merged: str = ""
    """The digest of the content that the last update merged with local edits; "" where it had none to merge."""
    checkout: str = ""
    """Of a directory in a git repository: what was checked out there (`whet.sources.git.checkout`)."""


class Lock(NamedTuple):
    """All that is installed beside one lock, sorted by path."""

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
    """Where the lock of a root lies."""
    return os.path.join(os.path.dirname(os.path.realpath(root)), LOCK_NAME)


def parse(text: str, path: str) -> Lock:
    """The lock that a text says. Raises InvalidError `lock-damaged`, FailedError `lock-newer`."""
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
    except InvalidError as error:
        raise damaged(path, error.message, _line(text, at), field=error.details["field"]) from None
    for one, other in collides(entry.path for entry in entries):
        what = f"{shown(one)} and {shown(other)} cannot both be skills."
        raise damaged(path, what, _line(text, other), field=other)
    return Lock(tuple(entries), extra)


def dump(lock: Lock) -> str:
    """The text of a lock, the same for the same lock everywhere."""
    skills = {entry.path: entry_json(entry) for entry in lock.entries}
    values = {**_fields(lock.extra), "version": VERSION, "skills": skills}
    text = json.dumps(values, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(values, indent=2, sort_keys=True) + "\n"  # names of files that are not text
    return text


def entry_of(path: str, values: object) -> Installed:
    """The entry that a JSON value says. Raises InvalidError `lock-damaged`, with the field among its details."""
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
    """An entry as JSON, without what it does not say."""
    known = {**{name: getattr(entry, name) for name in (*_TEXTS, *_OPTIONAL)}, "files": dict(entry.files)}
    said = {name: value for name, value in known.items() if value or name in _NEEDED}
    return {**_fields(entry.extra), **said}


def read(path: str) -> Lock:
    """The lock in a file; an empty one where there is none. Raises WhetError for one that cannot be read."""
    data = content(path)
    return Lock() if data is None else parse(decoded(data, path), path)


def content(path: str) -> bytes | None:
    """The bytes of the file; None where there is none."""
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
    """The bytes as text. Raises InvalidError `lock-damaged`."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise damaged(path, f"The byte 0x{data[error.start]:02x} is not UTF-8.", line) from None


def write(path: str, lock: Lock) -> None:
    """Make the file say this lock, in one step."""
    make_directories(os.path.dirname(path))
    write_bytes(path, dump(lock).encode())


def remove(path: str) -> None:
    """Remove the file, if it is there."""
    with os_failures(path, doing="remove"), suppress(FileNotFoundError):
        os.unlink(path)
        sync_directory(os.path.dirname(path))


def changed(lock: Lock, path: str, entry: Installed | None) -> Lock:
    """The lock with another entry for a path, or none."""
    others = [known for known in lock.entries if known.path != path]
    if entry is not None:
        others.append(entry)
    return lock._replace(entries=tuple(sorted(others, key=lambda known: known.path)))


def loaded(text: str, path: str) -> Any:
    """The JSON value of a text, which may name every key once. Raises InvalidError `lock-damaged`."""
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
    """The text of a ref as a lock in `directory` keeps it: a place in the same project as it is seen from there.

    The project is the lock's directory; of a client's own directory (`.agents`), the one around it.
    """
    kind, location, rest = _parts(text)
    if kind not in _LOCAL or "://" in location or not os.path.isabs(location):
        return text
    hidden = os.path.basename(directory).startswith(".")
    if not inside(location, os.path.dirname(directory) if hidden else directory):
        return text
    return _ref_text(kind, os.path.relpath(location, directory).replace(os.sep, "/")) + rest


def opened_source(text: str, directory: str) -> str:
    """The text of a ref that a lock in `directory` keeps, as it is understood anywhere."""
    kind, location, rest = _parts(text)
    if kind not in _LOCAL or not location or "://" in location or os.path.isabs(location):
        return text
    return _ref_text(kind, os.path.normpath(os.path.join(directory, *location.split("/")))) + rest


def _ref_text(kind: str, location: str) -> str:
    from whet.sources.model import Ref
    from whet.sources.refs.parse import ref_text  # not before it is needed: reading a lock is quick

    return ref_text(Ref(kind, location))


def _parts(text: str) -> tuple[str, str, str]:
    """The kind of a ref, its location in words, and the rest from the `#` on."""
    kind, _, after = text.partition(":")
    location, mark, rest = after.partition("#")
    from urllib.parse import unquote

    return kind, unquote(location, errors="surrogatepass") if kind in _LOCAL else location, mark + rest


def _is_inner(path: str) -> bool:
    """Whether a path stays inside the skill it is written in; what is only compared may have odd names."""
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _extra(path: str, fields: Mapping[str, object]) -> str:
    """What is not ours to understand, as a text that can be written again."""
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
    """A key that is named twice in one object."""


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
    """The line on which a key stands; 0 when it stands nowhere as we would write it."""
    word = json.dumps(key, ensure_ascii=False)
    at = text.rfind(word) if last else text.find(word) if key else -1
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def _wrong(field: str, message: str) -> InvalidError:
    return InvalidError("lock-damaged", message, hint=_REPAIR, field=field)


def damaged(path: str, what: str, line: int = 0, *, hint: str = _REPAIR, **details: Any) -> InvalidError:
    """The error for a lock that cannot be read: where, and what is wrong there."""
    where = f"{path}, line {line}" if line else path
    return InvalidError("lock-damaged", f"{where}: {what}", hint=hint, path=path, line=line or None, **details)
