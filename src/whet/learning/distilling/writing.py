"""From a distillation to the operations that write it: a new skill, or a better version of the one that is there.

A skill says in its metadata from how many sessions it was distilled. Where it does, the next session may replace its
steps; where it does not, somebody wrote it, and it only gains what it lacks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.drafts_main import main_of, said, version_of
from whet.authoring.trees import read_tree
from whet.errors import NotFoundError, RefusedError
from whet.learning.distilling.draft import main_file
from whet.learning.distilling.merging import kept_triggers, merged
from whet.routing.duplicates import THRESHOLD
from whet.routing.duplicates_answer import resembling
from whet.routing.texts import Texts
from whet.skill.edit import remove_key, replace_body, set_value

if TYPE_CHECKING:
    from whet.authoring.journal import Journal
    from whet.learning.distilling.draft import Draft
    from whet.learning.distilling.rounds import Distillation
    from whet.library.card import Card
    from whet.library.lookout import Lookout
    from whet.skill.tree import Tree

COUNT = "distilled-sessions"
"""In the metadata: from how many sessions a skill was distilled."""
SAME_JOB = 0.42
"""The score from which on a distilled skill is for the same job as a new draft. Chosen on drafts of 60 sessions: with
`SAME_NAME`, 194 of 202 ordered pairs for one task have it, and none of 3,338 for different ones, of which the highest
has 0.37."""
SAME_NAME = 0.25
"""The score that is enough where the names say the same but for a word or two: short skills share few words."""
_WORDS = 0.6
"""The part of their words that such names share."""
_THEIRS = frozenset(("bundled", "org", "plugin"))
"""Scopes of skills that are not the user's own."""


class Writing(NamedTuple):
    """What is to be written."""

    made: Draft
    path: str
    """The directory of the skill that is improved; empty for a new one."""
    text: str
    """Its SKILL.md, whole."""
    version: str
    """What it has now; empty for a new one."""
    operations: tuple[dict[str, Any], ...]


def reason_of(distillation: Distillation) -> str:
    """Why, for the history; a session without a name of its own is named by what is known of it."""
    client, session = distillation.source
    if not session:
        import json
        from hashlib import sha256

        from whet.learning.distilling.storing import facts_to_json

        told = json.dumps(facts_to_json(distillation.facts), sort_keys=True)
        session = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"distilled from {client or 'a'} session {session}"


def same_job(lookout: Lookout, journal: Journal, made: Draft) -> str:
    """The user's own skill that is for the same job under another name; empty where there is none."""
    told = Texts(made.name, made.description, made.body)
    for found in resembling(lookout, made.name, told, SAME_NAME):
        card, _ = lookout.find(found.name)
        if card.kind != "skill" or card.scope in _THEIRS or (tree := read_tree(_directory(card))) is None:
            continue
        if _count(tree):
            least = SAME_NAME if _named_alike(card.name, made.name) else SAME_JOB
        else:
            least = THRESHOLD if _created(journal, card) else 2.0
        if found.score >= least:
            return card.name
    return ""


def _named_alike(one: str, other: str) -> bool:
    """Do two names begin with the same verb and share most of their words?"""
    first, second = one.split("-"), other.split("-")
    shared = len(set(first) & set(second))
    return first[0] == second[0] and 2 * shared >= _WORDS * (len(first) + len(second))


def writing_of(lookout: Lookout, journal: Journal, distillation: Distillation) -> Writing:
    """The operations that make the skill, or improve it."""
    made = distillation.draft()
    card = _known(lookout, made.name)
    tree = read_tree(_directory(card)) if card is not None and card.kind == "skill" else None
    if card is None or tree is None:
        text = set_value(main_file(made), f"metadata.{COUNT}", "1")
        create = {"action": "create", "name": made.name, "body": text}
        return Writing(made, "", text, "", (create, *_files(made, {})))
    old, count = main_of(tree), _count(tree)
    made = _kept(distillation, said(old.document, "description")) if count else made
    if count:
        learned = any(entry.reason == reason_of(distillation) for entry in journal.entries(path=_directory(card)))
        text = _framed(old.text, made, count if learned else count + 1)
    else:
        text = old.text
    text = replace_body(text, "\n" + merged(old.document.body, made.body, own=bool(count)))
    edit = {"action": "edit", "name": card.path, "body": text}
    files = _files(made._replace(name=card.path), tree) if count else ()
    if files and text == old.text:
        del files[0]["version"]
    operations = (edit, *files) if text != old.text or not files else files
    return Writing(made, _directory(card), text, version_of(old.document), operations)


def _known(lookout: Lookout, name: str) -> Card | None:
    try:
        return lookout.find(name)[0]
    except (NotFoundError, RefusedError):  # a repository nobody trusts takes no names
        return None


def _directory(card: Card) -> str:
    return os.path.realpath(card.directory)


def _count(tree: Tree) -> int:
    """From how many sessions a skill was distilled; 0 for one that somebody wrote."""
    count = said(main_of(tree).document, "metadata", COUNT)
    return int(count) if count.isascii() and count.isdecimal() and len(count) < 10 else 0


def _created(journal: Journal, card: Card) -> bool:
    """Was it created here, as opposed to installed or put there?"""
    first = next(iter(journal.entries(path=_directory(card))), None)
    return first is not None and first.action == "create"


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
