"""Automatic updates: which updates of a plan are safe, when the next check is due, and the news about it.

An update is safe if it comes from the same source, changes a skill without edits, has a clean verdict, can do nothing
new and is old enough. All other updates wait for the user.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.journal import short_run
from whet.sources.install.installer import DOUBTS
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from whet.sources.install.plan import Applied, Plan, Step
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
NOT_AUTOMATIC = "not-automatic"
INTERVAL = 20 * 3600 * 10**9
"""Nanoseconds between two checks: about once a day, and not always a little later."""


class UpdatedSkill(NamedTuple):
    """A skill that was updated."""

    name: str
    before: str
    after: str
    """Versions, or the starts of revisions."""


class LeftSkill(NamedTuple):
    """A skill with a newer version that waits for the user."""

    name: str
    reason: str


class AutoUpdate(NamedTuple):
    """The result of an automatic update."""

    mode: str
    """Value of the setting `auto_update`."""
    updated: tuple[UpdatedSkill, ...] = ()
    left: tuple[LeftSkill, ...] = ()
    run: str = ""
    """The run to pass to `undo`; "" if nothing was changed."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)

    def news(self) -> str:
        """Return the message for the start of the next session, or "".

        A model reads it, and strangers chose the words: only plain names and numbers are included.
        """
        lines = []
        if self.updated:
            changes = (" ".join(map(_plain, (skill.name, skill.before, "to", skill.after))) for skill in self.updated)
            skills = ", ".join(changes)
            lines.append(
                f"Whet updated skills automatically ({skills}); `whet undo {short_run(self.run)}` reverses it."
            )
        if self.left:
            names = ", ".join(_plain(skill.name) for skill in self.left)
            lines.append(f"Updates wait for you ({names}): `whet update --dry-run` shows them.")
        return "\n".join(lines)


def _plain(word: str) -> str:
    return word if _WORD.fullmatch(word) else "…"


def restrict_to_safe(plan: Plan) -> Plan:
    """Return the plan with only the safe updates ready."""
    steps = (
        step._replace(state="held", code=NOT_AUTOMATIC, reason=reason)
        if step.state == "ready" and (reason := _needs_person(step))
        else step
        for step in plan.steps
    )
    return plan._replace(steps=tuple(steps))


def _needs_person(step: Step) -> str:
    """Return why the user must review an update, or ""."""
    if step.action != "update" or step.judgement is None:
        return "You edited it." if step.action == "merge" else "Only the lock changes."
    decision = step.judgement.decision
    if decision.action != "allow" or decision.verdict != "safe":
        return f"The verdict is {decision.verdict}."
    if step.powers:
        return f"It can do more than before: {', '.join(step.powers)}."
    doubt = next((note for note in step.notes if note.code in (*DOUBTS, "moved-in-source")), None)
    return doubt.message if doubt else ""


def summarize(applied: Applied, run: str) -> AutoUpdate:
    """Return the updated skills of a restricted plan, and those that wait for the user."""
    steps = applied.plan.steps
    updated = tuple(_describe(step) for step in applied.plan.ready)
    waiting = (step for step in steps if step.state in ("ask", "blocked", "conflict") or step.code == NOT_AUTOMATIC)
    left = tuple(LeftSkill(step.name, step.reason) for step in waiting if step.action != "keep")
    return AutoUpdate("safe", updated, left, run if updated else "")


def _describe(step: Step) -> UpdatedSkill:
    old, new = step.previous, step.entry
    before, after = (entry.version or entry.revision[:10] if entry else "" for entry in (old, new))
    if old and new and before == after:
        before, after = old.revision[:10], new.revision[:10]
    return UpdatedSkill(step.name, before, after)


class UpdateMemory:
    """The time of the last check and its unread news."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def is_due(self) -> bool:
        """Return whether the next check is due. A last check in the future is ignored."""
        rows = self._state.read("SELECT max(checked) FROM updates")
        last = rows[0][0] if rows and rows[0][0] is not None else 0
        return not 0 <= self._clock() - last < INTERVAL

    def keep(self, news: str) -> None:
        """Record the time of a check and its news."""
        with self._state.write() as connection:
            old = [text for (text,) in connection.execute("SELECT news FROM updates WHERE news <> ''").fetchall()]
            connection.execute("DELETE FROM updates")
            unread = "\n".join(dict.fromkeys((*old, news) if news else old))
            connection.execute("INSERT INTO updates VALUES (?, ?)", (self._clock(), unread))

    def take_news(self) -> str:
        """Return the unread news and mark it as read."""
        rows = self._state.read("SELECT news FROM updates WHERE news <> ''")
        if not rows:
            return ""
        with self._state.write() as connection:
            connection.execute("UPDATE updates SET news = ''")
        return "\n".join(str(text) for (text,) in rows)
