"""Skills by path, whether or not they are in the library: read, checked, repaired, packed, unpacked, begun.

A path may be a skill's directory, the main file in it, a single Markdown file or an archive. A written file is complete
before it takes its place, and existing files are overwritten only on request.
"""

from __future__ import annotations

import os
import stat
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.library.files import inside, open_beneath, read_descriptor, read_file
from whet.library.package import (
    Main,
    enclosing_skill,
    find_skills,
    list_package,
    package_digest,
    package_directory,
    read_package,
)
from whet.library.roots import gallery_directory
from whet.notes import Note
from whet.skill.finder import EVERYTHING, MAIN_FILE, MAIN_FILES, PLACE, main_file
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.names import is_ascii_name, slug, spec_problems
from whet.skill.tree import DEFAULT_LIMITS, Item, Package, library_digest
from whet.skill.validate import valid, validate
from whet.skill.validate.fixes import fix
from whet.skill.validate.input import ValidationInput
from whet.skill.validate.package import wanted
from whet.store.atomic import replace_directory, staging, write_bytes, write_text
from whet.store.directories import make_directories
from whet.store.locks import FileLock, lock_path
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.library.card import Card
    from whet.skill.tree import Tree
    from whet.skill.validate.input import Profile

_TEMPLATE = ("writing-skills", "templates", "SKILL.template.md")
ARCHIVE = ".skill"
_MAX_ARCHIVE = 128 * 1024 * 1024
_LOCK_SECONDS = 10
_ARCHIVES = (b"PK", b"\x1f\x8b")
_TAR_MARK = (b"ustar", 257)


class Checked(NamedTuple):
    """The findings about one skill."""

    path: str
    file: str
    """The main file, or the archive."""
    valid: bool
    findings: tuple[Note, ...]
    fixed: tuple[Note, ...] | None = None
    """The findings that were repaired; None if nothing was."""
    skill: str = ""
    """The name of the skill in the library, if it was repaired there."""

    def to_json(self) -> Json:
        """Return the result as JSON."""
        answer: Json = {"path": self.path, "file": self.file, "valid": self.valid}
        answer["findings"] = [finding.to_finding() for finding in self.findings]
        return answer if self.fixed is None else answer | {"fixed": [finding.to_finding() for finding in self.fixed]}


class Validation(NamedTuple):
    """The findings about several skills."""

    results: tuple[Checked, ...]

    @property
    def valid(self) -> bool:
        """Whether all of them are valid."""
        return all(result.valid for result in self.results)

    def to_json(self) -> Json:
        """Return the results as JSON."""
        return {"success": True, "valid": self.valid, "results": [result.to_json() for result in self.results]}


class Packed(NamedTuple):
    """An archive that was written."""

    path: str
    name: str
    digest: str
    size: int
    files: int
    valid: bool

    def to_json(self) -> Json:
        """Return the archive as JSON."""
        return answer_json(self)


class Unpacked(NamedTuple):
    """A skill that was unpacked from an archive."""

    path: str
    name: str
    digest: str
    files: int
    skipped: tuple[str, ...]
    """Names in the archive that are never part of a package."""
    replaced: bool
    """Whether it replaced a skill."""

    def to_json(self) -> Json:
        """Return the skill as JSON."""
        return answer_json(self)


class Begun(NamedTuple):
    """A new skill."""

    name: str
    path: str
    file: str

    def to_json(self) -> Json:
        """Return the skill as JSON."""
        return answer_json(self)


class _Found(NamedTuple):
    """A package that was read to be validated."""

    package: ValidationInput
    main: str
    """The main file's path, or the archive's."""
    problems: tuple[Note, ...]
    """Problems of the package as a whole."""


def skills_below(path: str) -> tuple[str, ...]:
    """Return every skill in a directory and below it, sorted, including hidden directories such as `.claude`."""
    path = os.path.expanduser(path)
    if not os.path.isdir(path):
        raise NotFoundError("path-not-found", f"There is no directory {path}.", hint="Check the path.")
    found, problems = find_skills(path, PLACE)
    if problems:
        raise problems[0][1]
    if not found:
        hint = f"A skill is a directory with a {MAIN_FILE}."
        raise NotFoundError("no-skills-found", f"There is no skill in or below {path}.", hint=hint)
    return tuple(os.path.join(path, *skill.split("/")) if skill else path for skill in found)


# --- packages with their problems ------------------------------------------------------------------------------------


def read_path(path: str) -> Package:
    """Read the package at a path: a skill's directory, its main file, any other directory or file, an archive.

    An archive is read in memory, and no link out of a package is followed. Raises NotFoundError.
    """
    full = skill_place(os.path.expanduser(path))
    name = os.path.basename(os.path.abspath(full))
    if os.path.isdir(full):
        return read_package(os.path.realpath(full), strict=False)._replace(name=name)
    if not os.path.lexists(full):
        if "://" in path:
            hint = f"`whet show {path}` scans what the source has; nothing is installed."
            raise NotFoundError("path-not-found", f"{path} is not on this machine.", hint=hint, path=path)
        raise NotFoundError("path-not-found", f"{full} does not exist.", hint="Check the path.", path=path)
    return _read_file(name, full)


def skill_place(path: str) -> str:
    """Return the skill's directory for the path of its main file, and any other path unchanged."""
    main = os.path.basename(path) in MAIN_FILES and os.path.isfile(os.path.expanduser(path))
    return os.path.dirname(path) or os.curdir if main else path


def read_card(card: Card) -> Package:
    """Read the package of a skill in the library; its main file may be a link, which was checked before."""
    if card.kind != "skill":
        return _read_file(os.path.basename(card.path), card.path)._replace(name=card.full_name)
    main = None
    if os.path.islink(card.path):
        with suppress(WhetError):  # otherwise the scanner reports the link like any other
            main = Main(os.path.basename(card.path), archive_bytes(card.resolved), "")
    return read_package(os.path.realpath(card.directory), strict=False, main=main)._replace(name=card.full_name)


def _read_file(name: str, path: str) -> Package:
    """Read an archive, or a single file."""
    from whet.skill.archive import unpack

    try:
        data = archive_bytes(path)
        mark, at = _TAR_MARK
        if not data.startswith(_ARCHIVES) and data[at : at + len(mark)] != mark:
            return Package(name, {name: Item(data, bool(os.stat(path).st_mode & stat.S_IXUSR))})
        package = unpack(data)
    except WhetError as error:
        if error.code in (
            "archive-no-skill",
            "archive-several",
        ):  # not a skill, but the scanner reads such archives too
            return Package(name, {name: Item(data)})
        error.details["file"] = name
        return Package(name, {}, (error,))
    return package._replace(name=package.name or name.partition(".")[0])


def list_packages(paths: Sequence[str], *, recursive: bool = False, around: bool = False) -> Iterator[str]:
    """Yield the packages that these paths refer to, each once; with `around`, those that contain the paths.

    A directory that is not a skill stands for the skills in it; with `recursive` it is an error if there are none.
    """
    seen: set[str] = set()
    for path in paths:
        places: tuple[str, ...] = (path,)
        if around:
            places = (os.path.relpath(found),) if (found := enclosing_skill(path)) else ()
        elif recursive and os.path.isdir(os.path.expanduser(path)):
            places = _packages_below(path)
        elif holds_skills(path):
            with suppress(NotFoundError):  # otherwise it is one package
                places = _packages_below(path)
        for place in places:
            real = os.path.realpath(os.path.expanduser(place))
            if real not in seen:
                seen.add(real)
                yield place


def holds_skills(path: str) -> bool:
    """Return whether a directory may hold skills: it has no main file of its own."""
    full = os.path.expanduser(path)
    return os.path.isdir(full) and not any(os.path.isfile(os.path.join(full, name)) for name in MAIN_FILES)


def _packages_below(path: str) -> tuple[str, ...]:
    """Return every skill below a directory, and every directory that could not be searched: reading it reports why."""
    top = os.path.expanduser(path)
    try:
        skills, problems = find_skills(top, EVERYTHING)
    except WhetError:
        return (top,)
    places = {*skills, *(place for place, problem in problems if problem.code != "link-escape")}
    if not places:
        hint = f"A skill is a directory with a {MAIN_FILE}; without --recursive, {path} is scanned as one package."
        raise NotFoundError("no-skills-found", f"There is no skill in or below {path}.", hint=hint)
    return tuple(os.path.join(top, *place.split("/")) if place else top for place in sorted(places))


# --- checking and repairing -------------------------------------------------------------------------------------------


class Host(NamedTuple):
    """The agent that a package is validated for."""

    versions: Mapping[str, str]
    """Versions by the names of hosts, such as `hermes`."""
    tools: frozenset[str] | None = None
    """None if unknown."""


def check(path: str, profile: Profile = "spec", host: Host | None = None) -> Checked:
    """Return the findings about one skill under a profile; `host` is for the profile `package`."""
    return _result(path, _read(path, host), profile)


def repair(
    path: str,
    profile: Profile = "spec",
    host: Host | None = None,
    *,
    state: str,
    write: Callable[[bytes, str], bool] | None = None,
) -> Checked:
    """Apply every safe fix to the skill's main file, then validate it; `fixed` lists the repaired findings.

    `write` replaces the text if its history is kept, and returns whether it did.
    """
    if is_archive(path):
        hint = "Unpack it, fix the skill and pack it again."
        raise UsageError("cannot-fix-archive", f"{path} is an archive; Whet never changes archives.", hint=hint)
    found = _read(path, host)
    fixed: tuple[Note, ...] = ()
    if found.package.text is not None and valid(found.problems):
        with alone(state, os.path.dirname(found.main)) if write is None else nullcontext():
            found, fixed = _mended(_read(path, host), write)
    return _result(path, found, profile)._replace(fixed=fixed)


def _mended(found: _Found, write: Callable[[bytes, str], bool] | None) -> tuple[_Found, tuple[Note, ...]]:
    old = found.package.text
    try:
        text, fixed = fix(found.package)
    except InvalidError as error:
        return found._replace(problems=(Note(error.code, "error", error.message),)), ()
    if fixed and text.encode() != old:
        if write is None:
            write_text(found.main, text)
        elif not (isinstance(old, bytes) and write(old, text)):
            return found, ()
    return found._replace(package=found.package._replace(text=text)), fixed


def _result(path: str, found: _Found, profile: Profile) -> Checked:
    findings = validate(found.package, profile)
    if found.problems:  # the list of files is then unknown
        findings = tuple(finding for finding in findings if finding.code != "reference-dangling")
    findings = (*found.problems, *findings)
    return Checked(path, found.main, valid(findings), findings)


def _read(path: str, host: Host | None = None) -> _Found:
    found = _read_archive(path) if is_archive(path) else _read_plain(path)
    return found if host is None else found._replace(package=_with_host(found.package, path, host))


def _with_host(package: ValidationInput, path: str, host: Host) -> ValidationInput:
    """Return the package with the data that the profile `package` needs."""
    if is_flat(path):
        return package
    if not is_archive(path):
        directory = package_directory(path)
        beside = {file: _read_beneath(directory, file) for file in package.files if wanted(file)}
        package = package._replace(beside=beside)
    return package._replace(hosts=host.versions, tools=host.tools)


def _read_plain(path: str) -> _Found:
    if is_flat(path):
        note = Note("main-file-name", "warning", "This skill is a single file; move it to NAME/SKILL.md.")
        stem = os.path.basename(path).removesuffix(".md")
        return _Found(ValidationInput(stem, content(path), MAIN_FILE, (MAIN_FILE,)), path, (note,))
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
        message = f"{main} has more than {MAX_DOCUMENT:,} bytes; the rest is ignored."
        problems.append(Note("too-large", "error", message))
        text = text[:MAX_DOCUMENT]
    package = ValidationInput(os.path.basename(directory), text, main, files)
    return _Found(package, os.path.join(shown, main), tuple(problems))


def _read_archive(path: str) -> _Found:
    from whet.skill.archive import unpack

    try:
        archive = unpack(archive_bytes(path))
    except InvalidError as error:
        return _Found(ValidationInput("", None), path, (Note(error.code, "error", error.message),))
    data = archive.tree[archive.main].data
    beside = {file: item.data for file, item in archive.tree.items() if wanted(file)}
    package = ValidationInput(archive.name, data, archive.main, tuple(archive.tree), published=True, beside=beside)
    return _Found(package, path, ())


def alone(state: str, directory: str) -> FileLock:
    """Return the lock for writing a skill's directory."""
    return FileLock(lock_path(state, "skill", os.path.realpath(directory)), timeout=_LOCK_SECONDS)


def is_flat(path: str) -> bool:
    """Return whether this is a Markdown file that is itself a skill."""
    return os.path.isfile(path) and path.endswith(".md") and os.path.basename(path) not in MAIN_FILES


def is_archive(path: str) -> bool:
    """Return whether this file can only be an archive."""
    return os.path.isfile(path) and not path.endswith(".md")


def archive_bytes(path: str) -> bytes:
    """Read a whole archive, up to the size limit."""
    return content(path, _MAX_ARCHIVE)


def content(path: str, limit: int = MAX_DOCUMENT) -> bytes:
    """Return a file's whole content. Raises InvalidError if it has more than `limit` bytes."""
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


# --- digests and archives ---------------------------------------------------------------------------------------------


def digest(path: str) -> str:
    """Return the content digest of the package at a path; an archive has the digest of its contents."""
    if is_archive(path):
        from whet.skill.archive import unpack

        return unpack(archive_bytes(path)).digest
    if is_flat(path):
        return _flat(path).digest
    if os.path.isdir(path) and not main_file(frozenset(os.listdir(path))):
        return _digest_all(path)
    return package_digest(package_directory(path))


def _digest_all(path: str) -> str:
    """Return the digest of all skills in a directory together, including those that are only a file."""
    from whet.library.discovery import NOT_SKILLS

    skills, problems = find_skills(path, PLACE)
    if problems:
        raise problems[0][1]
    flat = [name for name in os.listdir(path) if is_flat(os.path.join(path, name)) and name.lower() not in NOT_SKILLS]
    if not skills and not flat:
        return package_digest(package_directory(path))  # which reports the problem
    return library_digest((name, digest(os.path.join(path, *name.split("/")))) for name in (*skills, *flat))


def pack(path: str, output: str | None = None) -> Packed:
    """Write the archive of the skill at a path, by default as `NAME.skill` in the working directory.

    An existing file is replaced only if it is an archive of the same skill.
    """
    from whet.skill import archive

    package = _flat(path) if is_flat(path) else read_package(package_directory(path), limits=DEFAULT_LIMITS)
    name = package.name
    data = archive.pack(name, package.tree)
    target = output or f"{name}{ARCHIVE}"
    if os.path.isdir(target):
        target = os.path.join(target, f"{name}{ARCHIVE}")
    if not is_flat(path) and inside(os.path.realpath(target), os.path.realpath(package_directory(path))):
        hint = "Choose a file outside the skill with `-o`."
        raise UsageError("output-inside", f"{target} is inside the skill and would become part of it.", hint=hint)
    if os.path.lexists(target) and not _is_archive_of(name, target):
        hint = "Choose another file with `-o`, or move this one."
        raise ConflictError("file-exists", f"{target} already exists and is not an archive of {name}.", hint=hint)
    write_bytes(target, data)
    return Packed(os.path.abspath(target), name, package.digest, len(data), len(package.tree), check(path).valid)


def _flat(path: str) -> Package:
    """Return a Markdown file that is itself a skill as a package."""
    return Package(os.path.basename(path).removesuffix(".md"), {MAIN_FILE: Item(content(path))})


def _is_archive_of(name: str, path: str) -> bool:
    from whet.skill.archive import unpack

    try:
        return os.path.isfile(path) and unpack(archive_bytes(path)).name == name
    except InvalidError:
        return False


def unpack(path: str, directory: str | None = None, *, force: bool = False, state: str) -> Unpacked:
    """Unpack the skill of an archive into `directory`; an existing one of its name is replaced only with `force`."""
    from whet.skill import archive

    if os.path.isdir(path):
        raise UsageError("not-an-archive", f"{path} is a directory.", hint=f"Name a {ARCHIVE} file.")
    package = archive.unpack(archive_bytes(path))
    if package.name.startswith("."):
        hint = "Inspect it before you unpack it with another tool."
        raise RefusedError(
            "hidden-name", f"The archive would unpack to {package.name}, which is not a valid name.", hint=hint
        )
    name = package.name or _declared_name(package) or slug(os.path.basename(path).split(".")[0])
    target = os.path.join(os.path.abspath(os.path.expanduser(directory or os.curdir)), name)
    replaced = _put(target, package.tree, replace=force, state=state)
    return Unpacked(target, name, package.digest, len(package.tree), package.skipped, replaced)


def _declared_name(package: Package) -> str:
    """Return the declared name of a skill at the root of its archive, if it can be a directory's name; otherwise ""."""
    name = package.document.values.get("name")
    return name if isinstance(name, str) and is_ascii_name(name) else ""


def fill_template(name: str, description: str | None = None) -> Tree:
    """Return a new skill to fill in. Raises UsageError for an invalid name or description."""
    from whet.skill.edit import set_value

    if not is_ascii_name(name):
        reason = next((problem.message for problem in spec_problems(name)), f"The name {name!r} is not ASCII.")
        raise UsageError("bad-name", reason, hint=f"Use lowercase letters, digits and hyphens: {slug(name)}.")
    with open(os.path.join(gallery_directory(), *_TEMPLATE), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("name-of-the-folder", name).replace("# Title", f"# {name.replace('-', ' ').capitalize()}")
    if description is not None:
        text = set_value(text, "description", description)
    findings = validate(ValidationInput(name, text))
    if not valid(findings):
        hint = "Give a description of 1 to 1,024 characters."
        raise UsageError("bad-description", next(f.message for f in findings if f.severity == "error"), hint=hint)
    return {MAIN_FILE: Item(text.encode())}


def begin(
    root: str, name: str, tree: Tree, *, state: str, write: Callable[[str, Mapping[str, Item]], object] | None = None
) -> Begun:
    """Write a new skill to a directory of skills; `write` writes it where its history is kept."""
    target = os.path.join(root, name)
    if os.path.lexists(target):
        edits = f"`whet edit {name}` changes this skill." if write else "Or choose another directory."
        raise ConflictError(
            "skill-exists", f"{target} already exists.", hint=f"Choose another name. {edits}", path=target
        )
    if write is None:
        _put(target, tree, replace=False, state=state)
    else:
        write(target, tree)
    return Begun(name, target, os.path.join(target, MAIN_FILE))


def _put(target: str, tree: Mapping[str, Item], *, replace: bool, state: str) -> bool:
    """Make `target` a directory of exactly these files, in one step; return whether something was replaced."""
    make_directories(os.path.dirname(target))
    with alone(state, target):
        existed = os.path.lexists(target)
        if existed and not replace:
            hint = "Choose another name or directory, or move the existing one."
            raise ConflictError("skill-exists", f"{target} already exists.", hint=hint, path=target)
        if existed and (os.path.islink(target) or not os.path.isdir(target)):
            raise ConflictError(
                "not-a-directory", f"{target} is a link or a file, not a directory.", hint="Move it away."
            )
        if existed and not any(os.path.isfile(os.path.join(target, name)) for name in MAIN_FILES):
            raise ConflictError(
                "not-a-package", f"{target} is not a skill, so Whet does not replace it.", hint="Move it away."
            )
        with staging(target) as staged:
            for path, item in tree.items():
                place = os.path.join(staged, *path.split("/"))
                make_directories(os.path.dirname(place), durable=False)
                write_bytes(place, item.data, durable=False)
                if item.executable:
                    mode = stat.S_IMODE(os.stat(place).st_mode)
                    os.chmod(place, mode | (mode & 0o444) >> 2)
            replace_directory(staged, target)
    return existed
