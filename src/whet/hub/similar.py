"""Skills with the same purpose as another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.hub.search import show_skill
from whet.routing.duplicates import CANDIDATES, RESEMBLING, alike

if TYPE_CHECKING:
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.routing.duplicates import Alike
    from whet.routing.texts import Texts
    from whet.values import Json

_MOST = 10


def find_similar(hub: Hub, who: Identity, owner: str, name: str) -> Json:
    """Return the skills that `who` may see which resemble one, the most similar first."""
    hub.skill(who, owner, name)
    own = f"{owner}/{name}"
    hub.index.catch_up()
    skill = hub.index.skills.get(own)
    if skill is None or skill.version is None:
        return {"skills": []}
    found = compare(hub, who, hub.index.texts([skill])[own], own)
    return {
        "skills": [
            {
                **show_skill(hub.index.skills[each.name].document, hub.index.skills[each.name].downloads),
                "score": round(each.score, 2),
                "shared": list(each.shared),
            }
            for each in found
        ]
    }


def compare(hub: Hub, who: Identity, texts: Texts, own: str, threshold: float = RESEMBLING) -> tuple[Alike, ...]:
    """Return the skills that a text resembles, as OWNER/NAME; `own` is not compared."""
    index = hub.index
    candidates = index.nearest(who, texts, CANDIDATES, own)
    others = [each for each in index.sample(who, CANDIDATES) if each not in candidates and each.key != own]
    known = index.texts(candidates)
    rest = list(index.texts(others).values())
    return alike(texts, known, rest, among=len(index.skills), threshold=threshold, most=_MOST)
