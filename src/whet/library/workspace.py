"""Reading the disk: the configuration, a snapshot of all skills, and one skill by its name.

A `Workspace` belongs to one place. Its results are immutable; if nothing changed, it returns the same catalogue object
again. It is the only class here that keeps state between two calls.
"""

from __future__ import annotations

import os
from zlib import crc32

from whet.errors import WhetError
from whet.library.cache import Cache
from whet.library.card import card_stamp
from whet.library.catalogue import Catalogue, assemble, competes, find, shadowed
from whet.library.config import Configuration, ResolvedConfig
from whet.library.discovery import (
    RootListing,
    are_unchanged,
    count_names,
    discover,
    reread,
    undisturbed,
    verify,
)
from whet.library.files import inside
from whet.library.roots import Place, Root, new_root
from whet.library.skill_id import SkillId, portable, skill_id
from whet.library.state import Decisions
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.names import key as name_key
from whet.store.cache import CacheDatabase
from whet.store.intents import Intents
from whet.store.state import StateDatabase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from whet.guard.gate import Gate
    from whet.guard.trust import Provenance
    from whet.library.card import Card
    from whet.library.disclosure import Opened
    from whet.library.discovery import Container
    from whet.library.readiness import Probe
    from whet.library.state import Blocked
    from whet.library.visibility import Disabled
    from whet.library.watch import KernelWatch
    from whet.notes import Progress, Severity
    from whet.skill.dialects import Words
    from whet.store.clock import Clock


_LARGE = 1000
"""Number of skills beyond which a library is large."""
_LOOKS = 3
"""Number of further attempts if skills change during a look."""


class Snapshot(NamedTuple):
    """The result of one look at the disk."""

    config: ResolvedConfig
    shelves: tuple[RootListing, ...]
    catalogue: Catalogue
    hidden: frozenset[str] = frozenset()
    """Directories left out of the catalogue because a change of them is in progress."""
    whole: bool = True
    """False if a change of several skills may be visible in part, because others kept changing them."""


class Workspace:
    """Reads the skills of one place as they are now."""

    def __init__(self, place: Place, roots: Sequence[str] | None, clock: Clock, probe: Probe | None) -> None:
        self.place = place
        self.explicit = None if roots is None else tuple(roots)
        self.clock = clock
        self.cache_database = CacheDatabase(place.state)
        self.cache = Cache(self.cache_database)
        self.state = StateDatabase(place.state)
        self.intents = Intents(self.state, clock)
        self.decisions = Decisions(self.state, clock)
        self.configuration = Configuration(place, self.explicit, self.decisions, clock, probe)
        self.first: Catalogue | None = None
        """The catalogue of the first look."""
        self.progress: Callable[[Progress], object] = lambda _: None
        """Receives the progress of a look that reads many skills."""
        self.settle: Callable[[], object] | None = None
        """Called before a look while changes are open: settles those that no living process holds."""
        self.hidden: Callable[[], frozenset[str]] = frozenset
        """Returns the directories to leave out, so that a running change is visible completely or not at all."""
        self.origins: Callable[[], Mapping[str, Provenance]] = dict
        """Returns provenance and trust of the skills that the user did not write, by their directories."""
        self._snapshot: Snapshot | None = None
        self._unsaved: dict[str, Blocked | None] = {}
        """Decisions of the guard that could not be saved, by skill id; None unblocks the skill."""
        self._gate: Gate | None = None
        self._watch: KernelWatch | None = None

    @property
    def gate(self) -> Gate:
        """Decides whether a package is allowed."""
        if self._gate is None:
            from whet.guard.gate import Gate

            self._gate = Gate(self.state, self.cache_database, self.clock, lambda: self.config().policy)
        return self._gate

    def watch(self) -> None:
        """Let the kernel report changed skills from now on, if it can: for a process that looks often."""
        from whet.library.watch import KernelWatch

        self._watch = self._watch or KernelWatch.open()

    def close(self) -> None:
        """Close the databases; they are opened again when needed."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self.cache_database.close()
        self.state.close()

    def config(self) -> ResolvedConfig:
        """Resolve the current configuration."""
        return self.configuration.resolve()

    def disabled(self, *, everywhere: bool) -> Disabled:
        """Return disabled skills and listing modes: here or, with `everywhere`, without this project's settings."""
        if not everywhere:
            return self.config().disabled
        home = self.place._replace(directory=self.place.home)
        return Configuration(home, self.explicit, self.decisions, self.clock, None).resolve().disabled

    def identify(self, directory: str) -> tuple[SkillId, str]:
        """Return id and scope of the skill at a directory, existing or not; the scope is "" outside of all roots."""
        roots, real = (self._snapshot.config if self._snapshot else self.config()).roots, os.path.realpath(directory)
        root = next((root for root in roots if inside(real, root.real)), None)
        if root is not None:
            return skill_id(real, root), root.scope
        parent, name = os.path.split(real)
        return SkillId(portable(parent, os.path.realpath(self.place.home)), name), ""

    def trust(self, card: Card) -> str:
        """Return the trust of a skill in the policy: that of its origin, in any root."""
        from whet.library.trust import origin_of

        return origin_of(card, self.config().policy, self.origins() if card.scope == "user" else {}).trust

    def admit(self, opened: Opened, config: ResolvedConfig) -> None:
        """Raise RefusedError if the guard blocks a repository's skill as it was read.

        New content is scanned, so that a change is noticed before a model reads it.
        """
        if opened.card.scope == "project":
            from whet.library.trust import admit

            admit(self.gate, self.decisions, opened, config)

    def open(self, card: Card) -> Opened:
        """Read a skill in full: its typed form, its files, its digest."""
        from whet.library.disclosure import open_skill

        config = self._snapshot.config if self._snapshot else self.config()
        return open_skill(card, cache=self.cache, now=self.clock(), bases=config.bounds.bases_of(card))

    def read(self, card: Card) -> Words:
        """Return the words of a skill without reading its other files."""
        from whet.library.disclosure import read_words

        config = self._snapshot.config if self._snapshot else self.config()
        return read_words(card, now=self.clock(), bases=config.bounds.bases_of(card))

    def new_root(self, *, project: bool = False) -> str:
        """Return the directory for a new skill; see `whet.library.roots.new_root`."""
        return new_root(self.place, self.explicit, project=project)

    def digest(self) -> str:
        """Return one digest over all skills: equal for equal names, scopes and contents."""
        from whet.skill.tree import library_digest

        return library_digest((card.qualified, self.open(card).digest) for card in self.snapshot().catalogue.cards)

    def shadowed(self, card: Card) -> Note | None:
        """Return why a skill's name does not refer to it, as of the last look; None if it does."""
        pairs = self._snapshot.catalogue.shadowed if self._snapshot else ()
        return next((shadowed(loser, winner) for loser, winner in pairs if loser.path == card.path), None)

    def report(self, snapshot: Snapshot | None = None) -> tuple[Note, ...]:
        """Return all problems of the skills on disk; `whet doctor` also examines the machine."""
        from whet.library.visibility import PERSON, hidden

        snapshot = snapshot or self.snapshot()
        entries, probe = [*snapshot.config.notes, *snapshot.catalogue.report()], snapshot.config.probe
        if bundle := snapshot.config.disabled.in_use:
            there = (*snapshot.catalogue.cards, *snapshot.catalogue.waiting)
            known = {name for card in there for name in card.known_as[1:]}
            for name in (name for name in bundle.skills if name_key(name) not in known):
                message = f"The bundle {bundle.slug} names {name}, which does not exist."
                entries.append(Note("bundle-unknown-skill", "warning", message, "Fix the name.", path=bundle.path))
        for card in snapshot.catalogue.cards:
            if snapshot.config.disabled.unused(card):
                continue  # reported once, for the bundle
            if card.description and (reason := hidden(card, PERSON, snapshot.config.disabled, probe)):
                severity: Severity = "warning" if reason.code == "guard-blocked" else "info"
                entries.append(
                    Note(reason.code, severity, reason.message, reason.hint, skill=card.full_name, path=card.path)
                )
        if self.cache_database.problem:
            entries.append(self.cache_database.problem)
        return tuple(entries)

    def is_large(self) -> bool:
        """Return whether there are so many skills that a look takes long, without one and at bounded cost.

        The cache knows the size of a root; for an unknown root some names are read: a skill has at least two.
        """
        config, left = self.config(), _LARGE
        for root in config.roots:
            known = self.cache.size(root, config.bounds) if root.trusted else None
            left -= count_names(root.real, 2 * _LARGE + 2) // 2 if known is None else known
            if left < 0:
                return True
        return False

    def snapshot(self) -> Snapshot:
        """Read everything. Unchanged listings, and the catalogue if all are unchanged, stay the same objects."""
        found = self._look_until_whole(self._snapshot)
        if not found.whole:
            from contextlib import suppress

            with suppress(WhetError), self.state.write():  # nobody begins, ends or reverses a change meanwhile
                found = self._look_until_whole(found, settles=False)
        self._snapshot = found
        self.first = self.first or found.catalogue
        return found

    def _look_until_whole(self, before: Snapshot | None, *, settles: bool = True) -> Snapshot:
        for _ in range(_LOOKS):
            found = before = self._look(before, settles=settles)
            if found.whole:
                break
        return found

    def _look(self, before: Snapshot | None, *, settles: bool = True) -> Snapshot:
        """Read everything once.

        The snapshot is whole if no change of several skills began, ended or was reversed meanwhile, and the open
        changes hide the same directories at the beginning and at the end.
        """
        turns, hidden = self._settled() if settles else (self.intents.mark()[0], self.hidden())
        found = self._search(before, hidden or frozenset())
        if before is not None and before.whole and found.catalogue is before.catalogue:
            return found
        whole = (hidden is None or self.hidden() == hidden) and self.intents.mark()[0] == turns
        return found if whole else found._replace(whole=False)

    def _search(self, before: Snapshot | None, hidden: frozenset[str]) -> Snapshot:
        """Read the roots, without the directories to leave out."""
        config = self.config()
        known: dict[Root, RootListing] = {}
        if before is not None and before.config.bounds == config.bounds:
            known = {shelf.root: shelf for shelf in before.shelves}
        now = self.clock()
        untrusted = tuple(root.real for root in config.roots if not root.trusted)
        shelves = []
        new: list[Card] = []
        for root in config.roots:
            old = known.get(root) or (self.cache.shelf(root, config.bounds) if root.trusted else None)
            bounds = config.bounds
            if not root.trusted:  # its links may lead anywhere in its repository, but no others lead into it
                bounds = bounds._replace(bases=(*bounds.bases, *untrusted))
            shelf = discover(root, bounds, old, now, self.progress, self._watch.verify if self._watch else verify)
            if shelf is not old:
                if root.trusted and root.scope == "project":
                    last_seen = {card.path: card for card in old.cards()} if old else {}
                    new += [card for card in shelf.cards() if last_seen.get(card.path) != card]
                self.cache.save(shelf, bounds)
            shelves.append(shelf)
        trusted = (shelf for shelf in shelves if shelf.root.trusted)
        config = self._review_changed(config, (card for shelf in trusted for card in shelf.cards()), new)
        same = before is not None and [*map(id, shelves)] == [*map(id, before.shelves)] and hidden == before.hidden
        catalogue = before.catalogue if before is not None and same else assemble(shelves, hidden)
        return Snapshot(config, tuple(shelves), catalogue, hidden)

    def _settled(self) -> tuple[int, frozenset[str] | None]:
        """Settle open changes; return the number of turns, and the directories to leave out if one is still open."""
        turns, is_open = self.intents.mark()
        if is_open and self.settle is not None:
            self.settle()
            turns, is_open = self.intents.mark()
        return turns, self.hidden() if is_open else None

    def _review_changed(
        self, config: ResolvedConfig, cards: Iterable[Card], new: Iterable[Card] = ()
    ) -> ResolvedConfig:
        """Scan `new` skills of a trusted repository, and blocked skills whose content has changed."""
        config.disabled.keep_back(self._unsaved)
        changed = {card.path: card for card in new}
        if config.disabled.keeps_back:
            now = self.clock()
            kept = ((card, why.stamp) for card in cards if (why := config.disabled.kept_back(card)))
            changed |= {card.path: card for card, stamp in kept if not stamp or stamp != card_stamp(card, now)}
        return self.review([*changed.values()], config) if changed else config

    def review(self, cards: Collection[Card], config: ResolvedConfig) -> ResolvedConfig:
        """Let the gate decide about skills as they are now, and record it; return the resulting configuration."""
        from whet.library.trust import review_skills

        stamps = self._stamps(cards, config)  # before they are read: a change meanwhile is noticed next time
        origins = self.origins() if any(card.scope == "user" for card in cards) else {}
        unsaved = review_skills(self.gate, self.decisions, cards, config, origins)
        ids = {str(card.id) for card in cards}
        self._unsaved = {key: why for key, why in self._unsaved.items() if key not in ids} | unsaved
        config = self.config()
        config.disabled.keep_back(self._unsaved)
        passed = (card.path for card in cards if config.disabled.kept_back(card) is None)
        self.cache.save_passed({path: stamps[path] for path in passed if stamps[path]})
        return config

    def unreviewed(self, cards: Collection[Card], config: ResolvedConfig) -> list[Card]:
        """Return the skills that the guard has not decided about as they are now."""
        open_ones = [card for card in cards if config.disabled.kept_back(card) is None]
        stamps = self._stamps(open_ones, config)
        passed = self.cache.passed([*stamps])
        return [card for card in open_ones if not stamps[card.path] or stamps[card.path] != passed.get(card.path)]

    def _stamps(self, cards: Iterable[Card], config: ResolvedConfig) -> dict[str, str]:
        """Return by path a stamp that changes whenever the decision could; "" while a file is too new."""
        from whet import __version__

        now = self.clock()
        rules = crc32(repr((__version__, config.settings.policy, config.project_policy, config.machine)).encode())
        return {card.path: stamp and f"{stamp}.{rules:08x}" for card in cards for stamp in (card_stamp(card, now),)}

    def find(self, name: str) -> tuple[Card, ResolvedConfig]:
        """Return the skill of that name, checked against the disk, without reading the others if that is safe.

        For a known name whose skill is unchanged or edited in place, the cost grows only with the number of
        directories; otherwise (unknown or qualified names, additions or removals where they would take precedence) it
        takes a full look. It does not notice another skill that was edited to take the same name; a full look does.
        """
        _, hidden = self._settled()
        config, before = self.config(), self._snapshot
        same = before is None or (before.config.roots, before.config.bounds) == (config.roots, config.bounds)
        if same and not hidden and not (before and before.hidden):
            card = self._remembered(name_key(name), config, before)
            if card is not None and not are_unchanged((card,)):
                card = reread(card, config.bounds.bases, self.clock())
            if card is not None and self._undisturbed(card, config, before):
                return card, self._review_changed(config, (card,))
        snapshot = self.snapshot()
        return find(snapshot.catalogue, name), snapshot.config

    def _remembered(self, key: str, config: ResolvedConfig, snapshot: Snapshot | None) -> Card | None:
        if snapshot is not None:
            return snapshot.catalogue.by_key.get(key)
        for root in config.roots:
            if root.trusted and (cards := self.cache.cards(key, root, config.bounds)):
                return cards[0]
        return None

    def _undisturbed(self, card: Card, config: ResolvedConfig, snapshot: Snapshot | None) -> bool:
        """Return whether nothing was added or removed in the roots whose skills would take precedence over this one."""
        for root in (*competes(card, config.roots), card.root):
            if snapshot is not None:
                shelf = next(shelf for shelf in snapshot.shelves if shelf.root == root)
                containers: list[Container] | None = [*shelf.containers.values()]
            else:
                containers = self.cache.containers(root, config.bounds)
            if containers is None or not all(map(undisturbed, containers)):
                return False
            if not containers and os.path.lexists(root.path):
                return False
        return True
