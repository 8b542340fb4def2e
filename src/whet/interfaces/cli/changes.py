"""Shared parts of the commands that change skills: their options, the change itself and its output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.authoring.journal import short_run
from whet.authoring.writer import Provenance
from whet.interfaces.cli.arguments import reason_option
from whet.interfaces.cli.rendering import fold_diff
from whet.notes import SWITCHES, read_replacement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.authoring.journal import Entry
    from whet.authoring.results import Change, Changes, Reversal
    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser


def hint_clients(answer: Answer, context: Context, names: Sequence[str], *, draft: bool = False) -> Answer:
    """Return the answer about new skills, with a hint if a client used here does not find them.

    A `draft` is for no client: the hint names clients that load it anyway.
    """
    from whet.library.clients import clients_without, present_clients

    library = context.library
    if library.workspace.explicit is not None:
        return answer
    root = os.path.realpath(library.workspace.new_root())
    place = library.workspace.place
    titles = [client.title for client in clients_without(root, place, names)]
    if draft:
        titles = [client.title for client in present_clients(place) if client.title not in titles]
    if not titles:
        return answer
    *first, last = titles
    who, several = f"{', '.join(first)} and {last}" if first else last, bool(first)
    if draft:
        return answer.hint(f"{who} {'load' if several else 'loads'} drafts, too; `--dir DIR` writes one elsewhere.")
    return answer.hint(f"{who} {'do' if several else 'does'} not look there; `whet sync` links your skills.")


def change_options(parser: Parser, *, version: bool = False) -> None:
    """Add the options of every change; `--version` already means the version of Whet."""
    if version:
        text = "The version to write: major, minor, patch, keep, or a number (default: the next one)."
        parser.option("--set-version", metavar="V", default="", text=text)
    reason_option(parser)
    parser.option("--stage", text="Only propose the change; `whet proposals approve` applies it.")


def change(
    context: Context,
    options: Namespace,
    action: str,
    *,
    viewed: Callable[[str, str], bool] | None = None,
    triggers: bool = False,
    improve: bool = True,
    here: bool = False,
    **fields: Any,
) -> Changes:
    """Do one operation on the skill in the options; fields that are None are left out."""
    operation = {"action": action, "name": options.name, **fields}
    if version := getattr(options, "set_version", ""):
        operation["version"] = version
    given = {name: value for name, value in operation.items() if value is not None}
    by = Provenance("user", reason=options.reason)
    how = {"stage": options.stage, "viewed": viewed, "triggers": triggers, "improve": improve, "here": here}
    return context.library.edit.apply([given], by=by, **how)


def render_change(changes: Changes, screen: Screen, done: str, *, path: bool = True) -> None:
    """Print the path of the skill as data and, as messages, what was done or waits for approval, and notes."""
    if changes.proposal is not None:
        number = changes.proposal
        screen.say(f"Proposal {number} is waiting. {changes.reason} `whet proposals approve {number}` applies it.")
    else:
        if path:
            screen.line(screen.place(changes.changes[0].path))
        if changes.entries and done:
            screen.say(done)
    screen.say(*changes.notes)


def telling(tell: Callable[[Change], str], *, path: bool = True) -> Callable[[Changes, Screen, Namespace], None]:
    """Return a function that renders a change of one skill; `tell` describes the change."""
    return lambda changes, screen, _: render_change(changes, screen, tell(changes.one()), path=path)


def name_version(change: Change) -> str:
    """Return the name of a skill and its current version."""
    return f"{change.skill}, version {change.version}" if change.version else change.skill


def tell_edit(done: str, change: Change) -> str:
    """Describe an edit and the version that it wrote: every edit raises the version in SKILL.md."""
    return f"{done}; SKILL.md now says version {change.version}." if change.version else f"{done}."


def render_return(reversal: Reversal, screen: Screen, _options: Namespace) -> None:
    """Print the paths of restored skills as data; a skill that is removed again is only mentioned."""
    if reversal.diff is not None:
        _render_preview(reversal, screen)
        return
    word = "Redid" if reversal.again else "Undid"
    about = {_place(entry): entry for entry in reversal.again or reversal.undone}
    for entry in reversal.entries:
        switched = entry.action in SWITCHES
        if entry.after and not switched:
            screen.line(screen.place(entry.path))
        before = about.get(_place(entry))
        state = ("no longer has it" if entry.before else "is back") if entry.after else "is gone"
        if reversal.again and entry.before and entry.after:
            state = "has the change again"
        if reversal.state:
            state = f"is as it was in state {reversal.state}"
        state = f"{entry.skill} {state}."
        if switched:
            state = f"{entry.skill} {_describe_decision(entry)}."
        elif entry.before == entry.after:
            article = "the" if before else "The"
            state = f"{article} files of {entry.skill} did not change; its entry in the lock is as it was."
        what = f"{word} change {before.id} ({before.what}): " if before else ""
        screen.say(f"{what}{state}")
    screen.say(*reversal.notes)
    if reversal.undone and not (reversal.again or reversal.state):
        screen.hint("`whet redo` makes the change again.")
        return
    last = reversal.entries[-1]
    screen.hint(f"`whet undo {last.id if len(reversal.entries) == 1 else short_run(last.run)}` undoes this.")


def _describe_decision(entry: Entry) -> str:
    """Describe the state of a skill or a project after a decision was reversed."""
    if entry.action in ("enable", "disable"):
        return f"is {entry.action}d again{f' for {entry.origin}' if entry.origin else ''}"
    now = read_replacement(entry.origin)[1]
    used = {"none": "offers every skill", "default": "uses no bundle of its own"}.get(now, f"uses the bundle {now}")
    return {
        "pin": "is pinned again",
        "unpin": "is no longer pinned",
        "trust": "is trusted again",
        "untrust": "is no longer trusted",
        "list-as": f"is listed as {now} again",
        "use": f"{used} again",
    }[entry.action]


def _place(entry: Entry) -> tuple[str, str]:
    """Return a key that entries about the same thing share: the directory and, for a disabled skill, the surface."""
    return os.path.realpath(entry.path), entry.origin if entry.action in ("enable", "disable") else ""


def _render_preview(reversal: Reversal, screen: Screen) -> None:
    """Print the difference that going back would make, as data."""
    folded = fold_diff(screen, reversal.diff or "")
    if reversal.state:
        screen.say(f"Would return {reversal.skill} to state {reversal.state}. Nothing was changed.")
    word = "redo" if reversal.again else "undo"
    for entry in reversal.again or reversal.undone:
        screen.say(f"Would {word} change {entry.id} ({entry.what}): {entry.skill}.")
    if folded:
        screen.hint("-v shows every line.")
