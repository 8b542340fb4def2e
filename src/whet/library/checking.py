"""Checking and mending skills by path, whether or not they are in the library.

A path may be a skill's directory, the main file in it, a single Markdown file or an archive.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import FailedError, InvalidError, NotFoundError, RefusedError, UsageError
from whet.library.files import open_beneath, read_descriptor, read_file
from whet.library.package import find_skills, list_package, package_directory
from whet.notes import Note
from whet.skill.finder import MAIN_FILE, MAIN_FILES, PLACE, main_file
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.validate import fix, valid, validate
from whet.skill.validate.findings import Package
from whet.store.atomic import write_text
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from whet.skill.validate.findings import Profile

ARCHIVE = ".skill"
_MAX_ARCHIVE = 128 * 1024 * 1024
_LOCK_SECONDS = 10


class _Found(NamedTuple):
    """A package that was read to be checked."""

    package: Package
    main: str
    """The main file's path, or the archive's."""
    problems: tuple[Note, ...]
    """What is wrong with the package as a whole."""


def skills_below(path: str) -> tuple[str, ...]:
    """Every skill in a directory and below it, sorted; hidden directories such as `.claude` included."""
    path = os.path.expanduser(path)
    if not os.path.isdir(path):
        raise NotFoundError("path-not-found", f"There is no directory {path}.", hint="Check the path.")
    found, problems = find_skills(path, PLACE)
    if problems:
        raise problems[0][1]
    if not found:
        hint = f"A skill is a directory with a {MAIN_FILE}."
        raise NotFoundError("no-skills-found", f"There is no skill in {path} or below it.", hint=hint)
    return tuple(os.path.join(path, *skill.split("/")) if skill else path for skill in found)


def check(path: str, profile: Profile = "spec") -> dict[str, Any]:
    """What is wrong with one skill under a profile."""
    return _result(path, _read(path), profile)


def mend(path: str, profile: Profile = "spec", *, state: str) -> dict[str, Any]:
    """Apply every safe fix to the skill's main file, then check it; `fixed` tells what is gone by it."""
    if is_archive(path):
        hint = "Unpack it, mend the skill, and pack it again."
        raise UsageError("cannot-fix-archive", f"{path} is an archive, which is never changed.", hint=hint)
    found = _read(path)
    fixed: tuple[Note, ...] = ()
    if found.package.text is not None and valid(found.problems):
        with alone(state, os.path.dirname(found.main)):
            found, fixed = _mended(_read(path))
    return {**_result(path, found, profile), "fixed": [finding.to_finding() for finding in fixed]}


def _mended(found: _Found) -> tuple[_Found, tuple[Note, ...]]:
    try:
        text, fixed = fix(found.package)
    except InvalidError as error:
        return found._replace(problems=(Note(error.code, "error", error.message),)), ()
    if fixed and text.encode() != found.package.text:
        write_text(found.main, text)
    return found._replace(package=found.package._replace(text=text)), fixed


def _result(path: str, found: _Found, profile: Profile) -> dict[str, Any]:
    findings = validate(found.package, profile)
    if found.problems:  # then nobody knows which files there are
        findings = tuple(finding for finding in findings if finding.code != "reference-dangling")
    findings = (*found.problems, *findings)
    listed = [finding.to_finding() for finding in findings]
    return {"path": path, "file": found.main, "valid": valid(findings), "findings": listed}


def _read(path: str) -> _Found:
    if is_archive(path):
        return _read_archive(path)
    if is_flat(path):
        note = Note("main-file-name", "warning", "A skill without a directory; move it to NAME/SKILL.md.")
        stem = os.path.basename(path).removesuffix(".md")
        return _Found(Package(stem, content(path), MAIN_FILE, (MAIN_FILE,)), path, (note,))
    directory = package_directory(path)
    shown = os.path.dirname(path) if os.path.isfile(path) else path
    listing = list_package(directory)
    files = tuple(item.path for item in listing.files)
    problems = [Note(error.code, "error", error.message) for error in listing.problems]
    names = frozenset(os.listdir(directory))
    main = main_file(names) or MAIN_FILE
    text = None
    if main in names:
        try:
            text = _read_beneath(directory, main)
        except RefusedError as error:
            problems.append(Note(error.code, "error", error.message))
    if text is not None and len(text) > MAX_DOCUMENT:
        message = f"{main} has more than {MAX_DOCUMENT:,} bytes, which is as far as it is read."
        problems.append(Note("too-large", "error", message))
        text = text[:MAX_DOCUMENT]
    package = Package(os.path.basename(directory), text, main, files)
    return _Found(package, os.path.join(shown, main), tuple(problems))


def _read_archive(path: str) -> _Found:
    from whet.skill.archive import unpack

    try:
        archive = unpack(archive_bytes(path))
    except InvalidError as error:
        return _Found(Package("", None), path, (Note(error.code, "error", error.message),))
    data = archive.tree[archive.main].data
    package = Package(archive.name, data, archive.main, tuple(archive.tree), published=True)
    return _Found(package, path, ())


def alone(state: str, directory: str) -> FileLock:
    """The lock of whoever writes a skill's directory."""
    return FileLock(lock_path(state, "skill", os.path.realpath(directory)), timeout=_LOCK_SECONDS)


def is_flat(path: str) -> bool:
    """Is this a Markdown file that is a skill by itself?"""
    return os.path.isfile(path) and path.endswith(".md") and os.path.basename(path) not in MAIN_FILES


def is_archive(path: str) -> bool:
    """Is this a file that can only be an archive?"""
    return os.path.isfile(path) and not path.endswith(".md")


def archive_bytes(path: str) -> bytes:
    """A whole archive, or more than any archive may have."""
    return content(path, _MAX_ARCHIVE)


def content(path: str, limit: int = MAX_DOCUMENT) -> bytes:
    """A file's whole content; one with more than `limit` bytes is refused."""
    try:
        data = read_file(path, limit + 1)
    except FileNotFoundError as error:
        raise NotFoundError("path-not-found", f"There is no {path}.", hint="Check the path.") from error
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        raise FailedError("unreadable", message, hint="Check its permissions.") from error
    if len(data) > limit:
        raise InvalidError("too-large", f"{path} has more than {limit:,} bytes.", hint="Make it smaller.")
    return data


def _read_beneath(directory: str, name: str) -> bytes:
    descriptor = open_beneath(directory, name)
    try:
        return read_descriptor(descriptor, MAX_DOCUMENT + 1)
    finally:
        os.close(descriptor)
