"""The part of the front door that looks at sources: what they have, what fits a query, and the names they go by."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whet.api.guarding import Guarding
from whet.errors import UsageError, WhetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from weakref import ref

    from whet.authoring.checks import Check
    from whet.library.workspace import Workspace
    from whet.sources.install.installer import Installer, Wanted
    from whet.sources.lock.ledger import Ledger
    from whet.sources.model import FetchContext, Progress, Ref
    from whet.sources.taps.taps import Tap, Taps
    from whet.sources.web.client import Web


class Reaching(Guarding):
    """The way out to the sources of skills."""

    def __init__(self, workspace: Workspace, check: Check | None) -> None:
        super().__init__(workspace, check)
        self._ledger: Ledger | None = None
        self._web: Web | None = None
        self._turn = threading.Lock()
        self._running: list[ref[threading.Event]] = []
        """What ends each operation that is under way; where it is gone, the operation is over."""
        self.progress: Callable[[Progress], None] = lambda _: None
        """Set it to be told how far fetching and indexing have come. It is called from several threads."""

    def close(self) -> None:
        """Let connections go."""
        if self._web is not None:
            self._web.close()
            self._web = None

    def cancel(self) -> None:
        """End, from another thread, everything that is being fetched: the calls raise FailedError `cancelled`."""
        with self._turn:
            events = [known() for known in self._running]
        for event in events:
            if event is not None:
                event.set()

    @property
    def ledger(self) -> Ledger:
        """What was ever installed: the memory behind the locks."""
        if self._ledger is None:
            from whet.sources.lock.ledger import Ledger

            editor = self.edit
            self._ledger = Ledger(self.workspace.state, self.workspace.clock, editor.journal, editor.writer.recover)
        return self._ledger

    @property
    def web(self) -> Web:
        """The network, as far as the settings let sources use it."""
        if self._web is None:
            from whet.sources.web.client import Web

            settings = self.workspace.config().settings
            hosts, timeout = settings.private_hosts, settings.network_timeout
            self._web = Web(env=self.place.env, private_hosts=hosts, timeout=timeout)
        return self._web

    @property
    def reach(self) -> FetchContext:
        """What the sources of one operation may use of the world; each operation ends for itself."""
        from weakref import ref

        from whet.sources.model import FetchContext

        ended = threading.Event()
        with self._turn:
            self._running = [*(known for known in self._running if known() is not None), ref(ended)]
        return FetchContext(self.place, self.web, ended, self._tell)

    def _tell(self, progress: Progress) -> None:
        self.progress(progress)

    def installer(self, *, here: bool = False) -> Installer:
        """The install chain for the user's root, or for the project's."""
        return self._installer(self.new_root(project=here))

    def _installer(self, root: str) -> Installer:
        from whet.sources.install.installer import Installer

        repository = self.workspace.config().repository
        shared = repository is not None and os.path.realpath(root) != os.path.realpath(self.new_root())
        project = repository.root if repository is not None and shared else ""
        return Installer(self.workspace, self.edit, self.ledger, self.reach, root, project)

    # looking around

    def search(self, query: str, limit: int = 20, *, source: str = "", offline: bool = False) -> dict[str, Any]:
        """Skills that fit a query, from all taps, or from one source: a tap's name, or what `install` takes.

        `skills` are {name, description, version, group, tap, trust, install, source}; `install` is what to give to
        `install`. A source that cannot be asked is in `notes`; FailedError `no-source-answered` is raised when none
        can. With `offline`, only what lies on this disk is searched.
        """
        from whet.sources.opening import open_source
        from whet.sources.taps.searching import search

        found = search(
            self._searched(source),
            query,
            limit,
            self.reach,
            open_source,
            trust=self._trust,
            offline=offline,
            clock=self.workspace.clock,
        )
        return {"success": True, "query": query, **found.to_json()}

    def _searched(self, source: str) -> list[tuple[str, Ref]]:
        """Name and reference of every source to search; one that is no tap has no name."""
        from whet.skill.names import key
        from whet.sources.refs.reading import read_ref

        taps = self.taps.all()
        if not source:
            return [(tap.name, read_ref(tap.source, self.place)) for tap in taps]
        name = next((tap.name for tap in taps if key(tap.name) == key(source)), "")
        (wanted,) = self._wanted([source], (), every=False)
        return [(name, wanted.ref)]

    def _trust(self, ref: Ref) -> str:
        from whet.sources.refs.trusting import ref_trust

        return ref_trust(ref, self.workspace.config().settings.trusted_sources)

    def _wanted(self, sources: Sequence[str], skills: Sequence[str], *, every: bool) -> list[Wanted]:
        """What is wanted of which source; `tap:skill` names a tap and a skill of it."""
        from whet.sources.install.installer import Wanted
        from whet.sources.refs.reading import read_ref
        from whet.sources.taps.taps import expand

        if not sources:
            hint = "Name a repository, path, address or tap:skill. `whet restore` brings back what the lock names."
            raise UsageError("usage", "No source is named.", hint=hint)
        taps, wanted = self.taps.all(), []
        for text in sources:
            ref, names = expand(text, taps, self.place) or (read_ref(text, self.place), ())
            wanted.append(Wanted(ref, (*names, *skills), every and not skills))
        return wanted

    @contextmanager
    def _reading(self, sources: Sequence[str]) -> Iterator[None]:
        """Where a source cannot be had, say what was perhaps meant by its name instead."""
        from whet.sources.refs.reading import reading_notes

        try:
            yield
        except WhetError as error:
            meant = [note.hint for text in sources for note in reading_notes(text, self.place)]
            error.hint = " ".join((error.hint, *meant)).strip()
            raise

    def inspect(self, source: str, skills: Sequence[str] = ()) -> dict[str, Any]:
        """What a source has; with `skills`, or where it has only one, also their files and what the guard says.

        Nothing is installed. `skills` are all it has, `inspected` those that were fetched, with {digest, files,
        decision, reason, trust, verdict, findings}.
        """
        from whet.sources.install.inspecting import inspect

        with self._reading([source]):
            (wanted,) = self._wanted([source], skills, every=False)
            return {"success": True, **inspect(self.installer(), wanted)}

    # taps

    @property
    def taps(self) -> Taps:
        """The named sources, as values; `list_taps`, `add_tap` and `remove_tap` answer about them."""
        from whet.sources.taps.taps import Taps

        return Taps(self.workspace.state, self.workspace.clock)

    def list_taps(self) -> dict[str, Any]:
        """The named sources that `search` asks: {name, source, default, added, shown, trust}."""
        return {"success": True, "taps": [self._told_tap(tap) for tap in self.taps.all()]}

    def add_tap(self, name: str, source: str) -> dict[str, Any]:
        """Give a source a name, so that `search` asks it and `name:skill` means a skill of it.

        Raises ConflictError where the name is taken.
        """
        from whet.sources.refs.reading import read_ref

        return {"success": True, "tap": self._told_tap(self.taps.add(name, read_ref(source, self.place)))}

    def remove_tap(self, name: str) -> dict[str, Any]:
        """Forget a named source; what was installed from it stays. Raises NotFoundError."""
        return {"success": True, "tap": self._told_tap(self.taps.remove(name))}

    def _told_tap(self, tap: Tap) -> dict[str, Any]:
        from whet.sources.refs.reading import read_ref, shown

        ref = read_ref(tap.source, self.place)
        return {**tap._asdict(), "shown": shown(ref), "trust": self._trust(ref)}
