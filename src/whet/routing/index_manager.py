"""The index of one library, kept up to date with the files on disk.

    manager = IndexManager(workspace, feedback)
    manager.find("fill in this form", 10, workspace.snapshot())

The index is in `cache.db`, with a collection for each set of roots, because the weight of a word depends on the other
skills. It is only a cache. Damaged rows are rebuilt, and if the file cannot be used at all (read-only, full, locked)
everything is indexed in memory for the lifetime of the process; `notes` reports it. A snapshot with the same
catalogue and the same feedback updates nothing.

A server does not let people wait while a large library is indexed for the first time: `build_in_background` does that
in a thread, and until it is done answers use only names and descriptions, which `notes` reports, too.
"""

from __future__ import annotations

from _thread import RLock
from contextlib import suppress
from functools import partial

from whet.errors import FailedError, WhetError
from whet.library.cache import READER
from whet.library.catalogue import CardsById
from whet.notes import Note, Progress
from whet.routing.index import Index
from whet.routing.router import Entry as Indexed
from whet.routing.router import Router
from whet.routing.texts import texts_of, texts_of_card
from whet.store.database import MEMORY
from whet.store.failures import os_failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from threading import Thread
    from typing import TypeVar

    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.workspace import Snapshot, Workspace
    from whet.routing.feedback import Feedback
    from whet.routing.router import Found
    from whet.routing.texts import Texts
    from whet.store.database import Database

    T = TypeVar("T")

_LARGE = 500
"""Number of skills that are indexed in about a second."""
_OFTEN = 25
_SHOWN = 10
"""Maximum number of unreadable skills in the notes."""
_UNUSABLE = frozenset({"state-corrupt", "state-failed", "state-foreign", "state-newer"})
"""Error codes for which the index file is cleared or set aside."""
_BUILDING = Note(
    "index-building",
    "info",
    "Whet is indexing the skills; until that is done, it looks at names and descriptions only.",
    "Ask again in a minute for an answer from the whole texts.",
)


class _Open:
    """The keys of skills that may be found: all `cards` except those in `shut`."""

    def __init__(self, cards: Mapping[str, Card], shut: Collection[str]) -> None:
        self._cards, self._shut = cards, shut

    def __contains__(self, key: object) -> bool:
        return key not in self._shut and key in self._cards


class IndexManager:
    """The index of the skills of a workspace. Threads may share it; queries run one at a time."""

    def __init__(
        self, workspace: Workspace, feedback: Feedback, progress: Callable[[Progress], object] = lambda _: None
    ) -> None:
        """`progress` receives reports while many skills are read."""
        self.workspace = workspace
        self.feedback = feedback
        self._progress = progress
        self._read = self._seen = self._total = 0
        self._turn = RLock()
        self._router: Router | None = None
        self._path = ""
        self._collection = ""
        self._spoilt: Note | None = None
        """The reason why no file is used, if any."""
        self._rebuilt: Note | None = None
        self._unread: tuple[Note, ...] = ()
        self._unheard: tuple[Note, ...] = ()
        self._known: tuple[Catalogue, dict[str, str], object] | None = None
        """The catalogue and feedback that the index matches, and its state: another process may have replaced it."""
        self._waits = True
        """Whether a query waits for a large library to be indexed."""
        self._builder: Thread | None = None
        self._sketch: tuple[Catalogue, Router] | None = None
        """A catalogue, and an index of its names and descriptions only."""

    def close(self) -> None:
        """Close the index; the next query opens it again."""
        with self._turn:
            for router in (self._router, self._sketch and self._sketch[1]):
                if router is not None:
                    router.close()
            self._router, self._known, self._path, self._spoilt, self._sketch = None, None, "", None, None

    def ask(self, question: Callable[[Router], T], snapshot: Snapshot) -> T:
        """Run a query on the index of a snapshot. It may run again on another index if the first is damaged."""
        with self._turn:
            while True:
                try:
                    return question(self._in_step(snapshot))
                except FailedError as error:
                    if self._path in ("", MEMORY):
                        raise
                    self._give_up(error)

    def find(
        self,
        message: str,
        k: int,
        snapshot: Snapshot,
        *,
        shut: Collection[str] = (),
        context: str = "",
        grouped: bool = False,
        searched: bool = True,
    ) -> tuple[Found, ...]:
        """Return the skills of a snapshot that fit a message best, except those in `shut`; see `Router.find`."""
        allowed = _Open(CardsById(snapshot.catalogue), shut)

        def search(router: Router) -> tuple[Found, ...]:
            return router.find(message, k, allowed=allowed, context=context, grouped=grouped, searched=searched)

        with self._turn:
            if self._waits or self.is_ready(snapshot):
                return self.ask(search, snapshot)
            self._build()
            return search(self._sketched(snapshot.catalogue))

    def build_in_background(self) -> None:
        """Index a large library in a thread from the next query on; meanwhile search names and descriptions."""
        self._waits = False

    def _build(self) -> None:
        """Start a thread that indexes a large library, unless one is running."""

        def build() -> None:
            made, waits = IndexManager(self.workspace, self.feedback), True
            try:
                with suppress(WhetError):
                    if not made.is_ready(snapshot := self.workspace.snapshot()):
                        made.ask(lambda _: None, snapshot)
                    waits = made._spoilt is not None
            finally:
                self._waits = waits  # if this failed, the next query meets the same error
                made.close()

        if self._builder is None or not self._builder.is_alive():
            from threading import Thread

            self._builder = Thread(target=build, name="whet-index", daemon=True)
            self._builder.start()

    def _sketched(self, catalogue: Catalogue) -> Router:
        """Return an index of the names and descriptions of these skills."""
        if self._sketch is None or self._sketch[0] is not catalogue:
            router = self._sketch[1] if self._sketch else Router(MEMORY)
            cards = ((str(card.id), _stamp(card, ""), partial(texts_of_card, card)) for card in catalogue.cards)
            router.update(Indexed(*card) for card in cards)
            self._sketch = catalogue, router
        return self._sketch[1]

    def copy(self, snapshot: Snapshot) -> tuple[Router, list[Indexed]]:
        """Return a separate index in memory for experiments, and its entries."""
        entries = list(self._entries(snapshot.catalogue.cards, self._marks()))
        return self.ask(lambda router: (router.copy(), entries), snapshot)

    def is_ready(self, snapshot: Snapshot) -> bool:
        """Return whether a query can be answered without indexing a large library first."""
        with self._turn:
            if len(snapshot.catalogue.cards) <= _LARGE or self._known is not None:
                return True
            if self._spoilt is not None:
                return False
            reads = self.workspace.cache_database.use(self._reads(snapshot), create=False)
            return reads is not None and reads <= _LARGE

    def _reads(self, snapshot: Snapshot) -> Callable[[Database], int | None]:
        """Return a function that counts the skills to read for an update; it returns None if there is no index."""
        marks, name, cards = self._marks(), self._name(snapshot.catalogue), snapshot.catalogue.cards
        made_from = self._made_from(snapshot, marks, Router.mark)

        def count(database: Database) -> int | None:
            found = database.read("SELECT made_from FROM index_collections WHERE name = ?", [name])
            if not found or (made_from and found[0][0] == made_from):
                return 0 if found else None
            missing: int = len(cards) - database.read("SELECT COUNT(*) FROM index_skills")[0][0]
            if missing > _LARGE:  # a lower bound is enough; a user who types queries at every letter while others index
                return missing
            known = set(database.read("SELECT key, stamp FROM index_skills"))
            return sum((entry.key, Router.mark + entry.stamp) not in known for entry in self._entries(cards, marks))

        return count

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the index at its last use."""
        told = (note for note in (self._spoilt, self._rebuilt, self._sketch and _BUILDING) if note is not None)
        return (*told, *self._unheard, *self._unread)

    # updates

    def _in_step(self, snapshot: Snapshot) -> Router:
        catalogue = snapshot.catalogue
        marks = self._marks()
        collection = self._name(catalogue)
        path = self.workspace.cache_database.path if collection and self._spoilt is None else MEMORY
        if self._router is None or (path, collection) != (self._path, self._collection):
            if self._router is not None:
                self._router.close()
            self._router, self._known, self._path, self._collection = None, None, path, collection
            self._router = Router(path, collection)
            self._router.touch()
        if self._sketch is not None:
            self._sketch[1].close()
            self._sketch = None
        known = self._known
        if known is None or known[0] is not catalogue or known[1:] != (marks, self._router.state):
            self._unread = ()
            made_from = self._made_from(snapshot, marks, self._router.mark)
            if not made_from or self._router.made_from != made_from:
                updated = self._router.update(self._entries(catalogue.cards, marks), made_from)
                self._unread = tuple(_not_indexed(updated.failed, catalogue))
            self._known = catalogue, marks, self._router.state
        return self._router

    def _made_from(self, snapshot: Snapshot, marks: Mapping[str, str], reader: str) -> str:
        """Return a text that changes with every source of the index; empty if changes cannot be detected.

        The cache gives every state of a root its own number, so that no skill has to be compared to see that nothing
        changed since the last update.
        """
        versions = [self.workspace.cache.version(shelf) for shelf in snapshot.shelves]
        if None in versions or snapshot.hidden:
            return ""
        roots = [(*shelf.root, version) for shelf, version in zip(snapshot.shelves, versions, strict=True)]
        return ascii((READER, reader, roots, sorted(marks.items())))

    def _entries(self, cards: Collection[Card], marks: Mapping[str, str]) -> Iterable[Indexed]:
        self._seen, self._total = 0, len(cards)
        for card in cards:
            self._seen += 1
            mark = " ".join(marks[known] for known in card.known_as[:2] if known in marks) if marks else ""
            yield Indexed(str(card.id), _stamp(card, mark), self._reading(card, heard=bool(mark)))

    def _reading(self, card: Card, *, heard: bool) -> Callable[[], Texts]:
        def read() -> Texts:
            with os_failures(card.path, doing="read", other="read-failed"):
                texts = texts_of(self.workspace.read(card))
            self._read += 1
            if self._read % _OFTEN == 0:
                self._progress(Progress("Indexing", self._seen, self._total, "skills"))
            return texts._replace(**self.feedback.examples(*card.known_as[:2])._asdict()) if heard else texts

        return read

    def _marks(self) -> dict[str, str]:
        """Return the feedback marks by skill; empty, with a note, if the feedback cannot be read."""
        try:
            self._unheard = ()
            return self.feedback.all_marks()
        except FailedError as error:
            self._unheard = (Note.from_error(error, "warning", path=self.feedback.state.path),)
            return {}

    # the file

    def _name(self, catalogue: Catalogue) -> str:
        """Return the collection name for the roots that have skills, so that an empty project shares the user's."""
        if self._known is not None and self._known[0] is catalogue:
            return self._collection
        roots = {id(card.root): card.root for card in catalogue.cards}.values()  # few roots for many cards
        return ascii(sorted({(root.real, root.namespace) for root in roots})) if roots else ""

    def _give_up(self, error: FailedError) -> None:
        """Continue without the file; a damaged index is rebuilt once."""
        if self._router is not None:
            self._router.close()
        path = self._path
        self._router, self._known = None, None
        if error.code in _UNUSABLE and self._rebuilt is None and self._clear(path):
            message = "The search index was damaged; Whet rebuilds it."
            self._rebuilt = Note("index-rebuilt", "info", message, path=path)
            return
        message = f"Whet rebuilds the search index in memory for every search: {error.message}"
        self._spoilt = Note("index-in-memory", "warning", message, error.hint, path=path)

    def _clear(self, path: str) -> bool:
        """Remove damaged rows, or set a damaged file aside; return whether that worked."""
        from whet.store.database import rebuildable, set_aside
        from whet.store.schema import CACHE

        try:
            rebuildable(path, CACHE, suspect=True)[0].close()
            try:
                index = Index(path)
                try:
                    index.clear()
                finally:
                    index.close()
            except FailedError as error:
                if error.code != "state-failed":  # `state-failed` means that a table is missing
                    raise
                set_aside(path)
        except WhetError:
            return False
        return True


def _not_indexed(failed: Sequence[tuple[str, str]], catalogue: Catalogue) -> Iterable[Note]:
    cards = CardsById(catalogue)
    for key, sentence in failed[:_SHOWN]:
        card = cards[key]
        message = f"{card.full_name} is not searchable: {sentence}"
        yield Note("not-indexed", "warning", message, "Make it readable.", skill=card.full_name, path=card.path)


def _stamp(card: Card, mark: str) -> str:
    """Return a stamp that changes whenever the texts of a skill may have changed."""
    extras = "".join(f"/{path}/{stamp}" for path, stamp in card.extras)
    return f"{READER}.{card.mtime}.{card.ctime}.{card.size}.{card.inode}{extras}/{mark}"
