"""The front door: a `Library` is the skills of one place, always as they are on disk now.

    from whet import Library

    library = Library.open()
    for skill in library.list()["skills"]:
        print(skill["name"], "-", skill["description"])
    print(library.view("writing-skills")["content"])

Every call looks at the disk again (a few microseconds a skill), so that edits by anyone are seen; the snapshot in
`catalogue` only changes when something changed. A `Library` may be shared between threads: snapshots are immutable and
replaced as a whole.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Self, TypedDict

from whet.api.learning import Learning
from whet.errors import UsageError, WhetError
from whet.library.roots import Place
from whet.library.visibility import MODEL, PERSON, Caller, hidden
from whet.library.workspace import Workspace
from whet.notes import Note
from whet.store.clock import system_clock
from whet.store.home import user_home, whet_home

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from whet.api.tools import Tools, Writes
    from whet.authoring.checks import Check
    from whet.guard.permissions.deciding import Policy
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.disclosure import Loaded
    from whet.library.readiness import Probe
    from whet.notes import Severity
    from whet.prompt.invocation import Invocation
    from whet.prompt.ranking import Use
    from whet.prompt.session import Session
    from whet.prompt.tokens import Tokenizer
    from whet.skill.model import Skill
    from whet.store.clock import Clock


class Change(TypedDict):
    """What a reload found: a `dict` with these keys."""

    added: list[str]
    """Names of skills that are new."""
    removed: list[str]
    """Names of skills that are gone."""
    changed: list[str]
    """Names of skills that are not as they were, or come from another place."""
    unchanged: int
    """How many are as they were."""
    total: int
    """How many there are now."""


class Library(Learning):
    """The skills of one place, always as they are on disk now. Make one with `Library.open`.

    Every call looks at the disk again, so that edits by anyone are seen. A library may be shared between threads.
    """

    def __init__(
        self,
        place: Place,
        roots: Sequence[str] | None,
        *,
        clock: Clock,
        probe: Probe | None = None,
        check: Check | None = None,
    ) -> None:
        super().__init__(Workspace(place, roots, clock, probe), check)
        self._reported: Catalogue | None = None
        """What the last reload told of; looking in between does not move it."""

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

        The rest is for agents and tests that stand in for the machine: `env` and `platform` for its environment,
        `clock` for the time in nanoseconds, `probe` for what is asked whether a skill is ready (default: a
        `LocalProbe`), `check` for what looks at a skill before it is written (default: the guard). Raises UsageError
        `no-such-project` or `bad-root`.
        """
        env = os.environ if env is None else env
        if isinstance(roots, (str, os.PathLike)):
            roots = [roots]
        state = os.path.abspath(os.fspath(home)) if home is not None else whet_home(env, platform)
        directory = os.path.abspath(os.fspath(project)) if project is not None else _working_directory()
        if not os.path.isdir(directory):
            raise UsageError("no-such-project", f"There is no directory {directory}.", hint="Check --project.")
        named = None if roots is None else [os.fspath(root) for root in roots]
        if any("\0" in root for root in named or ()):
            raise UsageError("bad-root", "The path of a root has a NUL in it.", hint="Check --root.")
        person = (
            state if named is not None and not env.get("HOME") and platform != "win32" else user_home(env, platform)
        )
        place = Place(directory, person, state, platform, env)
        return cls(place, named, clock=clock, probe=probe, check=check)

    def close(self) -> None:
        """Let the databases go. The library can still be used; they are opened again when needed.

        A `with` block does it at its end.
        """
        super().close()
        self.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # looking

    @property
    def catalogue(self) -> Catalogue:
        """The skills as they are on disk now, as a snapshot that never changes. Looking again is cheap."""
        return self.workspace.snapshot().catalogue

    def reload(self) -> Change:
        """Look at the disk and tell what changed since the last reload, or since the first look of this library.

        Nobody has to call it to see changes: every other call looks, too.
        """
        last = self._reported or self.workspace.first
        before = {card.full_name: card for card in last.cards} if last else {}
        self._reported = self.catalogue
        now = {card.full_name: card for card in self._reported.cards}
        added = [name for name in now if name not in before]
        removed = [name for name in before if name not in now]
        same = {name for name, card in now.items() if name in before and before[name].settled() == card.settled()}
        changed = [name for name in now if name in before and name not in same]
        return Change(added=added, removed=removed, changed=changed, unchanged=len(same), total=len(now))

    def find(self, name: str) -> Card:
        """The skill that a name, a qualified name or a path means; the card has no body.

        It is checked against the disk, without looking at the others where that is safe. Raises NotFoundError with
        `suggestions`, AmbiguousError with `candidates`, RefusedError for a skill that waits for trust.
        """
        return self.workspace.find(name)[0]

    # the three tiers

    def list(
        self,
        category: str | None = None,
        query: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        *,
        caller: Caller = PERSON,
        include_hidden: bool = False,
    ) -> dict[str, Any]:
        """Tier 1: names, descriptions and categories of the skills this caller may see; never a body.

        With a `query` the best match comes first; what the bodies say counts, too, as far as the index knows it.
        `skills` are {name, description, category, scope, path, ready}, with `include_hidden` also {hidden}, a code.
        `next` is the `cursor` of the page behind, None after the last. `categories` are counted over all skills. What
        else there is is counted where it is not 0: `waiting` for trust, `hidden`, `shadowed`, `left_out`.
        """
        from whet.library.listing import list_skills

        return list_skills(
            self.workspace.snapshot(),
            caller,
            self._scores,
            category=category,
            query=query,
            limit=limit,
            cursor=cursor,
            include_hidden=include_hidden,
        ).to_json()

    def _scores(self, query: str, cards: Sequence[Card]) -> Mapping[str, float]:
        """How well skills fit a query; without one, the index is not even loaded."""
        return self.matcher.scores(query, cards)

    def view(
        self,
        name: str,
        file_path: str | None = None,
        page: int = 1,
        *,
        caller: Caller = PERSON,
        loaded: Loaded | None = None,
        session_id: str = "",
    ) -> dict[str, Any]:
        """Tier 2, one skill's instructions; with `file_path` tier 3, one of its files.

        `content` is one of `pages`; `files` are all files of the package, `digest` names their content, and `ready`
        and `missing` say what is to be set up. A binary file is described, not decoded. With `loaded`, content this
        conversation has seen already is answered with a short stub, `already_loaded`. A skill hidden from a model is
        refused (RefusedError); a person may look at anything. Raises NotFoundError for a name or a file that is not
        there, UsageError for a page.
        """
        from whet.library.card import main_file
        from whet.library.disclosure import AlreadyLoaded
        from whet.prompt.viewing import view_card

        card, config = self.workspace.find(name)
        how: dict[str, Any] = {"caller": caller, "loaded": loaded, "session_id": session_id}
        found = view_card(self.workspace, card, config, file_path, page, **how)
        if file_path in (None, main_file(card)) and page == 1 and not isinstance(found, AlreadyLoaded):
            self.record("view", card, found.digest, session_id)
        return found.to_json()

    # what the model sees

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
        relevance: Callable[[Card], float] | None = None,
        used: Mapping[str, Use] | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> dict[str, Any]:
        """The list of skills for a model's prompt, never larger than its budget, and a report of what was cut.

        The budget is in characters (8,000), or in `tokens`, or 2 % of a context `window` in tokens. With a `message`,
        what fits it stands first, described in full, when not all can be; with a `limit` besides, only the few skills
        that fit it are listed, which is the variant for one turn. `relevance` says instead how much each skill
        matters. `used` says what was used how often (by default, what `usage` has counted); after relevance and before
        scope, it decides. `format` is bullet, xml, json or tool.

        `text` goes into the prompt; it is the same, byte for byte, for the same skills. `report` counts what is
        `included`, `shortened` and `omitted`, and what it costs.
        """
        from whet.prompt.index import Options, budget_for, index_skills
        from whet.prompt.tokens import tokenizer_for
        from whet.routing.messages import checked

        room, few, fits = budget_for(budget, tokens, window), message is not None and limit is not None, None
        if message is not None and relevance is None:
            relevance = relevant = self.relevance(checked(message), caller=caller, few=few)
            fits = relevant.fits
        options = Options(format, rules, paths, limit, relevant=few)
        known = self.used if used is None else used
        snapshot = self.workspace.snapshot()
        counter = tokenizer or tokenizer_for(snapshot.config.settings)
        return index_skills(
            snapshot, room, options, counter, caller=caller, relevance=relevance, used=known, fits=fits
        ).to_json()

    def invoke(
        self,
        text: str,
        *,
        budget: int | None = None,
        note: str = "",
        reserved: Collection[str] | None = None,
        caller: Caller = PERSON,
    ) -> dict[str, Any]:
        """What a user's line asks for (`/name args`, `$name`, bundles, several at once), as one message for the model.

        Several skills share `budget` tokens and step down from their full text to their description, the least wanted
        first. A line that asks for no skill comes back as it is. `reserved` are the client's own commands, which no
        skill can take. `note` is a remark of the client's that the message carries. Use a `Session` to have nothing
        repeated.

        `message` is what the model gets; `request` are the user's own words in it. `skills` tells of each how much of
        it is there (`strategy`), what it costs in `tokens`, and what it asks for: `context`, `model`, `allowed_tools`.
        `missing` are members of bundles that cannot be had.
        """
        from whet.prompt.invocation import invoke_line

        made = invoke_line(self.workspace, text, caller, budget=budget, note=note, reserved=reserved)
        return self._count_uses(made).to_json()

    def render(
        self, *names: str, arguments: str = "", budget: int | None = None, caller: Caller = PERSON
    ) -> dict[str, Any]:
        """The message that `invoke` gives, for skills, or a bundle, given by name.

        For a single skill, `strategies` tells what each step from the full text to the description costs.
        """
        from whet.prompt.invocation import render_named

        return self._count_uses(render_named(self.workspace, names, arguments, caller, budget=budget)).to_json()

    def _count_uses(self, made: Invocation) -> Invocation:
        for block in made.blocks:
            if block.strategy != "omitted":
                self.record("use", block.part.card, block.part.digest)
        return made

    def commands(
        self, prefix: str = "", limit: int = 50, *, reserved: Collection[str] | None = None, caller: Caller = PERSON
    ) -> dict[str, Any]:
        """What a client offers while a user types a slash command, and which skills go without one.

        `commands` are {name, menu, kind, description, hint}; `report` says who lost a name to whom.
        """
        from whet.prompt.asking import menu_of
        from whet.prompt.commands import RESERVED

        kept = RESERVED if reserved is None else reserved
        return menu_of(self.workspace, self.workspace.snapshot(), caller, kept).complete(prefix, limit).to_json()

    def needs(self, *names: str, caller: Caller = PERSON) -> dict[str, Any]:
        """Everything the named skills, or all of them, still need, in one list: keys, programs, settings, tools.

        `needs` are what `Need.to_json` gives, each thing once; `ready` is whether there are none.
        """
        from whet.prompt.asking import visible
        from whet.prompt.needs import Needs, collect_needs

        snapshot = self.workspace.snapshot()
        cards = [self.find(name) for name in names] or visible(snapshot, caller)
        return Needs(collect_needs(cards, snapshot.config.probe)).to_json()

    # values

    def skill(self, name: str) -> Skill:
        """The skill as a typed value: its frontmatter, whatever dialect it is in, and its body as it is written."""
        return self.workspace.open(self.find(name)).skill

    def digest(self) -> str:
        """One digest over all skills: the same wherever names, scopes and contents are the same."""
        from whet.skill.tree import library_digest

        return library_digest((card.qualified, self.workspace.open(card).digest) for card in self.catalogue.cards)

    # for models

    def tools(
        self, session: Session | None = None, *, writes: Writes = "allow", only: Collection[str] | None = None
    ) -> Tools:
        """The tools for one conversation with a model: definitions for its API, and what answers its calls.

        `writes="propose"` keeps changes back until a person approves them, `"none"` leaves out the tools that make
        them; `only` names the tools to offer. Without a `session` a new one is begun, which does not hold anything back
        as already seen. Raises UsageError for a tool or a way of writing that there is not.
        """
        from whet.api.tools import Tools
        from whet.prompt.session import Session

        return Tools(self, Session(self, stubs=False) if session is None else session, writes=writes, only=only)

    # permissions

    def permits(self, name: str, tool: str, given: Any, *, policy: Policy | None = None) -> dict[str, Any]:
        """May this skill make this tool call? `allow`, `deny` or `ask`, and why in a sentence.

        `given` is the tool's input as the client has it; paths are judged from the project directory. A `policy` cuts
        further than the skill's own `allowed-tools`. `problems` tells of grants that cannot be read and grant nothing.
        """
        from whet.guard.permissions.deciding import NO_POLICY, declared_tools, skill_permits

        card = self.find(name)
        skill, home = self.workspace.open(card).skill, self.place.env.get("HOME", "")
        decision = skill_permits(
            skill,
            tool,
            given,
            cwd=self.place.directory,
            skill_dir=card.directory,
            home=home,
            policy=NO_POLICY if policy is None else policy,
        )
        problems = [grant.problem for grant in declared_tools(skill) or () if grant.problem]
        return {**decision.to_json(), **({"problems": problems} if problems else {})}

    # places

    def roots(self) -> dict[str, Any]:
        """Where skills are looked for, most important first, and how many are in each place.

        `roots` are {path, scope, client, kind, namespace, trusted, real, exists, skills}.
        """
        roots = [
            {**shelf.root.to_json(), "exists": os.path.isdir(shelf.root.real), "skills": sum(1 for _ in shelf.cards())}
            for shelf in self.workspace.snapshot().shelves
        ]
        return {"success": True, "roots": roots}

    # telling

    def report(self) -> tuple[Note, ...]:
        """Everything that is wrong or surprising about what is on disk; `whet doctor` adds a look at the machine."""
        snapshot = self.workspace.snapshot()
        entries, probe = [*snapshot.config.notes, *snapshot.catalogue.report()], snapshot.config.probe
        for card in snapshot.catalogue.cards:
            if card.description and (reason := hidden(card, PERSON, snapshot.config.disabled, probe)):
                severity: Severity = "warning" if reason.code == "guard-blocked" else "info"
                entries.append(
                    Note(reason.code, severity, reason.message, reason.hint, skill=card.full_name, path=card.path)
                )
        if self.workspace.cache_database.problem:
            entries.append(self.workspace.cache_database.problem)
        return tuple(entries)

    def doctor(self) -> tuple[Note, ...]:
        """The report, and what a closer look at the machine brings up, worst first.

        A library that cannot be looked at at all, such as one with a damaged state database, still gets a report.
        """
        from whet.library.doctor import examine, examine_state, worst_first
        from whet.library.guarding import examine_audit
        from whet.prompt.asking import menu_of

        entries = [*examine_state(self.place.state), *self.sessions.examine()]
        try:
            report, snapshot = self.report(), self.workspace.snapshot()
            entries.extend((*report, *examine(snapshot.catalogue, snapshot.config.probe)))
            entries.extend(menu_of(self.workspace, snapshot, PERSON).report)
            entries.extend((*self.edit.history.interrupted(), *self.usage.problems, *examine_audit(self.workspace)))
            entries.extend((*self.examine_locks(), *self.examine_routing()))
        except WhetError as error:
            if error.code not in {entry.code for entry in entries}:
                entries.append(Note.from_error(error, "error"))
        return worst_first(entries)

    def repair(self) -> dict[str, Any]:
        """Mend what can be mended without asking: {repaired, lost}, both lists of sentences.

        Damaged databases and locks are set aside and made again from what can be saved, interrupted changes settled,
        leftovers of killed processes removed. `lost` is what could not be saved.
        """
        from whet.library.doctor import repair_roots, repair_workplaces
        from whet.store.state import repair_state

        self.workspace.close()
        state = repair_state(self.place.state, self.workspace.clock)
        roots = repair_roots(root for root in self.workspace.config().roots if root.trusted)
        settled = [*self.edit.history.recover(), *repair_workplaces(self.place.state).done]
        locks, heard = self.repair_locks(), self.sessions.repair()
        if removed := self.edit.history.compact():
            settled.append(f"{removed} stored contents that nothing refers to were removed.")
        done = [*state.done, *roots.done, *locks.done, *heard.done, *settled]
        lost = [*state.lost, *roots.lost, *locks.lost, *heard.lost]
        return {"repaired": done, "lost": lost}

    def watch(self) -> Iterator[Change]:
        """Wait for changes and tell them as they happen, without end. Needs the `watch` extra; nothing else does."""
        from whet.library.watch import wait_for_changes

        roots = self.workspace.snapshot().config.roots
        for _ in wait_for_changes([root.real for root in roots]):
            change = self.reload()
            if change["added"] or change["removed"] or change["changed"]:
                yield change


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        hint = "Go to a directory that exists, or name one with --project."
        raise UsageError("no-such-project", "The working directory is not there any more.", hint=hint) from error
