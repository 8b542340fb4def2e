"""The measured skill as a value: the text for a model, and the files it may read.

A subject is a tree of files from the disk, the history, or an unwritten change. The judged model does not see the files
for judging it (`evals/`, `tests/`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.main_file import main_of
from whet.errors import NotFoundError, UsageError
from whet.learning.evals.formats import FOLDERS, find_file, read_evals
from whet.prompt.rendering import Variables, render
from whet.routing.evals.formats import find_files
from whet.skill.dialects import read_skill

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.evals.formats import Eval, Evals
    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.skill.model import Skill
    from whet.skill.tree import Item
    from whet.values import Json


class Subject(NamedTuple):
    """One version of one skill."""

    name: str
    directory: str
    """Its directory, existing or not."""
    tree: Mapping[str, Item]

    def skill(self) -> Skill:
        """Parse the skill."""
        return read_skill(main_of(self.tree).document, fallback_name=os.path.basename(self.directory))

    def body(self, directory: str = "") -> str:
        """Return the instructions for a model that sees the skill in `directory`. Inline commands are not run."""
        skill = self.skill()
        return render(skill.body, Variables(directory or self.directory, self.name), names=skill.arguments).text

    def visible(self) -> list[str]:
        """Return the files that a model may read."""
        main = main_of(self.tree).path
        return [
            path
            for path, item in sorted(self.tree.items())
            if path != main and not item.link and path.split("/")[0] not in FOLDERS and path != find_file(self.tree)
        ]

    def shown(self) -> dict[str, Item]:
        """Return the package without the files for judging it."""
        return {path: self.tree[path] for path in (main_of(self.tree).path, *self.visible())}

    def files_for(self, item: Eval) -> dict[str, bytes]:
        """Return the files of a task. Raises NotFoundError `eval-file-missing`."""
        found: dict[str, bytes] = {}
        for path in item.files:
            inside = next((name for name in (path, f"evals/{path}", f"evals/files/{path}") if name in self.tree), "")
            if not inside or self.tree[inside].link:
                message = f"The eval {item.id} of {self.name} needs {path}, which is not in the package."
                raise NotFoundError("eval-file-missing", message, hint="Add the file, or fix `files`.", path=path)
            found[path.removeprefix("evals/files/").removeprefix("evals/")] = self.tree[inside].data
        return found

    def evals(self) -> Evals:
        """Return the output evals of the package. Raises NotFoundError `no-output-evals` or InvalidError."""
        name = find_file(self.tree)
        if not name:
            hint = "Write evals/evals.json in the skill: {evals: [{id, prompt, expectations}]}."
            raise NotFoundError("no-output-evals", f"{self.name} has no output evals.", hint=hint)
        found = read_evals(self.tree[name].data, os.path.join(self.directory, *name.split("/")))
        if not found.evals:
            hint = "Add expectations; `whet learn eval triggers` is for messages that should trigger it."
            raise NotFoundError("no-output-evals", f"{self.name} has trigger evals only.", hint=hint)
        return found


def subject_at(workspace: Workspace, name: str) -> Subject:
    """Return the skill of that name as it is on disk now. Raises NotFoundError, AmbiguousError, UsageError."""
    from whet.library.standalone import read_card

    card, _ = workspace.find(name)
    if card.kind != "skill":
        message = f"{card.full_name} is a single file, which has no evals and no tests."
        raise UsageError("not-a-package", message, hint="Move it to NAME/SKILL.md.")
    return Subject(card.full_name, card.directory, read_card(card).tree)


class SkillEvals(NamedTuple):
    """The evals and tests that a skill has."""

    name: str
    path: str
    triggers: bool
    """Whether it has messages that it is for, or is not for."""
    tasks: bool
    """Whether it has tasks with expected results."""
    tests: bool

    def to_json(self) -> Json:
        """Return it as JSON."""
        return self._asdict()


def list_evals(cards: Iterable[Card]) -> tuple[SkillEvals, ...]:
    """Return the evals and tests of each skill; only file names are read."""
    found = []
    for card in cards:
        names: list[str] = []
        with suppress(OSError):
            folders = FOLDERS if card.kind == "skill" else ()
            for folder in set(os.listdir(card.directory)).intersection(folders):
                names += (f"{folder}/{name}" for name in os.listdir(os.path.join(card.directory, folder)))
        tasks, tests = find_file(names), any(name.startswith(("tests/", "test/")) for name in names)
        triggers = any(name != tasks for name in find_files(names))
        found.append(SkillEvals(card.full_name, card.location, triggers, bool(tasks), tests))
    return tuple(found)
