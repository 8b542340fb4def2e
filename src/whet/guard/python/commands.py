"""Programs that are given something: what a sender carries in its arguments, files and input, and what a shell is fed.

Also containers, whose commands run with the powers and the parts of the disk that they are given.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from whet.guard.hosts import URL, host_of
from whet.guard.places import places
from whet.guard.python.files import judge_content, key_of, read, under
from whet.guard.python.network import judge_marks
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark
from whet.guard.taint.value import UNKNOWN, Value, strings

if TYPE_CHECKING:
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_SENDER = re.compile(
    r"(?:^|[\s/|;&(])(curl|wget|nc|ncat|netcat|socat|scp|rsync|sftp|lftp|https?|xh|mailx?|sendmail|telnet|rclone|aws|gsutil|s3cmd)\s"
)
_REMOTE = re.compile(r"\s{0,4}(ssh)\s")
_LOOKER = re.compile(r"(?:^|[\s/|;&(])(?:nslookup|dig|host|ping|drill)\s")
_INTERPRETER = re.compile(r"^\s{0,4}(?:\S{0,60}/)?(?:(ba|z|da|k)?sh|(python[\d.]{0,4}))(?:\s{1,4}-\w{0,3})?\s{0,4}$")
_HEADER = re.compile(r"authorization|x-api-key|-H\b|--header|--user\b|-u\b", re.IGNORECASE)
_PRIVATE: frozenset[str] = frozenset(("secret", "env", "key", "captured"))
_PRINTS = re.compile(r"\s{0,4}(?:cat|head|tail|less|more|type|base64|xxd|strings)\s")
_PACKS = re.compile(r"\s{0,4}(?:tar|zip|7z|cp|mv|gzip|openssl|gpg)\s")
_TAKES_FILES = frozenset(("crontab", "sh", "bash", "zsh", "source", ".", "python", "python3", "at"))
_ESCAPE = re.compile(r"\b(?:chroot|nsenter)\b")


def sends(reader: Reader, this: Call, command: Value, text: str) -> None:
    """A program that sends or looks up: judge what its words and the files they name carry."""
    if _LOOKER.search(text[:200]):
        _looked_up(reader, command, text)
    found = _SENDER.search(text[:400])
    if found is None:
        return
    private = frozenset(mark for mark in command.marks if mark.kind in _PRIVATE)
    if _HEADER.search(text):
        private = frozenset(mark for mark in private if mark.kind == "env")
    marks = private | _carried(reader, this, text)
    if marks:
        _judge(reader, text, found[1], marks)


def given_file(reader: Reader, text: str) -> None:
    """A table of timers or a script that was written before, now given to a program by its path."""
    program, _, rest = text.strip().partition(" ")
    if not reader.texts or program.rpartition("/")[2] not in _TAKES_FILES:
        return
    for word in rest.split():
        content = reader.texts.get(word.strip("'\""))
        if content is None:
            continue
        if program == "crontab":
            judge_content(reader, "crontab", Value(content), appends=True)
        else:
            reader.look(content, "python" in program)


def fed(reader: Reader, text: str, content: Value) -> None:
    """What a program is given on its input."""
    found = _SENDER.search(text[:400]) or _REMOTE.match(text)
    if found is not None:
        marks = frozenset(mark for mark in content.marks if mark.kind in _PRIVATE)
        if marks:
            _judge(reader, text, found[1], marks)
    elif text.lstrip().startswith("crontab"):
        judge_content(reader, "crontab", content, appends=True)
    elif (interpreter := _INTERPRETER.match(text)) is not None:
        kinds = {mark.kind for mark in content.marks}
        if "fetched" in kinds:
            reader.hit("exec-fetched", None, "", "It gives an interpreter what it fetched")
        elif "decoded" in kinds:
            reader.hit("exec-decoded", None, "", "It gives an interpreter what it decoded")
        elif content.said:
            reader.look(content.said, bool(interpreter[2]))


def _judge(reader: Reader, text: str, program: str, marks: frozenset[Mark]) -> None:
    address = URL.search(text)
    url = address[0] if address else _host(text, program)
    reader.fact("sink", program, url, host_of(url).shady if url else False)
    judge_marks(reader, url, marks)


def _host(text: str, program: str) -> str:
    """The host that a command without a URL names."""
    words = [word for word in text.partition(program)[2].split() if not word.startswith("-")]
    for word in words[:6]:
        bare = word.strip("'\"").rpartition("@")[2].partition(":")[0]
        if re.fullmatch(r"[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){1,6}", bare, re.IGNORECASE):
            return bare
    return ""


def _carried(reader: Reader, this: Call, text: str) -> frozenset[Mark]:
    """The private marks of files that were written before and are now named to a sender."""
    if not reader.files:
        return NO_MARKS
    marks = NO_MARKS
    for word in re.split(r"[\s'\"=@;,|]+", text[:4000]):
        if len(word) > 2:
            marks |= under(reader, word if word.startswith("<tmp") else word.lstrip("<"))
    first = this.node.args[0] if this.node.args else None
    for element in getattr(first, "elts", None) or getattr(first, "values", None) or ():
        key = key_of(
            Value(), getattr(element, "value", element) if type(element).__name__ == "FormattedValue" else element
        )
        marks |= reader.files.get(key, NO_MARKS)
    return frozenset(mark for mark in marks if mark.kind in _PRIVATE)


def _looked_up(reader: Reader, command: Value, text: str) -> None:
    carried = sorted(mark for mark in command.marks if mark.kind in ("secret", "env", "key"))
    if carried and re.search(HOLE + r"[\w.-]{0,60}\.[\w-]{1,40}\.[a-z]{2,12}", text):
        reader.hit(
            "sent-by-lookup",
            None,
            text,
            f"It puts {carried[0].what} into a host name that it looks up",
        )


def container(reader: Reader, this: Call) -> Value | None:
    """A container that is started: its command, and how much of the machine it is given."""
    if this.verb not in ("run", "create") or ".containers." not in this.name:
        return None
    command = this.arg(1, "command")
    parts = command.const if isinstance(command.const, list) else [command.const]
    words = [part if isinstance(part, str) else HOLE for part in parts]
    text = shlex.join(words) if isinstance(command.const, list) else words[0]
    for script in [text, *(word for word in words[1:] if " " in word)]:
        reader.look(script, False)
    mounts = [text for word in ("volumes", "mounts") if word in this.words for text in strings(this.words[word].const)]
    whole = any(mount == "/" or mount.startswith("/:") for mount in mounts)
    socket = any("docker.sock" in mount for mount in mounts)
    powerful = this.words.get("privileged", Value()).const is True or this.words.get("pid_mode", Value()).said == "host"
    if whole or socket:
        secret = any(place.kind == "secret" and place.grave for place in places(text))
        grave = _ESCAPE.search(text) is not None or (whole and secret)
        reader.hit("takes-host", "critical" if grave else "warn" if powerful or whole else "info")
    return Value(marks=NO_MARKS, const=UNKNOWN)


def shown(reader: Reader, text: str) -> frozenset[Mark]:
    """The secrets that a command shows; those that it packs are left in the files it names."""
    prints, packs = _PRINTS.match(text), _PACKS.match(text)
    if not prints and not packs:
        return NO_MARKS
    words = [word.strip("'\"") for word in text[:2000].split()[1:] if not word.startswith("-")]
    marks = NO_MARKS
    for word in words:
        if "/" in word or word.startswith((".", "~")):
            marks |= {mark for mark in read(reader, Value(word), None) if mark.kind == "secret" and mark.grave}
    if prints:
        return marks
    for word in words if marks else ():
        if "." in word.rpartition("/")[2] or word.startswith("/"):
            reader.files[word] = reader.files.get(word, NO_MARKS) | marks
    return NO_MARKS


def pushed(reader: Reader, text: str) -> None:
    """A repository that is pushed after a secret was copied into it."""
    if not text.startswith("git push"):
        return
    for path, marks in reader.files.items():
        for mark in sorted(marks):
            if not path.startswith(("/", "~", "<tmp")) and (
                mark.kind == "env" or (mark.kind == "secret" and mark.grave)
            ):
                address = URL.search(text)
                message = f"It copies {mark.what} to {path} and pushes the repository"
                reader.hit("secret-sent", None, address[0] if address else "", message)
                return
