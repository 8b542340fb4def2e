"""Working on a skill by its path, whether or not it is in the library: its digest, its archive, a new one.

What is written is complete before it takes its place, and nothing that is there is overwritten unless the caller says
so.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from whet.errors import ConflictError, InvalidError, RefusedError, UsageError
from whet.library.checking import ARCHIVE, UNCACHED, alone, archive_bytes, check, content, is_archive, is_flat
from whet.library.discovery import OLD_MAINS
from whet.library.files import inside
from whet.library.package import list_files, package_digest, package_directory, read_package
from whet.library.roots import bundled_directory
from whet.library.spots import MAIN
from whet.skill import tree
from whet.skill.frontmatter import read_document
from whet.skill.names import is_ascii_name, slug, spec_problems
from whet.skill.validate import Package, valid, validate
from whet.store.atomic import make_directories, replace_directory, staging, write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.skill.archive import File

_TEMPLATE = ("writing-skills", "templates", "SKILL.template.md")


def digest(path: str) -> str:
    """The content digest of the package at a path; an archive has the digest of what it holds."""
    if is_archive(path):
        from whet.skill.archive import unpack

        files = unpack(archive_bytes(path)).files
        return tree.digest(tree.file_entry(file.path, file.data, executable=file.executable) for file in files)
    if is_flat(path):
        return tree.digest((tree.file_entry(MAIN, content(path)),))
    directory = package_directory(path)
    listed = list_files(directory, now=UNCACHED)
    if not any(item.path in (MAIN, *OLD_MAINS) for item in listed):
        raise UsageError("not-a-package", f"{directory} has no {MAIN}.", hint="Name the directory of a skill.")
    return package_digest(directory, listed)


def pack(path: str, output: str | None = None) -> dict[str, Any]:
    """Write the archive of the skill at a path, by default as `NAME.skill` in the working directory.

    A file that is there is replaced only when it is an archive of the same skill.
    """
    from whet.skill import archive

    name, files = _files(path)
    data = archive.pack(name, files)
    target = output or f"{name}{ARCHIVE}"
    if os.path.isdir(target):
        target = os.path.join(target, f"{name}{ARCHIVE}")
    if not is_flat(path) and inside(os.path.realpath(target), os.path.realpath(package_directory(path))):
        hint = "Choose a file outside the skill with -o."
        raise UsageError("output-inside", f"{target} lies in the skill and would become a part of it.", hint=hint)
    if os.path.lexists(target) and not _is_archive_of(name, target):
        hint = "Choose another file with -o, or move this one away."
        raise ConflictError("file-exists", f"{target} exists and is not an archive of {name}.", hint=hint)
    write_bytes(target, data)
    entries = (tree.file_entry(file.path, file.data, executable=file.executable) for file in files)
    return {
        "success": True,
        "path": os.path.abspath(target),
        "name": name,
        "digest": tree.digest(entries),
        "size": len(data),
        "files": len(files),
        "valid": check(path)["valid"],
    }


def _files(path: str) -> tuple[str, tuple[File, ...]]:
    if is_flat(path):
        from whet.skill.archive import File

        return os.path.basename(path).removesuffix(".md"), (File(MAIN, content(path)),)
    directory = package_directory(path)
    return os.path.basename(directory), read_package(directory, list_files(directory, now=UNCACHED))


def _is_archive_of(name: str, path: str) -> bool:
    from whet.skill.archive import unpack

    try:
        return os.path.isfile(path) and unpack(archive_bytes(path)).name == name
    except InvalidError:
        return False


def unpack(path: str, directory: str | None = None, *, force: bool = False, state: str) -> dict[str, Any]:
    """Take the skill out of an archive into `directory`; what is there under its name stays unless `force`."""
    from whet.skill import archive

    if os.path.isdir(path):
        raise UsageError("not-an-archive", f"{path} is a directory.", hint=f"Name a {ARCHIVE} file.")
    package = archive.unpack(archive_bytes(path))
    if package.name.startswith("."):
        hint = "Look into it before you unpack it by other means."
        raise RefusedError("hidden-name", f"The archive wants to be unpacked as {package.name}.", hint=hint)
    name = package.name or _declared_name(package.files) or slug(os.path.basename(path).split(".")[0])
    target = os.path.join(os.path.abspath(os.path.expanduser(directory or os.curdir)), name)
    replaced = _put(target, package.files, replace=force, state=state)
    return {
        "success": True,
        "path": target,
        "name": name,
        "digest": digest(target),
        "files": len(package.files),
        "skipped": list(package.skipped),
        "replaced": replaced,
    }


def _declared_name(files: Sequence[File]) -> str:
    """What a skill that lies at the root of its archive calls itself, when that can be a directory's name."""
    main = next(file for file in files if file.path.lower() == MAIN.lower())
    name = read_document(main.data).values.get("name")
    return name if isinstance(name, str) and is_ascii_name(name) else ""


def begin(root: str, name: str, description: str | None = None, *, state: str) -> dict[str, Any]:
    """Make a skill from the template in a directory of skills."""
    from whet.skill.archive import File
    from whet.skill.edit import set_value

    if not is_ascii_name(name):
        reason = next((problem.message for problem in spec_problems(name)), f"The name {name!r} is not ASCII.")
        raise UsageError("bad-name", reason, hint=f"Use lowercase letters, digits and hyphens: {slug(name)}.")
    with open(os.path.join(bundled_directory(), *_TEMPLATE), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("name-of-the-folder", name).replace("# Title", f"# {name.replace('-', ' ').capitalize()}")
    if description is not None:
        text = set_value(text, "description", description)
    findings = validate(Package(name, text))
    if not valid(findings):
        hint = "Give a description of 1 to 1,024 characters."
        raise UsageError("bad-description", next(f.message for f in findings if f.severity == "error"), hint=hint)
    target = os.path.join(root, name)
    _put(target, (File(MAIN, text.encode()),), replace=False, state=state)
    return {"success": True, "name": name, "path": target, "file": os.path.join(target, MAIN)}


def _put(target: str, files: Sequence[File], *, replace: bool, state: str) -> bool:
    """Make `target` a directory of exactly these files, in one step. Tells whether something was replaced."""
    make_directories(os.path.dirname(target))
    with alone(state, target):
        existed = os.path.lexists(target)
        if existed and not replace:
            hint = "Choose another name or place, or move it away."
            raise ConflictError("skill-exists", f"{target} exists already.", hint=hint, path=target)
        if existed and (os.path.islink(target) or not os.path.isdir(target)):
            raise ConflictError("not-a-directory", f"{target} is not a directory of its own.", hint="Move it away.")
        if existed and not any(os.path.isfile(os.path.join(target, name)) for name in (MAIN, *OLD_MAINS)):
            raise ConflictError("not-a-package", f"{target} is no skill and is not replaced.", hint="Move it away.")
        with staging(target) as staged:
            for file in files:
                place = os.path.join(staged, *file.path.split("/"))
                make_directories(os.path.dirname(place), durable=False)
                write_bytes(place, file.data, durable=False)
                if file.executable:
                    mode = stat.S_IMODE(os.stat(place).st_mode)
                    os.chmod(place, mode | (mode & 0o444) >> 2)
            replace_directory(staged, target)
    return existed
