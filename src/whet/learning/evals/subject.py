"""The skill that is tried, as a value: what a model gets of it, and the files it may look at.

A subject is a tree of files, wherever it comes from: the disk, the history, or a change that nobody has written yet.
What is there for judging it (`evals/`, `tests/`) is kept from the model that is judged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.main_file import main_of
from whet.errors import NotFoundError, UsageError
from whet.learning.evals.formats import FOLDERS, find_file, read_evals
from whet.prompt.rendering import Variables, render
from whet.skill.dialects import read_skill
from whet.skill.paths import check as check_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.evals.formats import Eval, Evals
    from whet.library.workspace import Workspace
    from whet.skill.model import Skill
    from whet.skill.tree import Item

PAGE = 40_000
"""Characters of a file that are shown at once."""


class Subject(NamedTuple):
    """One version of one skill."""

    name: str
    directory: str
    """Where it lies, or would lie."""
    tree: Mapping[str, Item]

    def skill(self) -> Skill:
        """What it says of itself."""
        return read_skill(main_of(self.tree).document, fallback_name=os.path.basename(self.directory))

    def body(self) -> str:
        """The instructions as a model reads them. Inline commands are not run."""
        skill = self.skill()
        return render(skill.body, Variables(self.directory, self.name), names=skill.arguments).text

    def visible(self) -> list[str]:
        """The files that a model may look at."""
        main = main_of(self.tree).path
        return [
            path
            for path, item in sorted(self.tree.items())
            if path != main and not item.link and path.split("/")[0] not in FOLDERS and path != find_file(self.tree)
        ]

    def view(self, path: str) -> str:
        """A file for the model: its text, or why it gets none. Never raises: the model goes on from it."""
        if path not in self.visible():
            known = ", ".join(self.visible()[:50])
            return f"There is no file {path[:200]!r}. Files: {known or 'none'}."
        return shown(self.tree[path].data)

    def files_for(self, item: Eval) -> dict[str, bytes]:
        """The files that belong to a task. Raises NotFoundError `eval-file-missing`."""
        found = {path: text.encode() for path, text in item.given}
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


def shown(data: bytes) -> str:
    """A file as a model gets it."""
    if b"\0" in data[:8192]:
        return f"A binary file of {len(data):,} bytes."
    text = data.decode("utf-8", "replace")
    return text if len(text) <= PAGE else f"{text[:PAGE]}\n[{len(text) - PAGE:,} more characters]"


def subject_at(workspace: Workspace, name: str) -> Subject:
    """The skill of that name as it is on disk now. Raises NotFoundError, AmbiguousError, UsageError."""
    from whet.library.standalone import read_card

    card, _ = workspace.find(name)
    if card.kind != "skill":
        message = f"{card.full_name} is a single file, which has no evals and no tests."
        raise UsageError("not-a-package", message, hint="Move it to NAME/SKILL.md.")
    return Subject(card.full_name, card.directory, read_card(card).tree)


def written_path(path: object) -> str:
    """A path that a model wants to write to, checked. Raises UsageError."""
    return check_path(path.removeprefix("./") if isinstance(path, str) else "")
