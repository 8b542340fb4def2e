"""Prepare a skill for publishing: read once, checked strictly, packed; and the result of publishing.

`prepare` reads the directory once, and every later step uses those bytes: the check, the scan, the archive and the
upload to an index (`whet.sources.publish.index`), a repository (`whet.sources.publish.git`) or a hub. A file that
changes meanwhile cannot avoid the scan.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.authoring.trees import digest
from whet.errors import InvalidError, NotFoundError, RefusedError, UsageError
from whet.library.package import package_directory, read_tree
from whet.notes import Note
from whet.skill import archive
from whet.skill.dialects import Sidecars, read_skill
from whet.skill.finder import MAIN_FILE, main_file
from whet.skill.frontmatter import MAX_DOCUMENT, read_document
from whet.skill.paths import shown
from whet.skill.signature import check_signature
from whet.skill.validate import ValidationInput, validate
from whet.skill.validate.package import MANIFEST, read_manifest
from whet.store.atomic import clean_leftovers
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whet.guard.finding import Label, Scan
    from whet.guard.finding import Severity as Danger
    from whet.notes import Severity
    from whet.skill.tree import Tree

CODE = "not-publishable"
_PUBLISHED: dict[str, Severity] = {"main-file-name": "error", "dialect-key": "warning"}
"""Severities that differ from those of a strict host."""
_SEVERITIES: dict[Danger, Severity] = {"critical": "error", "warn": "warning"}


class Prepared(NamedTuple):
    """A skill that is ready to be published."""

    name: str
    version: str
    """Version that the skill states; "" if it has none."""
    description: str
    tree: Tree
    archive: bytes
    """Content of the `.skill` file."""
    digest: str
    """Digest of the content, as `whet sources digest` prints it."""
    sha256: str
    """SHA-256 of the archive, in hex."""
    verdict: Label
    problems: tuple[Note, ...]
    """Warnings of the check and of the scan, which do not prevent publishing."""

    def to_json(self) -> Json:
        """Return the skill as JSON, without its content."""
        return {
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "digest": self.digest,
            "sha256": self.sha256,
            "files": len(self.tree),
            "size": len(self.archive),
            "verdict": self.verdict,
            "problems": [problem.to_json() for problem in self.problems],
        }


class Release(NamedTuple):
    """The result for one skill."""

    name: str
    version: str
    digest: str
    change: Literal["added", "updated", "unchanged"]
    at: str = ""
    """Path in the repository, or address of the artifact; "" on a hub."""
    owner: str = ""
    """Only on a hub, like the following fields."""
    verdict: str = ""
    """Verdict of the hub's own scan."""
    proof: str = ""
    """Proof that the hub's log contains it (`whet.sources.transparency`); "" for a hub without a log."""


class Published(NamedTuple):
    """The result of publishing."""

    kind: Literal["index", "git", "hub", "oci"]
    target: str
    """The directory, the repository, the hub or the registry's repository."""
    changed: bool
    """False if everything was already there and nothing was written."""
    releases: tuple[Release, ...]
    revision: str = ""
    """The commit, or the digest of the manifest in a registry."""
    branch: str = ""
    pushed: bool = False
    notes: tuple[Note, ...] = ()
    removed: tuple[str, ...] = ()
    """Paths removed from a web directory."""
    prepared: tuple[Prepared, ...] = ()
    """The checked skills."""

    def to_json(self) -> Json:
        """Return the answer as JSON, without the fields of other kinds of targets."""
        answer = answer_json(self)
        answer["published"] = answer.pop("releases")
        if self.kind == "hub":
            for name in ("revision", "branch", "pushed", "removed"):
                del answer[name]
        for release in answer["published"]:
            for name in ("at",) if self.kind == "hub" else ("owner", "verdict", "proof"):
                del release[name]
        return answer


def prepare(directory: str, *, scan: Callable[[Tree], Scan], profile: Literal["upload", "spec"] = "upload") -> Prepared:
    """Prepare the skill in a directory for publishing; raise InvalidError if it is malformed or dangerous."""
    directory = package_directory(directory)
    tree = _read(directory)
    problems = [*check_format(directory, tree, profile)]
    if any(problem.severity == "error" for problem in problems):
        raise _refused(directory, problems)
    manifest = tree.get(MANIFEST)
    sidecars = Sidecars(read_manifest(manifest.data) if manifest else None)
    document = read_document(tree[MAIN_FILE].data)
    skill = read_skill(document, fallback_name=os.path.basename(directory), sidecars=sidecars)
    packed = _packed(directory, skill.name, tree)
    seen = scan(tree)
    problems += _dangers(directory, skill.name, seen)
    if seen.verdict == "dangerous":
        listed = [problem.to_json() for problem in problems]
        message = f"{directory} is not published: the scan calls it dangerous."
        hint = f"Run `whet scan {directory}` and remove what it finds."
        raise RefusedError(CODE, message, hint=hint, path=directory, problems=listed)
    return Prepared(
        skill.name,
        skill.version,
        skill.description,
        tree,
        packed,
        digest(tree),
        hashlib.sha256(packed).hexdigest(),
        seen.verdict,
        tuple(problems),
    )


def each_once(prepared: Sequence[Prepared]) -> None:
    """Raise UsageError for two skills with one name, or for none at all."""
    if not prepared:
        raise UsageError("nothing-to-publish", "No skill was given.", hint="Name at least one skill to publish.")
    for name, count in Counter(skill.name for skill in prepared).items():
        if count > 1:
            hint = "Publish each name once."
            raise UsageError("published-twice", f"{count} of the skills are named {name}.", hint=hint, name=name)


def cleaned(directory: str) -> Iterator[Note]:
    """Remove what killed publishers left in a directory; yield notes about what could not be removed."""
    for left in clean_leftovers(directory):
        if left.outcome == "failed":
            message = f"{left.path} is left over from an interrupted publish and stays: {left.detail}."
            yield Note("leftover-kept", "warning", message, "Remove it by hand.", path=left.path)


def _read(directory: str) -> Tree:
    try:
        tree = read_tree(directory)
    except InvalidError as error:
        raise _refused(directory, [_entry(directory, error)]) from error
    if tree is None:
        raise NotFoundError("path-not-found", f"There is no {directory}.", hint="Check the path.", path=directory)
    return tree


def check_format(directory: str, tree: Tree, profile: Literal["upload", "spec"]) -> Iterator[Note]:
    """Yield the problems that the strict check of a package finds; `directory` is named in them."""
    yield from _broken(directory, tree, profile)
    yield from _links(directory, tree)
    try:
        check_signature(tree)
    except InvalidError as error:
        yield _entry(directory, error)


def _broken(directory: str, tree: Tree, profile: Literal["upload", "spec"]) -> Iterable[Note]:
    """Yield the problems of the strict check. A main file with the older name is read, and refused for its name."""
    name = os.path.basename(directory)
    main = main_file(tree) or MAIN_FILE
    item = tree.get(main)
    text = None if item is None or item.link else item.data
    path = os.path.join(directory, main)
    if text is not None and len(text) > MAX_DOCUMENT:
        message = f"{main} has more than {MAX_DOCUMENT:,} bytes."
        yield Note("too-large", "error", message, "Move parts of it to references/.", skill=name, path=path)
        return
    for finding in validate(ValidationInput(name, text, main, tuple(tree), published=True), profile):
        severity = _PUBLISHED.get(finding.code, finding.severity)
        if severity != "info":
            yield Note(finding.code, severity, finding.message, finding.fix, skill=name, path=path, line=finding.line)


def _links(directory: str, tree: Tree) -> Iterable[Note]:
    hint = "Replace the link with a copy of the file."
    for path, item in tree.items():
        if item.link:
            message = f"{shown(path)} is a link; a published skill contains only files."
            at = os.path.join(directory, *path.split("/"))
            yield Note("link-in-package", "error", message, hint, skill=os.path.basename(directory), path=at)


def _packed(directory: str, name: str, tree: Tree) -> bytes:
    try:
        return archive.pack(name, tree)
    except InvalidError as error:
        raise _refused(directory, [_entry(directory, error)]) from error


def _dangers(directory: str, name: str, seen: Scan) -> Iterable[Note]:
    for finding in seen.findings:
        path = os.path.join(directory, *finding.file.split("/"))
        if finding.severity != "info":
            severity = _SEVERITIES[finding.severity]
            yield Note(
                finding.rule, severity, finding.message, finding.remedy, skill=name, path=path, line=finding.line
            )


def _entry(directory: str, error: InvalidError) -> Note:
    return Note.from_error(error, "error", skill=os.path.basename(directory), path=directory)


def _refused(directory: str, problems: Sequence[Note]) -> InvalidError:
    errors = [problem for problem in problems if problem.severity == "error"]
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    message = f"{directory} cannot be published: {errors[0].message.rstrip('.')}{more}."
    hint = f"Fix it; `whet skill validate --profile upload {directory}` lists every format problem."
    listed = [problem.to_json() for problem in problems]
    return InvalidError(CODE, message, hint=hint, path=directory, problems=listed)
