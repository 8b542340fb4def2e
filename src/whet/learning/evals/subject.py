"""The skill that is tried, as a value: what a model gets of it, and the files it may look at.

A subject is a tree of files, wherever it comes from: the disk, the history, or a change that nobody has written yet.
What is there for judging it (`evals/`, `tests/`) is kept from the model that is judged.
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
    """Where it lies, or would lie."""
    tree: Mapping[str, Item]

    def skill(self) -> Skill:
        """What it says of itself."""
        return read_skill(main_of(self.tree).document, fallback_name=os.path.basename(self.directory))

    def body(self, directory: str = "") -> str:
        """The instructions as a model reads them that sees the skill in `directory`. Inline commands are not run."""
        skill = self.skill()
        return render(skill.body, Variables(directory or self.directory, self.name), names=skill.arguments).text

    def visible(self) -> list[str]:
        """The files that a model may look at."""
        main = main_of(self.tree).path
        return [
            path
            for path, item in sorted(self.tree.items())
            if path != main and not item.link and path.split("/")[0] not in FOLDERS and path != find_file(self.tree)
        ]

    def shown(self) -> dict[str, Item]:
        """The package without what is there for judging it."""
        return {path: self.tree[path] for path in (main_of(self.tree).path, *self.visible())}

    def files_for(self, item: Eval) -> dict[str, bytes]:
        """The files that belong to a task. Raises NotFoundError `eval-file-missing`."""
        found: dict[str, bytes] = {}
        for path in item.files:
            inside = next((name for name in (path, f"evals/{path}", f"evals/files/{path}") if name in self.tree), "")
            if not inside or self.tree[inside].link:
                message = f"The eval {item.id} of {self.name} needs {path}, which is not in the package."
                raise NotFoundError("eval-file-missing", message, hint="Add the file, or fix `files`.", path=path)
            found[path.removeprefix("evals/files/").removeprefix("evals/")] = self.tree[inside].data
        return found

    def evals(self) -> Evals:
        """The output evals of the package. Raises NotFoundError `no-output-evals`, InvalidError `not-output-evals`."""
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
    """The skill of that name as it is on disk now. Raises NotFoundError, AmbiguousError, UsageError."""
    from whet.library.standalone import read_card

    card, _ = workspace.find(name)
    if card.kind != "skill":
        message = f"{card.full_name} is a single file, which has no evals and no tests."
        raise UsageError("not-a-package", message, hint="Move it to NAME/SKILL.md.")
    return Subject(card.full_name, card.directory, read_card(card).tree)


class SkillEvals(NamedTuple):
    """What a skill has to be measured by."""

    name: str
    path: str
    triggers: bool
    """Messages that it is for, or is not for."""
    tasks: bool
    """Tasks with expected results."""
    tests: bool

    def to_json(self) -> Json:
        """It as every surface answers it."""
        return self._asdict()


def list_evals(cards: Iterable[Card]) -> tuple[SkillEvals, ...]:
    """What each skill has to be measured by; it looks at the names of files only."""
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
