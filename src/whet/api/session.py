"""One conversation: which skills are active in it, what it has seen, and what was asked and answered.

    session = library.session()
    prompt = str(session.index())
    message = session.invoke("/deploy staging").message

A session identifies active skills by content: it does not send the same skill with the same content twice, but sends a
changed one again. After the context was compacted, `after_compaction` returns the skills that were active, newest
first, as reference: never the user's old request, so that nothing is done a second time, and never by running anything.

One session serves both sides of a conversation: what the user types (`invoke`) counts as a person's request, and what
the model asks for (`index`, `skills`, `find`, `view`, `manage`) as a model's.

A session holds no secret. Values that a user enters go to the caller's own store; the session remembers only their
names. `to_json` and `Library.session(saved=...)` carry a session from one process to the next.
"""

from __future__ import annotations

import os
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError, WhetError
from whet.library.card import main_file
from whet.library.loaded import Loaded
from whet.library.visibility import PERSON, Caller, hidden
from whet.prompt.conversation import VERSION, Active, add_ids, beginning, check_session, message, reference
from whet.prompt.index import Options, Use, budget_for, build, index_skills
from whet.prompt.message import MAX_BODY, excerpt
from whet.prompt.requests import asked_for
from whet.prompt.shorten import cut
from whet.prompt.tokens import tokenizer_for
from whet.records import NamedTuple
from whet.skill.names import key as name_key
from whet.values import answer_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from whet.api.learning import SkillLearning
    from whet.authoring.editor import SkillEditor
    from whet.authoring.results import Changes
    from whet.learning.models.model import Model
    from whet.learning.selection.worth import Report
    from whet.learning.transcripts.recorder import Recorder
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.config import ResolvedConfig
    from whet.library.disclosure import View
    from whet.library.listing import Skills
    from whet.library.workspace import Snapshot, Workspace
    from whet.prompt.index import Index
    from whet.prompt.invocation import Invocation
    from whet.prompt.matcher import Matches, MessageContext, SkillMatcher
    from whet.prompt.message import Part
    from whet.prompt.needs import Given, Need
    from whet.prompt.shell import Runner
    from whet.prompt.tokens import Tokenizer
    from whet.runtime.runs import RunResult
    from whet.values import Json

REATTACH_TOKENS = 25_000
REATTACH_EACH = 5_000
"""Tokens that `after_compaction` returns: in all, and for one skill."""
OFFERED = 3
OFFER_TOKENS = 400
"""Number of skills, and tokens, that go next to one message."""
_FOREMOST = 1_000_000
"""Added to the use counts of this conversation, so that its skills come before all others."""


class Offer(NamedTuple):
    """The skills to put next to one message of the user."""

    text: str
    """The text for the prompt; empty if no skill is left."""
    skills: tuple[str, ...]
    """Names of the skills in the text."""
    tokens: int
    needed: Card | None = None
    """The skill that the message clearly needs."""
    kept_back: tuple[str, ...] = ()
    """Names of skills that fit but that the guard blocks: a client that lists them must not use them."""

    def to_json(self) -> Json:
        """Return the offer as JSON."""
        kept_back = {"kept_back": list(self.kept_back)} if self.kept_back else {}
        answer = {"success": True, "text": self.text, "skills": list(self.skills), "tokens": self.tokens}
        return {**answer, **kept_back}


class Compaction(NamedTuple):
    """The skills that a session returns after a compaction."""

    message: str
    tokens: int
    reattached: tuple[str, ...]
    left_out: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]

    def to_json(self) -> Json:
        """Return the compaction as JSON."""
        return answer_json(self)


class Collected(NamedTuple):
    """The result of asking for missing values."""

    asked: tuple[Need, ...]
    given: tuple[str, ...]
    skipped: tuple[str, ...]

    def to_json(self) -> Json:
        """Return the names as JSON, never a value."""
        return answer_json(self)


class Session:
    """The skills of one conversation: the active ones, what the model has seen, and the questions and answers.

    It does not send again what is already in the context. Only one thread may use a session at a time.
    """

    def __init__(
        self,
        workspace: Workspace,
        learning: SkillLearning,
        matcher: Callable[[], SkillMatcher],
        editor: Callable[[], SkillEditor],
        *,
        id: str = "",  # noqa: A002  what it is called everywhere else
        caller: Caller = PERSON,
        tokenizer: Tokenizer | None = None,
        runner: Runner | None = None,
        stubs: bool = True,
        saved: Json | None = None,
        run: Callable[..., RunResult] | None = None,
    ) -> None:
        """Use `Library.session`, which describes the arguments."""
        self.workspace = workspace
        """The configuration and the catalogue that the session finds its skills in."""
        self.learning = learning
        self._matcher, self._editor = matcher, editor
        self.id = id or os.urandom(8).hex()
        """The id of the session, in usage counts and in skills that ask for it."""
        self.caller = caller
        """The user, for rules of visibility: the surface, and the files in play."""
        self._tokenizer = tokenizer or tokenizer_for(workspace.config().settings)
        self._runner = runner
        self._stubs = stubs
        self._run = run
        self._active: dict[str, Active] = {}
        self._turn = 0
        self._loaded = Loaded()
        self._ranking: dict[str, Use] | None = None
        self._offered: set[str] = set()
        self._searched: deque[str] = deque(maxlen=2)
        self._asked: set[tuple[str, str]] = set()
        self._given: set[str] = set()
        self._settings: dict[str, Any] = {}
        self._recorder: Recorder | None = None
        if saved is not None:
            self._restore(saved)

    @property
    def active(self) -> tuple[Active, ...]:
        """The skills in the context, newest first."""
        return tuple(item for item in self._newest() if item.present)

    def _newest(self) -> list[Active]:
        return sorted(self._active.values(), key=lambda item: -item.turn)

    def _probe(self, config: ResolvedConfig) -> Given:
        """Return a probe that also knows the values given in this session."""
        from whet.prompt.needs import Given

        return Given(config.probe, self._given, self._settings)

    # prompts

    def index(
        self, budget: int | None = None, *, tokens: int | None = None, window: int | None = None, rules: bool = True
    ) -> Index:
        """Return the index, as `Library.index` returns it; skills used before the last compaction come first.

        Between compactions the order does not change, so the text stays the same and a provider's cache stays valid.
        """
        room, options = budget_for(budget, tokens, window), Options(rules=rules)
        snapshot = self.workspace.snapshot()
        return index_skills(snapshot, room, options, self._tokenizer, caller=self.as_model, used=self._used)

    def offer(
        self,
        message: str,
        limit: int = OFFERED,
        tokens: int = OFFER_TOKENS,
        *,
        again: bool = False,
        paths: bool = False,
        each: int | None = None,
        snapshot: Snapshot | None = None,
        context: MessageContext | None = None,
    ) -> Offer:
        """Return the few skills to put next to one message of the user: those that fit it and are not yet in the
        context.

        It does not offer skills that are active, or that it offered since the last compaction; with `again`, it offers
        the latter. The text is empty if no skill is left. It is an addition to the index, which does not change.
        `paths` shows each skill's file, and `each` cuts descriptions to that number of characters, which is quick; pass
        `snapshot` if you already have one, and `context` if you know the earlier messages and which files exist.
        """
        snapshot = snapshot or self.workspace.snapshot()
        found = self._matcher().offer(message, self.as_model, snapshot, context)
        present = {item.id for item in self.active} | (set() if again else self._offered)
        fitting = [match.card for match in (found.match, *found.others) if match and str(match.card.id) not in present]
        disabled, probe = snapshot.config.disabled, snapshot.config.probe
        fitting = [card for card in fitting if hidden(card, self.as_model, disabled, probe) is None]
        cards = sorted(fitting[:limit], key=lambda card: card.key)
        if each is not None:
            cards = [card._replace(description=cut(card.description, each)) for card in cards]
        made = build(cards, budget_for(tokens=tokens), Options(rules=False, paths=paths), self._tokenizer)
        kept_back = [card for card in found.kept_back if str(card.id) not in present]
        self._offered.update(str(card.id) for card in (*made.included, *kept_back))
        names = tuple(card.full_name for card in made.included)
        needed = found.match.card if found.match and found.level == "must" and found.match.name in names else None
        return Offer(made.text, names, made.tokens, needed, tuple(card.full_name for card in kept_back))

    def noticed(self, card: Card) -> None:
        """Record that a client read the main file of this skill; it is not offered until the next compaction."""
        self._offered.add(str(card.id))

    def _used(self, catalogue: Catalogue) -> dict[str, Use]:
        if self._ranking is None:
            self._ranking = self.learning.used(catalogue)
        return self._ranking

    def skills(
        self,
        category: str | None = None,
        query: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Skills:
        """Return the skills that the model may see, as `Library.skills` lists them."""
        from whet.library.listing import list_skills

        scores = lambda words, paths: self._matcher().scores(words, paths)  # noqa: E731  loaded for a query only
        return list_skills(
            self.workspace.snapshot(),
            self.as_model,
            scores,
            category=category,
            query=query,
            limit=limit,
            cursor=cursor,
        )

    def find(self, message: str, k: int = 5) -> Matches:
        """Return the skills that fit a message best, among those the model may see, as `Library.find` returns them.

        Earlier searches in this conversation count as context, and so do the kinds of files in the working directory.
        """
        from whet.prompt.matcher import MessageContext

        context = MessageContext.here(self.workspace.place.directory, tuple(self._searched))
        found = self._matcher().find(message, k, self.as_model, context)
        self._searched.append(message)
        return found

    def view(self, name: str, file_path: str | None = None, page: int = 1) -> View:
        """Return a skill or one of its files for the model, or a short stub if exactly this is already in the context.

        Returns the same as `Library.read`. Raises RefusedError for a skill that the model may not have, unless the user
        asked for it in this session.
        """
        from whet.library.disclosure import AlreadyLoaded, SkillView
        from whet.prompt.views import view_card

        workspace = self.workspace
        card, config = workspace.find(name)
        view = view_card(
            workspace,
            card,
            config,
            file_path,
            page,
            caller=self.as_model,
            loaded=self._loaded if self._stubs else None,
            session_id=self.id,
            probe=self._probe(config),
            runner=self._runner,
            settings={**dict(config.settings.skill_settings), **self._settings},
            asked_for=self._active,
        )
        main = file_path is None or file_path == main_file(card)
        if main and page == 1 and not isinstance(view, AlreadyLoaded):
            self._turn += 1
            settings = view.settings if isinstance(view, SkillView) else ()
            self._note(card, view.digest, view.content, settings, whole=file_path is None)
            self.learning.record("view", card, view.digest)
        return view

    def manage(self, arguments: Any, *, stage: bool = False) -> Changes:
        """Make the changes that the model requests with the tool `skill_manage`, given the tool's `arguments`.

        Raises WhetError. A change to content that the model has not viewed in this conversation gets a warning; a model
        may not change a skill that it may not view. With `stage`, changes wait as proposals until a person approves
        them.
        """
        from whet.authoring.operations import read_call
        from whet.authoring.writer import Provenance

        def viewed(directory: str, digest: str) -> bool:
            return any(
                item.digest == digest and directory in map(os.path.realpath, (item.path, os.path.dirname(item.path)))
                for item in self._active.values()
            )

        operations, reason = read_call(arguments)
        by = Provenance("agent", reason=reason)
        return self._editor().apply(operations, by, stage=stage, viewed=viewed, allowed=self.allow, triggers=True)

    def allow(self, card: Card) -> None:
        """Raise RefusedError for a skill that the model may not change. Finishing a draft is allowed."""
        from whet.prompt.views import refused_unless_seen

        workspace = self.workspace
        config = workspace.config()
        refused_unless_seen(card, self.as_model, config, self._active, drafts=True)
        workspace.admit(workspace.open(card), config)

    @property
    def as_model(self) -> Caller:
        """The same caller, as a model."""
        return self.caller._replace(model=True)

    def invoke(
        self,
        text: str,
        *,
        budget: int | None = None,
        note: str = "",
        reserved: Collection[str] | None = None,
        strategy: str = "full",
        model: str | Model | None = None,
        runs: bool = True,
    ) -> Invocation:
        """Turn a typed line into a message, as `Library.invoke` does, without skills that are already in the context.

        Without `runs` a skill that runs in a separate agent is `missing`.
        """
        from whet.prompt.invocation import invoke, new_context

        workspace = self.workspace
        snapshot = workspace.snapshot()
        asked = asked_for(text, snapshot, self.caller, reserved)
        context = new_context(workspace, snapshot, self._tokenizer, self.id)
        context = context._replace(
            probe=self._probe(snapshot.config),
            settings={**context.settings, **self._settings},
            runner=self._runner,
            loaded=self._is_loaded if self._stubs else _never,
            fork=partial(self._fork, model=model) if runs and self._run else "refuse",
        )
        made = invoke(asked, context, budget=budget, note=note, strategy=strategy)
        self._turn += 1 if made.blocks else 0
        for block in made.blocks:
            if block.strategy == "report":
                self.learning.record("use", block.part.card, block.part.digest)
            elif block.strategy != "omitted":
                part, whole = block.part, block.strategy in ("full", "loaded")
                text = part.body if whole else excerpt(part.body, part.skill.description, block.strategy)
                self._note(part.card, part.digest, text, part.settings, whole=whole)
                self.learning.record("use", part.card, part.digest)
                if whole:
                    self._loaded.add(part.card.path, "", 1, "\n".join((part.digest, *part.settings)))
        return made

    def _fork(self, name: str, arguments: str, *, model: str | Model | None) -> str:
        assert self._run is not None  # noqa: S101  it was asked for just before
        return str(self._run(name, arguments, model=model, caller=self.caller).message)

    def _is_loaded(self, part: Part) -> bool:
        known = self._active.get(str(part.card.id))
        if known is None or not known.whole:
            return False
        return (known.digest, known.text, known.settings) == (part.digest, part.body[:MAX_BODY], part.settings)

    def _note(self, card: Card, digest: str, text: str, settings: Iterable[str], *, whole: bool) -> None:
        id_ = str(card.id)
        before = self._active.pop(id_, None)  # so that it comes after the skills that this turn already loaded
        self._active[id_] = Active(
            id_,
            card.full_name,
            card.path,
            digest,
            text[:MAX_BODY],
            before.times + 1 if before else 1,
            self._turn,
            whole=whole,
            directory=card.directory if card.kind == "skill" else "",
            settings=tuple(settings),
        )

    # learning

    @property
    def recorder(self) -> Recorder:
        """The recorder of messages, tool calls and their results, for `finish`."""
        if self._recorder is None:
            self._recorder = self.learning.recorder(self.id)
        return self._recorder

    def finish(self) -> Report:
        """Finish the task and return the report; a hard task becomes a proposal, as with `Library.learning.finish`."""
        return self.learning.finish(self.recorder)

    # compaction

    def after_compaction(self, budget: int = REATTACH_TOKENS, each: int = REATTACH_EACH) -> Compaction:
        """Forget which skills the model has seen, after a compaction of the context, and return the active ones.

        They come newest first, each cut to `each` tokens, as many as fit into `budget`. The `message` is marked as
        reference; it contains no request of the user. `reattached`, `left_out`, `changed` and `gone` are names.
        """
        if budget < 1 or each < 1:
            raise UsageError("bad-budget", "The budget must be above zero.", hint="Leave it out for the default.")
        self._loaded.clear()
        self._offered.clear()
        own = {name_key(item.name): Use(_FOREMOST + item.times, item.turn) for item in self._active.values()}
        snapshot, count = self.workspace.snapshot(), self._tokenizer.count
        self._ranking = {**self.learning.used(snapshot.catalogue), **own}
        cards = {str(card.id): card for card in snapshot.catalogue.trusted()}
        states = {item: self._state(item, cards.get(item.id), snapshot) for item in self.active}
        gone = [item.name for item, state in states.items() if state == "gone"]
        there = [item for item, state in states.items() if state != "gone"]
        kept: dict[Active, str] = {}
        text_back = message((), [item.name for item in there], gone) if states else ""
        text_back = text_back if count(text_back) <= budget else ""
        for item in there:
            wanted = {**kept, item: beginning(item.text.strip("\n"), each, count)}
            blocks = [reference(other, text, states[other]) for other, text in wanted.items()]
            draft = message(blocks, [other.name for other in there if other not in wanted], gone)
            if count(draft) <= budget:
                kept, text_back = wanted, draft
        for item in states:  # these are reminders; a skill that is requested again is sent in full
            self._active[item.id] = item._replace(present=item in kept, whole=False)
        return Compaction(
            text_back,
            count(text_back),
            tuple(item.name for item in kept),
            tuple(item.name for item in there if item not in kept),
            tuple(item.name for item, state in states.items() if state == "changed"),
            tuple(gone),
        )

    def _state(self, item: Active, card: Card | None, snapshot: Snapshot) -> str:
        """Return "" if the skill is as it was when loaded, `changed`, or `gone` if it is no longer available."""
        catalogue, config = snapshot.catalogue, snapshot.config
        if card is None:
            return "changed" if name_key(item.name) in catalogue.by_key else "gone"
        if config.disabled.source(card, self.caller.surface) is not None:
            return "gone"
        try:
            return "" if self.workspace.open(card).digest == item.digest else "changed"
        except NotFoundError:
            return "gone"
        except WhetError:
            return "changed"

    # requirements

    def needs(self, *names: str) -> tuple[Need, ...]:
        """Return the needs of the named skills, or of the active ones, that nobody was asked for yet."""
        from whet.prompt.needs import collect_needs

        workspace = self.workspace
        snapshot = workspace.snapshot()
        active = {item.id for item in self.active}
        own = (card for card in snapshot.catalogue.trusted() if active and str(card.id) in active)
        cards = [workspace.find(name)[0] for name in names] or [*own]
        found = collect_needs(cards, self._probe(snapshot.config))
        return tuple(need for need in found if (need.kind, need.name) not in self._asked)

    def collect(
        self,
        ask: Callable[[tuple[Need, ...]], Mapping[str, str] | None],
        keep: Callable[[str, str], None],
        *names: str,
    ) -> Collected:
        """Ask once for everything that is missing, and pass the values to the caller's store.

        It asks for the named skills, or for the active ones. `ask` gets all needs at once and returns values by name; a
        need it leaves out is not asked for again in this session. `keep` gets each secret, by the name of its
        environment variable. Values of settings stay in the session and are shown to the model; secrets are never kept,
        shown or logged here.
        """
        needs = self.needs(*names)
        entered = (ask(needs) if needs else None) or {}
        given: list[str] = []
        for need in needs:
            value = entered.get(need.name, "") if need.kind in ("env", "setting") else ""
            if value and need.secret:
                keep(need.name, value)
                self._given.add(need.name)
            elif value:
                self._settings[need.name] = value
            given.extend([need.name] if value else ())
            self._asked.add((need.kind, need.name))  # only after the value was requested and kept
        return Collected(needs, tuple(given), tuple(need.name for need in needs if need.name not in given))

    # saving and restoring

    def to_json(self) -> Json:
        """Return the session as JSON, without secrets; it does not remember which files and later pages were viewed."""
        active = self._active.values()
        return {
            "version": VERSION,
            "id": self.id,
            "turn": self._turn,
            "active": [{**item._asdict(), "settings": list(item.settings)} for item in active],
            "viewed": [item.id for item in active if self._knows(item)],
            "ranking": {name: list(use) for name, use in (self._ranking or {}).items()},
            "offered": sorted(self._offered),
            "asked": sorted(map(list, self._asked)),
            "given": sorted(self._given),
            "settings": dict(self._settings),
        }

    def _knows(self, item: Active) -> bool:
        return self._loaded.knows(item.path, "", 1, "\n".join((item.digest, *item.settings)))

    def _restore(self, data: Any) -> None:
        """Restore the state that `to_json` wrote. Raises UsageError for anything else."""
        check_session(data)
        if data["version"] < VERSION:
            data = add_ids(data, self.workspace.snapshot().catalogue.trusted())
        self.id = data["id"]
        self._turn = data["turn"]
        for item in data["active"]:
            active = Active(**{**{field: item[field] for field in Active._fields}, "settings": tuple(item["settings"])})
            self._active[active.id] = active
            if active.id in data["viewed"]:
                self._loaded.add(active.path, "", 1, "\n".join((active.digest, *active.settings)))
        self._ranking = {name: Use(*use) for name, use in data["ranking"].items()}
        self._offered = set(data.get("offered", []))
        self._asked = {(kind, name) for kind, name in data["asked"]}
        self._given = set(data["given"])
        self._settings = dict(data["settings"])


def _never(_: Part) -> bool:
    return False
