"""Commands that take something back: what they undo, and what is left of them without that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.shell import programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.facts.acts import Act

_FILES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_FROM_GIT = re.compile(r"\A\s*git (?:-C \S+ )?(?:checkout|restore)\s+(?!-b\b|--staged|-B\b)(?P<rest>[^\n]{1,400})\Z")
_ALL = re.compile(r"\A\s*git (?:-C \S+ )?(?:(?:checkout|restore)(?: --)? \.|reset --hard)(?:\s|\Z)")
_BACK = frozenset(("undo", "rollback", "revert"))
_NAME = re.compile(r"[\w./@:-]*[./][\w./@:-]+")


def parts(command: str) -> list[str]:
    """The commands of a list that are joined by `&&` or `;`; the whole where that cannot be told for sure."""
    if "\n" in command or "<<" in command or "$(" in command:
        return [command]
    found = re.split(r"\s*(?:&&|;)\s*", command)
    whole = all(part.count('"') % 2 == 0 and part.count("'") % 2 == 0 for part in found)
    return [part for part in found if part] if whole else [command]


def without_parts(act: Act, left: Sequence[str]) -> Act:
    """A call whose command is what is left of it."""
    return act._replace(given={**act.given, "command": " && ".join(left)})


def reversed_by(command: str, earlier: Sequence[Act]) -> set[int]:
    """The numbers of the earlier calls that a command undoes; none when it undoes nothing of this session."""
    if _ALL.match(command):
        edits: set[int] = set()
        for act in earlier:
            if act.tool in _FILES:
                edits.add(act.at)
            elif any(ran.label == "git commit" for ran in programs(act.text("command"))):
                edits.clear()
        return edits
    if found := _FROM_GIT.match(command):
        files = {word.strip("\"'").removeprefix("./") for word in found["rest"].split() if "." in word}
        return {act.at for act in earlier if any(_touches(act, file) for file in files if len(file) > 1)}
    labels = [ran.label.split() for ran in programs(command) if ran.label]
    if len(labels) != 1 or not _BACK & set(labels[0][1:]):
        return set()
    program, mine = labels[0][0], set(_NAME.findall(command))
    for act in reversed(earlier):
        theirs = [ran.label for ran in programs(act.text("command")) if not ran.looks]
        if any(label.partition(" ")[0] == program for label in theirs):
            common = mine & set(_NAME.findall(act.text("command")))
            return {act.at} if common or (program == "git" and "git commit" in theirs) else set()
    return set()


def _touches(act: Act, file: str) -> bool:
    """Did a call change a file?"""
    if act.tool in _FILES:
        return f"/{act.text('path')}".replace("\\", "/").endswith(f"/{file}")
    return re.search(rf"(?<![\w.-]){re.escape(file)}(?![\w-])", act.text("command")) is not None
