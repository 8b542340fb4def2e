"""The resources of the server, and the extension `io.modelcontextprotocol/skills`.

Every call reads the current library and returns the result in its wire format, without the fields that all results
share. Lists have the skills that the caller may choose; a fallback skill, one for other files, or a shadowed one is not
listed but still answers at its address. Disabled and blocked skills and those for other machines do not exist for any
client.

Lists of resources read no file. `skills/list` reads the files of one page, each of them once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import NotFoundError, WhetError
from whet.interfaces.mcp.addresses import INDEX, SCHEME, AddressBook, Found, address, read_address
from whet.interfaces.mcp.packages import describe, frontmatter, members, not_served, read_member, subdirectories, unfit
from whet.interfaces.mcp.paging import PAGE_BYTES, Bounds, page, weight
from whet.interfaces.mcp.resources import (
    INDEX_RESOURCE,
    JSON,
    MANIFEST,
    contents,
    file_resource,
    folder_resource,
    index,
    main_resource,
    manifest,
    media_type,
)
from whet.library.visibility import hidden, refusal
from whet.skill.finder import MAIN_FILE
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.interfaces.mcp.addresses import SkillPath
    from whet.interfaces.mcp.resources import Resource
    from whet.library.card import Card
    from whet.library.config import ResolvedConfig
    from whet.library.visibility import Caller
    from whet.library.workspace import Workspace
    from whet.values import Json

_PAGE_READ = 64 * 1024 * 1024
"""Bytes of files after which a page of `skills/list` is full."""
_SKILLS = Bounds(50, lambda skill: weight(skill) / PAGE_BYTES + sum(x.size for x in skill.resources) / _PAGE_READ)
_RESOURCES = Bounds(200)
_UNLISTED = frozenset(("fallback", "paths"))
"""Reasons to hide a skill that still answers at its address. A skill only for people does not: it is a prompt."""


class EntryFile(NamedTuple):
    """A file in the entry of a skill."""

    uri: str
    digest: str
    size: int


class SkillEntry(NamedTuple):
    """A skill in the form of the extension."""

    uri: str
    frontmatter: Mapping[str, Any]
    resources: tuple[EntryFile, ...]


class Served:
    """The skills of a library for one client. Thread-safe."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._workspace = workspace
        self._caller = caller
        self._book: AddressBook | None = None

    # the extension

    def list_skills(self, cursor: str | None = None) -> Json:
        """Answer `skills/list`: the entries of the skills this client may choose.

        Skills that cannot be described now, because they are too large or do not conform, are left out.
        """
        config, book = self._look()

        def entry(card: Card) -> SkillEntry | None:
            try:
                return self._entry(card, book.paths[card.path], config)
            except WhetError:
                return None

        return _paged("skills", self._listed(config, book), entry, cursor, _SKILLS)

    def get_skill(self, uri: str) -> Json:
        """Answer `skills/get`: the entry of the skill whose SKILL.md has this address."""
        found, config = self._find(uri, read_address(uri))
        if found.file != MAIN_FILE:
            hint = f"The skill's own address is {address(found.path, MAIN_FILE)}."
            raise NotFoundError("resource-not-found", f"{uri} is not the {MAIN_FILE} of a skill.", hint=hint)
        return {"skill": as_json(self._entry(found.card, found.path, config))}

    def directory(self, uri: str, cursor: str | None = None) -> Json:
        """Answer `resources/directory/read`: the entries of a directory of a skill, or above the skills."""
        children = self._top() if uri == SCHEME else self._children(uri, read_address(uri.removesuffix("/")))
        items = ((name, partial(children.__getitem__, name)) for name in sorted(children))
        return _told("resources", *page("directory", items, cursor, _RESOURCES))

    # resources

    def list_resources(self, cursor: str | None = None) -> Json:
        """Answer `resources/list`: the older index, then the SKILL.md of each skill this client may choose."""
        config, book = self._look()
        listed = self._listed(config, book)
        answer = _paged(
            "resources", listed, lambda card: main_resource(card, book.paths[card.path]), cursor, _RESOURCES
        )
        if cursor is None:
            answer["resources"].insert(0, INDEX_RESOURCE.to_json())
        return answer

    def read(self, uri: str) -> Json:
        """Answer `resources/read`: the bytes of one file, as text if possible."""
        segments = read_address(uri)
        if address(segments) == INDEX:
            config, book = self._look()
            return contents(INDEX, JSON, index(self._listed(config, book), book.paths))
        found, config = self._find(uri, segments)
        card, path, file = found
        now, bases = self._workspace.clock(), config.bounds.bases_of(card)
        sources = {member.path: member.source for member in members(card, now=now, bases=bases)}
        if file not in sources:
            if file == MANIFEST:
                return contents(address(path, file), JSON, manifest(path, describe(card, now=now, bases=bases)[1]))
            raise _missing(uri, found, tuple(sources))
        data = read_member(card, sources[file], bases=bases)
        if file == MAIN_FILE:
            frontmatter(data, card.name)
        return contents(address(path, file), media_type(file), data)

    def complete(self, prefix: str) -> list[str]:
        """Return the paths of skills that begin with a prefix, to complete `{path}`, sorted."""
        config, book = self._look()
        paths = (address(book.paths[card.path])[len(SCHEME) :] for card in self._answering(config, book.cards()))
        return [path for path in paths if path.lower().startswith(prefix.lower())]

    def _look(self) -> tuple[ResolvedConfig, AddressBook]:
        snapshot = self._workspace.snapshot()
        book = self._book
        if book is None or book.catalogue is not snapshot.catalogue:
            self._book = book = AddressBook(snapshot.catalogue)
        return snapshot.config, book

    def _listed(self, config: ResolvedConfig, book: AddressBook) -> list[Card]:
        cards = (card for card in book.catalogue.cards if card.path in book.paths)
        return [card for card in cards if hidden(card, self._caller, config.disabled, config.probe) is None]

    def _answering(self, config: ResolvedConfig, cards: Iterable[Card]) -> list[Card]:
        """Return the skills that answer at their address."""
        reasons = ((card, hidden(card, self._caller, config.disabled, config.probe)) for card in cards)
        return [card for card, reason in reasons if reason is None or reason.code in _UNLISTED]

    def _find(self, uri: str, segments: tuple[str, ...]) -> tuple[Found, ResolvedConfig]:
        """Return the skill that an address leads to or into, if this client may use it."""
        found, config = self._remembered(segments) or self._looked_up(uri, segments)
        reason = hidden(found.card, self._caller, config.disabled, config.probe)
        if reason is not None and reason.code not in _UNLISTED:
            raise refusal(found.card, reason)
        if self._caller.model and found.card.scope == "project":
            self._workspace.admit(self._workspace.open(found.card), config)
        return found, config

    def _remembered(self, segments: tuple[str, ...]) -> tuple[Found, ResolvedConfig] | None:
        """Return the skill of a known address, checked against the disk without reading all the others."""
        found = self._book.find(segments) if self._book else None
        if self._book is None or found is None or self._book.catalogue.by_key.get(found.card.key) is not found.card:
            return None
        try:
            card, config = self._workspace.find(found.card.full_name)
        except WhetError:  # the full look reports what became of it
            return None
        same = (card.path, card.name) == (found.card.path, found.card.name)
        return (found._replace(card=card), config) if same and not unfit(card) else None

    def _looked_up(self, uri: str, segments: tuple[str, ...]) -> tuple[Found, ResolvedConfig]:
        config, book = self._look()
        found = book.find(segments)
        if found is None:
            raise _unknown(uri, segments, book)
        return found, config

    def _entry(self, card: Card, path: SkillPath, config: ResolvedConfig) -> SkillEntry:
        values, files = describe(card, now=self._workspace.clock(), bases=config.bounds.bases_of(card))
        resources = tuple(EntryFile(address(path, file), digest, size) for file, digest, size in files)
        return SkillEntry(resources[0].uri, values, resources)

    def _top(self) -> dict[str, Resource]:
        """Return the top directory: the index, the plain skills, the plugins and scopes."""
        config, book = self._look()
        tops = {book.paths[card.path][0] for card in self._answering(config, book.cards())}
        return {"index.json": INDEX_RESOURCE, **{name: folder_resource((name,)) for name in tops}}

    def _children(self, uri: str, segments: tuple[str, ...]) -> dict[str, Resource]:
        if len(segments) == 1 and self._remembered(segments) is None:
            config, book = self._look()
            if grouped := self._answering(config, book.below(segments[0])):
                return {card.name: folder_resource(book.paths[card.path]) for card in grouped}
        found, config = self._find(uri, segments)
        card, path, directory = found
        files = members(card, now=self._workspace.clock(), bases=config.bounds.bases_of(card))
        names = subdirectories(card, directory, bases=config.bounds.bases_of(card))
        if names is None:
            if any(member.path == directory for member in files):
                hint = "Read it with resources/read."
                raise NotFoundError("resource-not-directory", f"{uri} is a file, not a directory.", hint=hint)
            raise _missing(uri, found, ())
        prefix = f"{directory}/" if directory else ""
        children = {name: folder_resource(path, prefix + name) for name in names}
        for member in files:
            name = member.path[len(prefix) :]
            if member.path.startswith(prefix) and "/" not in name:
                is_main = member.path == MAIN_FILE
                children[name] = main_resource(card, path) if is_main else file_resource(path, member.path, member.size)
        return children


def _paged(
    kind: str, cards: Sequence[Card], make: Callable[[Card], object], cursor: str | None, bounds: Bounds
) -> Json:
    return _told(kind, *page(kind, ((card.key, partial(make, card)) for card in cards), cursor, bounds))


def _told(kind: str, items: Sequence[object], further: str | None) -> Json:
    return {kind: as_json(items), **({"nextCursor": further} if further else {})}


def _unknown(uri: str, segments: Sequence[str], book: AddressBook) -> WhetError:
    """Return the error for an address without a served skill."""
    if card := book.left_out(segments):
        return not_served(card.full_name, book.unfit[card.path])
    from whet.skill.names import closest

    names = {book.paths[card.path][-1]: book.paths[card.path] for card in reversed(book.cards())}
    wanted = segments[-2] if len(segments) > 1 else segments[0]
    suggestions = [address(names[name], MAIN_FILE) for name in closest(wanted, names)]
    hint = f"Did you mean {', '.join(suggestions)}?" if suggestions else "skills/list shows the skills."
    return NotFoundError("resource-not-found", f"No skill is served at {uri}.", hint=hint, suggestions=suggestions)


def _missing(uri: str, found: Found, files: Sequence[str]) -> NotFoundError:
    from whet.skill.names import closest

    suggestions = [address(found.path, file) for file in closest(found.file, files)]
    hint = f"Did you mean {', '.join(suggestions)}?" if suggestions else f"Look at {address(found.path)} for its files."
    message = f"{found.card.full_name} has nothing at {uri}."
    return NotFoundError("resource-not-found", message, hint=hint, suggestions=suggestions)
