"""Which skill a draft belongs to: one that is there already and may be improved, one that waits, or none yet.

A skill may be improved when it is one's own: not one that ships with Whet, was put there by an administrator or a
plugin, was installed from elsewhere, or is pinned. What people rejected is remembered and not proposed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from whet.errors import WhetError
from whet.routing.duplicates import THRESHOLD, alike
from whet.routing.texts import Texts, texts_of
from whet.skill.names import key, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.authoring.changes import Changes
    from whet.authoring.proposals import Proposal
    from whet.learning.sessions import Sessions
    from whet.library.card import Card
    from whet.library.lookout import Lookout
    from whet.skill.tree import Item

MARK = "Learned from "
"""How the reason of every change begins that comes from here."""
_PROPOSALS = 200
"""The latest proposals that are looked at."""


class Shelf(Protocol):
    """What learning needs of a library; `whet.api.Library` is one."""

    @property
    def lookout(self) -> Lookout:
        """Its skills."""
        ...

    @property
    def changes(self) -> Changes:
        """Its history and proposals."""
        ...

    @property
    def sessions(self) -> Sessions:
        """The sessions that hooks told of."""
        ...

    def is_locked(self, name: str, *, here: bool = False) -> bool:
        """Was this skill installed?"""
        ...

    def manage(
        self,
        operations: Sequence[Mapping[str, Any]],
        *,
        actor: str = "user",
        origin: str = "foreground",
        reason: str = "",
        stage: bool = False,
        viewed: Callable[[str, str], bool] | None = None,
    ) -> dict[str, Any]:
        """Change skills."""
        ...


class Relative(NamedTuple):
    """What there is already of a draft's kind."""

    kind: str
    """`own`, `foreign`, `pending` or `rejected`."""
    name: str
    score: float
    card: Card | None = None
    proposal: int = 0


def relative_of(shelf: Shelf, texts: Texts, used: Sequence[str] = ()) -> Relative | None:
    """The skill that a draft belongs to: one that was used and may be changed, one of that name, the most alike."""
    cards = {card.full_name: card for card in shelf.lookout.look().catalogue.cards}
    for name in used:
        for card in cards.values():
            if key(card.name) == key(name.rpartition(":")[2]) and is_own(shelf, card):
                return Relative("own", card.full_name, 1.0, card)
    waiting, refused = proposed(shelf, "pending"), proposed(shelf, "rejected")
    known = {
        **{("card", name): _texts(shelf, card) for name, card in cards.items()},
        **{("pending", str(number)): text for number, text in waiting.items()},
        **{("rejected", str(number)): text for number, text in refused.items()},
    }
    named = {name: card for name, card in cards.items() if slug(card.name) == texts.name}
    scores = _scores(texts, known)
    for name, card in named.items():
        scores.setdefault(("card", name), 1.0 if is_own(shelf, card) else 0.0)
    for (kind, name), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        if score < THRESHOLD:
            continue
        if kind == "card":
            return Relative("own" if is_own(shelf, cards[name]) else "foreign", name, score, cards[name])
        number = int(name)
        return Relative(kind, (waiting if kind == "pending" else refused)[number].name, score, None, number)
    return None


def is_own(shelf: Shelf, card: Card) -> bool:
    """May this skill be improved by itself?"""
    from whet.learning.lifecycle import Lifecycle

    explicit = shelf.lookout.explicit is not None
    if (
        card.scope in ("bundled", "org", "plugin")
        or (card.scope == "external" and not explicit)
        or card.kind != "skill"
    ):
        return False
    lookout = shelf.lookout
    lifecycle = Lifecycle(lookout.place.state, lookout.clock)
    try:
        pinned = card.key in lifecycle.pins()
    finally:
        lifecycle.close()
    return not pinned and not shelf.is_locked(card.name, here=card.scope == "project")


def proposed(shelf: Shelf, state: str) -> dict[int, Texts]:
    """The new skills that learning proposed, by the number of the proposal, in one state."""
    found: dict[int, Texts] = {}
    for proposal in own_proposals(shelf, state):
        for change in shelf.changes.author.proposals.changes(proposal):
            if change.action == "create" and change.after and (texts := _tree_texts(change.skill, change.after)):
                found[proposal.id] = texts
    return found


def refused_bodies(shelf: Shelf, path: str) -> list[str]:
    """What learning wanted to make of the skill at a path, and nobody wanted."""
    bodies = []
    for proposal in own_proposals(shelf, "rejected"):
        for change in shelf.changes.author.proposals.changes(proposal):
            if change.path == path and change.after and (texts := _tree_texts(change.skill, change.after)):
                bodies.append(texts.body)
    return bodies


def own_proposals(shelf: Shelf, state: str = "") -> list[Proposal]:
    """The latest proposals that learning made."""
    every = shelf.changes.author.proposals.all(state)
    return [one for one in every if one.origin == "background" and one.reason.startswith(MARK)][-_PROPOSALS:]


def _scores(texts: Texts, known: Mapping[tuple[str, str], Texts]) -> dict[tuple[str, str], float]:
    names = {f"{kind}:{name}": (kind, name) for kind, name in known}
    found = alike(
        texts,
        {label: known[place] for label, place in names.items()},
        among=len(known) + 1,
        threshold=THRESHOLD,
        most=10,
    )
    return {names[item.name]: item.score for item in found}


def _texts(shelf: Shelf, card: Card) -> Texts:
    try:
        return texts_of(shelf.lookout.open(card).skill)
    except WhetError:  # the doctor tells of it; here its card has to do
        return Texts(card.name, card.description, "", card.when)


def _tree_texts(name: str, tree: Mapping[str, Item]) -> Texts | None:
    from whet.skill.dialects import read_skill
    from whet.skill.frontmatter import read_document
    from whet.skill.paths import MAIN_FILE

    item = tree.get(MAIN_FILE)
    return (
        texts_of(read_skill(read_document(item.data.decode("utf-8", "replace"))))._replace(name=name) if item else None
    )
