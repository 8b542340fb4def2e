"""What somebody decided about a distilled skill: by an answer in the rounds, or by editing it afterwards.

Answers are named in the metadata. What was edited is seen in the history: it is not any more as the last distillation
left it. Both stay when the next session comes, and what was taken out of the text does not come again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.main_file import main_of, said
from whet.authoring.trees import digest
from whet.errors import WhetError
from whet.skill.dialects import read_skill

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.authoring.journal import Journal
    from whet.skill.frontmatter import Document
    from whet.skill.tree import Tree

CHOSEN = "chosen"
"""In the metadata: what somebody decided."""
FIELDS = ("body", "description", "fork", "goal", "tools")
DISTILLED, LEARNED = "distilled from ", "Learned from "
"""How the reasons of changes begin that come from sessions."""
_ANSWERS = {
    "goal": ("goal", "description"),
    "triggers": ("description",),
    "description": ("description",),
    "tools": ("tools",),
    "fork": ("fork",),
}
"""What each answer of the rounds decides."""
_LATEST = 20
"""Distillations whose texts are looked at."""


class Past(NamedTuple):
    """What sessions made of a skill, as far as nobody has taken it back."""

    reasons: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """How each distillation left it, as digests."""

    def knows(self, session: str) -> bool:
        """Was this session, as the history names it, learned from?"""
        named = re.compile(re.escape(session) + r"(?![\w-])")
        return any(named.search(reason) for reason in self.reasons)


class Decided(NamedTuple):
    """What is to stay."""

    past: Past = Past()
    fields: frozenset[str] = frozenset()
    """Those of `FIELDS` that were chosen or edited."""
    files: frozenset[str] = frozenset()
    """Files beside the main one that were edited."""
    bodies: tuple[str, ...] = ()
    """The texts that distillations left: what is not there any more, somebody took out."""


def answered(edits: Iterable[str]) -> frozenset[str]:
    """What the answers of the rounds decide."""
    return frozenset(field for name in edits for field in _ANSWERS.get(name, ()))


def decided(journal: Journal, path: str, tree: Tree) -> Decided:
    """What somebody decided about the distilled skill at a path. One without a history may be anybody's: all of it."""
    past = past_of(journal, path, tree)
    document = main_of(tree).document
    chosen = frozenset(said(document, "metadata", CHOSEN).split()) & frozenset(FIELDS)
    trees = [found for of in past.left[-_LATEST:] if (found := _content(journal, of))]
    last = _content(journal, past.left[-1]) if past.left else None
    if last is None:
        return Decided(past, frozenset(FIELDS), frozenset(tree), tuple(map(_body, trees)))
    before, now = _told(main_of(last).document), _told(document)
    edited = frozenset(field for field in now if now[field] != before[field])
    files = frozenset(file for file, item in tree.items() if file in last and item.data != last[file].data)
    return Decided(past, chosen | edited, files, tuple(map(_body, trees)))


def past_of(journal: Journal, path: str, tree: Tree) -> Past:
    """What sessions made of the skill as it is. What was undone or rolled back is as it was before."""
    now, states = Past(), {"": Past()}
    for entry in journal.entries(path=path):
        before = states.get(entry.before, now)
        if entry.reason.startswith((DISTILLED, LEARNED)):
            now = states[entry.after] = Past((*before.reasons, entry.reason), (*before.left, entry.after))
        else:
            now = states.setdefault(entry.after, before)
    return states.get(digest(tree), now)


def _content(journal: Journal, of: str) -> Tree | None:
    try:
        return journal.content(of)
    except WhetError:  # not kept any more, or damaged: the doctor tells
        return None


def _told(document: Document) -> Mapping[str, object]:
    """What a distillation writes, to be compared."""
    skill = read_skill(document)
    return {
        "description": said(document, "description"),
        "tools": skill.allowed_tools,
        "fork": skill.execution.context,
        "body": document.body.strip(),
    }


def _body(tree: Tree) -> str:
    return main_of(tree).document.body
