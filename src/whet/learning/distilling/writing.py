"""From a distillation to the operations that write it: a new skill, or a better version of the one that is there.

A skill says in its metadata from how many sessions it was distilled. Where it does, the next session may replace its
steps; where it does not, somebody wrote it, and it only gains what it lacks.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.drafts import FIRST
from whet.authoring.drafts_main import main_of, numbered, said, version_of
from whet.authoring.trees import read_tree
from whet.errors import NotFoundError, RefusedError
from whet.learning.distilling.draft import main_file
from whet.learning.distilling.merging import kept_triggers, merged
from whet.learning.distilling.relatives import COUNT, sessions_in
from whet.skill.edit import remove_key, replace_body, set_value
from whet.skill.paths import MAIN_FILE
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.authoring.journal import Journal
    from whet.learning.distilling.draft import Draft
    from whet.learning.distilling.rounds import Distillation
    from whet.library.card import Card
    from whet.library.lookout import Lookout
    from whet.skill.tree import Tree


class Writing(NamedTuple):
    """What is to be written."""

    made: Draft
    path: str
    """The directory of the skill that is improved; empty for a new one."""
    text: str
    """Its SKILL.md, whole."""
    version: str
    """What it will have."""
    operations: tuple[dict[str, Any], ...]
    before: Tree | None = None
    """The skill as it is; None for a new one."""

    @property
    def after(self) -> Tree:
        """The skill as it will be, but for the number of its version."""
        main = main_of(self.before).path if self.before else MAIN_FILE
        files = {path: Item(text.encode()) for path, text in written_files(self).items()}
        return {**(self.before or {}), main: Item(self.text.encode("utf-8", "surrogateescape")), **files}


def reason_of(distillation: Distillation) -> str:
    """Why, for the history."""
    return f"distilled from {session_label(distillation)}"


def session_label(distillation: Distillation) -> str:
    """How the history names a session; one without a name of its own is named by what is known of it."""
    client, session = distillation.source
    if not session:
        import json
        from hashlib import sha256

        from whet.learning.distilling.storing import facts_to_json

        told = json.dumps(facts_to_json(distillation.facts), sort_keys=True)
        session = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{client or 'a'} session {session}"


def writing_of(
    lookout: Lookout,
    journal: Journal,
    distillation: Distillation,
    *,
    card: Card | None = None,
    gains: bool = False,
    refused: Sequence[str] = (),
) -> Writing:
    """The operations that make the skill, or improve it: the one of its name, unless a `card` says which.

    With `gains`, nothing of it is replaced, though it was distilled. `refused` are bodies that nobody wanted.
    """
    made = distillation.draft()
    card = card or _known(lookout, made.name)
    tree = read_tree(_directory(card)) if card is not None and card.kind == "skill" else None
    if card is None or tree is None:
        text = set_value(main_file(made), f"metadata.{COUNT}", "1")
        create = {"action": "create", "name": made.name, "body": text}
        return Writing(made, "", text, FIRST, (create, *_files(made, {})))
    old, count = main_of(tree), sessions_in(tree)
    own = bool(count) and not gains
    text = old.text
    if own:
        made = _kept(distillation, said(old.document, "description"))
        text = _framed(text, made, count if _is_learned(journal, card, distillation) else count + 1)
    text = replace_body(text, "\n" + merged(old.document.body, made.body, own=own, refused=refused))
    edit = {"action": "edit", "name": card.path, "body": text}
    files = _files(made._replace(name=card.path), tree) if own else ()
    if files and text == old.text:
        del files[0]["version"]
    operations = (edit, *files) if text != old.text or not files else files
    changes = text != old.text or bool(files)
    version = numbered(text, old.document, "")[1] if changes else version_of(old.document)
    return Writing(made, _directory(card), text, version, operations, tree)


def written_files(writing: Writing) -> dict[str, str]:
    """The files beside the main one that are written, by their paths."""
    return {one["file_path"]: one["content"] for one in writing.operations if one["action"] == "write_file"}


def _is_learned(journal: Journal, card: Card, distillation: Distillation) -> bool:
    """Does the history of a skill name this session already?"""
    named = re.compile(re.escape(session_label(distillation)) + r"(?![\w-])")
    return any(named.search(entry.reason) for entry in journal.entries(path=_directory(card)))


def _known(lookout: Lookout, name: str) -> Card | None:
    try:
        return lookout.find(name)[0]
    except (NotFoundError, RefusedError):  # a repository nobody trusts takes no names
        return None


def _directory(card: Card) -> str:
    return os.path.realpath(card.directory)


def _kept(distillation: Distillation, description: str) -> Draft:
    """The draft, with the words that called for the skill before."""
    made = distillation.draft()
    if {"description", "triggers"} & set(distillation.edits):
        return made
    edits = {**distillation.edits, "triggers": kept_triggers(description, made.triggers)}
    return distillation._replace(edits=edits).draft()


def _framed(text: str, made: Draft, count: int) -> str:
    """The old frontmatter with what is new in it."""
    text = set_value(text, "description", made.description)
    if made.allowed_tools:
        text = set_value(text, "allowed-tools", " ".join(made.allowed_tools))
    elif _has(text, "allowed-tools"):
        text = remove_key(text, "allowed-tools")
    if made.fork:
        text = set_value(text, "metadata.context", "fork")
    elif _has(text, "metadata.context"):
        text = remove_key(text, "metadata.context")
    return set_value(text, f"metadata.{COUNT}", str(count))


def _has(text: str, key: str) -> bool:
    from whet.skill.frontmatter import read_document

    return key in read_document(text).lines


def _files(made: Draft, tree: Tree) -> tuple[dict[str, Any], ...]:
    """The operations for files that are not there, or not so; the main file has counted the version up already."""
    return tuple(
        {"action": "write_file", "name": made.name, "file_path": path, "content": text, "version": "keep"}
        for path, text in made.files.items()
        if path not in tree or tree[path].data != text.encode()
    )
