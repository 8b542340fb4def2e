"""Usage of skills, their cost in a prompt, and skills that cost something and did not help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.prompt.formats import line_cost
from whet.web.charts import Bar, draw_bars
from whet.web.pages import Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_CHARTED = 15
_PAGE = 100
_NEVER = {"views": 0, "uses": 0, "helped": 0, "failed": 0, "last": None}


def show_usage(asked: Asked) -> Page:
    """Show views, uses and outcomes of every skill, the tokens of its line in every prompt, and the dead skills."""
    library = asked.library
    usage = library.learning.usage_totals()
    totals = {total.skill: total.to_json() for total in usage.skills}
    rows: list[dict[str, Any]] = [
        {
            **totals.get(card.qualified, _NEVER),
            "skill": card.full_name,
            "path": card.location,
            "tokens": line_cost(card.full_name, card.description),
        }
        for card in library.skills()
    ]
    rows.sort(key=lambda row: (-row["uses"] - row["views"], row["skill"]))
    opened = [row for row in rows if row["views"] or row["uses"]]
    dead = {skill.name for skill in usage.dead}
    pages = -(-len(rows) // _PAGE) or 1
    page = min(asked.number("page", 1), pages)
    answer = {
        **usage.to_json(),
        "skills": rows[(page - 1) * _PAGE : page * _PAGE],
        "total": len(rows),
        "page": page,
        "pages": pages,
        "never_opened": len(rows) - len(opened),
        "dead_tokens": sum(skill.tokens for skill in usage.dead),
    }
    used = [Bar(row["skill"], row["views"] + row["uses"]) for row in opened[:_CHARTED]]
    dearest = sorted(rows, key=lambda row: -row["tokens"])[:_CHARTED]
    costs = [
        Bar(row["skill"], row["tokens"], *(f"{row['tokens']}, did not help", "bad") if row["skill"] in dead else ())
        for row in dearest
    ]
    charts = {
        "used": draw_bars(used, "Views and uses of each skill") if used else "",
        "costs": draw_bars(costs, "Tokens of each skill in the prompt") if costs else "",
        "shown": _PAGE,
    }
    return Page("usage.html", answer, charts)


ROUTES = (Route("GET", "/usage", show_usage),)
