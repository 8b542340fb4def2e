"""Skills of a Claude marketplace: a directory, a repository or the address of a `marketplace.json`.

A marketplace is a list of places. What it offers is handed out with the reference of the place where it really lies,
so that a skill, once installed, is updated from there, pinned if the marketplace pins it, whatever becomes of the list.
Plugins in the marketplace's own directory are looked into always. Those elsewhere only when they are named, or when a
name is asked for that nothing else answers to: a long list must not mean a hundred clones.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, WhetError
from whet.library.files import read_file
from whet.notes import Note
from whet.skill.names import closest, key
from whet.sources.concurrency import together
from whet.sources.indexes.answers import told
from whet.sources.indexes.artifacts import about
from whet.sources.indexes.marketplace_file import FILE, FILE_BYTES, Marketplace, groups, read_marketplace
from whet.sources.model import Fetched, Listing, Offer, Ref
from whet.sources.opening import open_source
from whet.sources.packages import choose, refusal
from whet.store.failures import os_failure

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.sources.indexes.marketplace_file import Plugin
    from whet.sources.model import FetchContext, Source

__all__ = ["MarketplaceSource", "groups"]

MOST_OPENED = 20
"""Places elsewhere that are looked into in search of a name."""


class _Looked(NamedTuple):
    """What was found in one place."""

    listing: Listing | None
    error: WhetError | None = None


class MarketplaceSource:
    """A marketplace, and the places that it names."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref
        self._reach = reach
        self._listed = Marketplace("", (), ())
        self._sources: dict[Ref, Source] = {}
        self._inner: dict[Offer, tuple[Source, Offer]] = {}
        """An offer of this source -> whose offer it is, and how it reads there."""

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """The skills of the marketplace, or of the plugin that the reference names."""
        marketplace, revision = self._marketplace()
        self._listed = marketplace
        self._inner.clear()
        plugin, _, skill = self.ref.path.partition("/")
        chosen = [each for each in marketplace.plugins if not plugin or key(each.name) == key(plugin)]
        if plugin and not chosen:
            raise self._missing(plugin, marketplace)
        notes = list(marketplace.notes)
        offers = self._offers([each for each in chosen if each.place is None], notes, strict=bool(plugin))
        elsewhere = [each for each in chosen if each.place is not None]
        wanted = elsewhere if plugin else _asked_for(elsewhere, offers, names)
        offers += self._offers(wanted[:MOST_OPENED], notes, strict=bool(plugin))
        notes += [_not_opened(each) for each in elsewhere if each not in wanted[:MOST_OPENED]]
        if skill:
            offers = [offer for offer in offers if key(skill) in _answers_to(offer)]
            if not offers:
                raise self._no_skill(skill, plugin)
        return Listing(self.ref, revision, tuple(offers), told(notes))

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What fits a query; of plugins elsewhere the plugin itself, which can be looked into by its reference."""
        from whet.sources.taps.searching import rank

        listing = self.inspect()
        known = {offer.group for offer in listing.offers}
        plugins = (
            Offer(each.name, each.description, self.ref._replace(path=each.name), listing.revision, group=each.name)
            for each in self._listed.plugins
            if each.place is not None and each.name not in known
        )
        return rank((*listing.offers, *plugins), query, limit)

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The contents, from the places where they lie."""
        by_source: dict[int, list[Offer]] = {}
        for offer in offers:
            if offer not in self._inner:
                self._inner[offer] = self._alone(offer)
            by_source.setdefault(id(self._inner[offer][0]), []).append(offer)
        fetched: dict[Offer, Fetched] = {}
        for mine in by_source.values():
            source = self._inner[mine[0]][0]
            for offer, package in zip(mine, source.fetch([self._inner[offer][1] for offer in mine]), strict=True):
                fetched[offer] = package._replace(offer=package.offer._replace(group=offer.group))
        return tuple(fetched[offer] for offer in offers)

    def close(self) -> None:
        """Close every place that was looked into."""
        for source in self._sources.values():
            source.close()
        self._sources.clear()
        self._inner.clear()

    # the list

    @property
    def _home(self) -> Ref | None:
        """The place in which the marketplace itself lies; None where it is a file on the web and nothing around it."""
        location = self.ref.location
        if os.path.isabs(location):
            return Ref("path", location)
        return None if location.endswith(".json") else Ref("git", location, self.ref.ref)

    def _marketplace(self) -> tuple[Marketplace, str]:
        """What it lists, and the revision of that."""
        home = self._home
        if home is None:
            data = self._from_web()
        elif home.kind == "path":
            data = self._from_disk()
        else:
            data = self._from_repository(home)
        local = home is not None and not home.location.startswith(("https://", "http://", "ssh://"))
        return read_marketplace(data, local=local), f"sha256:{hashlib.sha256(data).hexdigest()}"

    def _from_web(self) -> bytes:
        self._reach.check_cancelled()
        answer = self._reach.web.get(
            self.ref.location, limit=FILE_BYTES, accept="application/json", cancelled=self._reach.cancelled
        )
        return answer.body

    def _from_disk(self) -> bytes:
        path = os.path.join(self.ref.location, *FILE.split("/"))
        try:
            data = read_file(path, FILE_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self._none_here() from error
        except OSError as error:
            raise os_failure(error, path, doing="read", other="read-failed") from error
        if len(data) > FILE_BYTES:
            message = f"{path} has more than {FILE_BYTES} bytes."
            raise InvalidError("response-too-large", message, hint="This is more than such a file has.")
        return data

    def _from_repository(self, home: Ref) -> bytes:
        from whet.sources.indexes.marketplace_git import file_in_repository

        self._source(home)  # refuses what is no repository
        data = file_in_repository(home, FILE, FILE_BYTES, self._reach)
        if data is None:
            raise self._none_here()
        return data

    def _none_here(self) -> NotFoundError:
        message = f"{self.ref.location} is no marketplace: it has no {FILE}."
        hint = "Name it without `marketplace:` to install the skills that lie there."
        return NotFoundError("source-not-found", message, hint=hint)

    # the places

    def _source(self, place: Ref) -> Source:
        if place not in self._sources:
            if place != self._home:
                self._reach.web.check_told(place.location)
            self._sources[place] = open_source(place, self._reach)
        return self._sources[place]

    def _offers(self, plugins: Sequence[Plugin], notes: list[Note], *, strict: bool) -> list[Offer]:
        """The skills of these plugins. What fails is raised if `strict`, otherwise told."""
        places = [place for plugin in plugins if (place := plugin.place or self._home)]
        looked = dict(zip(dict.fromkeys(places), together(self._look, list(dict.fromkeys(places))), strict=True))
        offers: list[Offer] = []
        for plugin in plugins:
            place = plugin.place or self._home
            try:
                offers += self._of(plugin, place, looked[place] if place else None, notes)
            except WhetError as error:
                if strict or error.code == "cancelled":
                    raise about(error, plugin.name) from error
                notes.append(refusal(error, plugin.name, ""))
        for listing in (each.listing for each in looked.values()):
            notes += listing.notes if listing else ()
        return offers

    def _look(self, place: Ref) -> _Looked:
        try:
            return _Looked(self._source(place).inspect())
        except WhetError as error:
            if error.code == "no-skills-found":
                return _Looked(Listing(place, "", ()))
            return _Looked(None, error)

    def _of(self, plugin: Plugin, place: Ref | None, looked: _Looked | None, notes: list[Note]) -> list[Offer]:
        """The skills of one plugin in its place."""
        if place is None or looked is None:
            message = "It lies beside the marketplace, which is only a file on the web."
            hint = "Name the repository of the marketplace instead of the address of its file."
            raise NotFoundError("source-not-found", message, hint=hint)
        if looked.listing is None:
            raise looked.error or NotFoundError("source-not-found", f"There is nothing at {place.location}.")
        by_path = {offer.ref.path: offer for offer in looked.listing.offers}
        found = [by_path[path] for path in plugin.members(by_path)]
        if not found:
            message = f"The plugin {plugin.name} has no skills."
            notes.append(Note("plugin-without-skills", "info", message, path=plugin.name))
        mine = [offer._replace(group=plugin.name) for offer in found]
        self._inner.update({own: (self._sources[place], offer) for own, offer in zip(mine, found, strict=True)})
        return mine

    def _alone(self, offer: Offer) -> tuple[Source, Offer]:
        """An offer that this source did not make lately; its reference says all that is needed."""
        source = self._source(offer.ref)
        (found,) = choose(source.inspect(), (), all=False)
        return source, found

    # refusals

    def _missing(self, plugin: str, marketplace: Marketplace) -> WhetError:
        for entry in marketplace.notes:
            if entry.severity == "error" and entry.skill and key(entry.skill) == key(plugin):
                return InvalidError(entry.code, entry.message, hint=entry.hint)
        near = closest(plugin, [each.name for each in marketplace.plugins])
        hint = f"Did you mean {', '.join(near)}?" if near else "List what is there without naming a plugin."
        message = f"There is no plugin {plugin!r} in {self.ref.location}."
        return NotFoundError("skill-not-in-source", message, hint=hint, suggestions=list(near))

    def _no_skill(self, skill: str, plugin: str) -> NotFoundError:
        message = f"The plugin {plugin} in {self.ref.location} has no skill {skill!r}."
        return NotFoundError("skill-not-in-source", message, hint=f"List what is there with {plugin} alone.")


def _asked_for(plugins: Sequence[Plugin], offers: Sequence[Offer], names: Collection[str]) -> list[Plugin]:
    """The plugins elsewhere that have to be looked into for these names: those of the name, or all in search of it."""
    wanted: list[Plugin] = []
    for name in names:
        first = key(name.partition("/")[0])
        called = [plugin for plugin in plugins if key(plugin.name) in (key(name), first)]
        if called:
            wanted += called
        elif not any(key(name) in _answers_to(offer) for offer in offers):
            return list(plugins)
    return list(dict.fromkeys(wanted))


def _answers_to(offer: Offer) -> tuple[str, ...]:
    return key(offer.name), key(offer.ref.path), key(offer.ref.path.rpartition("/")[2])


def _not_opened(plugin: Plugin) -> Note:
    where = plugin.place.location if plugin.place else ""
    message = f"The plugin {plugin.name} lies in {where} and was not looked into."
    return Note("plugin-elsewhere", "info", message, "Name it to look into it.", path=plugin.name)
