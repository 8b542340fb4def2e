"""What a hub knows of an archive, all of it derived from the bytes, by a process that may die of them.

An archive comes from a stranger. A child with limits on memory and time unpacks, checks and scans it; the hub itself
never opens it. The child is used again for the next archive. One that takes too long, or ends, is replaced, and the
archive it had is *held*: kept out until a person has looked at it.
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
    """What an archive is."""

    name: str
    version: str
    """As the skill says; "" where it does not."""
    description: str
    digest: str
    files: tuple[Json, ...]
    tools: tuple[str, ...]
    """The tools that it asks for."""
    problems: tuple[Json, ...]
    """What the strict check of the format says, errors among it."""
    verdict: str
    findings: tuple[Json, ...]
    ruleset: str
    powers: Json
    """What it can do: the fields of `whet.hub.powers.Powers`."""
    texts: Json
    """What search reads of it: the fields of `whet.routing.texts.Texts`."""
    signatures: tuple[Json, ...]
    """Who signed it."""
    flat: str
    """The SHA-256 of its files at the root of a zip, as other clients get them."""


class Held(NamedTuple):
    """An archive that could not be looked at within the limits."""

    reason: str


class Checker:
    """A few processes that look at archives. May be used from several threads."""

    def __init__(self, processes: int = 2, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._idle: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(processes):
            self._idle.put(None)

    def check(self, archive: bytes, *, patience: int = 1) -> Checked | Held:
        """Look at an archive, so many times as long as usual. Raises WhetError as the child did: it holds no skill."""
        answer = self._ask("describe", archive, patience=patience)
        if isinstance(answer, Held):
            return answer
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in answer.items()
        }
        return Checked(**fields)

    def compare(self, old: bytes, new: bytes) -> str | Held:
        """What changed between two archives, as a unified diff."""
        answer = self._ask("compare", old, new)
        return answer if isinstance(answer, Held) else str(answer["diff"])

    def flatten(self, archive: bytes) -> bytes | Held:
        """The files of an archive at the root of a zip."""
        answer = self._ask("flatten", archive)
        return answer if isinstance(answer, Held) else base64.b64decode(answer["zip"])

    def read_text(self, archive: bytes) -> str | Held:
        """The instructions of the skill in an archive, at most `MOST_TEXT` characters."""
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
        """End the processes that are idle."""
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
    """Look at an archive, in this process."""
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
    """What changed between two archives, as a unified diff, in this process."""
    from whet.authoring.history import difference

    return difference(_unpack(old), _unpack(new), ("a", "b"))


def flatten(archive: bytes) -> bytes:
    """The files of an archive at the root of a zip, in this process."""
    from whet.skill.archive import pack_flat

    return pack_flat("", _unpack(archive))


def read_text(archive: bytes) -> str:
    """The instructions of the skill in an archive, in this process."""
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
    """Who signed a skill; a signature that is wrong is among its problems."""
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
    except ImportError:  # Windows has none; the time limit stays
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def main() -> None:
    """Describe, compare, flatten and read archives until there are no more."""
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
