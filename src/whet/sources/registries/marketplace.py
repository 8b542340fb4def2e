"""Skills of a Claude marketplace: a directory, a repository or the address of a `marketplace.json`.

A marketplace lists plugins; only the skills of a plugin matter here. A plugin is in the marketplace's own directory, in
a repository, or in an archive. A plugin that needs a program or a package manager is skipped with a note: nothing is
ever run to list skills.

An offer has the reference of the place where the skill really is, so that an installed skill is updated from there,
pinned if the marketplace pins it, even if the list changes. Plugins in the marketplace's own directory are always
opened. Those elsewhere are opened only if they are named, or if nothing else matches a name: a long list must not cause
a hundred clones.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, cast

from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.library.files import read_file
from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill import paths
from whet.skill.finder import parents
from whet.skill.names import key
from whet.sources.model import Fetched, Listing, Offer, Ref, open_source
from whet.sources.packages import choose, refusal
from whet.sources.refs.pages import document, repository, shorthand
from whet.sources.refs.parts import OddError, check_ref, read_address
from whet.sources.registries.registry import (
    ANSWER_BYTES,
    JSON,
    Answer,
    Registry,
    bad_response,
    clean_text,
    limit_notes,
    parse_json,
    prefix_error,
    quote_text,
    read_entries,
)
from whet.store.concurrency import together
from whet.store.failures import os_failure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from whet.sources.git.source import GitSource
    from whet.sources.model import FetchContext, Source

FILE = ".claude-plugin/marketplace.json"
SKILLS = "skills"
"""Directory of a plugin's skills, unless the marketplace names another."""
MOST_OPENED = 20
"""Other places that are opened in search of a name."""

_MOST_SKILLS = 2_000
_COMMIT = compile_late(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SCP = compile_late(r"([A-Za-z0-9_.-]+)@([A-Za-z0-9.-]+):(?!/)(.+)")
_REPOSITORIES = ("github", "url", "git-subdir", "git")
_NEVER_RUN = ("npm", "pip", "command")
_WRONG = Note("plugin-wrong", "error", "", "Tell the publisher of the marketplace.")
_TWICE = Note("plugin-duplicate", "warning", "")


class Plugin(NamedTuple):
    """One plugin of a marketplace."""

    name: str
    description: str
    roots: tuple[str, ...]
    """Its directory in its place, "" for the root; if several are possible, the likeliest first."""
    place: Ref | None = None
    """The repository or archive that contains it; None for the marketplace's own directory."""
    skills: tuple[str, ...] = ()
    """Subdirectories that are or contain skills, if the marketplace names them."""

    def members(self, directories: Iterable[str]) -> list[str]:
        """Return the directories of skills that belong to this plugin."""
        known = list(directories)
        for root in self.roots:
            named = {_join(root, skill) for skill in self.skills or (SKILLS,)}
            found = [item for item in known if not named.isdisjoint((item, *parents(item)))]
            if not found and not self.skills:
                found = [item for item in known if item == root]
            if found:
                return found
        return []


class Marketplace(NamedTuple):
    """The plugins of a marketplace."""

    plugins: tuple[Plugin, ...]
    notes: tuple[Note, ...]


class MarketplaceSource(Registry):
    """A marketplace and the places that it names."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        super().__init__(ref, context)
        self._marketplace = Marketplace((), ())
        self._sources: dict[Ref, Source] = {}
        self._inner: dict[Offer, tuple[Source, Offer]] = {}
        """Offers of this source -> the source that has the skill, and its offer."""

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """List the skills of the marketplace, or of the plugin that the reference names."""
        data = self._read_list()
        local = self._home is not None and not self._home.location.startswith(("https://", "http://", "ssh://"))
        self._marketplace = marketplace = read_marketplace(data, local=local)
        self._inner.clear()
        name, _, skill = self.ref.path.partition("/")
        plugins = [plugin for plugin in marketplace.plugins if not name or key(plugin.name) == key(name)]
        if name and not plugins:
            raise self.not_listed("plugin", name, [plugin.name for plugin in marketplace.plugins], marketplace.notes)
        notes = list(marketplace.notes)
        offers = self._list_skills([plugin for plugin in plugins if plugin.place is None], notes, strict=bool(name))
        elsewhere = [plugin for plugin in plugins if plugin.place is not None]
        wanted = (elsewhere if name else _select(elsewhere, offers, names))[:MOST_OPENED]
        offers += self._list_skills(wanted, notes, strict=bool(name))
        notes += [_note_unopened(plugin) for plugin in elsewhere if plugin not in wanted]
        if skill:
            offers = [offer for offer in offers if key(skill) in _list_names(offer)]
            if not offers:
                message = f"The plugin {name} in {self.ref.location} has no skill {skill!r}."
                raise NotFoundError("skill-not-in-source", message, hint=f"Use {name} alone to list what it has.")
        revision = f"sha256:{hashlib.sha256(data).hexdigest()}"
        return Listing(self.ref, revision, tuple(offers), limit_notes(notes))

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:  # noqa: ARG002  the caller ranks everything anyway
        """Return all listed skills, and for plugins elsewhere the plugin itself, which its reference opens."""
        listing = self.inspect()
        known = {offer.group for offer in listing.offers}
        plugins = (
            Offer(each.name, each.description, self.ref._replace(path=each.name), listing.revision, group=each.name)
            for each in self._marketplace.plugins
            if each.place is not None and each.name not in known
        )
        return (*listing.offers, *plugins)

    def find(self, name: str) -> tuple[Offer, ...]:
        """Return the skills that match a name, including those of plugins elsewhere."""
        return tuple(offer for offer in self.inspect((name,)).offers if key(name) in _list_names(offer))

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Fetch the contents from the places where they are."""
        by_source: dict[int, list[Offer]] = {}
        for offer in offers:
            if offer not in self._inner:  # not of the last `inspect`; its reference is enough
                source = self._open(offer.ref)
                self._inner[offer] = source, choose(source.inspect(), (), all=False)[0]
            by_source.setdefault(id(self._inner[offer][0]), []).append(offer)
        fetched: dict[Offer, Fetched] = {}
        for group in by_source.values():
            source = self._inner[group[0]][0]
            for offer, package in zip(group, source.fetch([self._inner[offer][1] for offer in group]), strict=True):
                fetched[offer] = package._replace(offer=package.offer._replace(group=offer.group))
        return tuple(fetched[offer] for offer in offers)

    def close(self) -> None:
        """Close every place that was opened."""
        for source in self._sources.values():
            source.close()
        self._sources.clear()
        self._inner.clear()

    # the list

    @property
    def _home(self) -> Ref | None:
        """Place of the marketplace itself; None if it is only a file on the web."""
        location = self.ref.location
        if os.path.isabs(location):
            return Ref("path", location)
        return None if location.endswith(".json") else Ref("git", location, self.ref.ref)

    def _read_list(self) -> bytes:
        home = self._home
        if home is None:
            return self.get(self.ref.location, accept=JSON).body
        if home.kind == "path":
            data = self._read_disk()
        else:
            data = cast("GitSource", self._open(home)).read_file(FILE, ANSWER_BYTES)
        if data is None:
            message = f"{self.ref.location} is not a marketplace: it has no {FILE}."
            hint = "Leave out `marketplace:` to install the skills in it."
            raise NotFoundError("source-not-found", message, hint=hint)
        return data

    def _read_disk(self) -> bytes | None:
        path = os.path.join(self.ref.location, *FILE.split("/"))
        try:
            data = read_file(path, ANSWER_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise os_failure(error, path, doing="read", other="read-failed") from error
        if len(data) > ANSWER_BYTES:
            message = f"{path} has more than {ANSWER_BYTES} bytes."
            raise InvalidError("response-too-large", message, hint="A file of this kind is never that large.")
        return data

    # the places

    def _open(self, place: Ref) -> Source:
        if place not in self._sources:
            if place != self._home:
                self.context.web.check_told(place.location)
            self._sources[place] = open_source(place, self.context)
        return self._sources[place]

    def _list_skills(self, plugins: Sequence[Plugin], notes: list[Note], *, strict: bool) -> list[Offer]:
        """Return the skills of these plugins. Errors are raised if `strict`, otherwise noted."""
        places = tuple(dict.fromkeys(place for plugin in plugins if (place := plugin.place or self._home)))
        listings = dict(zip(places, together(self._list_place, places), strict=True))
        offers: list[Offer] = []
        for plugin in plugins:
            place = plugin.place or self._home
            try:
                offers += self._list_plugin(plugin, place, listings[place] if place else None, notes)
            except WhetError as error:
                if strict or error.code == "cancelled":
                    raise prefix_error(error, plugin.name) from error
                notes.append(refusal(error, plugin.name, ""))
        for listing in listings.values():
            notes += listing.notes if isinstance(listing, Listing) else ()
        return offers

    def _list_place(self, place: Ref) -> Listing | WhetError:
        try:
            return self._open(place).inspect()
        except WhetError as error:
            return Listing(place, "", ()) if error.code == "no-skills-found" else error

    def _list_plugin(
        self, plugin: Plugin, place: Ref | None, listing: Listing | WhetError | None, notes: list[Note]
    ) -> list[Offer]:
        """Return the skills of one plugin."""
        if place is None or listing is None:
            message = "It is a relative path, but the marketplace is a single file on the web."
            hint = "Use the marketplace's repository instead of the address of its file."
            raise NotFoundError("source-not-found", message, hint=hint)
        if isinstance(listing, WhetError):
            raise listing
        by_path = {offer.ref.path: offer for offer in listing.offers}
        found = [by_path[path] for path in plugin.members(by_path)]
        if not found:
            message = f"The plugin {plugin.name} has no skills."
            notes.append(Note("plugin-without-skills", "info", message, path=plugin.name))
        offers = [offer._replace(group=plugin.name) for offer in found]
        self._inner.update((own, (self._sources[place], offer)) for own, offer in zip(offers, found, strict=True))
        return offers


def _select(plugins: list[Plugin], offers: Sequence[Offer], names: Collection[str]) -> list[Plugin]:
    """Return the plugins elsewhere to open for these names: those with the name, or all to search for it."""
    wanted: list[Plugin] = []
    for name in names:
        keys = (key(name), key(name.partition("/")[0]))
        same = [plugin for plugin in plugins if key(plugin.name) in keys]
        if not same and not any(key(name) in _list_names(offer) for offer in offers):
            return plugins
        wanted += same
    return list(dict.fromkeys(wanted))


def _list_names(offer: Offer) -> tuple[str, ...]:
    return key(offer.name), key(offer.ref.path), key(offer.ref.path.rpartition("/")[2])


def _note_unopened(plugin: Plugin) -> Note:
    where = plugin.place.location if plugin.place else ""
    message = f"The plugin {plugin.name} is in {where} and was not listed."
    return Note("plugin-elsewhere", "info", message, "Name the plugin to list it.", path=plugin.name)


# the file


def read_marketplace(data: bytes, *, local: bool = False) -> Marketplace:
    """Read the plugins of a marketplace. Raise InvalidError `bad-response`.

    `local`: the file is on this machine, so its plugins may be, too.
    """
    answer = Answer(parse_json(data, FILE), FILE)
    metadata = answer.optional_child("metadata")
    root = _check_path((metadata.optional_text("pluginRoot") if metadata else None) or "", "metadata.pluginRoot")
    notes: list[Note] = []

    def read(entry: Answer) -> Plugin | None:
        return _read_plugin(entry, root, local=local, notes=notes)

    return Marketplace(read_entries(answer, "plugins", _WRONG, _TWICE, read, notes), tuple(notes))


def group_by_plugin(data: bytes, directories: Iterable[str]) -> dict[str, str]:
    """Map the directories of a repository to the plugins of its marketplace that they belong to.

    The closest directory that a plugin names, at or above a directory, decides. An unreadable file groups nothing.
    """
    try:
        plugins = read_marketplace(data).plugins
    except InvalidError:
        return {}
    named: dict[str, str] = {}
    for plugin in plugins:
        for root in plugin.roots if plugin.place is None else ():
            for directory in plugin.skills or (SKILLS, ""):
                named.setdefault(_join(root, directory), plugin.name)
    found = {item: [named[above] for above in (item, *parents(item)) if above in named] for item in directories}
    return {item: closest[0] for item, closest in found.items() if closest}


def _read_plugin(entry: Answer, root: str, *, local: bool, notes: list[Note]) -> Plugin | None:
    name = clean_text(entry.text("name"), 100)
    if not name or "/" in name:
        raise bad_response(f"{quote_text(name)} cannot be the name of a plugin.")
    description, skills = entry.prose("description"), _read_skills(entry)
    if isinstance(entry.value("source"), str):
        return Plugin(name, description, _list_roots(entry.text("source"), root), skills=skills)
    source = entry.child("source")
    kind = source.text("source")
    if kind == "local":
        return Plugin(name, description, _list_roots(source.text("path"), root), skills=skills)
    if kind == "archive":
        return Plugin(name, description, ("",), _read_archive(source), skills)
    if kind in _REPOSITORIES:
        place = _read_repository(source, kind, local=local)
        within = source.text("path") if kind == "git-subdir" else source.optional_text("path") or ""
        return Plugin(name, description, (_check_path(within, "path"),), place, skills)
    if kind in _NEVER_RUN:
        message, hint = f"comes from {kind}, which Whet does not run", "Ask its publisher for a repository."
    else:
        message, hint = f"comes from {quote_text(kind)}, which Whet does not support", "A newer Whet may support it."
    notes.append(Note("plugin-not-supported", "error", f"The plugin {name} {message}.", hint, skill=name))
    return None


def _read_repository(source: Answer, kind: str, *, local: bool) -> Ref:
    field = "repo" if kind == "github" else "url"
    text = source.text(field)
    if scp := _SCP.fullmatch(text):
        text = f"ssh://{scp[1]}@{scp[2]}/{scp[3]}"
    try:
        if local and text.startswith("file:///"):
            found = Ref("git", text.rstrip("/"))
        else:
            found = repository(text) if "://" in text else shorthand(text)
        ref = check_ref(source.text("ref")) if "ref" in source else ""
    except OddError as odd:
        raise bad_response(f"{quote_text(text)} {odd.what}.") from odd
    except (UsageError, ValueError) as error:
        raise bad_response(f"The {field} is not the address of a repository.") from error
    if found.ref or found.path:
        raise bad_response(f"{quote_text(text)} is not the address of a whole repository.")
    sha = source.optional_text("sha") or ""
    if sha and not _COMMIT.fullmatch(sha):
        raise bad_response(f"The sha {quote_text(sha)} is not a full commit hash.")
    return found._replace(ref=sha or ref)


def _read_archive(source: Answer) -> Ref:
    url = source.text("url")
    try:
        found = document(read_address(url))
    except (OddError, UsageError, ValueError) as odd:
        raise bad_response(f"The url {quote_text(url)} is not an address of an archive.") from odd
    if not found.location.startswith("https://"):
        raise bad_response(f"The url {quote_text(url)} is not an https address.")
    return found._replace(ref=f"sha256:{source.sha256('sha256', prefix='')}" if "sha256" in source else "")


def _read_skills(entry: Answer) -> tuple[str, ...]:
    """Return the directories that an entry names as its skills; a single text is a list of one."""
    value = entry.value("skills")
    if value is None:
        return ()
    items = [value] if isinstance(value, str) else entry.items("skills")
    if len(items) > _MOST_SKILLS:
        raise bad_response(f"It lists {len(items)} skills; the limit is {_MOST_SKILLS}.")
    if not all(isinstance(item, str) for item in items):
        raise bad_response("One of its skills is not a path.")
    return tuple(dict.fromkeys(_check_path(item, "skills") for item in items))


def _list_roots(text: str, root: str) -> tuple[str, ...]:
    """Return a plugin's possible directories: a bare name is below `pluginRoot`, `./` starts at the top, usually."""
    top = _check_path(text, "source")
    below = _join(root, top)
    return tuple(dict.fromkeys((top, below) if text.startswith(".") else (below, top)))


def _check_path(text: str, field: str) -> str:
    """Check and normalize a path in a place; "" is the place itself."""
    path = text.removeprefix("./").removesuffix("/")
    if path in ("", "."):
        return ""
    try:
        return paths.check(path)
    except UsageError as error:
        raise bad_response(f"The field {field} is not a valid directory: {error.message}") from error


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory and name else directory or name
