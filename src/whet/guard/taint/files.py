"""The judge of files: marks of data that is read, places that are written, and secrets collected in one place."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.places import places
from whet.guard.tables import shape
from whet.guard.taint.containers import gathered, literal, plain
from whet.guard.taint.harm import is_home, is_ransom_note, judge_emptied, judge_removed, weigh_removal
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark, comes_from
from whet.guard.taint.network import Judgement
from whet.guard.taint.secret import owner
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, everything, spell, strings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whet.guard.taint.call import Call
    from whet.guard.taint.judges import Judges


PROJECT = Mark("listing", "all files of the project", ".")
"""The names of all files of a project; `PROJECT_FILES` marks their content."""
PROJECT_FILES = frozenset((Mark("file", "all files of the project", ".", grave=True, whole=True),))
_PROJECT = shape("taint", "project", 0, frame=r"(?:\./|\.\./)?(?:{})?/?(?:\*\*/\*(?:\.\w{1,8})?)?")


def is_project(path: str) -> bool:
    """Return whether a path is the project directory, or all files below it."""
    return bool(path) and _PROJECT.fullmatch(path) is not None


def _told(marks: frozenset[Mark]) -> str:
    return ", ".join(sorted({mark.what for mark in marks})[:4])


def _stores(marks: frozenset[Mark]) -> frozenset[Mark]:
    """Return the marks of secret stores; a store inside another one is part of it."""
    stores = [mark for mark in marks if mark.kind == "secret" and mark.grave and mark.whole]
    outer = tuple(f"{mark.subject}/" for mark in stores if mark.subject)
    return frozenset(mark for mark in stores if not mark.subject.startswith(outer))


def judge_kept(marks: frozenset[Mark], where: str) -> Iterator[Judgement]:
    """Report a value that is written or shown and holds the keys of several services or several stores of secrets."""
    keys, stores = frozenset(mark for mark in marks if mark.kind == "key"), _stores(marks)
    several = len({mark.what for mark in stores}) > 1
    if several or len({owner(mark.subject) for mark in keys}) > 2:
        hidden = several and where.startswith(("/tmp/.", "/var/tmp/", "/dev/shm/"))  # noqa: S108  of the scanned program
        message = f"It collects several secrets in one place: {_told(stores or keys)}"
        yield Judgement("gathers-secrets", "critical" if hidden else None, where, message)


def judge_gathered(marks: frozenset[Mark]) -> Iterator[Judgement]:
    """Report a value of the program that holds several stores of secrets, wherever it goes."""
    stores = _stores(marks)
    if len({mark.what for mark in stores}) > 1:
        yield Judgement("gathers-secrets", None, "", f"It collects several secrets in one value: {_told(stores)}")


# --- the calls that read, write, list, copy, pack and remove ----------------------------------------------------------

_PERSONAL = shape("taint", "personal", re.IGNORECASE, frame=r"^(?:~|/root|/home/[^/]+|/users/[^/]+)[\\/](?:{})\b")
STORE = shape("taint", "store", re.IGNORECASE, frame=r"(?:{})[\\/]?$")
_KEYS = expression(r"(?:^|[\\/])id_(?:rsa|ed25519|ecdsa|dsa)?\*$")
_AT_HOME = expression(r"(?:~|/home|/Users|/root|[A-Za-z]:[\\/]Users)(?:[\\/]|$)|/?$")
_HOME_FILES = frozenset((Mark("secret", "files of the home directory", "~", whole=True),))
_RANDOM = ("os.urandom", "secrets.token_bytes", "crypto.randomBytes")


def plain_path(text: str) -> str:
    """Return a path without quotes, normalised."""
    text = text.strip().strip("\"'")
    return posixpath.normpath(text) if text and "://" not in text and len(text) < 1000 else text[:1000]


def named_places(value: Value) -> frozenset[Mark]:
    """Return the marks of the secret places that the strings of a list name."""
    if value.items is None and value.props is None:
        return NO_MARKS
    return frozenset(
        Mark("place", place.what, text, place.grave, whole=True)
        for text in strings(plain(value), 200)
        if ("." in text or "/" in text or "\\" in text) and len(text) < 400
        for place in places(text)
        if place.kind == "secret"
    )


def _is_home(value: Value) -> bool:
    """Return whether a value is, or may be, a path for which `harm.is_home` holds."""
    return any(map(is_home, strings(plain(value), 20))) or below_home(value)


def below_home(value: Value) -> bool:
    """Return whether a path was found by walking through the home directory."""
    return any(mark.kind == "place" and mark.subject == "~" for mark in value.marks)


def _of_person(value: Value) -> bool:
    """Return whether a path was found by walking through a person's directories."""
    return any(mark.kind in ("place", "folder") and mark.subject in ("~", "~/") for mark in value.marks)


def read(reader: Judges, path: Value, key: str) -> frozenset[Mark]:
    """Return the marks of the content of a file."""
    marks = set()
    for text in map(plain_path, dict.fromkeys((*strings(plain(path), 50), *path.choices))):
        found = [place for place in places(text) if place.kind == "secret"]
        if found and not text.endswith("authorized_keys"):
            marks.add(Mark("secret", found[-1].what, text, found[-1].grave, whole=True))
        elif STORE.search(text):
            marks.add(Mark("secret", "a directory of secrets", text, grave=True, whole=True))
        elif holds_environment(text):
            marks.add(ENVIRONMENT)
    for mark in path.marks:
        if mark.kind == "place" and mark.subject != "~":
            marks.add(Mark("secret", mark.what, mark.subject, mark.grave, whole=True))
        elif mark.kind == "place":
            marks |= _HOME_FILES
        elif mark.kind == "folder":
            marks.add(Mark("secret", "a person's files", "~/"))
        elif mark.kind == "listing":
            marks.add(Mark("file", mark.what, mark.subject, grave=True, whole=True))
    for mark in sorted(marks):
        reader.fact("source", mark.what, mark.subject, mark.grave)
    key = plain_path(key)
    kept = reader.under(key.removesuffix("/*"))
    marks |= kept
    if not comes_from(marks, "fetched") and not comes_from(kept, "file"):
        marks.add(Mark("file", "a local file", key, whole=True))
    return frozenset(marks)


def write(reader: Judges, path: Value, key: str, content: Value, *, appends: bool = False) -> None:
    """Record the marks of a written file, and judge its path."""
    marks = everything(content)
    if comes_from(marks, "encrypted"):
        reader.note("writes encrypted")
    if content.text is not None and is_ransom_note(content.text):
        reader.note("writes a note")
    if any(mark.what == "pressed keys" for mark in marks):
        reader.hit("records-keys", "warn")
    texts = [plain_path(text) for text in ((path.path,) if path.path else path.texts)]
    for one in {plain_path(key), *texts} if marks else ():
        if one.strip(HOLE):
            reader.files[one] = reader.files.get(one, NO_MARKS) | marks
    if content.text and len(reader.texts) < 200:
        reader.texts[key] = f"{reader.texts.get(key, '')}{content.text}"[:20_000]
    reader.report(judge_kept(marks, texts[0] if texts else ""))
    said = content.said or "\n".join(strings(plain(content), 200))
    for text in texts:
        if text.strip(HOLE) and len(text) < 1000:
            reader.judge_file(text, said, marks, appends=appends)
            if comes_from(marks, "fetched", "decoded"):
                reader.fact("write", "fetched or decoded content", text)


def read_file(reader: Judges, call: Call) -> Value:
    """Read a whole file; `what` of the row is the kind of file."""
    path = call.part(call.row.at) if call.place(call.row.at) is not None else Value(call.row.gives or UNKNOWN)
    marks = reader.read(path, call.key(call.row.at))
    if not call.row.what:
        return Value(reader.data(path), marks=marks)
    marks = frozenset(mark._replace(what=call.row.what) if mark.kind == "file" else mark for mark in marks)
    return Value(name=f"{call.name}()", marks=marks)


def write_file(reader: Judges, call: Call) -> Value:
    """Judge a write of a whole file."""
    path, content = call.part(call.row.at), call.part(call.row.given)
    if _of_person(path):
        reader.note("overwrites")
    if "overwrites" in reader.did and content.name.startswith(_RANDOM):
        reader.hit("wipe-home", None, "", "The code overwrites the user's files with random data")
    if content.text == "":
        reader.report(judge_emptied(path.texts))
        if below_home(path):
            reader.hit("wipe-home", None, "", "The code empties the user's files")
    appends = "append" in call.verb or comes_from(content.marks, "file")
    reader.write(path, call.key(call.row.at), content, appends=appends)
    return NOTHING


def open_file(reader: Judges, call: Call) -> Value:
    """Return the handle of an opened file; a handle for reading has the marks of the content."""
    path, mode = call.part(call.row.at), call.part(call.row.given).said
    key = call.key(call.row.at)
    if call.row.gives or any(letter in mode for letter in "wax+"):
        if _of_person(path):
            reader.note("overwrites")
        if "w" in mode:
            reader.report(judge_emptied(strings(plain(path), 5)))
        return Value(name=call.row.gives or ("open.append" if "a" in mode or "+" in mode else "open"), path=key)
    return Value(reader.data(path), "open", reader.read(path, key), path=key)


def hold(reader: Judges, call: Call) -> Value:
    """Return the handle of an opened archive or database."""
    path = call.part(call.row.at)
    key = call.key(call.row.at)
    reading = not any(letter in call.part(call.row.given).said for letter in "wax")
    return Value(name=call.name, marks=reader.read(path, key) | path.marks if reading else NO_MARKS, path=key)


def put(reader: Judges, call: Call) -> Value | None:
    """Judge data that is written through a handle or added to an archive."""
    if not call.owner.path:
        return None
    content = call.part(call.row.given or ((1,) if call.verb == "writestr" else (0,)))
    if call.verb in ("write", "add") and call.owner.name.startswith(("zipfile", "tarfile")):
        packed = content
        content = Value(marks=reader.read(packed, call.key((0,))))
        if call.verb == "add" and is_project(packed.said):
            content = content.marked(*PROJECT_FILES)
    reader.write(Value(path=call.owner.path), call.owner.path, content, appends=call.owner.name == "open.append")
    if call.owner.path.startswith("$") and call.scope is not None and content.marks:
        name = call.owner.path[1:]
        held = call.scope.find(name)
        if held is not None:
            call.scope.home(name).names[name] = held.marked(*content.marks)
    return NOTHING


def dump(reader: Judges, call: Call) -> Value | None:
    """Judge a value that is serialised to a handle."""
    path, value = call.part(call.row.at), call.part(call.row.given)
    if not path.path:
        return None
    known = value.const is not UNKNOWN or value.props or value.items
    content = Value(spell(value) if known and call.row.what != "as it is" else UNKNOWN, marks=value.marks)
    reader.write(path, path.path, content, appends=comes_from(content.marks, "file"))
    return NOTHING


def unpack(reader: Judges, call: Call) -> Value | None:
    """Judge an archive that is unpacked into a directory."""
    if call.owner.marks:
        reader.write(call.part(call.row.at), call.key(call.row.at), Value(marks=call.owner.marks))
    return NOTHING if call.owner.marks else None


def list_directory(reader: Judges, call: Call) -> Value:
    """Return the names in a directory, or of all files below it."""
    path = call.part(call.row.at)
    patterns = call.arg(0).texts if call.row.at == ("owner",) and call.args else ("",)
    text, pattern = path.said, patterns[0] if patterns else ""
    wanted = [f"{one}/{each}" if each else one for one in path.texts for each in patterns]
    marks = set(path.marks) | named_places(literal(wanted))
    marks.update(Mark("place", "SSH keys", one, grave=True, whole=True) for one in wanted if _KEYS.search(one))
    if any(map(_AT_HOME.match, path.texts)):
        reader.note("walks home")
    if _is_home(path):
        marks.add(Mark("place", "the home directory", "~"))
    elif any(map(_PERSONAL.match, path.texts)):
        marks.add(Mark("folder", "a person's folder", "~/"))
    elif STORE.search(text):
        marks.add(Mark("place", "a directory of secrets", text, grave=True, whole=True))
    elif (is_project(text) or path.name == "process.cwd") and (call.row.grave or "**" in f"{pattern}{text}"):
        marks.add(PROJECT)
    name = call.row.gives
    shipped = reader.list_shipped(text, pattern.lstrip("*")) if text else []
    if shipped and call.row.what != "walk":
        names = [one if name or "glob" in call.name else one.rpartition("/")[2] for one in shipped]
        return _listed(names, name, frozenset(marks))
    inside = f"{text}/{HOLE}" if text else UNKNOWN
    if call.row.what == "walk":
        return literal([[text, [HOLE], [HOLE]]], frozenset(marks)).but(name=name)
    return _listed([inside], name, frozenset(marks))


def _listed(paths: Sequence[object], name: str, marks: frozenset[Mark]) -> Value:
    """Return a list of paths; `name` is that of their class."""
    return Value(name=name, marks=marks, items=[Value(path, name, marks) for path in paths])


def copy_file(reader: Judges, call: Call) -> Value:
    """Judge a file or directory that is copied, moved or unpacked."""
    source, target = call.part(call.row.at), call.part(call.row.given)
    marks = reader.read(source, call.key(call.row.at))
    reader.write(target, call.key(call.row.given), Value(marks=marks | _HOME_FILES if _is_home(source) else marks))
    return Value(target.const, marks=target.marks)


def pack_directory(reader: Judges, call: Call) -> Value:
    """Judge a directory that is packed into an archive, and return the path of the archive."""
    root = call.part(call.row.at)
    marks = reader.read(root, root.said) | named_places(gathered([root]))
    if is_project(root.said or "."):
        marks |= PROJECT_FILES
    path = f"{call.arg(0).said}.{call.arg(1, 'format').said}"
    content = Value(marks=marks | _HOME_FILES if _is_home(root) else marks)
    reader.write(Value(path), path, content)
    return Value(path, marks=content.marks)


def remove(reader: Judges, call: Call) -> Value:
    """Judge a file that is removed, or a directory with its content."""
    whole = call.row.grave or any(word in call.words for word in ("recursive", "r", "R"))
    reader.note("removes")
    for target in [call.part(call.row.at)] if call.row.at else call.args:
        _remove_one(reader, call, target, whole=whole)
    return NOTHING


_ENVIRONMENTS = expression(r"/proc/[^/\s]{1,40}/environ\b")


def holds_environment(path: str) -> bool:
    """Return whether a path is that of the environment of a process."""
    return "/environ" in path and _ENVIRONMENTS.search(path) is not None


def enter(reader: Judges, call: Call) -> Value:
    """Remember a directory that the program changes to, if no program should remove it."""
    path = call.part(call.row.at).said
    if weigh_removal(path):
        reader.folder = path
    return NOTHING


def _remove_one(reader: Judges, call: Call, target: Value, *, whole: bool) -> None:
    reader.report(judge_removed((*strings(plain(target), 5), *target.choices), whole=whole, folder=call.folder))
    if below_home(target):
        reader.hit("wipe-home", None, target.said[:80])
    if _of_person(target):
        reader.note("removes at home")


JUDGES: dict[str, Callable[[Judges, Call], Value | None]] = {
    "read": read_file, "write": write_file, "open": open_file, "hold": hold, "put": put, "dump": dump, "unpack": unpack,
    "list": list_directory, "copy": copy_file, "pack": pack_directory, "remove": remove,
    "enter": enter,
}  # fmt: skip
"""The judges of files by their names in the tables."""
