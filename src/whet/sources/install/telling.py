"""What can be told of installed skills without changing anything.

Are they what was installed, is there something newer, and where do they come from.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.authoring.trees import digest
from whet.errors import WhetError
from whet.library.package import read_tree
from whet.skill.tree import entries
from whet.sources.install.asking import ask
from whet.sources.refs.reading import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.audit import Record
    from whet.library.card import Card
    from whet.sources.install.asking import Answer
    from whet.sources.install.installer import Installer
    from whet.sources.lock.file import Installed


def verify(installer: Installer, names: Sequence[str] = ()) -> dict[str, Any]:
    """Compare what is there with what was installed, file by file."""
    told = [_verified(installer, entry) for entry in installer.named(names)]
    locked = {item["path"] for item in told}
    return {
        "success": True,
        "valid": all(item["status"] == "ok" for item in told),
        "root": installer.root,
        "skills": told,
        "unmanaged": [] if names else [path.partition("/")[2] for path in installer.present() if path not in locked],
    }


def _verified(installer: Installer, entry: Installed) -> dict[str, Any]:
    told = {"name": entry.name, "path": entry.path, "digest": entry.digest}
    try:
        tree = installer.content(entry.path)
    except WhetError as error:
        return {**told, "status": "unreadable", "now": "", "files": [], "reason": error.message}
    if tree is None:
        return {**told, "status": "missing", "now": "", "files": [], "reason": "It is not there any more."}
    now = digest(tree)
    if now == entry.digest:
        return {**told, "status": "ok", "now": now, "files": [], "reason": ""}
    before, after = dict(entry.files), {item.path: item.sha256 for item in entries(tree)}
    files = [
        {"path": path, "change": "removed" if path not in after else "changed" if path in before else "added"}
        for path in sorted({**before, **after})
        if before.get(path) != after.get(path)
    ]
    # The same bytes under the same names: then it is who may execute them.
    reason = "" if files else "Only permissions to execute differ."
    return {**told, "status": "edited", "now": now, "files": files, "reason": reason}


def outdated(installer: Installer, names: Sequence[str] = ()) -> dict[str, Any]:
    """Which skills have something newer at their sources. Nothing is fetched that need not be."""
    wanted = installer.named(names)
    told = {entry.path: _told(installer, entry) for entry in wanted}
    asked = [entry for entry in wanted if entry.source]
    # Without a marker on both sides, only the content tells.
    for answer in ask(installer, asked, lambda entry, offer: not (entry.marker and offer.marker)):
        told[answer.entry.path].update(_newer(answer))
    skills = list(told.values())
    return {
        "success": True,
        "root": installer.root,
        "skills": skills,
        "outdated": sum(item["outdated"] for item in skills),
    }


def _told(installer: Installer, entry: Installed) -> dict[str, Any]:
    status = _verified(installer, entry)["status"]
    return {
        "name": entry.name,
        "path": entry.path,
        "status": "no-source",
        "outdated": False,
        "edited": status == "edited",
        "missing": status == "missing",
        "pinned": entry.pinned,
        "source": entry.source,
        "revision": entry.revision,
        "version": entry.version,
        "latest": None,
        "reason": "" if entry.source else "It has no source.",
        "code": "",
    }


def _newer(answer: Answer) -> dict[str, Any]:
    entry, offer, error = answer.entry, answer.offer, answer.error
    if error is not None:
        status = "gone" if error.code == "gone-from-source" else "unavailable"
        return {"status": status, "reason": error.message, "code": error.code}
    if offer is None:
        return {}
    same = digest(answer.package.tree) == entry.digest if answer.package else offer.marker == entry.marker
    latest = {"revision": offer.revision, "version": offer.version}
    return {"status": "current" if same else "newer", "outdated": not same, "latest": None if same else latest}


def why(installer: Installer, card: Card) -> dict[str, Any]:
    """Where a skill comes from, who let it in and why, and what became of it since."""
    path = os.path.realpath(card.directory)
    relative = installer.relative(path)
    entry = next((entry for entry in installer.installed() if entry.path == relative), None)
    made = installer.journal.entries(path=path)
    decision = _decision(installer, path, entry)
    return {
        "success": True,
        "name": card.full_name,
        "path": path,
        "scope": card.scope,
        "installed": _installed(installer, entry, path) if entry else None,
        "history": [{"time": item.to_json()["time"], "actor": item.actor, "action": item.action} for item in made[:1]],
        "decision": decision.to_json() if decision else None,
    }


def _decision(installer: Installer, path: str, entry: Installed | None) -> Record | None:
    """The decision that let in what is there: the last one about that content, else about the skill."""
    known = (record for record in installer.workspace.judge.audit.records() if record.action != "uninstall")
    records = [record for record in known if record.path == path]
    allowed = [record for record in records if record.decision == "allow"]
    contents = {digest(read_tree(path)), entry.digest if entry else ""}
    about = [record for record in allowed if record.digest in contents]
    return next(iter((about or allowed or records)[-1:]), None)


def _installed(installer: Installer, entry: Installed, path: str) -> dict[str, Any]:
    try:
        place = shown(installer.ref_of(entry)) if entry.source else ""
    except WhetError:  # a text of a later Whet
        place = entry.source
    return {
        **entry._asdict(),
        "files": len(entry.files),
        "edited": digest(read_tree(path)) != entry.digest,
        "shown": place,
    }
