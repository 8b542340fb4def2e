"""From a distillation to the operations that write it: a new skill, or a better version of the one that is there.

A skill says in its metadata from how many sessions it was distilled. Where it does, the next session may replace its
steps, but not what somebody decided; where it does not, somebody wrote it, and it only gains what it lacks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.authoring.main_file import Main, bump_version, main_of, said, version_of
from whet.authoring.trees import digest
from whet.errors import NotFoundError, RefusedError, WhetError
from whet.learning.distill.draft import frontmatter, main_file
from whet.learning.distill.merge import ABOUT, kept_triggers, merged, replaced, runs_the_same
from whet.learning.distill.outline import DRAFT
from whet.learning.distill.relatives import COUNT, sessions_in
from whet.library.package import read_tree
from whet.skill.dialects import read_skill
from whet.skill.edit import remove_key, replace_body, set_value
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import read_document
from whet.skill.model import FIRST_VERSION
from whet.skill.tree import Item
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.authoring.journal import Journal
    from whet.learning.distill.draft import Draft
    from whet.learning.distill.rounds import Distillation
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.skill.frontmatter import Document
    from whet.skill.model import Skill
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
    operations: tuple[Mapping[str, Any], ...]
    before: Tree | None = None
    """The skill as it is; None for a new one."""
    kept: tuple[str, ...] = ()
    """What was kept though the session says otherwise, in sentences."""

    @property
    def after(self) -> Tree:
        """The skill as it will be, but for the number of its version."""
        main = main_of(self.before).path if self.before else MAIN_FILE
        files = {path: Item(text.encode()) for path, text in written_files(self).items()}
        return {**(self.before or {}), main: Item(self.text.encode("utf-8", "surrogateescape")), **files}


def reason_of(distillation: Distillation) -> str:
    """Why, for the history."""
    return f"{DISTILLED}{session_label(distillation)}"


def session_label(distillation: Distillation) -> str:
    """How the history names a session; one without a name of its own is named by what is known of it."""
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
    """The operations that make the skill, or improve it: the one of its name, unless a `card` says which.

    With `gains`, nothing of it is replaced, though it was distilled: so it is, too, where a model wrote the skill that
    is there and the new draft is an outline. `refused` are bodies that nobody wanted.
    """
    card = card or _known(workspace, distillation.draft().name)
    tree = read_tree(_directory(card)) if card is not None and card.kind == "skill" else None
    if card is None or tree is None:
        made = distillation.draft()
        text = _chosen(set_value(main_file(made), f"metadata.{COUNT}", "1"), answered(distillation.edits))
        create = {"action": "create", "name": made.name, "body": text}
        return Writing(made, "", text, FIRST_VERSION, (create, *_files(made, {})))
    written = DRAFT not in main_of(tree).document.body
    if not sessions_in(tree) or gains or (written and distillation.written is None and not distillation.edits):
        known = decided(journal, _directory(card), tree).bodies if sessions_in(tree) else ()
        made, old = distillation.draft(), main_of(tree)
        text = _with_body(old.text, merged(old.document.body, made.body, own=False, refused=[*refused, *known]))
        return _next(card, tree, made, text)
    return _again(card, tree, distillation, decided(journal, _directory(card), tree), refused)


def _again(card: Card, tree: Tree, distillation: Distillation, known: Decided, refused: Sequence[str]) -> Writing:
    """The next version of a distilled skill. What somebody decided stays, and all of it if it knows the session."""
    old, answers = main_of(tree), answered(distillation.edits)
    again = known.past.knows(session_label(distillation))
    stays = (frozenset(FIELDS) if again else known.fields) - answers
    wanted = _kept(distillation, read_skill(old.document), stays)
    if runs_the_same(old.document.body, wanted.body):
        stays |= {"description"} - answers
    made = _as_decided(wanted, read_skill(old.document), stays)
    gone = [*refused, *known.bodies] if "body" in stays else refused
    body = merged(old.document.body, made.body, own="body" not in stays, refused=gone, named="goal" in stays)
    if "goal" in answers and "body" not in known.fields:
        body = replaced(body, made.body, ABOUT)
    body = replaced(body, made.body, [section for field in answers for section in _SECTIONS.get(field, ())])
    text = _with_body(old.text, body)
    if not again or answers:
        count = sessions_in(tree) + (not again)
        text = set_value(_framed(text, made, stays), f"metadata.{COUNT}", str(count))
        text = _chosen(text, known.fields | answers)
    files = () if "body" in stays else _files(made, tree, known.files)
    return _next(card, tree, made, text, files)._replace(
        kept=_remarks(wanted, made, known.fields - answers, again=again)
    )


def _next(card: Card, tree: Tree, made: Draft, text: str, files: tuple[Mapping[str, Any], ...] = ()) -> Writing:
    """The operations for the next version."""
    old = main_of(tree)
    edit = {"action": "edit", "name": card.path, "body": text}
    files = tuple({**one, "name": card.path} for one in files)
    if files and text == old.text:
        first = {name: value for name, value in files[0].items() if name != "version"}
        files = (first, *files[1:])
    operations = (edit, *files) if text != old.text or not files else files
    changes = text != old.text or bool(files)
    version = version_of(old.document)
    if changes:
        version = bump_version(Main(old.path, text, read_document(text)), old.document, "")[1]
    return Writing(made, _directory(card), text, version, operations, tree)


def written_files(writing: Writing) -> dict[str, str]:
    """The files beside the main one that are written, by their paths."""
    return {one["file_path"]: one["content"] for one in writing.operations if one["action"] == "write_file"}


def _known(workspace: Workspace, name: str) -> Card | None:
    try:
        return workspace.find(name)[0]
    except (NotFoundError, RefusedError):  # a repository nobody trusts takes no names
        return None


def _directory(card: Card) -> str:
    return card.place


def _kept(distillation: Distillation, skill: Skill, stays: frozenset[str]) -> Draft:
    """The draft, with the words that called for the skill before, and the arguments it has."""
    made, edits = distillation.draft(), dict(distillation.edits)
    if not {"description", "triggers"} & set(edits):
        edits["triggers"] = kept_triggers(skill.description, made.triggers)
    if "arguments" in stays:
        edits |= {"arguments": skill.arguments, "argument_hint": skill.argument_hint}
    return distillation._replace(edits=edits).draft()


def _as_decided(made: Draft, skill: Skill, stays: frozenset[str]) -> Draft:
    """The draft, but for what stays as it is in the skill."""
    return made._replace(
        description=skill.description if "description" in stays else made.description,
        allowed_tools=skill.allowed_tools if "tools" in stays else made.allowed_tools,
        fork=skill.execution.context == "fork" if "fork" in stays else made.fork,
    )


def _remarks(wanted: Draft, made: Draft, fields: frozenset[str], *, again: bool) -> tuple[str, ...]:
    """What was kept, for whoever asked for the next version."""
    if again:
        return ("It has already learned from this session.",)
    differ = {
        "description": wanted.description != made.description,
        "tools": wanted.allowed_tools != made.allowed_tools,
        "fork": wanted.fork != made.fork,
    }
    names = {"description": "description", "tools": "allowed tools", "fork": "place where it runs"}
    kept = [name for field, name in names.items() if field in fields and differ[field]]
    listed = " and ".join([", ".join(kept[:-1]), kept[-1]] if kept[1:] else kept)
    remarks = [f"A person set its {listed}; Whet keeps that."] if kept else []
    if "body" in fields:
        remarks.append("A person edited its text; Whet only adds to it.")
    return tuple(remarks)


def _with_body(text: str, body: str) -> str:
    return replace_body(text, "\n" + body)


def _chosen(text: str, fields: frozenset[str]) -> str:
    """The text, with what somebody decided in its metadata."""
    return set_value(text, f"metadata.{CHOSEN}", " ".join(sorted(fields))) if fields else text


def _framed(text: str, made: Draft, stays: frozenset[str]) -> str:
    """The old frontmatter with what is new in it."""
    values = {**frontmatter(made), "metadata.context": "fork" if made.fork else ""}
    for key, field in _KEYS.items():
        text = text if field in stays else _set_or_removed(text, key, values[key])
    return text


def _set_or_removed(text: str, key: str, value: str | list[str]) -> str:
    if value:
        return set_value(text, key, value)
    return remove_key(text, key) if _has(text, key) else text


def _has(text: str, key: str) -> bool:
    return key in read_document(text).lines


def _files(made: Draft, tree: Tree, edited: frozenset[str] = frozenset()) -> tuple[Mapping[str, Any], ...]:
    """The operations for files that are not there, or not so; the main file has counted the version up already."""
    return tuple(
        {"action": "write_file", "name": made.name, "file_path": path, "content": text, "version": "keep"}
        for path, text in made.files.items()
        if path not in edited and (path not in tree or tree[path].data != text.encode())
    )


CHOSEN = "chosen"
"""In the metadata: what somebody decided."""
FIELDS = ("arguments", "body", "description", "fork", "goal", "tools", "when")
DISTILLED, LEARNED = "distilled from ", "Learned from "
"""How the reasons of changes begin that come from sessions."""
_ANSWERS = {
    "goal": ("goal", "description"),
    "triggers": ("description",),
    "description": ("description",),
    "tools": ("tools",),
    "fork": ("fork",),
    "steps": ("body",),
    "arguments": ("arguments",),
    "argument_hint": ("arguments",),
    "when_to_use": ("when",),
}
"""What each answer of the rounds decides."""
_SECTIONS = {"body": ("steps", "files"), "arguments": ("inputs",)}
"""Sections of the body that answers decide, whatever was there before."""
_KEYS = {
    "description": "description",
    "when_to_use": "when",
    "argument-hint": "arguments",
    "arguments": "arguments",
    "allowed-tools": "tools",
    "metadata.context": "fork",
}
"""Keys of the frontmatter, and the one of `FIELDS` that sets each."""
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
        "when": said(document, "when_to_use"),
        "arguments": (skill.arguments, skill.argument_hint),
        "body": document.body.strip(),
    }


def _body(tree: Tree) -> str:
    return main_of(tree).document.body
