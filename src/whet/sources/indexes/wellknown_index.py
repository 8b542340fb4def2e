"""The index of `/.well-known/agent-skills`, as values: bytes and their address in, entries and notes out.

There are two forms. The present one (0.2.0) says by its `$schema` what it is, and each entry names one artifact with
its hash. The older one has no `$schema`; each entry lists the files of a skill, and a draft between the two gives each
file a hash. An index with another `$schema` is from a future nobody here knows, and is not guessed at. An entry that is
wrong is skipped and told; it never costs the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.notes import Note
from whet.skill import paths
from whet.skill.finder import MAIN_FILE
from whet.skill.names import key, spec_problems
from whet.skill.tree import DEFAULT_LIMITS
from whet.sources.indexes.answers import Answer, address_in, bad_response, origin_of, parsed, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable


SCHEMAS = ("https://schemas.agentskills.io/discovery/0.2.0/schema.json",)
"""What an index that can be read says of itself."""
TYPES = ("skill-md", "archive")


class LooseFile(NamedTuple):
    """One file of a skill that is served file by file."""

    path: str
    url: str
    sha256: str = ""


class Indexed(NamedTuple):
    """One skill of an index: an artifact, or its files."""

    name: str
    description: str
    type: str = ""
    """One of `TYPES`; "" for the older form."""
    url: str = ""
    sha256: str = ""
    files: tuple[LooseFile, ...] = ()

    @property
    def revision(self) -> str:
        """The hash of the artifact; "" where none is known before it was fetched."""
        return f"sha256:{self.sha256}" if self.sha256 else ""


class Index(NamedTuple):
    """What an index lists."""

    skills: tuple[Indexed, ...]
    notes: tuple[Note, ...]


def read_index(body: bytes, url: str) -> Index:
    """The skills of an index that was found at an address. Raises InvalidError `bad-response` or `index-unknown`."""
    value = parsed(body, url)
    answer = Answer(value, "the index")
    if "$schema" in value and value["$schema"] not in SCHEMAS:
        hint = "A newer Whet may know it. Ask the publisher for an index of version 0.2.0."
        message = f"The index at {url} says it is {shown(value['$schema'])}, which Whet does not know."
        raise InvalidError("index-unknown", message, hint=hint)
    return _read(answer, url, _artifact if "$schema" in value else _loose)


def _read(answer: Answer, url: str, read: Callable[[Answer, str, list[Note]], Indexed | None]) -> Index:
    notes: list[Note] = []
    skills: dict[str, Indexed] = {}
    for position, value in enumerate(answer.values("skills")):
        where = f"skills[{position}]"
        called = _called(value)
        try:
            skill = read(Answer(value, where), url, notes)
        except (InvalidError, UsageError) as error:
            notes.append(_skipped(called, where, error.message))
            continue
        if skill is None:
            continue
        if key(skill.name) in skills:
            message = f"{where}: the index lists {skill.name} before; the first one counts."
            notes.append(Note("index-entry-duplicate", "warning", message, skill=skill.name, path=url))
            continue
        skills[key(skill.name)] = skill
    return Index(tuple(skills.values()), tuple(notes))


def _called(value: object) -> str:
    """The name of an entry, as far as it can be told."""
    name = value.get("name") if isinstance(value, dict) else ""
    return name if isinstance(name, str) and not spec_problems(name) else ""


def _skipped(name: str, where: str, message: str) -> Note:
    hint = "Tell the publisher of the index."
    return Note("index-entry-wrong", "error", f"{where} is skipped: {message}", hint, skill=name)


def _artifact(entry: Answer, index_url: str, notes: list[Note]) -> Indexed | None:
    """An entry of the present form."""
    name, kind = _name(entry), entry.text("type")
    if kind not in TYPES:
        message = f"{name} is of the type {shown(kind)}, which Whet does not know; it is skipped."
        notes.append(Note("index-type-unknown", "error", message, "A newer Whet may know it.", skill=name))
        return None
    entry.text("description")
    url, sha256 = address_in(index_url, entry.text("url")), entry.sha256("digest")
    if origin_of(url) != origin_of(index_url):
        message = f"{name} is fetched from {origin_of(url)[1]}, which is not where the index lies."
        notes.append(Note("index-entry-elsewhere", "info", message, skill=name, path=url))
    return Indexed(name, entry.prose("description"), kind, url, sha256)


def _loose(entry: Answer, index_url: str, _notes: list[Note]) -> Indexed:
    """An entry of the older form: every file lies in the directory of the skill beside the index."""
    name = _name(entry)
    listed = entry.values("files")
    if len(listed) > DEFAULT_LIMITS.files:
        raise bad_response(f"It lists {len(listed)} files; at most {DEFAULT_LIMITS.files} are fetched.")
    directory = address_in(index_url, f"{quoted(name)}/")
    files = [_file(value, index, directory) for index, value in enumerate(listed)]
    for first, second in paths.collides(file.path for file in files):
        raise bad_response(f"The files {paths.shown(first)} and {paths.shown(second)} cannot both exist everywhere.")
    if MAIN_FILE not in [file.path for file in files]:
        raise bad_response(f"It lists no {MAIN_FILE}.")
    return Indexed(name, entry.prose("description"), files=tuple(files))


def _file(value: object, index: int, directory: str) -> LooseFile:
    sha256 = ""
    if isinstance(value, dict):
        described = Answer(value, f"files[{index}]")
        value = described.text("path")
        sha256 = described.sha256("digest") if "digest" in described else ""
    if not isinstance(value, str):
        raise bad_response(f"files[{index}] is no path.")
    path = paths.check(value)
    return LooseFile(path, directory + "/".join(map(quoted, path.split("/"))), sha256)


def _name(entry: Answer) -> str:
    name = entry.text("name")
    for problem in spec_problems(name):
        raise bad_response(problem.message)
    return name.strip()
