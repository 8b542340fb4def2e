"""Working on a skill by its path, whether or not it is in the library: its digest, its archive, a new one.

What is written is complete before it takes its place, and nothing that is there is overwritten unless the caller says
so.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from whet.errors import ConflictError, InvalidError, RefusedError, UsageError
from whet.library.checking import ARCHIVE, alone, archive_bytes, check, content, is_archive, is_flat
from whet.library.files import inside
from whet.library.package import package_digest, package_directory, read_package
from whet.library.roots import bundled_directory
from whet.skill.finder import MAIN_FILE, MAIN_FILES
from whet.skill.names import is_ascii_name, slug, spec_problems
from whet.skill.tree import DEFAULT_LIMITS, Item, Package
from whet.skill.validate import Package as Checked
from whet.skill.validate import valid, validate
from whet.store.atomic import make_directories, replace_directory, staging, write_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEMPLATE = ("writing-skills", "templates", "SKILL.template.md")


def digest(path: str) -> str:
    """The content digest of the package at a path; an archive has the digest of what it holds."""
    if is_archive(path):
        from whet.skill.archive import unpack

        return unpack(archive_bytes(path)).digest
    return _flat(path).digest if is_flat(path) else package_digest(package_directory(path))


def pack(path: str, output: str | None = None) -> dict[str, Any]:
    """Write the archive of the skill at a path, by default as `NAME.skill` in the working directory.

    A file that is there is replaced only when it is an archive of the same skill.
    """
    from whet.skill import archive

    package = _flat(path) if is_flat(path) else read_package(package_directory(path), limits=DEFAULT_LIMITS)
    name = package.name
    data = archive.pack(name, package.tree)
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
    return {
        "success": True,
        "path": os.path.abspath(target),
        "name": name,
        "digest": package.digest,
        "size": len(data),
        "files": len(package.tree),
        "valid": check(path)["valid"],
    }


def _flat(path: str) -> Package:
    """A Markdown file that is a skill by itself, as the package it would be."""
    return Package(os.path.basename(path).removesuffix(".md"), {MAIN_FILE: Item(content(path))})


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
    name = package.name or _declared_name(package) or slug(os.path.basename(path).split(".")[0])
    target = os.path.join(os.path.abspath(os.path.expanduser(directory or os.curdir)), name)
    replaced = _put(target, package.tree, replace=force, state=state)
    return {
        "success": True,
        "path": target,
        "name": name,
        "digest": package.digest,
        "files": len(package.tree),
        "skipped": list(package.skipped),
        "replaced": replaced,
    }


def _declared_name(package: Package) -> str:
    """What a skill that lies at the root of its archive calls itself, when that can be a directory's name."""
    name = package.document.values.get("name")
    return name if isinstance(name, str) and is_ascii_name(name) else ""


def begin(root: str, name: str, description: str | None = None, *, state: str) -> dict[str, Any]:
    """Make a skill from the template in a directory of skills."""
    from whet.skill.edit import set_value

    if not is_ascii_name(name):
        reason = next((problem.message for problem in spec_problems(name)), f"The name {name!r} is not ASCII.")
        raise UsageError("bad-name", reason, hint=f"Use lowercase letters, digits and hyphens: {slug(name)}.")
    with open(os.path.join(bundled_directory(), *_TEMPLATE), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("name-of-the-folder", name).replace("# Title", f"# {name.replace('-', ' ').capitalize()}")
    if description is not None:
        text = set_value(text, "description", description)
    findings = validate(Checked(name, text))
    if not valid(findings):
        hint = "Give a description of 1 to 1,024 characters."
        raise UsageError("bad-description", next(f.message for f in findings if f.severity == "error"), hint=hint)
    target = os.path.join(root, name)
    _put(target, {MAIN_FILE: Item(text.encode())}, replace=False, state=state)
    return {"success": True, "name": name, "path": target, "file": os.path.join(target, MAIN_FILE)}


def _put(target: str, tree: Mapping[str, Item], *, replace: bool, state: str) -> bool:
    """Make `target` a directory of exactly these files, in one step. Tells whether something was replaced."""
    make_directories(os.path.dirname(target))
    with alone(state, target):
        existed = os.path.lexists(target)
        if existed and not replace:
            hint = "Choose another name or place, or move it away."
            raise ConflictError("skill-exists", f"{target} exists already.", hint=hint, path=target)
        if existed and (os.path.islink(target) or not os.path.isdir(target)):
            raise ConflictError("not-a-directory", f"{target} is not a directory of its own.", hint="Move it away.")
        if existed and not any(os.path.isfile(os.path.join(target, name)) for name in MAIN_FILES):
            raise ConflictError("not-a-package", f"{target} is no skill and is not replaced.", hint="Move it away.")
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
