"""Slash commands: the skill or bundle of a typed `/name`, and parsing a typed line.

Cards come in the catalogue's order and the first one takes the command; a bundle comes before every skill, and the
client's own words before both. Skills without a command are in the report; they are still reached by `/skill NAME`.
Every command has a `menu` form for chat clients, which allow little in a command's name.
"""

from __future__ import annotations

import unicodedata

from whet.notes import Note
from whet.patterns import compile_late
from whet.prompt.mentions import RUN, command_form, spelled
from whet.records import NamedTuple
from whet.skill import names
from whet.skill.coerce import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from whet.library.bundles import Bundle
    from whet.library.card import Card
    from whet.values import Json

RESERVED = frozenset(
    (
        # information about the client
        *("help", "commands", "version", "status", "usage", "cost", "context"),
        # the conversation
        *("new", "clear", "compact", "reset", "resume", "rewind", "undo", "history", "session", "sessions"),
        # the program
        *("start", "stop", "cancel", "restart", "exit", "quit", "login", "logout"),
        # configuration
        *("config", "settings", "permissions", "model", "models", "theme", "vim", "init"),
        # tools and context
        *("skill", "skills", "bundle", "bundles", "reload", "tools", "mcp", "memory", "agents", "hooks", "plugins"),
    )
)
"""Words that clients reserve. Common names of skills (review, deploy, commit, test) are not among them."""
MAX_STACK = 6
"""Number of commands at the beginning of one line."""
MAX_MENU = 32

_ASCII = compile_late("[a-z0-9]")
_TOKEN = compile_late(rf"\s*+/({RUN})(?:@[A-Za-z0-9_]++)?+(?!\S)")
_SKILL = compile_late(r"""(?i)\s*+/skill(?:@[A-Za-z0-9_]++)?+(?::|\s++)(?:"([^"\n]+)"|'([^'\n]+)'|(\S++))(?!\S)""")


class Command(NamedTuple):
    """The target of one `/name`."""

    name: str
    """The command form of the full name; a plugin's skill keeps its colon."""
    kind: str
    """`skill` or `bundle`."""
    target: str
    """The skill's full name, or the bundle's slug."""
    description: str
    hint: str
    """A hint at its arguments."""
    menu: str
    """The name in `[a-z0-9_]`, at most 32 characters; "" if it has none of these."""

    def to_json(self) -> Json:
        """Return the fields for a client: {name, menu, kind, description, hint}."""
        return {field: getattr(self, field) for field in ("name", "menu", "kind", "description", "hint")}


class CommandMap(NamedTuple):
    """All commands of a library."""

    commands: tuple[Command, ...]
    by_name: dict[str, Command]
    """Command form -> command; a plugin's skill also has its bare name if no other has it."""
    by_menu: dict[str, Command]
    report: tuple[Note, ...]


class Line(NamedTuple):
    """The parsed line."""

    commands: tuple[Command, ...]
    text: str
    """The rest, as typed, without leading white space."""
    unknown: str
    """The first word without its slash, if it looks like an unknown command."""


class _Given(NamedTuple):
    """The assigned commands, before the menu forms."""

    owners: dict[str, Command]
    bare: dict[str, set[str]]
    """The bare names of plugins' skills, and the commands of those that have it."""
    report: list[Note]


def _give_out(cards: Iterable[Card], bundles: Iterable[Bundle], kept: set[str]) -> _Given:
    given = _Given({}, {}, [])
    owners, report = given.owners, given.report
    for bundle in bundles:
        about = one_line(bundle.description) or f"Loads {', '.join(map(one_line, bundle.skills))}."
        command = Command(bundle.slug, "bundle", bundle.slug, about, "", "")
        if entry := _refusal(command, owners, kept, bundle.path, ""):
            report.append(entry)
        else:
            owners[command.name] = command
    for card in cards:
        form = command_form(card.full_name)
        command = Command(form, "skill", card.full_name, card.description, card.hint, "")
        if entry := _refusal(command, owners, kept, card.path, card.qualified):
            report.append(entry)
            continue
        owners[form] = command
        if card.root.namespace:
            given.bare.setdefault(names.command(card.name), set()).add(form)
    return given


def without_command(
    cards: Iterable[Card], bundles: Iterable[Bundle] = (), reserved: Collection[str] = RESERVED
) -> tuple[Note, ...]:
    """Return notes about skills and bundles without a command: the report of `command_map`, at less cost."""
    return tuple(_give_out(cards, bundles, set(map(command_form, reserved))).report)


def command_map(
    cards: Iterable[Card], bundles: Iterable[Bundle] = (), reserved: Collection[str] = RESERVED
) -> CommandMap:
    """Assign the commands; `reserved` are the words that the client itself uses."""
    kept = set(map(command_form, reserved))
    owners, bare, report = _give_out(cards, bundles, kept)
    for word, forms in bare.items():
        if word and word not in kept and word not in owners and len(forms) == 1:
            owners[word] = owners[next(iter(forms))]
    menus = _menus(owners, kept)
    by_name = {
        word: command._replace(
            description=one_line(command.description), hint=one_line(command.hint), menu=menus.get(command.name, "")
        )
        for word, command in owners.items()
    }
    commands = tuple(sorted(set(by_name.values())))
    by_menu = {command.menu: command for command in commands if command.menu}
    return CommandMap(commands, by_name, by_menu, tuple(report))


def lookup(commands: CommandMap, word: str) -> Command | None:
    """Return the command of a word without its slash, ignoring hyphens, underscores and case; or by menu form."""
    found = commands.by_name.get(command_form(word))
    return found or commands.by_menu.get(names.key(word).replace("-", "_"))


def parse_line(text: str, commands: CommandMap) -> Line | None:
    """Parse the commands at the beginning of a line; None if it does not begin with a `/word`.

    More than one counts, up to `MAX_STACK`, as long as each is known and new. The word after `/skill` is any name of a
    skill, in quotes if it has spaces.
    """
    token = _token(text, 0, commands)
    if token is None:
        return None
    word, command, end = token
    if command is None:
        return Line((), text.lstrip(), word)
    found = {_identity(command): command}
    while len(found) < MAX_STACK and (token := _token(text, end, commands)):
        command = token[1]
        if command is None or _identity(command) in found:
            break
        found[_identity(command)] = command
        end = token[2]
    return Line(tuple(found.values()), text[end:].lstrip(), "")


def complete(commands: CommandMap, prefix: str = "", limit: int = 50) -> list[Command]:
    """Return the commands that complete a prefix: names that begin with it, then words in them, then the others."""
    if not isinstance(prefix, str):
        raise names.not_a_name(prefix)
    wanted = _plain(names.key(prefix.strip().removeprefix("/")))
    offered = [command for command in commands.commands if wanted in _plain(command.name)]
    offered.sort(key=lambda command: (_rank(_plain(command.name), wanted), command.name))
    return offered[:limit]


def _refusal(new: Command, owners: dict[str, Command], kept: set[str], path: str, qualified: str) -> Note | None:
    """Return why a skill or bundle gets no command of its own; None if it does."""
    owner = owners.get(new.name)
    if owner is None and new.name and new.name not in kept:
        return None
    skill = new.target if new.kind == "skill" else ""
    same = owner is not None and owner.kind == "skill" and names.key(owner.target) == names.key(new.target)
    reach = qualified if same else new.target
    hint = f"Type /skill {_quoted(reach)}, or rename it." if skill else "Rename the bundle."
    if not new.name:
        message = f"The name {new.target!r} has no letter or digit, so this {new.kind} has no slash command."
        return Note("command-empty", "info", message, hint, skill=skill, path=path)
    if new.name in kept:
        message = f"/{new.name} is a command of the client, so the {new.kind} {new.target!r} has no slash command."
        return Note("command-reserved", "warning", message, hint, skill=skill, path=path)
    if owner:
        message = f"/{new.name} means the {owner.kind} {owner.target!r}, not the {new.kind} {new.target!r}."
        return Note("command-taken", "warning", message, hint, skill=skill, path=path)
    return None


def _quoted(name: str) -> str:
    if not any(map(str.isspace, name)):
        return name
    return f"'{name}'" if '"' in name else f'"{name}"'


def _menus(owners: dict[str, Command], kept: set[str]) -> dict[str, str]:
    """Return the menu form of each command. A name that fits stays; none may equal another command's name."""
    wishes = {command.name: wish for command in owners.values() if (wish := _menu(command.name))}
    menus: dict[str, str] = {}
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    for name in sorted(wishes, key=lambda name: (wishes[name] != name.replace("-", "_"), name)):
        wish = menu = wishes[name]
        while menu in taken or (form := command_form(menu)) in kept or (form in owners and owners[form].name != name):
            numbers[wish] = numbers.get(wish, 1) + 1
            tail = f"_{numbers[wish]}"
            menu = wish[: MAX_MENU - len(tail)].rstrip("_") + tail
        taken.add(menu)
        menus[name] = menu
    return menus


def _menu(name: str) -> str:
    if not _ASCII.search(unicodedata.normalize("NFKD", name)):
        return ""
    return names.slug(name).replace("-", "_")[:MAX_MENU].rstrip("_")


def _token(text: str, position: int, commands: CommandMap) -> tuple[str, Command | None, int] | None:
    """Return the `/word` at a position, its command, and its end; None if there is none."""
    if named := _SKILL.match(text, position):
        return "skill", Command("skill", "skill", named[1] or named[2] or named[3], "", "", ""), named.end()
    found = _TOKEN.match(text, position)
    if found is None or spelled(word := found[1]) != word or not command_form(word):
        return None
    return word, lookup(commands, word), found.end()


def _identity(command: Command) -> tuple[str, str]:
    return command.kind, names.key(command.target)


def _plain(name: str) -> str:
    return name.replace(" ", "-").replace(":", "-")


def _rank(name: str, wanted: str) -> int:
    return 0 if name.startswith(wanted) else 1 if f"-{wanted}" in name else 2
