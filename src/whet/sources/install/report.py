"""Read-only reports about installed skills: whether they are intact and up to date, and where they come from."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from whet.authoring.history import INSTALL
from whet.authoring.trees import digest
from whet.errors import WhetError
from whet.library.clients import client_named
from whet.library.dependencies import dependants
from whet.library.package import read_tree
from whet.records import NamedTuple
from whet.skill.tree import entries
from whet.sources.hub_logs import check_installed, read_publication
from whet.sources.install.installer import ask
from whet.sources.install.plan import FileChange, file_changes
from whet.sources.lock.foreign import without_record
from whet.values import Json, answer_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.authoring.journal import Entry
    from whet.guard.audit import Record
    from whet.library.card import Card
    from whet.notes import Note
    from whet.sources.hub_logs import Publication
    from whet.sources.install.installer import Answer, Installer
    from whet.sources.lock.file import Installed


class VerifiedSkill(NamedTuple):
    """An installed skill, compared with its installed content."""

    name: str
    path: str
    digest: str
    """Digest of the installed content."""
    status: Literal["ok", "edited", "missing", "unreadable", "unproved"]
    now: str
    """Digest of the current content; "" if it cannot be read."""
    files: tuple[FileChange, ...]
    reason: str


class Verification(NamedTuple):
    """Whether all skills are as they were installed."""

    valid: bool
    root: str
    """The first of the roots."""
    skills: tuple[VerifiedSkill, ...]
    unmanaged: tuple[str, ...]
    """Skills of the root that no lock names, except those that Whet created here."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class Latest(NamedTuple):
    """The current content of a source."""

    revision: str
    version: str


class CheckedSkill(NamedTuple):
    """An installed skill, compared with the current content of its source."""

    name: str
    path: str
    status: Literal["current", "newer", "gone", "unavailable", "no-source"]
    outdated: bool
    edited: bool
    missing: bool
    pinned: str
    source: str
    revision: str
    version: str
    latest: Latest | None
    """Newer content of the source; None if there is none."""
    reason: str
    code: str
    held: str = ""
    """Newer content that is too young to be installed."""
    shown: str = ""
    """Its source in readable form."""
    notes: tuple[Note, ...] = ()
    """Notes of the source about it, such as that its version was yanked."""


class Outdated(NamedTuple):
    """The installed skills and whether they are outdated."""

    root: str
    skills: tuple[CheckedSkill, ...]

    @property
    def outdated(self) -> int:
        """Number of outdated skills."""
        return sum(skill.outdated for skill in self.skills)

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return {**answer_json(self), "outdated": self.outdated}


class Installation(NamedTuple):
    """The lock entry of a skill, and whether it was edited since."""

    entry: Installed
    edited: bool
    shown: str
    """Its source in readable form."""

    @property
    def published(self) -> Publication | None:
        """What the log of a hub says about it."""
        return read_publication(self.entry)

    def to_json(self) -> Json:
        """Return the lock entry, and whether the skill was edited, as JSON."""
        return {
            **fields_json(self.entry),
            "files": len(self.entry.files),
            "edited": self.edited,
            "shown": self.shown,
            **({"published": published.to_json()} if (published := self.published) else {}),
        }


class Origin(NamedTuple):
    """The source of a skill, who approved it and why."""

    name: str
    path: str
    scope: str
    installed: Installation | None
    """Its lock entry; None if it is in no lock."""
    history: tuple[Entry, ...]
    """The changes that created it, if Whet recorded them."""
    decision: Record | None
    """Decision of the guard."""
    plugin: str = ""
    """The plugin that it belongs to, with the plugin's client."""
    needs: tuple[str, ...] = ()
    """Skills that it needs, with their version ranges."""
    needed_by: tuple[str, ...] = ()
    """Skills that need it."""
    trust: str = ""
    """Its trust for the policy."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        known = ("time", "actor", "action")
        history = [{key: value for key, value in entry.to_json().items() if key in known} for entry in self.history]
        answer = {**answer_json(self._replace(history=())), "history": history}
        return {key: value for key, value in answer.items() if value or key not in ("plugin", "needs", "needed_by")}


def verify(installer: Installer, names: Sequence[str] = ()) -> Verification:
    """Compare the current files with the installed ones."""
    skills = tuple(_verify_skill(installer, entry) for entry in installer.named(names))
    locked = {skill.path for skill in skills}
    present = () if names else installer.present()
    unmanaged = tuple(
        path.partition("/")[2] for path in present if path not in locked and not _is_made(installer, path)
    )
    return Verification(all(skill.status == "ok" for skill in skills), installer.root, skills, unmanaged)


def _is_made(installer: Installer, path: str) -> bool:
    """Return whether Whet created a skill, for example with `new` or `distill`, so that it has no source."""
    first = installer.journal.entries(path=os.path.realpath(installer.directory(path)))[:1]
    return any(not entry.before and entry.action != "found" and entry.origin != INSTALL for entry in first)


def _verify_skill(installer: Installer, entry: Installed) -> VerifiedSkill:
    skill = VerifiedSkill(entry.name, entry.path, entry.digest, "ok", "", (), "")
    try:
        tree = installer.content(entry.path)
    except WhetError as error:
        return skill._replace(status="unreadable", reason=error.message)
    if tree is None:
        return skill._replace(status="missing", reason="It no longer exists.")
    skill = skill._replace(now=digest(tree))
    tree = without_record(tree, dict(entry.files))
    if digest(tree) == entry.digest:
        wrong = check_installed(entry)
        return skill._replace(status="unproved", reason=wrong) if wrong else skill
    files = file_changes(dict(entry.files), {item.path: item.sha256 for item in entries(tree)})
    return skill._replace(status="edited", files=files, reason="" if files else _explain_digest(installer, entry))


def _explain_digest(installer: Installer, entry: Installed) -> str:
    """Explain why the files match but the digest, which also covers execute permissions, does not."""
    with suppress(WhetError):
        if installer.journal.content(entry.digest) is not None:
            return "Only execute permissions differ."
    return "The files are the same, but the digest is not: execute permissions differ, or the lock was edited."


def outdated(installer: Installer, names: Sequence[str] = ()) -> Outdated:
    """Report which skills have newer content at their sources. Fetch only what is needed for that."""
    wanted = installer.named(names)
    skills = {entry.path: _check_skill(installer, entry) for entry in wanted}
    asked = [entry for entry in wanted if entry.source]
    # Without a marker on both sides, the content must be compared.
    for answer in ask(installer, asked, lambda entry, offer: not (entry.marker and offer.marker)):
        skills[answer.entry.path] = _compare(installer, skills[answer.entry.path], answer)
    return Outdated(installer.root, tuple(skills.values()))


def _check_skill(installer: Installer, entry: Installed) -> CheckedSkill:
    status = _verify_skill(installer, entry).status
    return CheckedSkill(
        entry.name,
        entry.path,
        "no-source",
        outdated=False,
        edited=status == "edited",
        missing=status == "missing",
        pinned=entry.pinned,
        source=entry.source,
        revision=entry.revision,
        version=entry.version,
        latest=None,
        reason="" if entry.source else "It has no source.",
        code="",
        shown=installer.show_source(entry),
    )


def _compare(installer: Installer, skill: CheckedSkill, answer: Answer) -> CheckedSkill:
    entry, offer, error = answer.entry, answer.offer, answer.error
    if error is not None:
        gone = error.code == "gone-from-source"
        return skill._replace(status="gone" if gone else "unavailable", reason=error.message, code=error.code)
    if offer is None:
        return skill
    skill = skill._replace(notes=answer.notes)
    same = digest(answer.package.tree) == entry.digest if answer.package else offer.marker == entry.marker
    if same:
        return skill._replace(status="current", held=installer.held_back(offer))
    trust = installer.trust_in(answer.package) if answer.package else installer.trust(offer.ref)
    young = installer.too_young(offer, trust)
    skill = skill._replace(status="newer", outdated=not young, latest=Latest(offer.revision, offer.version))
    return skill._replace(held=young.rstrip(".") or installer.held_back(offer))


def find_installation(installer: Installer, card: Card) -> Installation | None:
    """Return the lock entry of a skill, and whether it was edited since; None if it is in no lock."""
    relative = installer.relative(card.place)
    entry = next((entry for entry in installer.installed() if entry.path == relative), None)
    if entry is None:
        return None
    return Installation(entry, not installer.is_intact(entry.path, entry), installer.show_source(entry))


def why(installer: Installer, card: Card) -> Origin:
    """Report where a skill comes from, who approved it and why, and how it changed since."""
    path = card.place
    made = tuple(installer.journal.entries(path=path)[:1])
    installed = find_installation(installer, card)
    entry = installed.entry if installed else None
    root = card.root
    plugin = (
        f"{root.namespace} of {client_named(root.client).title}" if root.client and root.namespace else root.namespace
    )
    origin = Origin(card.full_name, path, card.scope, installed, made, _decision(installer, path, entry), plugin)
    users = dependants(installer.workspace.snapshot().catalogue.cards, card.name)
    needs, trust = tuple(map(str, card.gates.skills)), installer.workspace.trust(card)
    return origin._replace(needs=needs, needed_by=users, trust=trust)


def _decision(installer: Installer, path: str, entry: Installed | None) -> Record | None:
    """Return the decision that allowed the current content: the last one about it, else about the skill."""
    others = ("uninstall", "eval", "publish")
    known = (record for record in installer.workspace.gate.audit.records() if record.action not in others)
    records = [record for record in known if record.path == path]
    allowed = [record for record in records if record.decision == "allow"]
    contents = {digest(read_tree(path)), entry.digest if entry else ""}
    about = [record for record in allowed if record.digest in contents]
    return next(iter((about or allowed or records)[-1:]), None)
