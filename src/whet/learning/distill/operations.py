"""From a distillation to the operations that write it: a new skill, or a better version of an existing one.

The metadata of a skill says from how many sessions it was distilled. If it does, the next session may replace its
steps; otherwise somebody wrote it, chose its steps or edited its text, and it only gains missing parts. The frontmatter
of an existing skill stays, except for the answers of the rounds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.main_file import KEEP, Main, bump_version, main_of, version_of
from whet.authoring.trees import digest
from whet.errors import NotFoundError, RefusedError, WhetError
from whet.learning.distill.draft import frontmatter, main_file
from whet.learning.distill.merge import ABOUT, merged, replaced, runs_the_same
from whet.learning.distill.names import is_generated, with_triggers
from whet.learning.distill.relatives import COUNT, sessions_in
from whet.library.package import read_tree
from whet.skill.dialects import read_skill
from whet.skill.edit import remove_key, replace_body, set_value
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import read_document
from whet.skill.model import FIRST_VERSION
from whet.skill.template import OUTLINE
from whet.skill.tree import Item
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.authoring.journal import Journal
    from whet.learning.distill.draft import Draft
    from whet.learning.distill.rounds import Distillation, Value
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.skill.model import Skill
    from whet.skill.tree import Tree

DISTILLED, LEARNED = "distilled from ", "Learned from "
"""Prefixes of the reasons of changes that come from sessions."""
_SECTIONS = {"goal": ABOUT, "steps": ("steps", "files"), "arguments": ("inputs",)}
"""Sections of the body that answers always determine."""
_KEYS = {
    "description": ("description", "goal", "triggers"),
    "when_to_use": ("when_to_use",),
    "argument-hint": ("argument_hint", "arguments"),
    "arguments": ("arguments",),
    "allowed-tools": ("tools",),
    "metadata.context": ("fork",),
}
"""Keys of the frontmatter, and the answers that set each."""
_LATEST = 20
"""Number of distillations whose texts are compared."""


class Writing(NamedTuple):
    """The planned changes."""

    made: Draft
    path: str
    """The directory of the skill to improve; "" for a new one."""
    text: str
    """The whole SKILL.md."""
    version: str
    """Its new version."""
    files: Mapping[str, str]
    """Other files that are written, by path."""
    operations: tuple[Mapping[str, Any], ...]
    before: Tree | None = None
    """The current skill; None for a new one."""
    kept: tuple[str, ...] = ()
    """Sentences about content that was kept against the session."""

    @property
    def after(self) -> Tree:
        """The skill after the change, except for its version."""
        main = main_of(self.before).path if self.before else MAIN_FILE
        files = {path: Item(text.encode()) for path, text in self.files.items()}
        return {**(self.before or {}), main: Item(self.text.encode("utf-8", "surrogateescape")), **files}


def reason_of(distillation: Distillation) -> str:
    """Return the reason for the history."""
    return f"{DISTILLED}{session_label(distillation)}"


def session_label(distillation: Distillation) -> str:
    """Return the history's name for a session; a session without an id is named by a hash of its evidence."""
    client, session = distillation.source
    if not session:
        import json
        from hashlib import sha256

        told = json.dumps(as_json(distillation.evidence), sort_keys=True)
        session = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{client or 'a'} session {session}"


def writing_of(
    workspace: Workspace,
    journal: Journal,
    distillation: Distillation,
    *,
    card: Card | None = None,
    gains: bool = False,
    refused: Sequence[str] = (),
) -> Writing:
    """Return the operations that create the skill, or improve the one of its name, or the one of `card`.

    With `gains`, nothing of it is replaced, even if it was distilled; the same holds if a model wrote the existing
    skill and the new draft is an outline. `refused` are rejected bodies.
    """
    card = card or _known(workspace, distillation.draft().name)
    tree = read_tree(card.place) if card is not None and card.kind == "skill" else None
    answers = distillation.edits
    if card is None or tree is None:
        made = distillation.draft()
        text = _counted(main_file(made), 0 if "steps" in answers else 1)
        create = {"action": "create", "name": made.name, "body": text}
        return Writing(made, "", text, FIRST_VERSION, made.files, _operations([create], made.name, made.files))
    old, count, past = main_of(tree), sessions_in(tree), past_of(journal, card.place, tree)
    trees = [found for of in past.left[-_LATEST:] if (found := _content(journal, of))]
    again = past.knows(session_label(distillation))
    edited = count > 0 and not (trees and body_of(trees[-1]).strip() == old.document.body.strip())
    outline = distillation.written is None and not answers and OUTLINE not in old.document.body
    own = count > 0 and ("steps" in answers or not (gains or again or edited or outline))
    made = _kept(distillation, old.document.body, read_skill(old.document), own=own)
    known = () if own else map(body_of, trees)
    body = merged(old.document.body, made.body, own=own, refused=[*refused, *known])
    body = replaced(body, made.body, [section for name in answers for section in _SECTIONS.get(name, ())])
    text, values = replace_body(old.text, f"\n{body}"), frontmatter(made)
    for key, names in _KEYS.items():
        if (own and key == "description") or not answers.keys().isdisjoint(names):
            text = _set_or_removed(text, key, values[key])
    if "steps" in answers or (edited and not again and body.strip() != old.document.body.strip()):
        text = _counted(text, 0)
    elif own and not again:
        text = _counted(text, count + 1)
    left = trees[-1] if trees else {}
    files = {
        path: told
        for path, told in (made.files if own else {}).items()
        if path not in tree or (path in left and left[path].data == tree[path].data != told.encode())
    }
    version = version_of(old.document)
    if files or text != old.text:
        version = bump_version(Main(old.path, text, read_document(text)), old.document, "")[1]
    edit = [{"action": "edit", "name": card.path, "body": text}] if text != old.text or not files else []
    remark = BEFORE if again else EDITED if edited else ""
    operations, told = _operations(edit, card.path, files), (remark,) if remark else ()
    return Writing(made, card.place, text, version, files, operations, tree, told)


def _operations(
    main: Sequence[Mapping[str, Any]], name: str, files: Mapping[str, str]
) -> tuple[Mapping[str, Any], ...]:
    """Return the operations that write the main file and then the others; only the first raises the version."""
    others = [{"action": "write_file", "name": name, "file_path": path, "content": files[path]} for path in files]
    return tuple({**one, "version": KEEP} if at else one for at, one in enumerate([*main, *others]))


BEFORE = "It has already learned from this session."
EDITED = "A person edited its text; Whet only adds to it."


def _kept(distillation: Distillation, body: str, skill: Skill, *, own: bool) -> Draft:
    """Return the draft with the existing frontmatter, except for answers.

    Trigger words of the session are added to the description, and a model may reword a generated one.
    """
    made, edits = distillation.draft(), dict(distillation.edits)
    stays: dict[str, Value] = {
        "tools": skill.allowed_tools,
        "fork": skill.execution.context == "fork",
        "arguments": skill.arguments,
        "argument_hint": skill.argument_hint,
        "when_to_use": skill.when_to_use,
    }
    if edits.keys().isdisjoint(_KEYS["description"]):
        reworded = distillation.written is not None and is_generated(skill.description)
        same = not own or runs_the_same(body, made.body)
        stays["description"] = skill.description if same else with_triggers(skill.description, made.triggers)
        if own and reworded:
            del stays["description"]
    given = {name: value for name, value in stays.items() if name not in edits and value != ""}
    return distillation._replace(edits={**edits, **given}).draft()


def _counted(text: str, sessions: int) -> str:
    """Return the text with the number of its sessions; without it if a person decided about its steps."""
    return _set_or_removed(text, f"metadata.{COUNT}", str(sessions) if sessions else "")


def _known(workspace: Workspace, name: str) -> Card | None:
    try:
        return workspace.find(name)[0]
    except (NotFoundError, RefusedError):  # an untrusted repository takes no names
        return None


def _set_or_removed(text: str, key: str, value: str | list[str]) -> str:
    if value:
        return set_value(text, key, value)
    return remove_key(text, key) if key in read_document(text).lines else text


class Past(NamedTuple):
    """The changes that sessions made to a skill and that nobody reversed."""

    reasons: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """The digests after each distillation."""

    def knows(self, session: str) -> bool:
        """Return whether this session was learned from."""
        named = re.compile(re.escape(session) + r"(?![\w-])")
        return any(named.search(reason) for reason in self.reasons)


def past_of(journal: Journal, path: str, tree: Tree) -> Past:
    """Return the sessions' changes to the current skill. Undone changes do not count."""
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
    except WhetError:  # no longer stored, or damaged, which the doctor reports
        return None


def body_of(tree: Mapping[str, Item]) -> str:
    """Return the instructions of a skill, without the frontmatter."""
    return main_of(tree).document.body
