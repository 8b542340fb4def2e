"""How skills are used, what they cost in a prompt, and which nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.prompt.tokens import tokenizer_for
from whet.web.charts import Bar, draw_bars
from whet.web.pages import Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_SHOWN = 15


def show_usage(asked: Asked) -> Page:
    """Views, uses and outcomes of every skill, and the tokens that its line costs in every prompt."""
    library = asked.library
    snapshot = library.workspace.snapshot()
    count = tokenizer_for(snapshot.config.settings).count
    names = {str(card.id): card.full_name for card in snapshot.catalogue.cards}
    totals = {total.skill: total.to_json() for total in library.learning.usage.named(names)}
    rows = []
    for card in library.skills():
        known = totals.get(card.full_name, {"views": 0, "uses": 0, "helped": 0, "failed": 0, "last": None})
        cost = count(f"{card.name}: {card.description}\n")
        rows.append(
            {
                **known,
                "skill": card.full_name,
                "path": card.location,
                "tokens": cost,
                "dead": not (known["views"] or known["uses"]),
            }
        )
    rows.sort(key=lambda row: (-row["uses"] - row["views"], row["skill"]))
    dead = [row for row in rows if row["dead"]]
    answer = {"skills": rows, "dead": len(dead), "dead_tokens": sum(row["tokens"] for row in dead)}
    used = [Bar(row["skill"], row["views"] + row["uses"]) for row in rows[:_SHOWN] if not row["dead"]]
    dearest = sorted(rows, key=lambda row: -row["tokens"])[:_SHOWN]
    costs = [
        Bar(row["skill"], row["tokens"], *(f"{row['tokens']}, never opened", "bad") if row["dead"] else ())
        for row in dearest
    ]
    charts = {
        "used": draw_bars(used, "Views and uses of each skill") if used else "",
        "costs": draw_bars(costs, "Tokens of each skill in the prompt"),
    }
    return Page("usage.html", answer, charts)


ROUTES = (Route("GET", "/usage", show_usage),)
