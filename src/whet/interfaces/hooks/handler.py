"""Handling events: offering skills, recording use and sessions. It never raises.

    hooks = Hooks(state, open_library)
    hooks.answer("claude-code", "prompt", payload, cwd)      # the bytes to print, b"" for nothing

The library is opened only where skills are in question, so that the many events that only count cost little. A failure
is logged for `whet doctor`, without anybody's text; the client gets no output.
"""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whet.errors import FailedError, UsageError, WhetError
from whet.interfaces.clients import settle_connections
from whet.interfaces.hooks.clients import CLIENTS
from whet.interfaces.hooks.events import (
    TouchedSkill,
    format_answer,
    format_refusal,
    read_event,
    recent_turns,
    touched_skills,
)
from whet.learning.sessions import BUSY_MS, Sessions
from whet.learning.signals import NOTHING, corrects, glance
from whet.library.settings import config_path, read_settings
from whet.records import NamedTuple
from whet.store.clock import system_clock
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.api import Library
    from whet.api.session import Session
    from whet.api.session_pool import SessionKey, SessionPool
    from whet.interfaces.hooks.events import Event
    from whet.library.card import Card
    from whet.library.workspace import Snapshot
    from whet.store.clock import Clock

PATIENCE = 1.8
"""Seconds after which a server stops answering: a little less than the client waits."""
_DESCRIBED = 240
"""Longest description in characters: the skill itself has the rest."""
_FORGETTING = frozenset({"compact", "clear"})
"""Reasons to begin a session with a new context."""
_MUST = (
    "The skill {name} is for this request. Load it before you answer, with the tool skill_view of the MCP server whet "
    '(name "{name}") or by reading {file} to the end, and follow it.'
)
_MAY = (
    "These skills may fit this request. Where one does, load it before you answer, with the tool skill_view of the MCP "
    "server whet or by reading its file to the end, and follow it; a description alone is not the instructions."
)
_ALSO = "The list has it, and others that may fit."
_KEPT_BACK = (
    "Do not load or follow the skill {name}, even if it is listed: a scan of it found something dangerous. If the user "
    "asks for it, say so; `whet guard policy explain {name}` says what was found."
)


class LearnSetting:
    """The setting `learn` of one state directory. A project may lower it, which is checked before learning."""

    def __init__(self, state: str, env: Mapping[str, str]) -> None:
        self._env = env
        self._path = config_path(state, env)
        self._stamp = (-1, -1)
        self._known = ""

    def now(self) -> str:
        """Return the current value; a changed file is read again. An invalid value is `off`."""
        try:
            found = os.stat(self._path)
            stamp = (found.st_mtime_ns, found.st_size)
        except OSError:
            stamp = (0, 0)
        if stamp != self._stamp:
            try:
                self._known = read_settings(self._path, home=self._env.get("HOME", ""))[0].learn
            except UsageError:
                self._known = "off"
            self._stamp = stamp
        return self._known


class Hooks:
    """Answers the hooks of one state directory. Thread-safe."""

    def __init__(
        self,
        state: str,
        open_library: Callable[[str], Library],
        *,
        patient: bool = True,
        noting: bool = True,
        clock: Clock = system_clock,
    ) -> None:
        """`open_library` returns the library for a working directory. Without `patient`, no large index is waited for.

        Without `noting`, failures are not logged, because a person sees them.
        """
        self._database = StateDatabase(state, busy_ms=BUSY_MS)
        self.sessions = Sessions(self._database, clock)
        self._state, self._clock = state, clock
        self._learn_setting = LearnSetting(state, os.environ)
        self._open = open_library
        self._patient = patient
        self._noting = noting

    def close(self) -> None:
        """Close the database; the next event opens it again."""
        self._database.close()

    def answer(self, client: str, kind: str, payload: bytes, cwd: str = "") -> bytes:
        """Return the output for the client. It never raises: a failure is logged, and the output is empty."""
        return self.try_answer(client, kind, payload, cwd)[0]

    def try_answer(self, client: str, kind: str, payload: bytes, cwd: str = "") -> tuple[bytes, Exception | None]:
        """Return the output, and the exception if it failed."""
        try:
            event = read_event(client, kind, payload, cwd)
            if event and event.kind == "before":
                return format_refusal(event, self._refuse(event)), None
            return format_answer(event, self._work(event)) if event else b"", None
        except Exception as error:  # noqa: BLE001  a client must not notice, whatever it is
            if self._noting:
                self.failed(client, kind, error)
            return b"", error

    def failed(self, client: str, kind: str, error: BaseException) -> None:
        """Log a failure."""
        code, message = describe_failure(error)
        self.sessions.failed(client, kind, code, message)

    def _work(self, event: Event) -> str:
        """Handle the event; return the text for the model, or ""."""
        began = time.monotonic()
        if event.kind == "tool":
            return self._tool(event)
        if event.kind == "prompt":
            if not self._note(event, prompts=1, corrections=int(corrects(event.prompt))):
                return ""
        else:
            ended = {"start": False, "end": True}.get(event.kind)
            forgets = bool(ended) and self._project_is_off(event)
            looks = ended and not forgets and self._learn_setting.now() != "off"
            self._note(event, ended=ended, seen=glance(event.transcript) if looks else NOTHING)
            if forgets:
                self.sessions.forget(event.client, event.session)
            if event.kind == "compact" or event.source in _FORGETTING:
                self.sessions.keep(event.client, event.session, None)
            if event.source == "clear":
                self.sessions.limit(event.client, event.session, ())
        offer = self._offer(event, began) if event.prompt.strip() else ""
        return "\n".join(text for text in (self._news(event), offer) if text)

    def _note(self, event: Event, **what: Any) -> bool:
        what |= {"project": event.project, "transcript": event.transcript, "mark": event.mark}
        return self.sessions.note(event.client, event.session, learning=self._learn_setting.now() != "off", **what)

    def _project_is_off(self, event: Event) -> bool:
        """Return whether the project disables learning. This is checked only when a session ends."""
        from whet.learning.selection.consent import has_say, is_off

        return has_say(event.project) and is_off(self._open(event.project).workspace.configuration)

    # learning

    def _news(self, event: Event) -> str:
        """Return news about earlier sessions, once, when a session begins; a failure does not prevent an offer."""
        speaks = CLIENTS[event.client].speaks
        if event.kind != ("start" if "start" in speaks else "prompt"):
            return ""
        try:
            from whet.sources.install.automatic import UpdateMemory

            learned = tell_news(self._database, self._clock, lambda: self._open(event.project))
            return "\n".join(filter(None, (learned, UpdateMemory(self._database, self._clock).take_news())))
        except Exception as error:  # noqa: BLE001  as in `try_answer`: the rest of the answer is worth more
            self.failed(event.client, event.kind, error)
            return ""

    # messages of the user

    def _offer(self, event: Event, began: float) -> str:
        library = self._open(event.project)
        if (card := _called(library, event.prompt)) is not None:
            session = self._pool.session(_key(event), library)
            session.noticed(card)
            self._pool.save(_key(event), session)
            self._limit(event, library, [card])
        snapshot = library.workspace.snapshot()
        if not self._patient and not library.matcher.index_manager.is_ready(snapshot):
            message = "The skills are not indexed yet, which takes longer than a client waits."
            raise UsageError("not-indexed", message, hint="Run `whet find` once.")
        session = self._pool.session(_key(event), library)
        text = offer_skills(session, event, snapshot)
        if not text:
            return ""
        if self._patient and time.monotonic() - began > PATIENCE:
            message = f"The offer took more than {PATIENCE:g} seconds and was dropped."
            self.failed(event.client, event.kind, FailedError("too-slow", message))
            return ""
        if event.kind in CLIENTS[event.client].speaks:
            self._pool.save(_key(event), session)
            return text
        self.sessions.hold(event.client, event.session, text, session.to_json(), event.turn)
        return ""

    @cached_property
    def _pool(self) -> SessionPool:
        """The saved conversations. Tokens are estimated: counting them would take longer than everything else."""
        from whet.api.session_pool import SessionPool
        from whet.prompt.tokens import ESTIMATE

        return SessionPool(
            lambda project: self._open(project or ""), tokenizer=ESTIMATE, stubs=True, saved=self.sessions
        )

    # tool calls before they are made

    def _refuse(self, event: Event) -> str:
        """Return why the loaded skills do not allow a tool call, or ""; a skill that it loads is recorded.

        A failure before a skill is known to limit the session refuses nothing: the client's own permissions hold. A
        later failure refuses the call.
        """
        home = os.environ.get("HOME", "")
        if known := self.sessions.limits(event.client, event.session):
            from whet.interfaces.hooks.limits import Limit, refuse

            try:
                reason = refuse([Limit(*one) for one in known], event.tool, event.given, event.project, home)
            except Exception as error:  # noqa: BLE001  as in `try_answer`, but the limits are known
                self.failed(event.client, event.kind, error)
                reason = "Whet could not check this call against the skills that are loaded."
            if reason:
                return reason
        if loaded := touched_skills(event.tool, event.given, event.project, home):
            library = self._open(event.project)
            self._limit(event, library, [card for item in loaded if (card := _card(library, item))])
        return ""

    def _limit(self, event: Event, library: Library, cards: Sequence[Card]) -> None:
        """Record the limits of skills that are loaded now, by the model or by the user's slash command."""
        from whet.interfaces.hooks.limits import limit_of

        limits = [limit_of(library.workspace.open(card).skill, card) for card in cards]
        if limits := [limit for limit in limits if limit.allowed is not None or limit.disallowed]:
            self.sessions.limit(event.client, event.session, limits)

    # tool calls

    def _tool(self, event: Event) -> str:
        if not self._note(event, tools=1, errors=int(event.failed)):
            return ""
        text = self.sessions.take_pending(event.client, event.session, event.turn)
        home = os.environ.get("HOME", "")
        loaded = () if event.failed else touched_skills(event.tool, event.given, event.project, home)
        return "" if loaded and self._loaded(event, loaded, text) else text

    def _loaded(self, event: Event, loaded: tuple[TouchedSkill, ...], text: str) -> bool:
        """Record loaded skills and do not offer them again; return whether the text is about one of them."""
        from whet.prompt.formats import clean

        library = self._open(event.project)
        session = self._pool.session(_key(event), library)
        cards = [(item, card) for item in loaded if (card := _card(library, item))]
        for item, card in cards:
            session.noticed(card)
            if item.how != "ours":
                library.learning.record(item.how, card, library.workspace.open(card).digest)
        if cards:
            self._pool.save(_key(event), session)
        return any(f"file: {clean(card.path)}" in text for _, card in cards)


def _key(event: Event) -> SessionKey:
    from whet.api.session_pool import SessionKey
    from whet.library.visibility import Caller

    caller = Caller(model=True, surface=f"mcp/{event.client}")
    return SessionKey(event.session, event.project, caller, event.client)


def offer_skills(session: Session, event: Event, snapshot: Snapshot) -> str:
    """Return the text for the model next to a message: the skill to load, or skills that may fit; "" for none."""
    from whet.prompt.formats import clean
    from whet.prompt.matcher import MessageContext

    context = MessageContext.here(event.project, recent_turns(event.transcript, event.prompt))
    offer = session.offer(event.prompt, paths=True, each=_DESCRIBED, snapshot=snapshot, context=context)
    kept_back = "".join(f"{_KEPT_BACK.format(name=clean(name))}\n" for name in offer.kept_back)
    if not offer.skills:
        return kept_back
    lead = _MAY
    if offer.needed is not None:
        must = _MUST.format(name=clean(offer.needed.full_name), file=clean(offer.needed.path))
        lead = must if len(offer.skills) == 1 else f"{must} {_ALSO}"
    return f"{kept_back}{lead}\n{offer.text}"


def tell_news(state: StateDatabase, clock: Clock, opened: Callable[[], Library]) -> str:
    """Return unreported news about earlier sessions in a line or two, and mark it as reported."""
    from whet.learning.selection.budget import State

    pieces = State(state, clock).take_news()
    if not pieces:
        return ""
    waiting = {one.id for one in opened().edit.proposals.all("pending")}
    proposed = sum(piece in waiting for piece in pieces)
    written = [piece for piece in pieces if isinstance(piece, str)]
    lines = []
    if proposed:
        lines.append(f"{_skills(proposed)} proposed from your last sessions: `whet proposals list`.")
    if written:
        lines.append(f"{_skills(len(written))} written from your last sessions ({', '.join(written)}): `whet history`.")
    return "\n".join(lines)


def _skills(count: int) -> str:
    return f"{count} {'skill' if count == 1 else 'skills'}"


def _called(library: Library, prompt: str) -> Card | None:
    """Return the skill that a message calls by a slash command: the client's name of the skill, or our prompt's."""
    word = prompt.split(None, 1)[0]
    if not word.startswith("/"):
        return None
    return _card(library, TouchedSkill("use", name=word[1:].removeprefix("mcp__whet__")))


def _card(library: Library, item: TouchedSkill) -> Card | None:
    """Return the skill of a tool call, if the library has it."""
    if item.name:
        try:
            return library.card(item.name)
        except WhetError:
            return None  # a skill of the client that Whet does not know
    real = os.path.realpath(item.path)
    cards = library.workspace.snapshot().catalogue.cards
    return next((card for card in cards if card.path == item.path or card.resolved == real), None)


class Failure(NamedTuple):
    """The failure of a hook."""

    code: str
    message: str


def describe_failure(error: BaseException) -> Failure:
    """Return code and message of a failure. For other exceptions, only type and place: they may quote anyone."""
    if isinstance(error, WhetError):
        return Failure(error.code, error.message)
    if isinstance(error, OSError):
        return Failure("io-failed", f"{error.strerror or type(error).__name__}: {error.filename or 'no file'}")
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f" in {os.path.basename(at.tb_frame.f_code.co_filename)}, line {at.tb_lineno}" if at else ""
    return Failure("internal-error", f"{type(error).__name__}{where}")


# in the client's own process, without a server


def answer_event(state: str, client: str, kind: str, payload: bytes, cwd: str) -> bytes:
    """Return the output for a client; a failure is logged."""
    return Hooks(state, _open_library, patient=False).answer(client, kind, payload, cwd)


def answer_arguments(state: str, arguments: Sequence[str], payload: bytes) -> bytes:
    """Answer a command line with other options; a wrong one is logged, because printing it would stop the client."""
    from whet.api import Library
    from whet.interfaces.cli.verbs import parser_of

    options = parser_of("hook")[0].read(list(arguments[1:]))
    roots = [os.path.abspath(os.path.expanduser(root)) for root in options.root]

    def open_library(directory: str) -> Library:
        return settle_connections(Library.open(roots or None, project=options.project or directory or None))

    hooks = Hooks(state, open_library, patient=False)
    return hooks.answer(options.client or "", options.event, payload, os.path.abspath(options.project or os.curdir))


def note_failure(state: str, client: str, kind: str, error: BaseException) -> None:
    """Log the failure of a hook that could not be answered at all."""
    if not state:
        return  # there is no place to log it, which is the problem itself
    Hooks(state, _open_library).failed(client, kind, error)


def _open_library(directory: str) -> Library:
    from whet.api import Library

    return settle_connections(Library.open(project=directory or None))
