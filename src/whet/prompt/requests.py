"""From a typed line to the requested skills: `/name args`, `$name`, `[$name](path)`, bundles, several at once.

An unknown command is an error, with the closest names. An unknown mention is not, because a dollar means many things;
but a mention with a wrong path is reported, and does not fall back to the name.
"""

from __future__ import annotations

from functools import partial

from whet.errors import NotFoundError, WhetError
from whet.library.bundles import find_bundle, read_bundles
from whet.library.catalogue import find
from whet.library.visibility import hidden, hidden_cards, refusal
from whet.prompt.commands import RESERVED, command_map, complete, lookup, parse_line, without_command
from whet.prompt.mentions import MAX_MENTIONS, command_form, find_mentions, may_name
from whet.records import NamedTuple
from whet.skill.names import closest
from whet.values import Json, Rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from whet.library.bundles import Bundle
    from whet.library.card import Card
    from whet.library.visibility import Caller
    from whet.library.workspace import Snapshot
    from whet.notes import Note
    from whet.prompt.commands import Command, CommandMap


class Unavailable(NamedTuple):
    """A requested skill that is unavailable, with the reason."""

    name: str
    code: str
    message: str
    hint: str

    @classmethod
    def because(cls, name: str, error: WhetError) -> Unavailable:
        """Return the entry for an error."""
        return cls(name, error.code, error.message, error.hint)


class Asked(NamedTuple):
    """The requested skills of a line, most important first, and the rest of its text."""

    cards: tuple[Card, ...]
    request: str
    """The user's own words, without the commands at their beginning."""
    bundles: tuple[Bundle, ...] = ()
    missing: tuple[Unavailable, ...] = ()
    """Skills that were named but are unavailable."""


class Menu(NamedTuple):
    """Everything a person can invoke by a name."""

    commands: CommandMap
    bundles: tuple[Bundle, ...]
    report: tuple[Note, ...]

    def complete(self, prefix: str, limit: int) -> Commands:
        """Return the commands that complete a prefix."""
        return Commands(complete(self.commands, prefix, limit), self.report)


class Commands(Rows["Command"]):
    """Slash commands that a client offers, and notes on skills without one."""

    __slots__ = ("notes",)

    def __init__(self, rows: list[Command], notes: tuple[Note, ...]) -> None:
        super().__init__(rows)
        self.notes = notes
        """Notes on names that another skill has."""

    def to_json(self) -> Json:
        """Return the commands as JSON."""
        commands = [command.to_json() for command in self]
        return {"success": True, "commands": commands, "report": [note.to_json() for note in self.notes]}


def visible(snapshot: Snapshot, caller: Caller) -> list[Card]:
    """Return the skills that are not hidden from this caller."""
    cards, config = snapshot.catalogue.cards, snapshot.config
    without = {card.path for card, _ in hidden_cards(cards, caller, config.disabled, config.probe)}
    return [card for card in cards if card.path not in without]


def menu_of(snapshot: Snapshot, caller: Caller, reserved: Collection[str] | None = None) -> Menu:
    """Return the commands of this caller; `reserved` are those of the client, if they are not the usual ones."""
    bundles, report = read_bundles(snapshot.config.bundle_directories)
    commands = command_map(visible(snapshot, caller), bundles, RESERVED if reserved is None else reserved)
    return Menu(commands, bundles, (*report, *commands.report))


def menu_report(snapshot: Snapshot, caller: Caller) -> tuple[Note, ...]:
    """Return problems of bundles, and skills without a command, without building a menu."""
    bundles, report = read_bundles(snapshot.config.bundle_directories)
    return *report, *without_command(visible(snapshot, caller), bundles)


def asked_for(text: str, snapshot: Snapshot, caller: Caller, reserved: Collection[str] | None = None) -> Asked:
    """Parse a line. Raises NotFoundError and RefusedError for an unavailable command."""
    if not may_name(text):
        return Asked((), text)
    menu = menu_of(snapshot, caller, reserved)
    line = parse_line(text, menu.commands)
    gathering = _Gathering(menu.bundles, snapshot, caller)
    request = text
    if line is not None and line.unknown:
        raise _unknown(line.unknown, menu, snapshot, caller)
    if line is not None:
        request = line.text
        for command in line.commands:
            gathering.command(command)
    gathering.mentions(request, menu.commands)
    return gathering.asked(request)


def asked_by_name(names: Iterable[str], request: str, snapshot: Snapshot, caller: Caller) -> Asked:
    """Return skills and bundles by name, a bundle before a skill as with commands. Raises the errors of `find`."""
    bundles, _ = read_bundles(snapshot.config.bundle_directories)
    slugs = {bundle.slug for bundle in bundles}
    gathering = _Gathering(bundles, snapshot, caller)
    for name in names:
        if command_form(name) in slugs:
            gathering.bundle(find_bundle(bundles, name))
        else:
            gathering.skill(name)
    return gathering.asked(request)


def lacking(bundle: Bundle, snapshot: Snapshot, caller: Caller) -> tuple[Unavailable, ...]:
    """Return the unavailable skills of a bundle for this caller, with reasons."""
    gathering = _Gathering((), snapshot, caller)
    gathering.bundle(bundle)
    return gathering.asked("").missing


class _Gathering:
    """The skills of one line, as they are found."""

    def __init__(self, bundles: tuple[Bundle, ...], snapshot: Snapshot, caller: Caller) -> None:
        self._known, self._snapshot, self._caller = bundles, snapshot, caller
        self._cards: dict[str, Card] = {}
        self._bundles: dict[str, Bundle] = {}
        self._missing: list[Unavailable] = []

    def asked(self, request: str) -> Asked:
        return Asked(tuple(self._cards.values()), request, tuple(self._bundles.values()), tuple(self._missing))

    def command(self, command: Command) -> None:
        if command.kind == "bundle":
            self.bundle(find_bundle(self._known, command.target))
        else:
            self.skill(command.target)

    def skill(self, name: str) -> None:
        """Add a skill, by any of its names. Raises the errors of `find`, and RefusedError."""
        card = find(self._snapshot.catalogue, name)
        _check(card, self._snapshot, self._caller)
        self._cards.setdefault(card.path, card)

    def bundle(self, bundle: Bundle) -> None:
        self._bundles[bundle.slug] = bundle
        for name in bundle.skills:
            self._try(name, name)

    def mentions(self, text: str, commands: CommandMap) -> None:
        found = find_mentions(text)
        linked = [mention for mention in found if mention.target]
        blocked = {command_form(mention.name) for mention in linked}
        meant: list[Callable[[], None]] = [
            partial(self._try, mention.name, mention.target.removeprefix("skill://")) for mention in linked
        ]
        for mention in found:
            if mention.target or command_form(mention.name) in blocked:
                continue
            if command := lookup(commands, mention.name):
                meant.append(partial(self.command, command))
            elif name := self._named(mention.name):
                meant.append(partial(self._try, mention.name, name))
        for take in meant[:MAX_MENTIONS]:
            take()
        if more := len(meant[MAX_MENTIONS:]):
            message = f"{more} more skills were mentioned than can be loaded at once."
            self._missing.append(Unavailable("", "too-many-mentions", message, "Ask for them again."))

    def _named(self, word: str) -> str:
        """Return the skill that a word names without a command: hidden, waiting for trust, or its word is reserved."""
        catalogue, form = self._snapshot.catalogue, command_form(word)
        names = (card.full_name for card in (*catalogue.cards, *catalogue.waiting))
        return next((name for name in names if command_form(name) == form), "")

    def _try(self, name: str, target: str) -> None:
        """Add a skill if it is available; otherwise record why not, once."""
        try:
            self.skill(target)
        except WhetError as error:
            missing = Unavailable.because(name, error)
            if missing not in self._missing:
                self._missing.append(missing)


def _check(card: Card, snapshot: Snapshot, caller: Caller) -> None:
    """Raise RefusedError if this caller may not use the skill."""
    config = snapshot.config
    if reason := hidden(card, caller, config.disabled, config.probe):
        raise refusal(card, reason)


def _unknown(word: str, menu: Menu, snapshot: Snapshot, caller: Caller) -> WhetError:
    """Return why there is no such command: the skill is hidden, or does not exist, with the closest names."""
    for card in (*snapshot.catalogue.cards, *snapshot.catalogue.waiting):
        if command_form(card.full_name) == command_form(word):
            try:
                _check(find(snapshot.catalogue, card.full_name), snapshot, caller)
            except WhetError as error:
                return error
    near = [f"/{name}" for name in closest(word, list(menu.commands.by_name))]
    hint = f"Did you mean {', '.join(near)}?" if near else "`whet list` shows every skill."
    return NotFoundError("command-not-found", f"There is no command /{word}.", hint=hint, suggestions=near)
