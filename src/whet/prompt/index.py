"""The index: the model's list of skills before anything is loaded. Names and descriptions, never a body, at a flat
cost.

The steps of shortening, for any number of skills: everything in full; every name, with descriptions shortened to the
phrases that distinguish siblings; the names that matter most, the first of them with a short description, and a line
that says how many are not listed and how to find them. Under pressure, skills that fit the message stand first and keep
their descriptions whole as long as there is room. Skills that are always listed come before all others, in full while
the budget holds them; those listed by name only have no description. The text never exceeds its budget and is the same,
byte for byte, for the same skills and the same use. The report names shortened and omitted skills.

If not all skills fit, they are chosen by relevance to the conversation, then use, then recency of use, then scope. If
all of these are equal, a checksum of the name decides: the same everywhere, spread over the alphabet and over
categories, and moved by at most one place when a skill is added. Neither the alphabet nor time stamps of files decide
anything.

Cost: one pass over the rows to rank them if not all fit, and otherwise only the rows within the budget.
"""

from __future__ import annotations

import os
from collections import Counter
from heapq import nsmallest
from zlib import crc32

from whet.errors import UsageError
from whet.prompt.formats import FORMATS, Line, assemble, clean, rules
from whet.prompt.shorten import ELLIPSIS, cut, shorten
from whet.records import NamedTuple
from whet.skill.names import MAX_LENGTH
from whet.values import Json, fields_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Literal

    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.roots import Root
    from whet.library.visibility import Caller
    from whet.library.workspace import Snapshot
    from whet.prompt.matcher import Relevance
    from whet.prompt.tokens import Tokenizer

    Level = Literal["empty", "full", "shortened", "selected"]
    """The degree of shortening."""

DEFAULT_CHARACTERS = 8_000
"""The default budget, if the model's context window is unknown."""
WINDOW_SHARE = 50
"""The index may fill one part in this many of a known window."""
MAX_DESCRIPTION = 1_024
"""Longest description in characters, as in agentskills.io: one long one must not crowd out the others."""

_RULES_SHARE = 4
"""The rules may take one part in this many of the budget; otherwise they are left out."""
_NAMES_SHARE = 0.85
"""The share of the budget for names if not all fit; the rest describes the first of them."""
_USEFUL = "shorter than this one, a description says little"
"""In such an index, at most as many skills get a description as this text fits."""
_SHORTEST_ROW = 4
_NAMED_IN_REPORT = 100
_CATEGORIES = 10
_CATEGORIES_SHARE = 8
"""Categories are named as long as the line about unlisted skills takes at most one part in this many."""


class Budget(NamedTuple):
    """The size limit of an index."""

    limit: int
    unit: Literal["characters", "tokens"]


class IndexReport(NamedTuple):
    """Counts of shown, shortened and omitted skills, and the cost."""

    total: int
    included: int
    shortened: int
    omitted: int
    characters: int
    tokens: int
    tokenizer: str
    level: Level
    rules: bool
    """Whether the rules fit into the budget."""
    budget: Budget
    shortened_names: tuple[str, ...]
    omitted_names: tuple[str, ...]
    """The first of them."""
    always: int = 0
    """Number of skills listed first and in full by a decision."""
    name_only: int = 0
    """Number of skills listed by name only by a decision."""
    manual: int = 0
    """Number of skills left out of the index by a decision."""
    kept_back: int = 0
    """Number of skills left out because the guard blocks them."""

    def to_json(self) -> Json:
        """Return the report as JSON."""
        return fields_json(self)


class Index(NamedTuple):
    """A rendered index, and the treatment of each skill. `str()` returns its text."""

    text: str
    level: Level
    included: tuple[Card, ...]
    shortened: tuple[str, ...]
    """Names of skills whose name or description is shortened."""
    omitted: tuple[Card, ...]
    rules: bool
    """Whether the rules fit into the budget."""
    budget: Budget
    tokens: int
    tokenizer: str
    missing_roots: tuple[str, ...] = ()
    """Roots that do not exist."""
    always: int = 0
    name_only: int = 0
    manual: int = 0
    """Number of skills that are listed in each of these ways; see `IndexReport`."""
    kept_back: int = 0
    """Number of skills that the guard blocks."""

    def __str__(self) -> str:
        return self.text

    @property
    def report(self) -> IndexReport:
        """The counts of shown, shortened and omitted skills."""
        return IndexReport(
            len(self.included) + len(self.omitted),
            len(self.included),
            len(self.shortened),
            len(self.omitted),
            len(self.text),
            self.tokens,
            self.tokenizer,
            self.level,
            self.rules,
            self.budget,
            self.shortened,
            tuple(card.full_name for card in self.omitted[:_NAMED_IN_REPORT]),
            self.always,
            self.name_only,
            self.manual,
            self.kept_back,
        )

    def to_json(self) -> Json:
        """Return the index as JSON."""
        gone = {"missing_roots": list(self.missing_roots)} if self.missing_roots else {}
        return {"success": True, "text": self.text, "report": self.report.to_json(), **gone}


class Options(NamedTuple):
    """The options of an index."""

    format: str = "bullet"
    rules: bool = True
    paths: bool = False
    """Whether to show each skill's file, for an agent that reads files instead of calling skill_view."""
    limit: int | None = None
    """Largest number of skills: the few that matter for one turn."""
    relevant: bool = False
    """Whether a limited index leaves out irrelevant skills."""


def budget_for(characters: int | None = None, tokens: int | None = None, window: int | None = None) -> Budget:
    """Return the budget of a caller: in characters, in tokens, or for a context window in tokens. Raises UsageError."""
    all_three = {"in characters": characters, "in tokens": tokens, "for a context window": window}
    given = {kind: value for kind, value in all_three.items() if value is not None}
    if len(given) > 1:
        first, second, *_ = given
        message = f"A budget {first} and a budget {second} exclude each other."
        raise UsageError("two-budgets", message, hint="Use one of them.")
    for value in given.values():
        if not _is_count(value):
            message = f"The budget must be a whole number above zero, not {value!r}."
            raise UsageError("bad-budget", message, hint="Leave it out for the default.")
    if characters:
        return Budget(characters, "characters")
    if tokens or window:
        return Budget(tokens or max(1, (window or 0) // WINDOW_SHARE), "tokens")
    return Budget(DEFAULT_CHARACTERS, "characters")


def index_skills(
    snapshot: Snapshot,
    budget: Budget,
    options: Options,
    tokenizer: Tokenizer,
    *,
    caller: Caller,
    relevance: Relevance | None = None,
    used: Callable[[Catalogue], Mapping[str, Use]],
) -> Index:
    """Return the index of the skills this caller may see. `relevance` and `used` are needed if not all fit."""
    from whet.prompt.requests import visible

    config = snapshot.config
    modes: dict[str, str] = {}
    kept_back = 0
    if not config.disabled.none:
        modes = {card.path: config.disabled.listed(card).mode for card in snapshot.catalogue.cards}
        kept_back = sum(config.disabled.kept_back(card) is not None for card in snapshot.catalogue.cards)
    cards = visible(snapshot, caller)
    made = build(
        sorted(cards, key=lambda card: modes.get(card.path) != "always"),
        budget,
        options,
        tokenizer,
        scopes=[root.scope for root in config.roots],
        relevance=relevance,
        used=lambda: used(snapshot.catalogue),
        fits=relevance.fits if relevance else None,
        modes=modes,
    )
    manual = sum(mode == "manual" for mode in modes.values())
    gone = tuple(root.path for root in config.roots if not os.path.isdir(root.real))
    return made._replace(missing_roots=gone, manual=manual, kept_back=kept_back)


def build(
    cards: Sequence[Card],
    budget: Budget,
    options: Options,
    tokenizer: Tokenizer,
    *,
    scopes: Sequence[str] = (),
    relevance: Callable[[Card], float] | None = None,
    used: Mapping[str, Use] | Callable[[], Mapping[str, Use]] | None = None,
    fits: Callable[[Card], bool] | None = None,
    modes: Mapping[str, str] | None = None,
) -> Index:
    """Return the index of these skills, which are sorted by name and all visible to the model.

    `fits` returns whether a skill is for the message; it is called only if not all fit. `modes` has, by path, the
    skills that are listed `always`, before the others, or by `name` only.
    """
    if options.format not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError("bad-format", f"There is no format {options.format!r}.", hint=f"Formats: {known}.")
    if options.limit is not None and not _is_count(options.limit):
        raise UsageError("bad-limit", f"The limit must be at least 1, not {options.limit!r}.", hint="Give 1 or more.")

    modes = modes or {}
    always = [at for at, card in enumerate(cards) if modes.get(card.path) == "always"]
    name_only = {at for at, card in enumerate(cards) if modes.get(card.path) == "name"}
    if options.relevant:
        always = []  # only skills that fit one message
    ranking: list[int] = []

    def rank(most: int) -> list[int]:
        """Return the first ranks; later calls are for fewer and use the first result."""
        if not ranking:
            known = used() if callable(used) else used
            best = ranked(cards, most, scopes=scopes, relevance=relevance, used=known)
            best = [*always, *(at for at in best if at not in always)] if always else best
            ranking.extend(at for at in best if not (options.relevant and relevance and relevance(cards[at]) <= 0))
        return ranking[:most]

    foremost: list[list[int]] = []

    def fitting() -> list[int]:
        """Return the positions of skills for the message, the best first."""
        if not foremost:
            found = [at for at, card in enumerate(cards) if at not in always and fits(card)] if fits else []
            foremost.append([*always, *sorted(found, key=lambda at: -relevance(cards[at]) if relevance else 0.0)])
        return foremost[0]

    measure = len if budget.unit == "characters" else tokenizer.count
    limit = budget.limit
    while cards:
        draft = _Draft(cards, limit, options, measure, rank, fitting, always, name_only).best()
        text = draft.text()
        over = measure(text) - budget.limit if text else 0
        if over <= 0:
            places = set(draft.places) if text else set()
            return Index(
                text,
                draft.level,
                tuple(cards[at] for at in sorted(places)),
                draft.shortened() if text else (),
                tuple(card for at, card in enumerate(cards) if at not in places),
                bool(text and draft.rules),
                budget,
                tokenizer.count(text),
                tokenizer.name,
                always=len(places.intersection(always)),
                name_only=len(places & name_only),
            )
        limit -= over  # the tokens of lines do not add up exactly
    return Index("", "empty", (), (), (), False, budget, 0, tokenizer.name)


class _Draft:
    """One way to spend the budget."""

    def __init__(
        self,
        cards: Sequence[Card],
        limit: int,
        options: Options,
        measure: Callable[[str], int],
        rank: Callable[[int], list[int]],
        fitting: Callable[[], list[int]],
        always: Sequence[int],
        name_only: Collection[int],
        aliases: Mapping[Root, str] | None = None,
    ) -> None:
        self.cards = cards
        self.limit = limit
        self.options = options
        self.measure = measure
        self.rank = rank
        self.fitting = fitting
        """The positions of the first skills: those always listed, then those for the message."""
        self.always = always
        self.name_only = name_only
        self.aliases = aliases or {}
        self.shape = FORMATS[options.format]
        self.bare = self._row(self.shape.line(Line("x", "")))
        self.level: Level = "full"
        self.places: list[int] = []
        self.descriptions: list[str] = []
        said = rules(paths=options.paths)
        told = self.shape.told(said)
        self.rules = said if options.rules and self._row(told) * _RULES_SHARE <= limit else ""
        self.notes = [_meaning(alias, root) for root, alias in self.aliases.items()]
        around = (self.shape.told(self.rules), self.shape.before, self.shape.behind, *map(self.shape.note, self.notes))
        self.spent = sum(self._row(row) for row in around if row)

    def best(self) -> _Draft:
        """Return this draft, or the one with shorter paths if that shows more."""
        self._spend()
        if not self.options.paths or self.level == "full":
            return self
        uses = Counter(self.cards[at].root for at in self.places)
        worth = {
            root: alias
            for alias, root in ((f"r{number}", root) for number, root in enumerate(uses))
            if uses[root] * (self.measure(root.path) - self.measure(alias)) > self._note_cost(_meaning(alias, root))
        }
        if not worth:
            return self
        again = (self.rank, self.fitting, self.always, self.name_only)
        other = _Draft(self.cards, self.limit, self.options, self.measure, *again, worth)
        other._spend()
        return max(self, other, key=lambda draft: (len(draft.places), sum(map(len, draft.descriptions))))

    def text(self) -> str:
        """Return the index; "" if not even its frame fits."""
        if self.spent > self.limit or not (self.places or self.level == "selected"):
            return ""
        lines = [self._line(at, text) for at, text in zip(self.places, self.descriptions, strict=True)]
        return assemble(self.options.format, self.rules, self.notes, lines)

    def shortened(self) -> tuple[str, ...]:
        """Return the names of the skills whose name or description is not shown in full."""
        return tuple(
            card.full_name
            for at, text in zip(self.places, self.descriptions, strict=True)
            if (text != _said(card := self.cards[at]) and at not in self.name_only)
            or _named(card) != clean(card.full_name)
        )

    def _spend(self) -> None:
        everybody = range(len(self.cards))
        if self.options.limit is not None and (self.options.relevant or self.options.limit < len(self.cards)):
            self._select(self.rank(self.options.limit), self.limit)
        elif self._take(everybody, self._description):
            self.descriptions = [*map(self._description, everybody)]
        elif self._take(everybody, lambda at: self._description(at) if at in self.always else ""):
            self.level = "shortened"
            self.places = self._fitting_first(everybody)
            whole = {at: self._description(at) for at in self.always}
            self._describe(everybody, whole | self._whole([at for at in everybody if at not in whole]))
        else:
            self._select(self.rank(max(self.limit, 0) // _SHORTEST_ROW + 1), int(self.limit * _NAMES_SHARE))

    def _description(self, at: int) -> str:
        """Return the description of a skill if there is room."""
        return "" if at in self.name_only else _described(self.cards[at])

    def _take(self, places: Sequence[int], describe: Callable[[int], str]) -> bool:
        """List all of these with this description, if they fit."""
        spent = self.spent
        for at in places:
            spent += self._row(self.shape.line(self._line(at, describe(at))))
            if spent > self.limit:
                return False
        self.spent, self.places = spent, [*places]
        return True

    def _select(self, candidates: Sequence[int], names_limit: int) -> None:
        """List the skills that fit, best first, and the number of the others."""
        self.level = "selected"
        sizes = Counter(card.category for card in self.cards if card.category)
        reserved = self._note_cost(self._rest(len(self.cards), sizes, self.limit // _CATEGORIES_SHARE))
        self.spent += reserved
        around = self.spent
        chosen: list[int] = []
        among = {*candidates}
        whole: dict[int, str] = {}
        for first in (self.always, self.fitting()):
            self._take_names([at for at in first if at in among and at not in chosen], chosen, around, self.limit)
            whole |= self._whole([at for at in chosen if at not in whole])
        self._take_names([at for at in candidates if at not in chosen], chosen, around, names_limit)
        self.places = self._fitting_first(chosen)
        sizes.subtract(self.cards[at].category for at in chosen)
        self.notes.append(self._rest(len(self.cards) - len(chosen), sizes, reserved))
        left = [at for at in chosen if at not in whole]
        self._describe(left[: max(1, (self.limit - self.spent) // self.measure(_USEFUL))], whole)

    def _take_names(self, candidates: Sequence[int], chosen: list[int], around: int, most: int) -> None:
        """Choose skills whose names fit, the best first; the very first may use all the room."""
        for at in candidates:
            cost = self._row(self.shape.line(self._line(at, "")))
            limit = most if chosen else self.limit
            if around + cost > limit:
                continue  # too long even alone; it must not end the list for the others
            if self.spent + cost > limit:
                break
            self.spent += cost
            chosen.append(at)

    def _fitting_first(self, places: Sequence[int]) -> list[int]:
        """Return the skills for the message, the best first; then the others by name."""
        there = {*places}
        first = [at for at in self.fitting() if at in there]
        return [*first, *sorted(there - {*first})]

    def _whole(self, places: Sequence[int]) -> dict[int, str]:
        """Describe the skills for the message in full, the best first, as long as there is room."""
        whole: dict[int, str] = {}
        there = {*places}
        for at in self.fitting():
            text = self._description(at)
            cost = self._cost(text)
            if at in there and self.spent + cost <= self.limit:
                self.spent += cost
                whole[at] = text
        return whole

    def _describe(self, places: Sequence[int], whole: Mapping[int, str]) -> None:
        """Distribute the rest of the room among these skills' descriptions."""
        places = [at for at in places if at not in whole and at not in self.name_only]
        names = [_named(self.cards[at]) for at in places]
        texts = [_described(self.cards[at]) for at in places]
        shown = dict(zip(places, shorten(names, texts, self.limit - self.spent, self._cost), strict=True))
        self.descriptions = [whole.get(at) or shown.get(at, "") for at in self.places]

    def _cost(self, description: str) -> int:
        """Return the cost of a description in the line of a skill."""
        return self._row(self.shape.line(Line("x", description))) - self.bare

    def _line(self, at: int, description: str) -> Line:
        card = self.cards[at]
        path = ""
        if self.options.paths:
            alias = self.aliases.get(card.root)
            path = f"{alias}{card.path[len(card.root.path) :]}" if alias else card.path
        return Line(_named(card), description, _shown(path))

    def _row(self, row: str) -> int:
        return self.measure(f"{row}\n")

    def _note_cost(self, note: str) -> int:
        return self._row(self.shape.note(note))

    def _rest(self, more: int, sizes: Counter[str], most: int) -> str:
        """Return the note on unlisted skills, with categories if they cost at most `most`."""
        how = "`whet list --query WORDS`" if self.options.paths else "skills_list(query=...)"
        rest = f"{more:,} more {'skill is' if more == 1 else 'skills are'} not listed; find them with {how}."
        largest = nsmallest(_CATEGORIES, ((-count, name) for name, count in sizes.items() if name and count > 0))
        said = [f"{clean(name)} {-count:,}" for count, name in largest]
        for number in range(len(said), 0, -1):
            longer = f"{rest} Largest categories: {', '.join(said[:number])}."
            if self._note_cost(longer) <= most:
                return longer
        return rest


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _named(card: Card) -> str:
    """Return the shown name: one that is longer than the specification allows must not crowd out the others."""
    name = clean(card.name)
    if len(name) > MAX_LENGTH:
        name = name[: MAX_LENGTH - len(ELLIPSIS)].rstrip() + ELLIPSIS
    return f"{clean(card.root.namespace)}:{name}" if card.root.namespace else name


def _meaning(alias: str, root: Root) -> str:
    return f"{alias} = {_shown(root.path)}"


def _shown(path: str) -> str:
    """Return a path that can be copied, with every space; one with hidden characters is cleaned."""
    harmless = clean(path)
    return path if path.isprintable() and path.split() == harmless.split() else harmless


def _described(card: Card) -> str:
    return cut(_said(card), MAX_DESCRIPTION)


def _said(card: Card) -> str:
    """Return the skill's description, with its separate `when` if there is one."""
    description, when = clean(card.description), clean(card.when)
    if not when or when in description:
        return description
    return f"{description}. {when}" if description[-1:].isalnum() else f"{description} {when}".lstrip()


class Use(NamedTuple):
    """How often a skill was used, and when it was last used (any number that increases with time)."""

    times: int
    last: int


def ranked(
    cards: Sequence[Card],
    most: int,
    *,
    scopes: Sequence[str] = (),
    relevance: Callable[[Card], float] | None = None,
    used: Mapping[str, Use] | None = None,
) -> list[int]:
    """Return the positions, in `cards`, of the `most` important ones, best first.

    `scopes` are in order of precedence; `used` is by the key of a name.
    """
    never = Use(0, 0)
    uses = used or {}
    places = {scope: at for at, scope in enumerate(dict.fromkeys(scopes))}

    def order(at: int) -> tuple[float, int, int, int, int, str]:
        card = cards[at]
        times, last = uses.get(card.key, never)
        score = -relevance(card) if relevance else 0.0
        return score, -times, -last, places.get(card.scope, len(places)), crc32(card.key.encode()), card.key

    return nsmallest(most, range(len(cards)), key=order)
