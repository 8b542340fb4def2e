"""Changing skills: create, edit, patch, delete, write and remove files, rename, restore; one or many, all or none.

Operations are applied to contents in memory first, one after the other; only when all of them have worked, and every
result has passed the check, is anything written, and then all of it as one change. Changes that may not be written
directly (of an administrator's or a plugin's skill, of an installed one by a model, all changes if writes are staged,
and all that a check wants a person to see) become proposals.
"""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING, Any

from whet.authoring import drafts
from whet.authoring.commits import Committer
from whet.authoring.drafts import Draft, check_category, check_name
from whet.authoring.history import History, find_deleted, find_lost
from whet.authoring.main_file import main_of, not_text, version_of, with_text
from whet.authoring.operations import MOST_OPERATIONS, read_operation
from whet.authoring.proposals import Proposals, Review
from whet.authoring.results import Change, Changes, Similar
from whet.authoring.trees import digest
from whet.authoring.writer import USER, TreeChange, Writer
from whet.errors import ConflictError, NotFoundError, RefusedError, UsageError, WhetError
from whet.library.package import is_flat_place, read_tree
from whet.notes import fill_name
from whet.records import NamedTuple
from whet.skill.dialects import read_skill
from whet.skill.finder import FLAT, MAIN_FILES, SKIPPED
from whet.skill.names import key, slug
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whet.authoring.commits import Subscriber
    from whet.authoring.journal import Journal
    from whet.authoring.main_file import Main
    from whet.authoring.proposals import Accept, Check
    from whet.authoring.writer import Provenance
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.routing.evals.generated import TriggerSet
    from whet.skill.tree import Tree


class SkillText(NamedTuple):
    """A skill's main file as of the beginning of an edit."""

    name: str
    path: str
    digest: str
    """The digest of the whole skill."""
    main: Main
    data: bytes

    def is_unchanged(self, path: str, digest: str) -> bool:
        """Return True if the content of an edit is unchanged; raise ConflictError so that no other change is lost."""
        if path == self.path and digest != self.digest:
            message = f"{self.name} was changed by another process while you were editing."
            hint = f"`whet history diff {self.name}` shows how."
            raise ConflictError("skill-changed", message, hint=hint, digest=digest)
        return True


_TRIES = 5
INSTALLED = "It is installed."
_PROTECTED = {
    "org": "An administrator installed it.",
    "plugin": "It belongs to a plugin, whose updates would overwrite a change.",
}


class Target(NamedTuple):
    """A skill after the operations so far."""

    name: str
    path: str
    before: Tree | None
    """The current content of the path."""
    tree: Tree | None
    action: str = ""
    cause: str = ""
    """Why it must not be written without asking."""
    source: str = ""
    """The skill that would be copied to the path, if it is another one."""
    original: Tree | None = None
    """The content of that skill."""
    fixed: str = ""
    """Why its directory can be neither removed nor renamed."""
    version: str = ""
    called: str = ""
    """A name that finds the skill, if its name alone does not."""

    def check_removal(self) -> None:
        """Raise RefusedError for a skill that must not be removed."""
        if self.cause:
            message = f"{self.name} cannot be removed: {self.cause}"
            raise RefusedError("protected", message, hint=self.instead)
        self.check_fixed("removed")

    @property
    def instead(self) -> str:
        """A hint for a skill that cannot be removed."""
        return f"Run `whet disable {self.called or self.name}` instead."

    def check_fixed(self, done: str) -> None:
        """Raise RefusedError for a skill that must stay at its path."""
        if self.fixed:
            hint = "Make the change by hand, or use `whet disable` to stop offering the skill."
            raise RefusedError("fixed-directory", f"{self.name} cannot be {done}: {self.fixed}", hint=hint)


class SkillEditor:
    """Changes the skills of one library."""

    def __init__(
        self,
        workspace: Workspace,
        journal: Journal,
        *,
        check: Check,
        installed: Callable[[], Collection[str]],
        accept: Accept | None = None,
    ) -> None:
        """`check` examines a skill before it is written; `accept` is called when a person approves its questions.

        `installed` returns the directories of installed skills; a model's changes to them become proposals.
        """
        self.workspace = workspace
        self.journal = journal
        self.writer = Writer(journal, workspace.place.state)
        self.committer = Committer(self.writer, workspace.identify)
        self.proposals = Proposals(journal, self.committer, Review(check, accept))
        self.history = History(workspace, self.committer)
        self.installed = installed

    def on_commit(self, subscriber: Subscriber) -> None:
        """Call this with every change of any skill, inside its transaction; see `whet.authoring.commits`."""
        self.committer.on_commit(subscriber)

    # single changes

    def create(
        self,
        name: str,
        *,
        description: str = "",
        body: str = "",
        category: str = "",
        version: str = "",
        triggers: bool = True,
        by: Provenance = USER,
    ) -> Change:
        """Create a new skill, or improve the one of that name; `body` may be a whole document with frontmatter.

        A new one has generated trigger evals, unless `triggers` is False.
        """
        return self._do(
            by,
            triggers=triggers,
            action="create",
            name=name,
            description=description or None,
            body=body or None,
            category=category or None,
            version=version or None,
        )

    def open_text(self, name: str) -> SkillText:
        """Return a skill's current main file, to be edited and passed to `edit`."""
        card = self.workspace.find(name)[0]
        if card.kind == "command":
            hint = "Move it to NAME/SKILL.md first."
            raise UsageError("single-file", f"{card.full_name} is a command file.", hint=hint, path=card.path)
        tree = read_tree(card.place)
        if tree is None:
            raise NotFoundError("skill-gone", f"{card.path} no longer exists.", hint="List the skills again.")
        main = main_of(tree)
        data = tree[main.path].data
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise not_text(main.path, f"is not UTF-8 at byte {error.start}") from error
        return SkillText(card.name, card.place, digest(tree), main, data)

    def edit(
        self, name: str, body: str, *, version: str = "", opened: SkillText | None = None, by: Provenance = USER
    ) -> Change:
        """Replace a skill's instructions or, with a whole document, also its frontmatter.

        With `opened`, only if the skill is unchanged since. Raises ConflictError `skill-changed`.
        """
        given = {"action": "edit", "name": name, "body": body, **({"version": version} if version else {})}
        return self.apply([given], by, viewed=opened.is_unchanged if opened else None).one()

    def patch(
        self,
        name: str,
        *,
        find: str,
        replace: str,
        file: str | None = None,
        all: bool = False,  # noqa: A002  what it is called on every surface
        tolerant: bool = False,
        version: str = "",
        by: Provenance = USER,
    ) -> Change:
        """Replace a piece of SKILL.md, or of another `file`. It must occur once, unless `all` is set.

        `tolerant` accepts differences in white space, quotes and dashes.
        """
        return self._do(
            by,
            action="patch",
            name=name,
            find=find,
            replace=replace,
            all=all,
            tolerant=tolerant,
            file_path=file or None,
            version=version or None,
        )

    def write_file(
        self,
        name: str,
        file: str,
        content: str | bytes,
        *,
        executable: bool | None = None,
        version: str = "",
        by: Provenance = USER,
    ) -> Change:
        """Add or replace a supporting file; by default it keeps its executable bit."""
        return self._do(
            by,
            action="write_file",
            name=name,
            file_path=file,
            content=content,
            executable=executable,
            version=version or None,
        )

    def remove_file(self, name: str, file: str, *, version: str = "", by: Provenance = USER) -> Change:
        """Remove a supporting file."""
        return self._do(by, action="remove_file", name=name, file_path=file, version=version or None)

    def rename(self, name: str, new_name: str, *, by: Provenance = USER) -> Change:
        """Rename a skill; everything that Whet knows about it follows."""
        return self._do(by, action="rename", name=name, new_name=new_name)

    def delete(self, name: str, *, by: Provenance = USER) -> Change:
        """Remove a skill; `restore` and `history.undo` bring it back."""
        return self._do(by, action="delete", name=name)

    def restore(self, name: str, *, by: Provenance = USER) -> Change:
        """Bring back the skill of that name that was deleted last."""
        return self._do(by, action="restore", name=name)

    def _do(self, by: Provenance, *, triggers: bool = False, **fields: str | bytes | bool | None) -> Change:
        """Apply one operation, with the given fields."""
        given = {field: value for field, value in fields.items() if value is not None}
        return self.apply([given], by, triggers=triggers).one()

    # batches

    def apply(
        self,
        operations: Sequence[Mapping[str, Any]],
        by: Provenance = USER,
        *,
        viewed: Callable[[str, str], bool] | None = None,
        allowed: Callable[[Card], None] | None = None,
        stage: bool = False,
        triggers: bool = False,
        improve: bool = True,
        here: bool = False,
    ) -> Changes:
        """Apply all of these operations or none; `whet.authoring.operations` defines them.

        `viewed` returns whether a path was viewed with this digest, `allowed` raises for a skill that must not be
        changed. With `stage`, the change waits as a proposal. New skills have generated trigger evals if `triggers`.
        Creating a skill that exists changes it; without `improve`, that raises ConflictError `skill-exists`. With
        `here`, new skills go to the project. Patches say what they expect to find, so after a concurrent change they
        are applied to the new content, under a lock.
        """
        patches = all(isinstance(item, dict) and item.get("action") == "patch" for item in operations)
        paths: Sequence[str] = ()
        for _ in range(_TRIES):
            try:
                with self.writer.hold(paths):
                    several = len(operations) > 1
                    batch = _Batch(
                        self, allowed or _anyone, several=several, triggers=triggers, improve=improve, here=here
                    )
                    return self._apply(batch, operations, by, viewed, stage=stage)
            except ConflictError as error:
                if error.code != "skill-changed" or not patches:
                    raise
                paths, conflict = error.details.get("paths") or [error.details["path"]], error
        raise conflict

    def _apply(
        self,
        batch: _Batch,
        operations: Sequence[Mapping[str, Any]],
        by: Provenance,
        viewed: Callable[[str, str], bool] | None,
        *,
        stage: bool,
    ) -> Changes:
        if not 1 <= len(operations) <= MOST_OPERATIONS:
            message = f"The call has {len(operations)} operations."
            raise UsageError("bad-operations", message, hint=f"Pass 1 to {MOST_OPERATIONS} operations.")
        self.writer.recover()
        results: list[Change] = []
        for number, operation in enumerate(operations):
            try:
                results.append(batch.apply(operation))
            except WhetError as error:
                if isinstance(operation, dict):
                    error.hint = fill_name(error.hint, str(operation.get("name") or "NAME"))
                if len(operations) > 1:
                    error.details.update(failed_index=number, completed_before_failure=0)
                raise
        return self._write(batch, results, operations, by, viewed, stage=stage)

    def _write(
        self,
        batch: _Batch,
        results: Sequence[Change],
        operations: Sequence[Mapping[str, Any]],
        by: Provenance,
        viewed: Callable[[str, str], bool] | None = None,
        *,
        stage: bool = False,
    ) -> Changes:
        """Write the changes of a batch, or propose them."""
        changes = batch.changes()
        warnings = [*batch.warnings, *chain(*batch.remarks.values()), *self._unread(batch, by, viewed)]
        if not changes:
            return Changes(self._compared(results, operations), (), tuple(warnings) or ("Nothing changes.",))
        checked = self.proposals.review.check(changes, by)
        warnings.extend(checked.remarks)
        staged = stage or self.workspace.config().settings.stage_writes
        waits = "It has not been reviewed yet." if stage and by.origin == "background" else "Writes are staged."
        cause = checked.cause or batch.cause() or self._not_own(changes, by) or (waits if staged else "")
        if cause:
            number = self.proposals.propose(changes, batch.bases(), by, cause, batch.originals())
            return Changes(self._compared(results, operations), (), tuple(warnings), number, cause)
        commit = self.committer.commit(changes, by._replace(checked=checked.label))
        entries = tuple(entry.id for entry in commit.entries)
        return Changes(self._compared(results, operations), entries, (*warnings, *commit.notes))

    def _not_own(self, changes: Sequence[TreeChange], by: Provenance) -> str:
        """Return why a person must decide about a model's change: it, or the name it takes, belongs to a foreign skill.

        This is the only place that decides it, for all surfaces.
        """
        if by.actor == USER.actor:
            return ""
        installed = self.installed()
        if any(change.path in installed for change in changes):
            return INSTALLED
        new = {slug(change.skill): change for change in changes if change.before is None}
        if not new:
            return ""
        for change in new.values():  # restoring a skill that a person uninstalled
            if any(entry.origin == "install" for entry in self.journal.entries(path=change.path)):
                return INSTALLED
        for card in self.workspace.snapshot().catalogue.cards:
            taken = slug(card.name) in new and (
                _PROTECTED.get(card.scope, "") or (INSTALLED if card.place in installed else "")
            )
            if taken:
                return f"It takes the name of {card.full_name}. {taken}"
        return ""

    def _compared(self, results: Sequence[Change], operations: Sequence[Mapping[str, Any]]) -> tuple[Change, ...]:
        """Return the results; those about new skills have similar skills."""
        return tuple(
            change._replace(
                similar=self.similar(change.skill, operation.get("description") or "", operation.get("body") or "")
            )
            if change.created
            else change
            for change, operation in zip(results, operations, strict=True)
        )

    def similar(self, name: str, description: str, body: str) -> tuple[Similar, ...]:
        """Return the other skills that are for nearly the same job as a new one."""
        from whet.routing.duplicates import resembling
        from whet.routing.texts import Texts

        found = resembling(self.workspace, name, Texts(name, description, body))
        return tuple(Similar(item.name, round(item.score, 2), tuple(item.shared)) for item in found)

    def _unread(self, batch: _Batch, by: Provenance, viewed: Callable[[str, str], bool] | None) -> list[str]:
        """Return warnings about skills that were changed without being viewed; for background work, raise."""
        if viewed is None and by.origin == "foreground":
            return []
        blind = [
            target.name
            for target in batch.targets()
            for path, tree in [(target.source, target.original) if target.source else (target.path, target.before)]
            if tree is not None and not (viewed and viewed(path, digest(tree)))
        ]
        if blind and by.origin != "foreground":
            message = f"View {', '.join(blind)} in its current state before you change it."
            raise RefusedError("not-viewed", message, hint="Call skill_view(name) first, then change it.")
        return [f"{name} was changed without being viewed first." for name in blind]

    def target(self, card: Card) -> Target:
        """Return a skill of the library as a target; a read-only one gets a copy among the user's skills."""
        path = card.place
        if card.kind == "command":
            hint = "Move it to NAME/SKILL.md first."
            raise UsageError("single-file", f"{card.full_name} is a command file.", hint=hint, path=card.path)
        tree = read_tree(path)
        if tree is None:
            raise NotFoundError("skill-gone", f"{card.path} no longer exists.", hint="List the skills again.")
        cause = _PROTECTED.get(card.scope, "")
        if cause:
            name = slug(card.name) if path == card.root.real else os.path.basename(path)
            own = os.path.realpath(os.path.join(self.workspace.new_root(), name))
            if os.path.lexists(own):
                message = f"{card.name} cannot be copied to be changed: {own} already exists."
                raise ConflictError("skill-exists", message, hint="Change that one, by its path.", path=own)
            return Target(card.name, own, None, tree, cause=cause, source=path, original=tree, called=card.full_name)
        fixed = ""
        if os.path.islink(card.location):
            fixed = f"{card.location} is a link to {path}."
        elif path == card.root.real:
            fixed = f"{path} is a root; it may hold other skills."
            if any(name.endswith("/SKILL.md") for name in tree):
                hint = "Move the skill to its own directory first."
                raise UsageError("root-skill", f"{path} holds other skills.", hint=hint, path=path)
        framed = drafts.frame(tree, card.name) if card.kind == "flat" else tree
        return Target(card.name, path, tree, framed, fixed=fixed)

    def rewrite(self, card: Card, old: bytes, new: str, by: Provenance = USER) -> Changes:
        """Replace the main file of a skill, which holds `old`, with an equivalent text. The version stays.

        Raises ConflictError `skill-changed` if it has changed.
        """
        batch = _Batch(self, _anyone, several=False, triggers=False, improve=True, here=False)
        return self._write(batch, [batch.rewrite(card, old, new)], [{}], by)

    def write_triggers(self, card: Card, by: Provenance = USER) -> tuple[TriggerSet, str]:
        """Write a generated trigger set into a skill, replacing an earlier one, and return its path. The version stays.

        `skill_manage` has no such operation: a model must not write its own measure. Raises RefusedError, UsageError,
        ConflictError for a file that a person made their own.
        """
        from whet.routing.evals.generated import FILE, generate, is_generated

        target = self.target(card)
        if is_flat_place(target.path):
            hint = "Move it to NAME/SKILL.md first."
            raise UsageError("single-file", f"{card.name} is a single file.", hint=hint, path=card.path)
        if target.cause:
            message = f"{card.name} cannot get another file: {target.cause}"
            raise RefusedError("protected", message, hint="Use `--dry-run` to see the messages.", path=card.path)
        tree, path = target.tree or {}, os.path.join(target.path, *FILE.split("/"))
        drafts.check_free(tree, FILE)
        if FILE in tree and not is_generated(tree[FILE].data):
            message = f"{path} does not say that it was generated, so it is left as it is."
            raise ConflictError("not-generated", message, hint="Rename or remove it first.", path=path)
        made = generate(read_skill(main_of(tree).document, fallback_name=card.name))
        change = TreeChange(
            *("write-file", target.name, target.path, {**tree, FILE: Item(made.text().encode())}),
            *(digest(target.before or {}), target.before, version_of(main_of(tree).document)),
        )
        if change.after != tree:
            self.committer.commit([change], by)
        return made, path

    def place(self, name: str, category: str, *, here: bool = False) -> str:
        """Return the directory for a new skill; with `here`, in the project.

        Raises if it would be inside another skill, where it would not be found.
        """
        path = self.workspace.new_root(project=here)
        if category:
            check_category(category)
            parts = category.split("/")
            if len(parts) >= self.workspace.config().settings.depth:
                message = f"The category {category!r} is too deep; Whet would not find a skill in it."
                raise UsageError("bad-category", message, hint="Choose a shorter category.")
            for part in parts:
                path = os.path.join(path, part)
                if part in SKIPPED or any(os.path.lexists(os.path.join(path, main)) for main in MAIN_FILES):
                    message = f"A skill cannot be in {path}."
                    raise UsageError("bad-category", message, hint="Choose another category.", path=path)
        return os.path.realpath(os.path.join(path, slug(name)))


def _anyone(_: Card) -> None:
    """Allow everything: a person may change any skill."""


class _Batch:
    """The skills of a batch of operations, with their results."""

    def __init__(
        self,
        editor: SkillEditor,
        allowed: Callable[[Card], None],
        *,
        several: bool,
        triggers: bool,
        improve: bool,
        here: bool,
    ) -> None:
        self._editor, self._allowed, self._several, self._triggers = editor, allowed, several, triggers
        self._improve, self._here = improve, here
        self._targets: dict[str, Target] = {}
        self._names: dict[str, str] = {}
        self.warnings: list[str] = []
        self.remarks: dict[str, tuple[str, ...]] = {}

    def targets(self) -> list[Target]:
        return [target for target in self._targets.values() if target.action]

    def cause(self) -> str:
        return next((target.cause for target in self.targets() if target.cause), "")

    def bases(self) -> dict[str, Tree | None]:
        return {target.path: target.before for target in self._targets.values()}

    def originals(self) -> dict[str, Tree | None]:
        return {target.path: target.original for target in self._targets.values()}

    def changes(self) -> list[TreeChange]:
        return [
            TreeChange(
                target.action,
                target.name,
                target.path,
                target.tree,
                "" if target.before is None else digest(target.before),
                target.before,
                target.version,
            )
            for target in self.targets()
            if target.tree != target.before and not (target.source and target.tree == target.original)
        ]

    def apply(self, operation: Mapping[str, Any]) -> Change:
        """Apply one operation; return its change."""
        fields = read_operation(operation)
        action, name = str(fields.pop("action")), fields.pop("name")
        return _ACTIONS[action](self, name, **fields)._replace(action=action)

    def _find(self, name: str) -> Target:
        path = self._names.get(key(name))
        if path is not None:
            target = self._targets[path]
            if target.tree is None:
                message = f"An earlier operation deletes or renames {name!r}."
                raise NotFoundError("skill-not-found", message, hint="Check the order of the operations.")
            return target
        card, _ = self._editor.workspace.find(name)
        return self._take(self._target(card), name)

    def _target(self, card: Card) -> Target:
        self._allowed(card)
        return self._editor.target(card)

    def _take(self, target: Target, *names: str) -> Target:
        self._targets.setdefault(target.path, target)
        for name in (target.name, *names):
            self._names[key(name)] = target.path
        return self._targets[target.path]

    def _become(self, target: Target, draft: Draft, action: str) -> Change:
        first = action if target.tree is None else target.action or action
        self._targets[target.path] = target._replace(tree=draft.tree, action=first, version=draft.version)
        if self._several:
            known = (*self.remarks.get(target.path, ()), *draft.warnings)
            self.remarks[target.path] = drafts.remarks(target.before, draft.tree, known)
            draft = drafts.without_remarks(draft, target.tree, numbered=bool(target.action))
        self.warnings.extend(draft.warnings)
        return Change(action, target.name, target.path, draft.version, digest(draft.tree))

    def create(
        self, name: str, *, description: str = "", body: str = "", category: str = "", version: str = ""
    ) -> Change:
        called = check_name(name)
        target = self._same(name, called)
        if target is None:
            draft = drafts.create(name, description=description, body=body)
            if self._triggers:
                draft = draft._replace(tree=drafts.with_triggers(draft.tree))
            if version:
                self.warnings.append(f"A new skill starts at version {draft.version}.")
            path = self._editor.place(name, category, here=self._here)
            hint = "Choose another name, or change that skill by its own name."
            target = self._take(Target(called, self._free(path, hint), None, None))
            return self._become(target, draft, "create")._replace(created=True)
        if not self._improve:
            hint = f"Choose another name. `whet edit {target.name}` changes this skill."
            raise ConflictError("skill-exists", f"{target.path} already exists.", hint=hint, path=target.path)
        draft = drafts.improve(target.tree or {}, description=description, body=body, version=version)
        return self._become(target, draft, "create")._replace(created=False)

    def _same(self, name: str, called: str) -> Target | None:
        """Return the skill that already has this name, in any spelling."""
        for spelling in dict.fromkeys((name, called)):
            try:
                return self._find(spelling)
            except (NotFoundError, RefusedError):  # an untrusted repository takes no names
                continue
        found = [card for card in self._editor.workspace.snapshot().catalogue.cards if slug(card.name) == called]
        return self._find(found[0].path) if found and key(found[0].name) not in self._names else None

    def _free(self, path: str, hint: str) -> str:
        """Return the path if it is free after the operations so far. Raises ConflictError."""
        taken = self._targets[path].tree is not None if path in self._targets else os.path.lexists(path)
        if taken:
            raise ConflictError("skill-exists", f"{path} already exists.", hint=hint, path=path)
        return path

    def edit(self, name: str, *, body: str, version: str = "") -> Change:
        target = self._find(name)
        return self._become(target, drafts.edit(target.tree or {}, body, version=version), "edit")

    def rewrite(self, card: Card, old: bytes, new: str) -> Change:
        target = self._target(card)
        tree = (target.original if target.source else target.before) or {}
        path = main_of(tree).path
        if tree[path].data != old:
            message = f"{target.name} has just been changed by another process."
            raise ConflictError("skill-changed", message, hint="Try again.", path=target.path)
        tree = with_text(tree, path, new)
        document = main_of(tree).document
        name = read_skill(document, fallback_name=target.name).name
        target = self._take(target._replace(name=name))
        return self._become(target, Draft(tree, version_of(document)), "edit")

    def patch(self, name: str, *, find: str, replace: str, **how: Any) -> Change:
        target = self._find(name)
        how["path"] = how.pop("file_path", "")
        how["every"] = how.pop("all", False)
        draft = drafts.patch(target.tree or {}, find, replace, **how)
        return self._become(target, draft, "patch")._replace(replacements=draft.replacements)

    def write_file(
        self, name: str, *, file_path: str, content: str | bytes, executable: bool | None = None, version: str = ""
    ) -> Change:
        target = self._find(name)
        if is_flat_place(target.path):
            hint = "Move it to NAME/SKILL.md first."
            raise UsageError("single-file", f"{target.name} is a single file.", hint=hint, path=target.path)
        data = content.encode() if isinstance(content, str) else content
        draft = drafts.write_file(target.tree or {}, file_path, data, executable=executable, version=version)
        return self._become(target, draft, "write-file")._replace(file=file_path)

    def remove_file(self, name: str, *, file_path: str, version: str = "") -> Change:
        target = self._find(name)
        draft = drafts.remove_file(target.tree or {}, file_path, version=version)
        return self._become(target, draft, "remove-file")._replace(file=file_path)

    def delete(self, name: str) -> Change:
        target = self._find(name)
        target.check_removal()
        self._leave(target, "delete")
        return Change("delete", target.name, target.path, "", "")

    def _leave(self, target: Target, action: str) -> None:
        """Mark the path as empty."""
        target.check_fixed("removed" if action == "delete" else "renamed")
        self._targets[target.path] = target._replace(tree=None, action=action)

    def rename(self, name: str, *, new_name: str) -> Change:
        target = self._find(name)
        draft = drafts.rename(target.tree or {}, new_name)
        ending = FLAT if is_flat_place(target.path) else ""
        path = os.path.join(os.path.dirname(target.path), slug(new_name) + ending)
        self._free(path, "Choose another name.")
        if target.cause:
            raise RefusedError(
                "protected", f"{target.name} cannot be renamed: {target.cause}", hint="Create a new one."
            )
        self._targets.pop(target.path)  # the history has the new path directly after the old one
        self._leave(target, "rename")
        new = self._take(Target(slug(new_name), path, None, None), new_name)
        return self._become(new, draft, "rename")._replace(renamed_from=target.name)

    def _gone(self, name: str) -> TreeChange:
        """Return the deleted skill; if the history has lost it, the content of that name that was stored last."""
        journal = self._editor.journal
        try:
            return find_deleted(journal, name)
        except NotFoundError:
            lost = find_lost(journal) if journal.has_loss() else []
            found = [content for content in lost if key(content.name) == key(name)]
            if not found:
                raise
            path = self._editor.place(found[-1].name, "")
            return TreeChange("restore", found[-1].name, path, journal.content(found[-1].digest), "")

    def restore(self, name: str) -> Change:
        change = self._gone(name)
        self._free(change.path, "Rename or remove that one first.")
        tree = dict(change.after or {})
        target = self._take(Target(change.skill, change.path, None, None), name)
        self._targets[change.path] = target._replace(tree=tree, action="restore")
        version = version_of(main_of(tree).document)
        return Change("restore", change.skill, change.path, version, digest(tree))


_ACTIONS: dict[str, Callable[..., Change]] = {
    "create": _Batch.create,
    "edit": _Batch.edit,
    "patch": _Batch.patch,
    "delete": _Batch.delete,
    "write_file": _Batch.write_file,
    "remove_file": _Batch.remove_file,
    "rename": _Batch.rename,
    "restore": _Batch.restore,
}
