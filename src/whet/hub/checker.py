"""Check archives for a hub, in a child process that may crash.

An archive comes from a stranger. A child process with limits on memory and time unpacks, checks and scans it; the hub
itself never opens it. The child is reused for the next archive. A child that takes too long, or ends, is replaced, and
its archive is *held*: not published until a moderator has looked at it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from whet.errors import InvalidError, WhetError
from whet.values import Json, as_json

if TYPE_CHECKING:
    from whet.skill.tree import Tree

_SECONDS = 60.0
_MEMORY = 2 << 30
_HEADER = 8
_TASKS = ("describe", "compare", "flatten", "read_text")
MOST_TEXT = 256 * 1024
"""Characters of instructions that are shown."""


class Checked(NamedTuple):
    """The description of an archive."""

    name: str
    version: str
    """Version that the skill states; "" if it has none."""
    description: str
    digest: str
    files: tuple[Json, ...]
    tools: tuple[str, ...]
    """Tools that it asks for."""
    problems: tuple[Json, ...]
    """Problems found by the strict check of the format, including errors."""
    verdict: str
    findings: tuple[Json, ...]
    ruleset: str
    powers: Json
    """Abilities of the skill: the fields of `whet.hub.powers.Powers`."""
    texts: Json
    """Text for search: the fields of `whet.routing.texts.Texts`."""
    signatures: tuple[Json, ...]
    """Signatures of the skill."""
    flat: str
    """SHA-256 of a zip with its files at the root, as other clients get it."""


class Held(NamedTuple):
    """An archive that could not be checked within the limits."""

    reason: str


class Checker:
    """A few processes that check archives. Thread-safe."""

    def __init__(self, processes: int = 2, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._idle: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(processes):
            self._idle.put(None)

    def check(self, archive: bytes, *, patience: int = 1) -> Checked | Held:
        """Check an archive; `patience` multiplies the time limit. Raise the child's WhetError if it is not a skill."""
        answer = self._ask("describe", archive, patience=patience)
        if isinstance(answer, Held):
            return answer
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in answer.items()
        }
        return Checked(**fields)

    def compare(self, old: bytes, new: bytes) -> str | Held:
        """Return the unified diff of two archives."""
        answer = self._ask("compare", old, new)
        return answer if isinstance(answer, Held) else str(answer["diff"])

    def flatten(self, archive: bytes) -> bytes | Held:
        """Return a zip with the files of an archive at its root."""
        answer = self._ask("flatten", archive)
        return answer if isinstance(answer, Held) else base64.b64decode(answer["zip"])

    def read_text(self, archive: bytes) -> str | Held:
        """Return the instructions of the skill in an archive, at most `MOST_TEXT` characters."""
        answer = self._ask("read_text", archive)
        return answer if isinstance(answer, Held) else str(answer["text"])

    def _ask(self, task: str, *archives: bytes, patience: int = 1) -> Json | Held:
        child, seconds = self._idle.get(), self._seconds * patience
        try:
            child = child or _Child()
            answer = child.ask(task, archives, seconds)
        except (OSError, EOFError, ValueError) as error:  # a timeout is an OSError
            if child is not None:
                child.end()
            child = None
            late = isinstance(error, TimeoutError)
            why = f"took more than {seconds:.0f} seconds" if late else "broke off; the archive asks for too much"
            return Held(f"The scan {why}.")
        finally:
            self._idle.put(child)
        if wrong := answer.get("error"):
            raise InvalidError("bad-archive", wrong["message"], hint=wrong["hint"])
        return answer

    def close(self) -> None:
        """End the idle processes."""
        while not self._idle.empty():
            if child := self._idle.get():
                child.end()


class _Child:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "whet.hub.checker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, task: str, archives: tuple[bytes, ...], seconds: float) -> Json:
        sender, reader = cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)
        late = threading.Timer(seconds, self._process.kill)
        late.start()
        try:
            sender.write(bytes([_TASKS.index(task), len(archives)]))
            for archive in archives:
                _write(sender, archive)
            answer = json.loads(_read(reader))
        except (OSError, EOFError) as error:
            if not late.is_alive():
                raise TimeoutError from error
            raise
        finally:
            late.cancel()
        return cast("Json", answer)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def _write(stream: BinaryIO, data: bytes) -> None:
    stream.write(len(data).to_bytes(_HEADER, "big") + data)
    stream.flush()


def _read(stream: BinaryIO) -> bytes:
    header = stream.read(_HEADER)
    size = int.from_bytes(header, "big")
    data = stream.read(size) if len(header) == _HEADER else b""
    if len(header) < _HEADER or len(data) < size:
        raise EOFError
    return data


# in the child


def describe(archive: bytes) -> Checked:
    """Describe an archive, in this process."""
    from whet.guard.ruleset import ruleset
    from whet.guard.scan import examine
    from whet.hub.powers import powers_of
    from whet.routing.similarity import BODY
    from whet.routing.texts import texts_of
    from whet.skill.archive import pack_flat
    from whet.skill.dialects import read_skill
    from whet.skill.finder import MAIN_FILE
    from whet.skill.frontmatter import read_document
    from whet.skill.tree import digest, entries
    from whet.sources.publish.prepare import check_format

    tree = _unpack(archive)
    if MAIN_FILE not in tree:
        raise InvalidError("bad-archive", f"The archive has no {MAIN_FILE}.", hint="Make it with `whet skill pack`.")
    skill = read_skill(read_document(tree[MAIN_FILE].data), fallback_name="")
    seen, facts = examine(tree)
    return Checked(
        skill.name,
        skill.version,
        skill.description,
        digest(entries(tree)),
        tuple(_files(tree)),
        tuple(map(str, skill.allowed_tools)),
        tuple(problem.to_json() for problem in check_format(skill.name, tree, "upload")),
        seen.verdict,
        tuple(as_json(finding) for finding in seen.findings),
        ruleset(),
        powers_of(tree, skill.allowed_tools, facts)._asdict(),
        texts_of(skill)._replace(body=skill.body[:BODY])._asdict(),
        tuple(_signatures(tree)),
        hashlib.sha256(pack_flat(skill.name, tree)).hexdigest(),
    )


def compare(old: bytes, new: bytes) -> str:
    """Return the unified diff of two archives, in this process."""
    from whet.authoring.history import difference

    return difference(_unpack(old), _unpack(new), ("a", "b"))


def flatten(archive: bytes) -> bytes:
    """Return a zip with the files of an archive at its root, in this process."""
    from whet.skill.archive import pack_flat

    return pack_flat("", _unpack(archive))


def read_text(archive: bytes) -> str:
    """Return the instructions of the skill in an archive, in this process."""
    from whet.skill.finder import MAIN_FILE
    from whet.skill.frontmatter import read_document

    main = _unpack(archive).get(MAIN_FILE)
    body = read_document(main.data.decode("utf-8", "replace")).body if main else ""
    if len(body) <= MOST_TEXT:
        return body
    return f"{body[:MOST_TEXT]}\n\n**Only the first {MOST_TEXT:,} characters are shown.**\n"


def _unpack(archive: bytes) -> Tree:
    from whet.skill.archive import unpack
    from whet.sources.packages import package_at

    return package_at(unpack(archive).tree, "")


def _signatures(tree: Tree) -> list[Json]:
    """Return the signatures of a skill; an invalid one is among its problems."""
    from whet.skill.signature import NAME, check_signature

    try:
        found = check_signature(tree)
    except InvalidError:
        return []
    return [{"file": NAME, "key": str(found.key) if found.key else None, "identity": found.identity}] if found else []


def _files(tree: Tree) -> list[Json]:
    return [
        {
            "path": path,
            "size": len(item.data),
            "sha256": hashlib.sha256(item.data).hexdigest(),
            "executable": item.executable,
        }
        for path, item in sorted(tree.items(), key=lambda pair: pair[0].encode())
    ]


def _limit() -> None:
    try:
        import resource
    except ImportError:  # not on Windows; the time limit still applies
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def main() -> None:
    """Process tasks from stdin until it is closed."""
    _limit()
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while asked := source.read(2):
        archives = [_read(source) for _ in range(asked[1])]
        answer: dict[str, Any]
        try:
            match _TASKS[asked[0]]:
                case "compare":
                    answer = {"diff": compare(*archives)}
                case "flatten":
                    answer = {"zip": base64.b64encode(flatten(*archives)).decode()}
                case "read_text":
                    answer = {"text": read_text(*archives)}
                case _:
                    answer = describe(*archives)._asdict()
        except WhetError as error:
            answer = {"error": {"message": error.message, "hint": error.hint}}
        _write(target, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
