"""The front door: a `Library` is the skills that Whet sees from one directory, always as they are on disk now.

    from whet import Library

    library = Library.open()
    for card in library.skills():
        print(card.name, "-", card.description)
    print(library.read("writing-skills").content)

Every call looks at the disk again (a few microseconds per skill), so it sees everyone's edits; the snapshot in
`catalogue` changes only when something has changed. Less common work is one level down, by subject: `edit`, `history`,
`proposals`, `sources`, `guard`, `learning`, `settings`. Results are frozen values; `to_json()` returns what the command
line prints. Failures raise a `WhetError`. Threads may share a `Library`: snapshots are immutable and replaced as a
whole.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, get_ident

from whet.errors import UsageError, WhetError, expected_text, path_text
from whet.library.card import main_file
from whet.library.roots import Place
from whet.library.visibility import MODEL, PERSON, Caller
from whet.library.workspace import Workspace
from whet.records import NamedTuple, cached_property
from whet.store.clock import system_clock
from whet.store.home import user_home, whet_home
from whet.values import Json, fields_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Self, overload

    from whet.api.guard import SkillGuard
    from whet.api.learning import SkillLearning
    from whet.api.session import Session
    from whet.api.settings import SkillSettings
    from whet.api.sources import SkillSources
    from whet.api.stores import Stores
    from whet.api.tool_definitions import Writes
    from whet.api.tools import Tools
    from whet.authoring.commits import Commit, Committed
    from whet.authoring.editor import SkillEditor
    from whet.authoring.history import History
    from whet.authoring.journal import Entry
    from whet.authoring.proposals import Check, Proposals
    from whet.authoring.writer import Provenance as Author
    from whet.guard.trust import Provenance
    from whet.learning.models.model import Model
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.client_lists import ClientList
    from whet.library.disclosure import FileView, SkillView
    from whet.library.listing import LastRanking, Skills
    from whet.library.readiness import Probe
    from whet.notes import Note, Progress
    from whet.prompt.index import Index, Use
    from whet.prompt.invocation import Fork, Invocation
    from whet.prompt.matcher import Detection, Matches, MessageContext, SkillMatcher
    from whet.prompt.needs import Needs
    from whet.prompt.requests import Commands
    from whet.prompt.shell import Runner
    from whet.prompt.tokens import Tokenizer
    from whet.runtime.agent import Confirm
    from whet.runtime.runs import RunLimits, RunResult, Runs
    from whet.skill.evals_proof import OutputResults
    from whet.sources.publish.prepare import Prepared
    from whet.store.clock import Clock
    from whet.store.intents import Handler
    from whet.store.repair import Repaired
    from whet.store.state import StateDatabase


class Reload(NamedTuple):
    """The changes that a reload found."""

    added: tuple[str, ...]
    """Names of new skills."""
    removed: tuple[str, ...]
    """Names of removed skills."""
    changed: tuple[str, ...]
    """Names of skills that changed, or that now come from another root."""
    unchanged: int
    """Number of unchanged skills."""
    total: int
    """Number of skills now."""

    def to_json(self) -> Json:
        """Return the reload as JSON."""
        return fields_json(self)


_PARTS = ("edit", "history", "proposals", "sources", "guard", "learning", "settings")
_OTHER_NAMES = {
    "add": "edit.create",
    "get": "read",
    "list": "skills",
    "load": "read",
    "remove": "edit.delete",
    "search": "find",
    "show": "read",
    "view": "read",
}
"""Names that callers look for on a library -> the real name."""


class Library:
    """The skills that Whet sees from one directory, always as they are on disk now. Open one with `Library.open`.

    Every call looks at the disk again, so it sees everyone's edits. Threads may share a library.
    """

    def __init__(self, workspace: Workspace, *, check: Check | None = None) -> None:
        self.workspace = workspace
        """The configuration, the catalogue and the clock of this library."""
        self._ranking: LastRanking | None = None
        self.progress: Callable[[Progress], None] = lambda _: None
        """Set it to receive the progress of long operations. It is called from several threads."""
        self._check = check
        self._reported: Catalogue | None = None
        """The catalogue of the last reload; other calls do not change it."""
        self.handlers: list[Callable[[StateDatabase], Mapping[str, Handler]]] = []
        """Functions that return handlers for more kinds of intents (`settle`), for code that is built on a library."""
        self._settling, self._settler = allocate_lock(), 0
        workspace.settle, workspace.hidden = self._settle_for_readers, self._hidden
        workspace.progress, workspace.origins = self._tell, self._origins

    @classmethod
    def open(
        cls,
        roots: Sequence[str | os.PathLike[str]] | None = None,
        home: str | os.PathLike[str] | None = None,
        project: str | os.PathLike[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        platform: str = sys.platform,
        clock: Clock = system_clock,
        probe: Probe | None = None,
        check: Check | None = None,
    ) -> Library:
        """Open the library of this machine and project, or of exactly the given `roots`.

        `home` is Whet's state directory (default: `$WHET_HOME`, else the platform's data directory), `project` the
        directory to look for project skills from (default: the working directory). Nothing is read yet.

        The other arguments replace parts of the machine, for agents and tests: `env` and `platform` replace its
        environment, `clock` returns the time in nanoseconds, `probe` decides whether a skill is ready (default: a
        `LocalProbe`), and `check` examines a skill before it is written (default: the guard). Raises UsageError
        `no-such-project` or `bad-root`.
        """
        env = os.environ if env is None else env
        if isinstance(roots, (str, os.PathLike)):
            roots = [roots]
        state = os.path.abspath(path_text(home)) if home is not None else whet_home(env, platform)
        directory = os.path.abspath(path_text(project)) if project is not None else _working_directory()
        if not os.path.isdir(directory):
            raise UsageError("no-such-project", f"There is no directory {directory}.", hint="Check --project.")
        named = None if roots is None else [path_text(root) for root in roots]
        for root in named or ():
            if os.path.isfile(root):
                hint = "A root is a directory that holds skills. Pass its path."
                raise UsageError("bad-root", f"The root {root} is a file, not a directory.", hint=hint)
        person = (
            state if named is not None and not env.get("HOME") and platform != "win32" else user_home(env, platform)
        )
        place = Place(directory, person, state, platform, env)
        return cls(Workspace(place, named, clock, probe), check=check)

    if not TYPE_CHECKING:  # a type checker would take every name for one that exists

        def __getattr__(self, name: str) -> Any:
            """Name the attribute to use for one that was looked up under another name."""
            from whet.skill.names import closest

            parts = () if name in _PARTS or name.startswith("_") else _PARTS
            found = [f"{part}.{name}" for part in parts if hasattr(type(getattr(self, part)), name)]
            near = found or closest(name, [one for one in dir(type(self)) if not one.startswith("_")], 1)
            meant = _OTHER_NAMES.get(name) or next(iter(near), "")
            hint = f" Did you mean `library.{meant}`?" if parts and meant else ""
            raise AttributeError(f"A Library has no {name!r}.{hint}")

    def close(self) -> None:
        """Close the databases. You can still use the library: it opens them again when needed.

        A `with` block closes them at its end.
        """
        if "sources" in self.__dict__:
            self.sources.close()
        if "matcher" in self.__dict__:
            self.matcher.index_manager.close()
        self.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _stores(self) -> Stores:
        from whet.api.stores import Stores

        return Stores(self.workspace.state, self.workspace.clock)

    # subjects

    @cached_property
    def edit(self) -> SkillEditor:
        """Create, edit and delete skills. Everything that Whet knows about a skill follows the change."""
        from whet.authoring.commits import follow_moves
        from whet.authoring.editor import SkillEditor
        from whet.authoring.journal import Journal

        workspace, gate = self.workspace, self.workspace.gate
        check, accept = (self._check, None) if self._check else (gate.check, gate.accept)
        journal = Journal(workspace.state, workspace.clock)
        editor = SkillEditor(
            workspace,
            journal,
            check=check,
            installed=self._installed_directories,
            accept=accept,
        )
        editor.on_commit(follow_moves(workspace.decisions))
        editor.on_commit(follow_moves(self._stores.feedback))
        editor.on_commit(self._stores.sessions.follow)
        editor.on_commit(self._follow_links)
        editor.committer.after_commit(self._stores.usage.follow, "The change is not counted")
        editor.committer.after_commit(self._follow_bundles, "Bundles keep the old name")
        editor.committer.locks = self._follow_locks
        editor.committer.after_commit(self._render_locks, "The lock was not changed")
        editor.committer.after_commit(self._finish_links, "Links for other clients were not changed")
        editor.history.switched = self._switch_links
        editor.history.reverse = self._reverse_decision
        return editor

    def _reverse_decision(self, entry: Entry, card: Card | None, by: Author) -> Commit:
        return self.settings.reverse(entry, card, by)

    def _switch_links(self, card: Card) -> Iterable[str]:
        """Remove or restore the links and copies of a skill for clients, after it was disabled or enabled."""
        from whet.sources.sync.apply import finish_following, follow_switch

        off = self.workspace.disabled(everywhere=True)
        real = os.path.dirname(card.resolved)
        follow_switch(self.workspace.state, real, lambda client: off.source(card, client) is not None)
        return finish_following(self.workspace.state)

    def _follow_bundles(self, commits: Sequence[Committed]) -> Iterable[str]:
        if not any(commit.moved for commit in commits):
            return ()
        from whet.library.bundles import follow_bundles

        directories = self.workspace.config().bundle_directories
        renamed = ((commit.old_name, commit.entry.skill) for commit in commits if commit.moved)
        return tuple(follow_bundles(directories, directories[-1], renamed))

    def _follow_links(self, commits: Sequence[Committed]) -> Iterable[str]:
        if any(commit.moved or commit.back or not commit.after for commit in commits):
            from whet.sources.sync.apply import follow_skills

            follow_skills(self.workspace.state, commits)
        return ()

    def _finish_links(self, commits: Sequence[Committed]) -> Iterable[str]:
        from whet.store.intents import SYNC

        notes: list[str] = []
        if self.edit.journal.intents.open(SYNC):
            from whet.sources.sync.apply import finish_following

            notes.extend(finish_following(self.workspace.state))
        if self.workspace.state.read("SELECT 1 FROM synced WHERE kind = 'client' LIMIT 1"):
            notes.extend(self.sources.follow_synced(commits))
        return tuple(notes)

    def _follow_locks(self, commits: Sequence[Committed], planned: Any) -> None:
        if planned is not None or any(commit.moved or commit.back or not commit.after for commit in commits):
            self.sources.follow(commits, planned)

    def _render_locks(self, commits: Sequence[Committed]) -> Iterable[str]:
        from whet.store.intents import LOCK

        return self.sources.render_locks(commits) if self.edit.journal.intents.open(LOCK) else ()

    @property
    def history(self) -> History:
        """The record of changes: authors, reasons, differences, and every way to undo."""
        return self.edit.history

    @property
    def proposals(self) -> Proposals:
        """Changes that wait for approval."""
        return self.edit.proposals

    @cached_property
    def sources(self) -> SkillSources:
        """Sources of skills: installing, updating, the lock, syncing, publishing."""
        from whet.api.sources import SkillSources

        return SkillSources(
            self.workspace,
            self.edit,
            self._tell,
            self._check_release,
        )

    @cached_property
    def guard(self) -> SkillGuard:
        """Safety: scanning, the policy, the record of decisions, and permissions."""
        from whet.api.guard import SkillGuard

        return SkillGuard(self.workspace)

    def _check_release(self, skill: Prepared, path: str, outputs: OutputResults | None) -> tuple[Note, ...]:
        return self.learning.check_release(skill, path, outputs)

    def _installed_directories(self) -> frozenset[str]:
        return self.sources.installed_directories()

    def _origins(self) -> Mapping[str, Provenance]:
        return self.sources.origins()

    @cached_property
    def learning(self) -> SkillLearning:
        """Learning: usage, the curator, feedback, evals, and skills distilled from sessions."""
        from whet.api.learning import SkillLearning

        return SkillLearning(
            self.workspace,
            self._stores,
            editor=lambda: self.edit,
            matcher=lambda: self.matcher,
            progress=self._tell,
        )

    @cached_property
    def settings(self) -> SkillSettings:
        """Your decisions: which projects to trust, which skills to disable or pin, and bundles."""
        from whet.api.settings import SkillSettings

        return SkillSettings(self.workspace, lambda: self.sources, lambda: self.history)

    @cached_property
    def matcher(self) -> SkillMatcher:
        """The index behind `find` and `detect`, which follows the skills."""
        from whet.prompt.matcher import SkillMatcher
        from whet.routing.index_manager import IndexManager

        return SkillMatcher(IndexManager(self.workspace, self._stores.feedback, self._tell))

    def _tell(self, progress: Progress) -> None:
        self.progress(progress)

    def _used(self, catalogue: Catalogue) -> Mapping[str, Use]:
        return self.learning.used(catalogue)

    # catalogue

    @property
    def catalogue(self) -> Catalogue:
        """The skills as they are on disk now, as a snapshot that never changes. Looking again is cheap."""
        return self.workspace.snapshot().catalogue

    def reload(self) -> Reload:
        """Read the disk and return what changed since the last reload, or since this library was first used.

        You do not need it to see changes: every other call reads the disk too.
        """
        last = self._reported or self.workspace.first
        before = {card.full_name: card for card in last.cards} if last else {}
        self._reported = self.catalogue
        now = {card.full_name: card for card in self._reported.cards}
        added = tuple(name for name in now if name not in before)
        removed = tuple(name for name in before if name not in now)
        same = {name for name, card in now.items() if name in before and before[name].settled() == card.settled()}
        changed = tuple(name for name in now if name in before and name not in same)
        return Reload(added, removed, changed, len(same), len(now))

    def watch(self) -> Iterator[Reload]:
        """Wait for changes and yield them as they happen, without end. Only this needs the `watch` extra."""
        from whet.library.watch import wait_for_changes

        roots = self.workspace.snapshot().config.roots
        for _ in wait_for_changes([root.real for root in roots]):
            change = self.reload()
            if change.added or change.removed or change.changed:
                yield change

    def card(self, name: str) -> Card:
        """Return the card of the skill that a name, a qualified name or a path refers to; a card has no body.

        It is checked against the disk, without looking at other skills if that is safe. Raises NotFoundError with
        `suggestions`, AmbiguousError with `candidates`, RefusedError for a skill that waits for trust.
        """
        return self.workspace.find(name)[0]

    # the three tiers

    def skills(
        self,
        category: str | None = None,
        query: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        *,
        caller: Caller = PERSON,
        include_hidden: bool = False,
        scope: str | None = None,
        state: str | None = None,
        clients: bool = False,
    ) -> Skills:
        """Return the cards of the skills this caller may see (tier 1); never a body.

        With a `query` the best match comes first; indexed bodies count too. Each card says whether it is `ready` and,
        with `include_hidden`, why it is `hidden` (a code). `next` is the `cursor` of the next page, None after the
        last. `categories` are counted over all skills, and `aside` counts the others: skills that wait for trust, are
        hidden, shadowed or left out. With `clients`, `verdicts` says for each skill what the clients used here do with
        it. `scope` is project, user, org, external or plugin; `state` is ready, not-ready or hidden. Raises UsageError
        `bad-filter`.
        """
        from whet.library.listing import LastRanking, list_skills

        self._ranking = self._ranking or LastRanking()
        found = list_skills(
            self.workspace.snapshot(),
            caller,
            self._scores,
            ranking=self._ranking,
            category=category,
            query=query,
            limit=limit,
            cursor=cursor,
            include_hidden=include_hidden,
            scope=scope,
            state=state,
        )
        if clients and (lists := self.clients()):
            from whet.library.client_lists import judge_skills

            judge = judge_skills(lists)
            found.verdicts = {card.path: judge(card) for card in found}
        return found

    def clients(self, *names: str, only: Card | None = None) -> tuple[ClientList, ...]:
        """Return the lists that these clients, or without names the clients used here, show when you start them here.

        With `only`, the lists as if this skill and those of the same name were the only skills.

        Each list has the skills as the client shows them to its model, and those it leaves out, with the reason. Skills
        that come with a client are not in it. Raises NotFoundError for a client that Whet does not know.
        """
        from whet.library.clients import client_named, present_clients

        place = self.workspace.place
        own = self.workspace.explicit is not None  # explicit roots belong to no client
        chosen = tuple(map(client_named, names)) if names else () if own else present_clients(place)
        if not chosen:
            return ()
        from whet.library.client_lists import list_for

        catalogue = self.workspace.snapshot().catalogue if only else None
        cards = catalogue.trusted() if catalogue else ()
        paths = {card.resolved for card in cards if only and card.key == only.key}
        return tuple(list_for(client, place, paths) for client in chosen)

    def _scores(self, query: str, paths: Collection[str]) -> Mapping[str, float]:
        """Return how well skills fit a query. The index is loaded only when there is a query."""
        return self.matcher.scores(query, paths)

    if TYPE_CHECKING:

        @overload
        def read(
            self, name: str, file: None = None, page: int = 1, *, caller: Caller = PERSON, count: bool = True
        ) -> SkillView: ...
        @overload
        def read(
            self, name: str, file: str, page: int = 1, *, caller: Caller = PERSON, count: bool = True
        ) -> FileView: ...

    def read(
        self, name: str, file: str | None = None, page: int = 1, *, caller: Caller = PERSON, count: bool = True
    ) -> SkillView | FileView:
        """Return the instructions of a skill (tier 2) or, with `file`, one of its files (tier 3). It counts as a view.

        With `count=False` it does not count as a view: use it to browse a library.

        `content` is one of `pages`; `files` are all files of the package, `digest` names their content, and `ready` and
        `missing` say what needs to be set up. A binary file is described, not decoded. Raises RefusedError for a skill
        that is hidden from a model (a person may read any skill), NotFoundError for an unknown name or file, UsageError
        for a bad page. In a `session`, nothing is returned in full twice.
        """
        from whet.library.disclosure import AlreadyLoaded
        from whet.prompt.views import view

        found = view(self.workspace, name, file, page, caller=caller)
        assert not isinstance(found, AlreadyLoaded)  # noqa: S101  only a conversation has seen anything
        if count and file in (None, main_file(found.card)) and page == 1:
            self._stores.usage.record("view", str(found.card.id), found.digest)
        return found

    # routing

    def find(
        self, message: str, k: int = 5, *, caller: Caller = MODEL, context: MessageContext | None = None
    ) -> Matches:
        """Return the skills that fit a message best, the best first, each with its `card`, its `fit` and `why`.

        Skills that the message names come first. `fit` is the probability that the skill is the right one, if one is
        needed; `detect` decides whether the message needs any. `notes` has other remarks, such as a skill that fits but
        is hidden from this caller. `context` has the earlier messages, the files and the skills that are already
        loaded.
        """
        return self.matcher.find(message, k, caller, context)

    def detect(
        self,
        message: str,
        *,
        caller: Caller = MODEL,
        skill: str | None = None,
        context: MessageContext | None = None,
    ) -> Detection:
        """Decide whether to bring up a skill for a message: `level` is must, may or none, with `evidence`.

        `others` may come up too; if none does, `nearest` is the closest. A skill that only a person may invoke comes up
        when the message names it. With a `skill`, `about` says why that one comes up, or why not. `context` has the
        earlier messages, the files and the skills that are already loaded: these do not come up again.
        """
        return self.matcher.detect(message, caller, skill, context)

    # prompts

    def index(
        self,
        budget: int | None = None,
        *,
        tokens: int | None = None,
        window: int | None = None,
        format: str = "bullet",  # noqa: A002  what it is called on every surface
        rules: bool = True,
        paths: bool = False,
        limit: int | None = None,
        caller: Caller = MODEL,
        message: str | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> Index:
        """Return the list of skills for a model's prompt, never larger than its budget, with a report of what was cut.

        The budget is in characters (8,000), or in `tokens`, or 2 % of a context `window` in tokens. With a `message`,
        the skills that fit it come first and keep their full descriptions if not all can; with a `limit` as well, the
        list has only the few skills that fit, which is the variant for one turn. Of skills that fit equally well, the
        one that was used more often comes first. `format` is bullet, xml, json or tool.

        The text, which `str()` returns, goes into the prompt; it is the same, byte for byte, for the same skills.
        """
        from whet.prompt.index import Options, budget_for, index_skills
        from whet.prompt.tokens import tokenizer_for

        room, few = budget_for(budget, tokens, window), message is not None and limit is not None
        relevance = None if message is None else self.matcher.relevance(message, caller, few=few)
        snapshot = self.workspace.snapshot()
        return index_skills(
            snapshot,
            room,
            Options(format, rules, paths, limit, relevant=few),
            tokenizer or tokenizer_for(snapshot.config.settings),
            caller=caller,
            relevance=relevance,
            used=self._used,
        )

    def invoke(
        self,
        text: str,
        *,
        budget: int | None = None,
        note: str = "",
        reserved: Collection[str] | None = None,
        strategy: str = "full",
        model: str | Model | None = None,
        caller: Caller = PERSON,
    ) -> Invocation:
        """Turn a user's line (`/name args`, `$name`, bundles, several at once) into one message for the model.

        Several skills share `budget` tokens and are shortened from their full text to their description, the least
        important first. A line that asks for no skill is returned unchanged. `reserved` are the client's own commands,
        which no skill can use. `strategy` is how much of each skill is included at most: `full`, `overview+usage`,
        `overview` or `description`. `note` is a remark from the client that goes into the message. The call counts as
        use. In a `session`, nothing is repeated.

        A skill that runs in a separate agent (`context: fork`) is run, with `model` as for `run`, and the message has
        its report. A skill that cannot be run is `missing`; its text never goes into the conversation instead.

        `message` is what the model gets; `request` are the user's own words in it. `skills` has for each how much of it
        is included (`strategy`), its `tokens`, and its requests. `missing` names the skills that are not available.
        """
        from whet.prompt.invocation import invoke, new_context
        from whet.prompt.requests import asked_for

        if not isinstance(text, str):
            raise expected_text("bad-message", "A line", text, hint="Pass the user's words.")
        snapshot = self.workspace.snapshot()
        asked = asked_for(text, snapshot, caller, reserved)
        context = new_context(self.workspace, snapshot)
        context = context._replace(fork=lambda name, given: self.run(name, given, model=model, caller=caller).message)
        return self._count_uses(invoke(asked, context, budget=budget, note=note, strategy=strategy))

    def render(
        self,
        *names: str,
        arguments: str = "",
        budget: int | None = None,
        strategy: str = "full",
        caller: Caller = PERSON,
    ) -> Invocation:
        """Return the message that `invoke` would return for skills or a bundle that you name. Nothing is run.

        For a single skill, `strategies` says what each step from the full text to the description costs. Raises
        RefusedError `runs-apart` for a skill that needs `run`.
        """
        return self._render(names, arguments, caller, budget=budget, strategy=strategy)

    def _render(
        self,
        names: Sequence[str],
        arguments: str,
        caller: Caller,
        *,
        budget: int | None = None,
        strategy: str = "full",
        fork: Fork = "refuse",
    ) -> Invocation:
        from whet.prompt.invocation import invoke, new_context
        from whet.prompt.requests import asked_by_name

        snapshot = self.workspace.snapshot()
        context = new_context(self.workspace, snapshot)._replace(fork=fork)
        made = invoke(asked_by_name(names, arguments, snapshot, caller), context, budget=budget, strategy=strategy)
        return self._count_uses(made.with_strategies(context.tokenizer))

    def _count_uses(self, made: Invocation) -> Invocation:
        for block in made.blocks:
            if block.strategy != "omitted":
                self._stores.usage.record("use", str(block.part.card.id), block.part.digest)
        return made

    def commands(
        self, prefix: str = "", limit: int = 50, *, reserved: Collection[str] | None = None, caller: Caller = PERSON
    ) -> Commands:
        """Return the slash commands that complete a prefix; `notes` name the skills that have no command."""
        from whet.prompt.requests import menu_of

        return menu_of(self.workspace.snapshot(), caller, reserved).complete(prefix, limit)

    def needs(self, *names: str, caller: Caller = PERSON) -> Needs:
        """Return all needs of the named skills, or of all skills, each once: keys, programs, settings, tools."""
        from whet.prompt.needs import Needs, collect_needs
        from whet.prompt.requests import visible

        snapshot = self.workspace.snapshot()
        cards = [self.card(name) for name in names] or visible(snapshot, caller)
        return Needs(collect_needs(cards, snapshot.config.probe))

    # runs

    @cached_property
    def runs(self) -> Runs:
        """Runs of skills: resume one, list and show them, apply their changes to the project."""
        from whet.runtime.runs import Runs

        def render(name: str, arguments: str, caller: Caller) -> Invocation:
            return self._render((name,), arguments, caller, fork="rendered")

        return Runs(self.workspace, render)

    def run(
        self,
        name: str,
        arguments: str = "",
        *,
        model: str | Model | None = None,
        limits: RunLimits | None = None,
        apply: bool = False,
        confirm: Confirm | None = None,
        without: Collection[str] = (),
        caller: Caller = PERSON,
    ) -> RunResult:
        """Run a skill in a separate agent, with exactly its tools, on a copy of the project.

        The `report` is what the harness saw: files, commands with exit codes, denied calls, tokens. `diff` is what
        changed; with `apply`, it is applied to the project. `confirm` asks a person about a call; without it, the run
        stops when it needs approval, and `runs.resume` continues it. `without` names granted tools that the run does
        not get. Raises UsageError `run-model-missing`, RefusedError `run-tool-missing` and `no-sandbox`.
        """
        from whet.runtime.runs import RunLimits

        return self.runs.start(
            name,
            arguments,
            model=model,
            limits=limits or RunLimits(),
            apply=apply,
            confirm=confirm,
            without=without,
            caller=caller,
        )

    # conversations

    def session(
        self,
        id: str = "",  # noqa: A002  what it is called everywhere else
        *,
        caller: Caller = PERSON,
        tokenizer: Tokenizer | None = None,
        runner: Runner | None = None,
        stubs: bool = True,
        saved: Json | None = None,
    ) -> Session:
        """Return a conversation, new or saved by `Session.to_json`. It sends the model nothing twice.

        `caller` is the user; requests of the model are treated as a model's. `stubs` is for a caller that reports
        compactions; without it every view returns a skill in full. Raises UsageError `bad-session`.
        """
        from whet.api.session import Session

        return Session(
            self.workspace,
            self.learning,
            lambda: self.matcher,
            lambda: self.edit,
            id=id,
            caller=caller,
            tokenizer=tokenizer,
            runner=runner,
            stubs=stubs,
            saved=saved,
            run=self.run,
        )

    def tools(
        self,
        session: Session | None = None,
        *,
        writes: Writes = "allow",
        only: Collection[str] | None = None,
        runs: bool = False,
    ) -> Tools:
        """Return the tools for one conversation with a model: definitions for its API, and the answers to its calls.

        `writes="propose"` turns changes into proposals, `"none"` leaves out the tools that make them; `only` names the
        tools to offer; `runs` adds one that runs skills. Without a `session` it starts a new one, which repeats what
        the model has already seen. Raises UsageError for an unknown tool or value of `writes`.
        """
        from whet.api.tools import Tools

        own = self.session(stubs=False) if session is None else session
        return Tools(own, writes=writes, only=only, run=self._run_for_model if runs else None)

    def _run_for_model(self, name: str, arguments: str) -> RunResult:
        return self.run(name, arguments, caller=MODEL)

    # repair

    def settle(self) -> tuple[str, ...]:
        """Finish or undo the work of killed processes; return a sentence for each thing done or not done.

        Every other call does this too. The work of running processes is left alone.
        """
        from whet.sources.sync.apply import handler as sync_handler
        from whet.store.intents import LOCK, SYNC

        state = self.workspace.state
        handlers = {
            **self.edit.writer.handlers(),
            LOCK: self.sources.installs.handler(),
            SYNC: sync_handler(state),
        }
        for more in self.handlers:
            handlers.update(more(state))
        return self.edit.journal.intents.recover(handlers)

    def _settle_for_readers(self) -> None:
        """Run `settle` for a reader; a reader without write access does not fail."""
        if self._settler == get_ident():  # this thread is already settling
            return
        from contextlib import suppress

        with suppress(WhetError, OSError):
            if self._settling.acquire(blocking=False):  # otherwise another thread settles
                self._settler = get_ident()
                try:
                    self.settle()
                finally:
                    self._settler = 0
                    self._settling.release()
            if self.edit.writer.wait():
                self.settle()

    def _hidden(self) -> frozenset[str]:
        return self.edit.writer.hidden()

    def doctor(self) -> tuple[Note, ...]:
        """Return the problems of the skills and of the machine, worst first.

        A library that cannot be read, such as one with a damaged state database, still gets a report.
        """
        from whet.library.client_lists import examine_clients, name_loaders
        from whet.library.doctor import (
            MOST_SCANNED,
            examine,
            examine_place,
            examine_state,
            note_unscanned,
            worst_first,
        )
        from whet.notes import Note
        from whet.prompt.requests import menu_report

        workspace, stores = self.workspace, self._stores
        place = workspace.place
        state = examine_state(place.state, self.sources.lock_files)
        entries = [*examine_place(place), *state, *stores.sessions.examine()]
        try:
            entries.extend(note_unscanned(self.guard.scan_new(MOST_SCANNED)))
            snapshot = workspace.snapshot()
            lists = self.clients()
            entries.extend(name_loaders(workspace.report(snapshot), lists))
            entries.extend(examine(snapshot.catalogue, snapshot.config.probe, self._tell))
            root = os.path.realpath(workspace.new_root())
            off = workspace.disabled(everywhere=True)
            cards = (card for card in snapshot.catalogue.cards if card.root.real == root)
            own = [card for card in cards if off.source(card, "") is None and not card.draft]
            entries.extend(examine_clients(lists, root, own, place.home))
            entries.extend(menu_report(snapshot, PERSON))
            entries.extend((*self.history.interrupted(), *stores.usage.problems))
            entries.extend((*self.history.examine(), *workspace.gate.audit.examine()))
            entries.extend(self.sources.examine())
        except WhetError as error:
            if error.code not in {entry.code for entry in entries}:
                entries.append(Note.from_error(error, "error"))
        return worst_first(entries)

    def repair(self) -> Repaired:
        """Repair everything that needs no decision. `done` and `lost` say in sentences what happened.

        It sets damaged databases, logs and locks aside and rebuilds them from what can be saved, settles interrupted
        changes and removes leftovers of killed processes. It never removes stored contents. `failed` names what could
        not be repaired; everything else is repaired anyway.
        """
        from whet.library.doctor import check_home, move_obstructions, repair_roots, repair_workplaces
        from whet.store.repair import Repaired, repair_databases

        workspace = self.workspace
        workspace.close()
        if problem := check_home(workspace.place.state):
            return Repaired(failed=(f"{workspace.place.state}: {problem.message} {problem.hint}",))
        steps: tuple[Callable[[], Repaired], ...] = (
            lambda: move_obstructions(workspace.place.state, self.sources.lock_files()),
            lambda: repair_databases(workspace.place.state),
            workspace.gate.audit.repair,  # the audit log names the newest entry of the history
            self.history.repair,
            lambda: Repaired(self.settle()),
            lambda: repair_roots(root for root in workspace.config().roots if root.trusted),
            self.sources.repair,
            self._stores.sessions.repair,
            lambda: repair_workplaces(workspace.place.state),
        )
        parts: list[Repaired] = []
        failed: list[str] = []
        for step in steps:
            try:
                parts.append(step())
            except WhetError as error:
                failed.append(f"{error.message} {error.hint}")
        done, lost = (tuple(item for part in parts for item in part[at]) for at in (0, 1))
        return Repaired(done, lost, tuple(dict.fromkeys(failed)))


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        hint = "Change to an existing directory, or pass one with `--project`."
        raise UsageError("no-such-project", "The working directory no longer exists.", hint=hint) from error
