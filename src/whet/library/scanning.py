"""Packages scanned wherever they lie: everything that is there, and a finding for everything that cannot be read.

A path may be a skill's directory, the main file in it, any other directory or file, or an archive, which is read in
memory and never unpacked to disk. Nothing is followed out of a package.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, WhetError
from whet.guard.finding import Finding, verdict
from whet.library.package import Main, enclosing_skill, find_skills, read_package
from whet.library.standalone import archive_bytes
from whet.skill.finder import EVERYTHING, MAIN_FILE, MAIN_FILES
from whet.skill.tree import Item, Package

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.scan_cache import Attestation, ScanCache
    from whet.library.card import Card

_COMPILED = "__pycache__"
_ARCHIVES = (b"PK", b"\x1f\x8b")
_TAR_MARK = (b"ustar", 257)
_REFUSED = {
    "archive-encrypted": "locked-archive",
    "archive-ratio": "archive-bomb",
    "archive-too-large": "archive-bomb",
    "archive-too-many-files": "archive-bomb",
    "archive-unsafe-path": "archive-path",
    "archive-collision": "archive-path",
    "archive-link": "archive-path",
    "archive-special-file": "archive-path",
    "archive-not-readable": "unreadable-archive",
}
"""What is wrong with an archive -> the rule it breaks."""


class Scanned(NamedTuple):
    """A package that was read to be scanned."""

    path: str
    package: Package
    archive: bool = False
    """It lies in a file, or is one."""


def read_path(path: str) -> Scanned:
    """The package at a path. Raises NotFoundError where nothing is."""
    full = os.path.expanduser(path)
    if os.path.basename(full) in MAIN_FILES and os.path.isfile(full):
        full = os.path.dirname(full) or os.curdir
        path = os.path.dirname(path) or os.curdir
    name = os.path.basename(os.path.abspath(full))
    if os.path.isdir(full):
        return Scanned(path, read_package(os.path.realpath(full), strict=False)._replace(name=name))
    if not os.path.lexists(full):
        raise NotFoundError("path-not-found", f"There is nothing at {full}.", hint="Check the path.", path=path)
    return Scanned(path, _read_file(name, full), archive=True)


def read_card(card: Card) -> Package:
    """The package of a skill in the library; its main file may be a link: somebody has checked where it leads."""
    if card.kind != "skill":
        return _read_file(os.path.basename(card.path), card.path)._replace(name=card.full_name)
    main = None
    if os.path.islink(card.path):
        with suppress(WhetError):  # then it is a link like any other, and the scanner says where it leads
            main = Main(os.path.basename(card.path), archive_bytes(card.resolved), "")
    return read_package(os.path.realpath(card.directory), strict=False, main=main)._replace(name=card.full_name)


def scan_package(package: Package, attestations: ScanCache) -> Attestation:
    """What a scan of the package finds. What cannot be read, or fails, is a finding; the rest is remembered."""
    from whet.guard.scan_cache import Attestation

    try:
        if not package.aside:
            found = attestations.scan(package.tree)
        else:
            from whet.guard.scan import scan

            found = Attestation(*scan({**package.tree, **package.aside}))
    except Exception as problem:  # noqa: BLE001  whatever a package does to the scanner is told, and the others go on
        return _failed(package, f"{type(problem).__name__}: {problem}"[:200])
    findings = tuple(finding for finding in found.findings if not _own_cache(finding))
    findings = (*_unread(package), *findings)
    return Attestation(found.digest, verdict(findings), findings)


def _unread(package: Package) -> Iterator[Finding]:
    """A finding for everything that could not be read; a link that leaves is one of the scanner's own."""
    for problem in package.problems:
        if problem.code != "link-escape":
            file = str(problem.details.get("file", ""))
            yield finding_of(_REFUSED.get(problem.code, "not-analysed"), file, problem.message)


def _own_cache(finding: Finding) -> bool:
    """Is this only what Python keeps beside a script that was run, made from the source beside it?"""
    return finding.rule == "compiled-python" and finding.severity == "warn" and _COMPILED in finding.file.split("/")


def _failed(package: Package, why: str) -> Attestation:
    from whet.guard.scan_cache import Attestation

    try:
        name = package.digest
    except WhetError:
        name = ""
    finding = finding_of("scanner-error", "", why)._replace(severity="critical")
    return Attestation(name, "dangerous", (finding,))


def finding_of(rule_id: str, file: str, evidence: str) -> Finding:
    """A finding about what is no text: an unreadable file, a refused archive."""
    from whet.guard import rules

    rule = rules.every()[rule_id]
    message = f"{rule.title.rstrip('.')}: {evidence.rstrip('.')}."
    return Finding(rule.id, rule.severity, rule.category, file, 1, message, "", rule.remedy, rule.references)


def _read_file(name: str, path: str) -> Package:
    """An archive, or a file by itself."""
    from whet.skill.archive import unpack

    try:
        data = archive_bytes(path)
        mark, at = _TAR_MARK
        if not data.startswith(_ARCHIVES) and data[at : at + len(mark)] != mark:
            return Package(name, {name: Item(data, bool(os.stat(path).st_mode & stat.S_IXUSR))})
        package = unpack(data)
    except WhetError as error:
        if error.code in ("archive-no-skill", "archive-several"):  # no skill, but the scanner looks into archives too
            return Package(name, {name: Item(data)})
        error.details["file"] = name
        return Package(name, {}, (error,))
    return package._replace(name=package.name or name.partition(".")[0])


def read_paths(paths: list[str], *, recursive: bool = False, around: bool = False) -> Iterator[str]:
    """The packages that these paths mean, each once; with `around`, those that the paths lie in."""
    seen: set[str] = set()
    for path in paths:
        places: tuple[str, ...] = (path,)
        if around:
            places = (os.path.relpath(found),) if (found := enclosing_skill(path)) else ()
        elif recursive and os.path.isdir(os.path.expanduser(path)):
            places = _below(path)
        for place in places:
            real = os.path.realpath(os.path.expanduser(place))
            if real not in seen:
                seen.add(real)
                yield place


def _below(path: str) -> tuple[str, ...]:
    """Every skill below a directory, and every directory of which nobody knows what is in it: reading it tells so."""
    top = os.path.expanduser(path)
    try:
        skills, problems = find_skills(top, EVERYTHING)
    except WhetError:
        return (top,)
    places = {*skills, *(place for place, problem in problems if problem.code != "link-escape")}
    if not places:
        hint = f"A skill is a directory with a {MAIN_FILE}; without --recursive, {path} is scanned as one package."
        raise NotFoundError("no-skills-found", f"There is no skill in {path} or below it.", hint=hint)
    return tuple(os.path.join(top, *place.split("/")) if place else top for place in sorted(places))
