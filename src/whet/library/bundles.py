"""Bundles: a named set of skills with an instruction, each a small YAML file that people write and share.

    name: Release day
    description: Everything a release needs.
    skills:
      - changelog
      - slack:announce
    instruction: Stop before anything is published.

A file that cannot be used is left out and reported. Nothing is deleted: a replaced file stays next to it as
`.before`, a removed one as `.removed`. Two writers of one directory must agree by a lock (`whet.store.locks`).
"""

from __future__ import annotations

import os
import sys

from whet.errors import ConflictError, NotFoundError, UsageError
from whet.library.files import read_file
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill import names, paths
from whet.skill.coerce import unique, words
from whet.store.atomic import write_bytes, write_text
from whet.store.directories import PRIVATE, make_directories, sync_directory
from whet.store.failures import os_failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from whet.skill.block import Block

MAX_SIZE = 64 * 1024
MAX_FILES = 1_000
"""Number of files that are read from one directory."""
MAX_SKILLS = 64

_ENDINGS = (".yaml", ".yml")
_KEYS = ("name", "description", "skills", "instruction")
_NAMED_AT_ONCE = 5


class Bundle(NamedTuple):
    """Skills that are loaded together."""

    name: str
    slug: str
    """The name as a command, unique among bundles."""
    description: str
    skills: tuple[str, ...]
    instruction: str
    path: str

    def to_json(self) -> dict[str, Any]:
        """Return the bundle as JSON."""
        return {**self._asdict(), "skills": list(self.skills)}


class _BundleError(Exception):
    """A problem of a bundle file, with its line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def read_bundles(directories: Sequence[str]) -> tuple[tuple[Bundle, ...], tuple[Note, ...]]:
    """Return the bundles directly in these directories, in order, and notes on the rest; the first of a name wins."""
    found: dict[str, Bundle] = {}
    report: list[Note] = []
    places: dict[str, str] = {}
    for directory in directories:
        places.setdefault(os.path.realpath(directory), directory)
    for directory in places.values():
        for path in _files(directory, report):
            try:
                bundle, unknown = _read(path)
            except (OSError, UnicodeDecodeError, _BundleError) as error:
                report.append(_invalid(path, error))
                continue
            winner = found.setdefault(bundle.slug, bundle)
            if winner is not bundle:
                message = f"{winner.path} has the same name /{bundle.slug}; this one is left out."
                report.append(Note("bundle-duplicate", "warning", message, "Rename one of the two.", path=path))
            elif unknown:
                listed = ", ".join(paths.shown(key) for key in unknown[:_NAMED_AT_ONCE])
                message = f"A bundle has no key {listed}; it is ignored."
                report.append(
                    Note("bundle-unknown-key", "info", message, f"The keys are {', '.join(_KEYS)}.", path=path)
                )
    return tuple(found.values()), tuple(report)


def save_bundle(
    directory: str,
    *,
    name: str,
    skills: Sequence[str],
    description: str = "",
    instruction: str = "",
    overwrite: bool = False,
    private: bool = False,
) -> Bundle:
    """Write a bundle to its file in one step; `overwrite` replaces the bundle of that name and keeps a copy.

    `private`: only its owner can read it.
    """
    slug = names.command(name)
    if not slug:
        raise UsageError(
            "bundle-name",
            f"The name {paths.shown(name)} has no letter or digit.",
            hint="Choose a name with letters or digits.",
        )
    paths.check(f"{slug}.yaml.removed")
    given = [skill.strip() for skill in ([skills] if isinstance(skills, str) else skills)]
    listed = unique(given)
    if not all(given) or not given:
        problem = "has an empty name in its list of skills" if any(given) else "names no skill"
        hint = "Separate the names with single commas." if any(given) else "Name at least one skill."
        raise UsageError("bundle-empty", f"The bundle {paths.shown(name)} {problem}.", hint=hint)
    text = _spelled({"name": name, "description": description, "skills": list(listed), "instruction": instruction})
    size = len(text.encode())
    if len(listed) > MAX_SKILLS or size > MAX_SIZE:
        raise UsageError(
            "bundle-too-large",
            f"The bundle {paths.shown(name)} has {len(listed)} of at most {MAX_SKILLS} skills "
            f"and {size:,} of at most {MAX_SIZE:,} bytes.",
            hint="Split it, or put a long instruction into a skill.",
        )
    held = next((bundle.path for bundle in read_bundles([directory])[0] if bundle.slug == slug), "")
    path = held or os.path.join(directory, f"{slug}.yaml")
    if os.path.lexists(path):
        if not overwrite:
            message = f"The bundle /{slug} already exists: {path}."
            hint = "Choose another name, or overwrite it with `--force`."
            raise ConflictError("bundle-exists", message, hint=hint, path=path)
        with os_failures(path, doing="read", other="read-failed"):
            before, mode = read_file(path, sys.maxsize), os.stat(path).st_mode & 0o777
        write_bytes(f"{path}.before", before, mode=mode)
    make_directories(directory, private=private)
    write_text(path, text, mode=PRIVATE if private else None)
    return Bundle(name, slug, description, listed, instruction, path)


def follow_bundles(directories: Sequence[str], own: str, renamed: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Rename skills in the user's own bundles; yield a sentence about each other bundle that needs a change."""
    for old, new in renamed:
        for bundle in read_bundles(directories)[0]:
            skills = [new if names.key(skill) == names.key(old) else skill for skill in bundle.skills]
            if skills == [*bundle.skills]:
                continue
            if os.path.dirname(bundle.path) != own:
                yield f"The bundle /{bundle.slug} still names {old}; write {new} into {bundle.path}."
                continue
            told = {"name": bundle.name, "description": bundle.description, "instruction": bundle.instruction}
            save_bundle(own, skills=skills, overwrite=True, private=True, **told)


def remove_bundle(bundle: Bundle) -> str:
    """Remove a bundle and return the new path of its file; a file removed earlier is replaced."""
    removed = f"{bundle.path}.removed"
    with os_failures(bundle.path, doing="remove"):
        try:
            os.replace(bundle.path, removed)
        except FileNotFoundError as error:
            message = f"{bundle.path} no longer exists."
            raise NotFoundError("bundle-not-found", message, hint="It was already removed.", suggestions=[]) from error
        sync_directory(os.path.dirname(bundle.path) or ".")
    return removed


def find_bundle(bundles: Iterable[Bundle], name: str) -> Bundle:
    """Return the bundle of that name, in any spelling. Raises NotFoundError with the closest names."""
    by_slug = {bundle.slug: bundle for bundle in bundles}
    if bundle := by_slug.get(names.command(name)):
        return bundle
    suggestions = list(names.closest(name, by_slug))
    hint = f"Did you mean {', '.join(suggestions)}?" if suggestions else "`whet prompt bundle list` shows them."
    raise NotFoundError(
        "bundle-not-found", f"There is no bundle {paths.shown(name)}.", hint=hint, suggestions=suggestions
    )


def _files(directory: str, report: list[Note]) -> list[str]:
    """Return the bundle files of a directory, sorted by name, without hidden files."""
    try:
        listed = [name for name in os.listdir(directory) if name.lower().endswith(_ENDINGS) and name[0] != "."]
    except FileNotFoundError:
        return []
    except OSError as error:
        report.append(_invalid(directory, error))
        return []
    if len(listed) > MAX_FILES:
        message = f"The directory has {len(listed):,} bundles; only the first {MAX_FILES:,} are read."
        report.append(Note("bundle-invalid", "error", message, "Move unused bundles elsewhere.", path=directory))
    return [os.path.join(directory, name) for name in sorted(listed)[:MAX_FILES]]


def _read(path: str) -> tuple[Bundle, tuple[str, ...]]:
    """Return the bundle in a file and its unknown keys. Raises OSError, UnicodeDecodeError, _BundleError."""
    from whet.skill.block import BlockError, read_block

    data = read_file(path, MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise _BundleError(f"it is larger than {MAX_SIZE:,} bytes")
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    try:
        block = read_block(text)
    except BlockError as error:
        raise _BundleError(error.message, error.line) from error
    for key, line in block.duplicates:
        raise _BundleError(f"the key {paths.shown(key)} is given twice", line)
    name = _text(block, "name") or os.path.splitext(os.path.basename(path))[0]
    slug = names.command(name)
    if not slug:
        raise _BundleError(f"its name {paths.shown(name)} has no letter or digit", block.lines.get("name"))
    bundle = Bundle(name, slug, _text(block, "description"), _skills(block), _text(block, "instruction"), path)
    return bundle, tuple(key for key in block.values if key not in _KEYS)


def _text(block: Block, key: str) -> str:
    value = block.values.get(key)
    if isinstance(value, dict | list):
        raise _BundleError(f"{key} is not text", block.lines.get(key))
    return "" if value is None else block.texts.get(key, str(value))


def _skills(block: Block) -> tuple[str, ...]:
    value, line = block.values.get("skills"), block.lines.get("skills")
    listed = words(value, separators=",") if isinstance(value, str) else value
    if not listed:
        raise _BundleError("it names no skills", line)
    names = [item.strip() for item in listed if isinstance(item, str)] if isinstance(listed, list | tuple) else []
    if not isinstance(listed, list | tuple) or len(names) != len(listed) or not all(names):
        raise _BundleError("skills is not a list of names", line)
    if len(listed) > MAX_SKILLS:
        raise _BundleError(f"it names {len(listed)} skills, more than {MAX_SKILLS}", line)
    return unique(names)


def _spelled(values: dict[str, str | list[str]]) -> str:
    """Return the text of a bundle file with these values; empty values are left out."""
    from whet.skill.yaml_edit import spell

    rows: list[str] = []
    for key, value in values.items():
        if value:
            first, *others = spell(value, "", "  ")
            rows += [f"{key}: {first}" if first else f"{key}:", *others]
    return "\n".join((*rows, ""))


def _invalid(path: str, error: OSError | UnicodeDecodeError | _BundleError) -> Note:
    line = None
    if isinstance(error, _BundleError):
        reason, line = error.message, error.line
    elif isinstance(error, UnicodeDecodeError):
        reason = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
    else:
        reason = error.strerror or str(error)
    hint = "A bundle is a YAML file with name, description, skills and instruction. Fix it or remove it."
    return Note(
        "bundle-invalid", "error", f"{os.path.basename(path)} is left out: {reason}.", hint, path=path, line=line
    )
