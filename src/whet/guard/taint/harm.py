"""The judge of harm: files that are removed or emptied, and actions that matter only together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.places import places
from whet.guard.tables import load_toml, shape
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.network import Judgement, judge_apart
from whet.guard.taint.value import NOTHING, Value, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whet.guard.finding import Severity
    from whet.guard.taint.call import Call
    from whet.guard.taint.judges import Judges

_OWN = frozenset(("", ".", "./", "*", "./*"))
_CASE = re.MULTILINE
"""Wallet addresses are case-sensitive."""


def is_home(path: str) -> bool:
    """Return whether a path is a home directory, the parent of all home directories, or the root of the disk."""
    return shape("harm", "homes").fullmatch(path) is not None


def shorten_path(path: str) -> str:
    """Return a path without detours: `//`, `/./`, `/etc/../`."""
    if "//" not in path and "/." not in path:
        return path
    first, *rest = path.split("/")
    kept: list[str] = []
    for part in rest:
        if part == ".." and kept and kept[-1][:2] != ".." and _UNCERTAIN.isdisjoint(kept[-1]):
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return "/".join((first, *kept, *([""] if rest[-1] in ("", ".") else ()))) or "/"


_UNCERTAIN = frozenset("~$*")


def is_wiped(path: str, *, relative: bool = False) -> bool:
    """Return whether a path holds a person's work or the system; with `relative`, `.`, `*` and `..` count, too."""
    path = shorten_path(path)
    if path in _OWN:
        return relative and bool(path)
    if relative and path.replace("\\", "/").rstrip("/*") in ("..", "../.."):
        return True
    return HOLE not in path and shape("harm", "wiped").fullmatch(path) is not None


def names_wallet(text: str) -> bool:
    """Return whether a text contains a wallet address or a pattern for one."""
    return any(shape("harm", name, _CASE).search(text) for name in ("wallets", "wallet_patterns"))


def is_ransom_note(text: str) -> bool:
    """Return whether a text asks for a ransom."""
    return len(text) > 20 and shape("harm", "ransoms", re.IGNORECASE | re.DOTALL).search(text[:4000]) is not None


def names_miner(text: str) -> bool:
    """Return whether a text names a crypto miner or uses its protocol."""
    return shape("harm", "miners").search(text[:4000]) is not None


def weigh_removal(path: str, folder: str | None = None) -> Severity | None:
    """Return the severity of removing a path with all its content; None if it is harmless.

    `folder` is where the script runs, empty if it does not say so; if it is None, relative paths do not count.
    """
    bare = shorten_path(_HOME.sub("~", path.replace(".\\", "./")))
    if is_wiped(bare):
        return "critical"
    if folder is None or not is_wiped(bare, relative=True):
        return None
    above = shorten_path(_HOME.sub("~", folder))
    if _FAR_ABOVE.search(above):
        return "critical"
    if _SCRATCH.search(above):
        return None
    if bare.startswith("..") or (above and (is_wiped(above) or above.rstrip("/") == "..")):
        return "critical"
    return None if above else "warn"


_HOME = expression(r"\$\{?HOME\}?|~(?=/|$)")
_FAR_ABOVE = expression(r"dirname [\"']?\$\{?0.{0,12}/\.\./\.\.")
"""Two or more levels above the directory of the script, where nothing belongs to it."""
_SCRATCH = shape("taint", "scratch", 0)
_UNKNOWN_FOLDER = expression(r"\$\{?\w{1,60}\}?/\*?")


def judge_removed(paths: Iterable[str], *, whole: bool, folder: str | None = None) -> Iterator[Judgement]:
    """Judge paths that are removed; `whole` if everything below them is removed, too."""
    for path in paths:
        if any(place.what == "shell history" for place in places(path)):
            yield Judgement("hide-traces", "critical", path, "The code deletes the shell history")
        elif shape("harm", "logs").fullmatch(path):
            yield Judgement("hide-traces", "critical" if path.endswith("log/*") else None, path)
        if whole and (severity := weigh_removal(path.rstrip(), folder)):
            yield Judgement("wipe-home", severity, path[:80])
        elif whole and folder is not None and _UNKNOWN_FOLDER.fullmatch(path):
            yield Judgement("wipe-variable", None, path)


_DISK = expression(
    r"^/dev/r?(?:(?:s|h|v|xv)d[a-z?*]\d?|nvme[\d?*]{1,3}(?:n[\d?*]{1,3})?(?:p\d{1,3})?|disk[\d?*]{1,3}(?:s\d{1,3})?|mmcblk[\d?*]{1,3})$"
)
_SOME_DISK = expression(r"^(?:/dev/\$\{?\w|(?:/dev/)?\$\((?:findmnt|lsblk|df|mount)\b|\$\{?\w.*(?:/dev/|\$\())")
"""A disk whose name is only known at run time."""


def judge_overwritten(
    paths: Iterable[str], severity: Severity | None = None, *, erased: bool = False
) -> Iterator[Judgement]:
    """Judge paths that are written to; if they are `erased` or formatted, a disk may also be unknown."""
    for path in paths:
        if _DISK.match(path):
            yield Judgement("wipe-disk", severity, path)
        elif erased and _SOME_DISK.match(path):
            yield Judgement("wipe-disk", None, path)


def judge_container(mounts: Sequence[str], command: str, *, powerful: bool) -> Iterator[Judgement]:
    """Judge the access of a container to the machine, and its command."""
    whole = any(mount == "/" or ROOT_MOUNT.match(mount) for mount in mounts)
    engine = any("docker.sock" in mount for mount in mounts)
    secret = whole and any(place.kind == "secret" and place.grave for place in places(command))
    if (whole or engine) and (secret or _ESCAPE.search(command)):
        message = "what it runs takes over the machine itself"
        yield Judgement("container-power", "critical", "", message)
    elif whole or engine or powerful:
        yield Judgement("container-power", "warn" if whole or (engine and powerful) else "info")


ROOT_MOUNT = expression(r"/:|type=bind,(?:source|src)=/,")
_ESCAPE = expression(r"\b(?:chroot|nsenter)\b")


def judge_emptied(paths: Iterable[str]) -> Iterator[Judgement]:
    """Judge files that are truncated."""
    for path in paths:
        if shape("harm", "traces").search(path):
            severity: Severity = "critical" if "history" in path else "warn"
            yield Judgement("hide-traces", severity, path, "The code empties a log or a history file")


def judge_together(did: Mapping[str, int]) -> Iterator[tuple[int, Judgement]]:
    """Yield the judgements that follow from several actions of a file together, each with its line."""
    for row in load_toml("harm")["together"].values():
        if all(any(one in did for one in need.split("|")) for need in row["needs"]):
            at = next(one for one in row["at"].split("|") if one in did)
            yield did[at], Judgement(row["rule"], None, "", row.get("message", ""))


_RANSOMS = ("encrypt", "bitcoin", "btc", "monero")
_MINERS = ("stratum", "miner", "xmrig", "mining.")


def conclude(reader: Judges, source: str, texts: Callable[[], Iterable[tuple[int, str]]]) -> None:
    """Report what follows from all actions of a file and from its texts, each with its line."""
    did, lowered = reader.did, source.lower()
    if "pastes" in did and "copies" in did and any(names_wallet(text[:400]) for _, text in texts()):
        did.setdefault("wallet", did["copies"])
    for reader.line, one in judge_together(did):
        lines = source.split("\n")
        reader.hit(*one, evidence=lines[reader.line - 1][:300] if reader.line <= len(lines) else "")
    if any(word in lowered for word in _RANSOMS):
        for reader.line, text in texts():
            if is_ransom_note(text):
                reader.hit("ransom-note", None if "encrypts" in did or "removes at home" in did else "warn")
    if not any(hit.rule in ("secret-sent", "key-sent") for hit in reader.hits.values()):
        for reader.line, one in judge_apart(source):
            reader.hit(*one)
    running = any(fact.kind in ("execute", "sink") for fact in reader.facts.values()) or "connects" in did
    if running and any(word in lowered for word in _MINERS):
        for reader.line, text in texts():
            if names_miner(text):
                reader.hit("miner")
                break


# --- the calls that harm ----------------------------------------------------------------------------------------------

_STRAY = shape("taint", "stray")


def alarm(reader: Judges, call: Call) -> Value:
    """Report a call that is a finding on its own."""
    reader.hit(call.row.what, call.row.gives or None)  # type: ignore[arg-type]  # a severity: a test checks the tables
    return NOTHING


def notice(reader: Judges, call: Call) -> None:
    """Record a call that matters only together with others."""
    reader.note(call.row.what)
    if call.row.grave:
        reader.hit("runs-machine-code")


def encrypt(reader: Judges, call: Call) -> Value:
    """Record an encryption, and mark its result."""
    marks = union((*call.every(), call.owner))
    reader.note("encrypts")
    if any(mark.kind == "secret" and mark.subject in ("~", "~/") for mark in marks):
        reader.note("encrypts home")
    return Value(marks=marks | {Mark("encrypted", "a cipher")})


def hand_over(reader: Judges, call: Call) -> Value:
    """Report a program whose standard streams are replaced by a connection."""
    if call.arg(0).name.startswith("socket.") or (call.names.get(0) == "$.fileno()" and "connects" in reader.did):
        reader.hit("shell-handed-over")
    return NOTHING


def overwrite(reader: Judges, call: Call) -> None:
    """Report a whole disk that is written to; `grave` if the program erases or formats what it is given."""
    paths = [text.removeprefix("of=") for one in call.args for text in one.texts]
    erased = call.row.grave or not _BLANK.isdisjoint(paths)
    reader.report(judge_overwritten(paths, call.row.gives or None, erased=erased))  # type: ignore[arg-type]  # as above


_BLANK = frozenset(("if=/dev/zero", "if=/dev/urandom", "if=/dev/random"))


def clean(reader: Judges, call: Call) -> None:
    """Report the removal of all files that git does not know from a directory that holds more than a project."""
    if call.arg(0).said == "clean" and ("f" in call.words or "force" in call.words):
        paths = [text for one in call.args[1:] or [call.words.get("C", Value("."))] for text in one.texts]
        wiped = [path for path in paths if weigh_removal(path, call.folder) == "critical"]
        reader.report(Judgement("wipe-home", "critical", path) for path in wiped[:1])


_OPEN_MODE = expression(r"0?[0-7]?77[67]|0?000|(?:a|ugo)?[+=]rwx")
_SETUID = expression(r"(?!2)(?:[ugoa]{0,4}\+[rwx]{0,3}s|[246][0-7]{3}|0[46][0-7]{3})")
_TEMPORARY = expression(r"/(?:var/)?tmp/|/dev/shm/")
_RUNS_OTHERS = expression(r"(?:^|/)(?:bash|sh|zsh|dash|python3?|find|cp|vim)$")


def open_mode(reader: Judges, call: Call) -> None:
    """Judge permissions that let everybody change files, or run a program as its owner."""
    mode, targets = call.arg(0).said, [text for one in call.args[1:] for text in one.texts]
    if _SETUID.fullmatch(mode):
        grave = any(_RUNS_OTHERS.search(path) or _TEMPORARY.match(path) for path in targets)
        reader.hit("setuid", "critical" if grave else "warn")
    elif _OPEN_MODE.fullmatch(mode) and any(weigh_removal(path, call.folder) == "critical" for path in targets):
        below = "R" in call.words or "recursive" in call.words
        reader.hit("open-everything", "critical" if below else "warn")


def open_registry(_reader: Judges, call: Call) -> Value:
    """Return a registry key."""
    return Value(call.part(call.row.at).const, call.row.gives)


def write_registry(reader: Judges, call: Call) -> Value:
    """Report a registry value that starts a program with Windows."""
    key = call.arg(0).said
    for place in places(key.replace("\\\\", "\\")):
        if place.kind == "start":
            program = next((value.said for value in reversed(call.args) if value.said), "")
            severity: Severity = "critical" if _STRAY.search(program) else "warn"
            reader.hit("persist-start", severity, key, "It registers a program to start with Windows")
    return NOTHING


JUDGES: dict[str, Callable[[Judges, Call], Value | None]] = {
    "alarm": alarm, "note": notice, "encrypt": encrypt, "hand over": hand_over, "open registry": open_registry,
    "write registry": write_registry, "overwrite": overwrite, "clean": clean, "open mode": open_mode,
}  # fmt: skip
"""The judges of harm by their names in the tables."""
