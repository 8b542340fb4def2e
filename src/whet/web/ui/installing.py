"""Install: search the sources, see the plan with its scan, then install; and update installed skills."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

from whet.errors import ConflictError, UsageError
from whet.sources.merge import CLASHES
from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.sources.install.plan import Applied, Plan
    from whet.sources.merge import Prefer
    from whet.web.ui.requests import Asked


def show_install(asked: Asked) -> Page:
    """Show the offers of the sources for a query, or the plan for a source."""
    query, source = asked.text("q"), asked.text("source")
    answer: dict[str, object] = {
        "q": query,
        "source": source,
        "skills": asked.text("skills"),
        "found": None,
        "plan": None,
        "seen": "",
    }
    if source:
        plan = _plan(asked)
        answer |= {"plan": plan.to_json(), "seen": _sum_up(plan)}
    elif query.strip():
        answer["found"] = asked.library.sources.search(query).to_json()
    return Page("install.html", answer)


def _plan(asked: Asked) -> Plan:
    chosen = [name for name in asked.text("skills").split() if name]
    return asked.library.sources.plan_install(asked.text("source"), skills=chosen, every=not chosen)


def _sum_up(plan: Plan) -> str:
    """Return a checksum of what a plan shows."""
    return hashlib.sha256(json.dumps(plan.to_json()["plan"], sort_keys=True).encode()).hexdigest()


def install(asked: Asked) -> Moved:
    """Install the plan. It is made again; if the source changed since it was shown, that is an error."""
    plan = _plan(asked)
    if _sum_up(plan) != asked.text("seen"):
        raise ConflictError("source-changed", "The source has changed since you saw the plan.", hint="Look again.")
    return _apply(asked, plan, "/skills", "Installed")


def _apply(asked: Asked, plan: Plan, address: str, done: str) -> Moved:
    run = f"r{os.urandom(8).hex()}"
    applied = asked.library.sources.apply(plan, reason=asked.text("reason"), override=asked.text("override"), run=run)
    return Moved(address, _describe_result(applied, done), run if applied.done else "")


def show_updates(asked: Asked) -> Page:
    """Show the installed skills, and newer versions at their sources; with `plan`, what an update would change."""
    sources = asked.library.sources
    answer = {**sources.outdated().to_json(), "plan": None, "compared": []}
    if asked.is_set("plan"):
        plan = sources.plan_update(*_names(asked), prefer=_prefer(asked))
        answer |= {"plan": plan.to_json(), "compared": [one.to_json() for one in sources.compare(plan)]}
    return Page("updates.html", answer, {"given": asked.given, "clashes": CLASHES})


def update(asked: Asked) -> Moved:
    """Update one skill, or all; `prefer` decides conflicts."""
    plan = asked.library.sources.plan_update(*_names(asked), prefer=_prefer(asked))
    return _apply(asked, plan, "/updates", "Updated")


def _prefer(asked: Asked) -> Prefer:
    """Return whose lines win if both sides changed them. Raise UsageError."""
    prefers: dict[str, Prefer] = {"": "", "ours": "ours", "theirs": "theirs"}
    given = asked.text("prefer")
    if given not in prefers:
        raise UsageError("bad-prefer", f"{given!r:.40} is neither ours nor theirs.", hint="Choose whose lines win.")
    return prefers[given]


def _names(asked: Asked) -> tuple[str, ...]:
    return (asked.text("name"),) if asked.text("name") else ()


def _describe_result(applied: Applied, done: str) -> str:
    names = ", ".join(applied.done)
    held = [f"{step.name}: {step.reason}" for step in applied.plan.steps if step.state not in ("ready", "same")]
    return " ".join([f"{done} {names}." if names else "Nothing was changed.", *held])


ROUTES = (
    Route("GET", "/install", show_install),
    Route("POST", "/install", install),
    Route("GET", "/updates", show_updates),
    Route("POST", "/updates", update),
)
