"""Runs of skills: start, resume, show and apply them.

    library.run("reviewing-changes", "the last commit")
    library.runs.resume("3f2a91c0", approve=[2])

Each run has a directory in Whet's state: its journal, its transcript, and the copy of the project. A run never starts
with less than it requires: a missing model, tool or sandbox is an error and has no fallback.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, RefusedError, UsageError
from whet.guard.permissions.decision import declared_tools
from whet.learning.models.model import Budget, Model, Spent
from whet.library.settings import config_path
from whet.library.visibility import MODEL, PERSON
from whet.notes import Note
from whet.prompt.shell import allowed_environment
from whet.runtime.agent import PROMPT, Agent, close_interrupted, done_of
from whet.runtime.approvals import Judge
from whet.runtime.backends import open_backend
from whet.runtime.journal import JOURNAL, TRANSCRIPT, Applied, Approved, Done, End, Journal, Resume, Said, Start, Use
from whet.runtime.proxy import Proxy, declared_hosts
from whet.runtime.report import make_report
from whet.runtime.servers import Servers, is_left_out, read_servers, server_of
from whet.runtime.tools import DEFINITIONS, MOST_SECONDS, NEEDLESS, Result, Toolbox
from whet.runtime.workspace import Workspace
from whet.store.clock import iso
from whet.store.directories import make_directories
from whet.store.locks import FileLock
from whet.values import failure_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from whet.library.config import ResolvedConfig
    from whet.library.disclosure import Opened
    from whet.library.visibility import Caller
    from whet.library.workspace import Workspace as SkillWorkspace
    from whet.prompt.invocation import Invocation
    from whet.runtime.agent import Confirm
    from whet.runtime.backends import Backend
    from whet.runtime.journal import Record, Status
    from whet.runtime.report import RunReport
    from whet.runtime.servers import Declared
    from whet.values import Json

RUNS = "runs"
MOST_RUNS = 200
"""Largest number of runs that are kept."""
_DEEPEST = 3
"""Largest depth of nested runs, including the first."""
_INHERIT = ("", "inherit", "default")
_SCRIPTS = {".py": ("python3", "-B"), ".sh": ("sh",), ".bash": ("bash",), ".js": ("node",), ".rb": ("ruby",)}


_PROBLEMS = {
    "waiting": Note(
        "run-waiting", "error", "It waits for approval.", "Continue with `whet run --resume {run} --approve {number}`."
    ),
    "stopped": Note("run-stopped", "error", "", "Continue with `whet run --resume {run}` and a higher limit."),
    "interrupted": Note("run-interrupted", "error", "", "Continue with `whet run --resume {run}`."),
    "failed": Note("run-failed", "error", "", "Try again with `whet run --resume {run}`."),
    "script": Note("run-failed", "error", "", "The output above says why; `whet run --show {run}` shows it again."),
    "running": Note("run-running", "error", "The run is still running.", "Wait until it is done."),
}


class RunLimits(NamedTuple):
    """The limits of a run, including the runs that it starts. None means no limit."""

    requests: int | None = 100
    calls: int | None = 300
    """Tool calls."""
    tokens: int | None = 1_000_000
    cost: float | None = None
    """In dollars."""
    seconds: float | None = 1800

    def budget(self, spent: Spent) -> Budget:
        """Return a budget with these limits and what was already spent."""
        return Budget(self.tokens, self.requests, self.seconds, cost=self.cost, steps=self.calls, spent=spent)


class RunView(NamedTuple):
    """A run and its status."""

    id: str
    skill: str
    status: Status
    reason: str
    """Why it stopped, if it did not end normally."""
    started: str
    project: str
    model: str
    """Name of the model; empty for a script."""
    script: str
    transcript: str
    """Path of its transcript."""


class RunResult(NamedTuple):
    """A run and its results."""

    run: RunView
    report: RunReport
    diff: str
    """Changes that are not applied yet, as a unified diff."""
    removed: tuple[str, ...] = ()
    """Old runs that were deleted when this one started."""

    @property
    def problem(self) -> Note | None:
        """Why it is not done; None if it is."""
        if self.run.status == "done":
            return None
        note = _PROBLEMS["script" if self.run.script and self.run.status == "failed" else self.run.status]
        waiting = next((one.number for one in self.report.approvals if one.answer == "waiting"), 1)
        hint = note.hint.format(run=self.run.id, number=waiting)
        return note._replace(message=self.run.reason or note.message, hint=hint)

    @property
    def message(self) -> str:
        """Report for the model that asked for the skill: the result, and the other model's words, marked as such."""
        run, report, problem = self.run, self.report, self.problem
        rows = [f"The skill {run.skill} ran in a separate agent (run {run.id}): {run.status}."]
        rows += [f"{problem.message} {problem.hint}".strip()] if problem else []
        rows += [f"{one.change} {one.path}" for one in report.files]
        if report.files and not report.applied:
            rows.append(
                f"The changes are in a copy of the project. The user applies them with `whet run --resume {run.id} "
                "--apply`."
            )
        rows += [
            f"{one.command}: {f'exit code {one.code}' if one.code is not None else one.problem}"
            for one in report.commands
        ]
        rows += [f"Denied: {one.tool}: {one.reason}" for one in report.denied]
        for call in report.approvals:
            given = json.dumps(dict(call.given), ensure_ascii=False)[:200]
            rows.append(f"{call.answer.capitalize()}: {call.tool} {given}: {call.reason}")
        rows += [f"{one.tool}: {'failed' if one.failed else 'done'}, outside the sandbox" for one in report.servers]
        rows += (
            ["Its own summary, which nobody checked:", report.summary] if report.summary else ["It gave no summary."]
        )
        return "\n".join(rows)

    def to_json(self) -> Json:
        """Return the result as JSON."""
        return failure_json({"success": True, **fields_json(self)}, self.problem)


class RunList(NamedTuple):
    """The runs, newest first."""

    runs: tuple[RunView, ...]


class _Setup(NamedTuple):
    """The objects of one run."""

    opened: Opened
    config: ResolvedConfig
    workspace: Workspace
    backend: Backend
    judge: Judge
    toolbox: Toolbox
    proxy: Proxy | None
    budget: Budget


class Runs:
    """Starts, resumes, lists and shows runs."""

    def __init__(
        self,
        workspace: SkillWorkspace,
        render: Callable[[str, str, Caller], Invocation],
        backend: Backend | None = None,
    ) -> None:
        """`render` returns the message for the agent of a run, from the skill's name and its arguments."""
        self._skills, self._render = workspace, render
        self._top = os.path.join(workspace.place.state, RUNS)
        self._backend = backend
        self._stop = threading.Event()
        self.observe: Callable[[Record], None] = lambda _: None
        """Set it to receive every record of a run as it is written."""

    @property
    def backend(self) -> Backend:
        """Backend for programs: the one of the setting `run_on`, unless `use` set another."""
        if self._backend is None:
            self.use(self._skills.config().settings.run_on)
        assert self._backend is not None  # noqa: S101  set by `use`
        return self._backend

    def use(self, spec: str) -> None:
        """Run programs there from now on: `sandbox`, `docker:IMAGE`, `podman:IMAGE` or `ssh:HOST`."""
        self._backend = open_backend(spec, self._skills.place.home, self._skills.place.env)

    # starting and resuming

    def start(
        self,
        name: str,
        arguments: str = "",
        *,
        model: str | Model | None = None,
        limits: RunLimits = RunLimits(),  # noqa: B008 (an immutable value)
        apply: bool = False,
        confirm: Confirm | None = None,
        without: Collection[str] = (),
        caller: Caller = PERSON,
    ) -> RunResult:
        """Run a skill in a separate agent, on a copy of the project.

        `confirm` asks the user about calls; without it the run stops at the first that needs approval. `apply` applies
        the changes to the project when the run is done. `without` names granted tools that the run may lack. Raises
        UsageError `run-model-missing`, RefusedError `run-tool-missing`, `no-sandbox`, and the errors of finding a
        skill.
        """
        opened, config = self._open(name)
        asked = opened.skill.execution.model
        chosen = model if isinstance(model, Model) else self._choose_model(asked, model, config)
        self._check_tools(opened, config, without)
        self.backend.check()
        message = self._message(name, arguments, caller)
        removed = self.remove_old()
        top = self._make_directory()
        with ExitStack() as held:
            held.enter_context(_hold(top))
            workspace = self._copy(top, config)
            journal = self._journal(top)
            try:
                servers = held.enter_context(self._servers(opened, config, workspace, without))
            except BaseException:
                shutil.rmtree(top, ignore_errors=True)
                raise
            budget = limits.budget(Spent())
            setup = self._setup(opened, config, workspace, budget, without, top, chosen, confirm, servers)
            self._begin(journal, setup, arguments, "", chosen.name, asked)
            journal.add(Said("system", PROMPT))
            journal.add(Said("user", message))
            Agent(journal, setup.toolbox, chosen, setup.budget, confirm=confirm, proxy=setup.proxy).run()
            return self._finish(journal, workspace, apply=apply)._replace(removed=removed)

    def run_script(
        self,
        name: str,
        script: str,
        arguments: Sequence[str] = (),
        *,
        seconds: float = MOST_SECONDS,
        apply: bool = False,
    ) -> RunResult:
        """Run a script of a skill the same way, without a model.

        Raises NotFoundError `no-such-script`, RefusedError `no-sandbox`.
        """
        opened, config = self._open(name)
        path = os.path.normpath(os.path.join(opened.card.directory, script))
        files = {file.path for file in opened.files}
        if os.path.relpath(path, opened.card.directory).replace(os.sep, "/") not in files:
            known = ", ".join(sorted(file for file in files if file.startswith("scripts/")))
            hint = f"It has {known}." if known else "It has no scripts."
            raise NotFoundError("no-such-script", f"{name} has no script {script}.", hint=hint)
        self.backend.check()
        removed = self.remove_old()
        top = self._make_directory()
        with _hold(top):
            workspace = self._copy(top, config)
            journal = self._journal(top)
            budget = RunLimits(seconds=seconds).budget(Spent())
            setup = self._setup(opened, config, workspace, budget, (), top, None, None, None)
            self._begin(journal, setup, " ".join(arguments), script, "", "")
            words = [*_interpreter(path), path, *arguments]
            begun = time.monotonic()
            result, ran = setup.toolbox.run(words, " ".join((script, *arguments)), seconds)
            took = time.monotonic() - begun
            for contact in setup.proxy.take_contacts() if setup.proxy else ():
                journal.add(contact)
            journal.add(done_of("script", result, took))
            journal.add(Said("tool", result.text, call="script"))
            status: Status = "done" if ran.code == 0 else "failed"
            journal.add(End(status, "" if ran.code == 0 else "The script failed.", took))
            return self._finish(journal, workspace, apply=apply)._replace(removed=removed)

    def resume(
        self,
        run: str,
        *,
        approve: Collection[int] = (),
        reject: Collection[int] = (),
        model: str | Model | None = None,
        limits: RunLimits = RunLimits(),  # noqa: B008 (an immutable value)
        apply: bool = False,
        confirm: Confirm | None = None,
        without: Collection[str] = (),
    ) -> RunResult:
        """Resume a run that waits, or that was stopped or killed. A finished run is only applied, with `apply`.

        `approve` has the numbers of allowed calls; the others are rejected once any is decided. Raises NotFoundError
        `no-such-run`, ConflictError `run-busy`, UsageError `no-such-approval`, `approval-needed`.
        """
        top = self._find(run)
        with ExitStack() as held:
            held.enter_context(_hold(top))
            journal = self._journal(top)
            start, end = journal.start, journal.end
            workspace = Workspace(top, start.project, start.inside)
            if (end is not None and end.status == "done") or start.script:
                return self._finish(journal, workspace, apply=apply)
            self._check_copy(workspace)
            opened, config = self._open(start.directory)
            if opened.digest != start.digest:
                message = f"{start.skill} changed since the run began."
                raise ConflictError("skill-changed", message, hint="Start a new run.")
            chosen = model if isinstance(model, Model) else self._open_model(model or start.model)
            self._check_tools(opened, config, without)
            self.backend.check()
            servers = held.enter_context(self._servers(opened, config, workspace, without))
            answers = self._answers(journal, approve, reject, can_ask=confirm is not None)
            journal.add(Resume())
            close_interrupted(journal)
            for answer in answers:
                journal.add(answer)
            budget = limits.budget(_spent(journal))
            setup = self._setup(opened, config, workspace, budget, without, top, chosen, confirm, servers)
            Agent(journal, setup.toolbox, chosen, setup.budget, confirm=confirm, proxy=setup.proxy).run()
            return self._finish(journal, workspace, apply=apply)

    def _answers(
        self, journal: Journal, approve: Collection[int], reject: Collection[int], *, can_ask: bool
    ) -> list[Approved]:
        """Return the user's answers about the waiting calls."""
        report = make_report(journal, ())
        waiting = {one.number: one for one in report.approvals if one.answer == "waiting"}
        if strange := sorted({*approve, *reject} - set(waiting)):
            hint = (
                f"Waiting: {', '.join(map(str, waiting)) or 'none'}. `whet run --show {journal.start.run}` shows them."
            )
            raise UsageError("no-such-approval", f"No call with the number {strange[0]} waits.", hint=hint)
        if not waiting or (not approve and not reject):
            if waiting and not can_ask:
                hint = f"Approve with `whet run --resume {journal.start.run} --approve {min(waiting)}`."
                raise UsageError("approval-needed", f"{len(waiting)} calls wait for approval.", hint=hint)
            return []
        asked = [decided.call for decided in journal.decisions().values() if decided.decision == "ask"]
        return [Approved(asked[number - 1], "approved" if number in approve else "rejected") for number in waiting]

    # reading

    def list(self) -> RunList:
        """Return every run, newest first."""
        found = []
        for name in os.listdir(self._top) if os.path.isdir(self._top) else ():
            if os.path.exists(os.path.join(self._top, name, JOURNAL)):
                journal = self._journal(os.path.join(self._top, name))
                found.append((journal.start.time, self._view(journal)))
        return RunList(tuple(view for _, view in sorted(found, reverse=True)))

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Return a value that changes whenever a run does, without reading any."""
        found = []
        with suppress(OSError):
            for name in sorted(os.listdir(self._top)):
                with suppress(OSError):
                    status = os.stat(os.path.join(self._top, name, JOURNAL))
                    found.append((name, status.st_mtime_ns, status.st_size))
        return tuple(found)

    def show(self, run: str) -> RunResult:
        """Return one run, whatever its status. Raise NotFoundError `no-such-run`."""
        journal = self._journal(self._find(run))
        return self._result(
            journal, Workspace(os.path.dirname(journal.path), journal.start.project, journal.start.inside)
        )

    def discard(self, run: str) -> RunView:
        """Delete a run with its copy of the project, its journal and its transcript."""
        top = self._find(run)
        with _hold(top):
            view = self._view(self._journal(top))
            shutil.rmtree(top)
        return view

    # parts of a run

    def _open(self, name: str) -> tuple[Opened, ResolvedConfig]:
        card, config = self._skills.find(name)
        if card.kind != "skill":
            hint = "Move it to NAME/SKILL.md."
            raise UsageError("not-a-package", f"{card.full_name} is a single file, which cannot be run.", hint=hint)
        opened = self._skills.open(card)
        self._skills.admit(opened, config)
        return opened, config

    def _message(self, name: str, arguments: str, caller: Caller) -> str:
        """Return the message for the agent. Raise RefusedError for a skill that is hidden from the caller."""
        found = self._render(name, arguments, caller)
        if found.missing:
            hint = "Ask the user to run it." if caller.model else "`whet list --all` shows why."
            raise RefusedError("run-hidden", found.missing[0].message, hint=hint)
        return found.message

    def _choose_model(self, asked: str, named: str | None, config: ResolvedConfig) -> Model:
        """Return the model: the caller's, else that of the settings for the skill's model, else their default."""
        table, place = dict(config.settings.models), self._skills.place
        file = config_path(place.state, place.env)
        if named:
            return self._open_model(table.get(named, named))
        if asked not in _INHERIT:
            if asked not in table:
                hint = f'Add `{asked} = "PROVIDER:NAME"` under [models] in {file}, or pass `--model`.'
                raise UsageError("run-model-missing", f"The skill asks for the model {asked!r}.", hint=hint)
            return self._open_model(table[asked])
        if not config.settings.model:
            hint = f'Pass `--model`, or set model = "openai:gpt-5" in {file}.'
            raise UsageError("run-model-missing", "Running a skill needs a model, and none is named.", hint=hint)
        return self._open_model(config.settings.model)

    def _open_model(self, spec: str) -> Model:
        from whet.learning.models.providers import open_model

        return open_model(spec, self._skills.place.env)

    def _check_tools(self, opened: Opened, config: ResolvedConfig, without: Collection[str]) -> None:
        """Raise RefusedError if the skill is granted a tool that a run does not have."""
        granted = _granted(opened, without) - {*DEFINITIONS, *NEEDLESS}
        servers = self._declared_servers(config) if any(map(server_of, granted)) else {}
        if missing := sorted(tool for tool in granted if server_of(tool) not in servers):
            names = ", ".join(missing)
            hint = f"Run it without: {' '.join(f'--without {name}' for name in missing)}."
            message = f"{opened.card.full_name} needs {names}, which a run does not have."
            raise RefusedError("run-tool-missing", message, hint=hint, tools=missing)

    def _declared_servers(self, config: ResolvedConfig) -> dict[str, Declared]:
        return read_servers(config.settings.mcp_servers, self._skills.place.env)

    def _servers(
        self, opened: Opened, config: ResolvedConfig, workspace: Workspace, without: Collection[str]
    ) -> Servers:
        """Return the MCP servers that the skill is granted. Entering the context starts them."""
        wanted = sorted({*filter(None, map(server_of, _granted(opened, without)))})
        declared = self._declared_servers(config) if wanted else {}
        return Servers([declared[name] for name in wanted if name in declared], workspace.copy)

    def _copy(self, top: str, config: ResolvedConfig) -> Workspace:
        place = self._skills.place
        project = config.repository.root if config.repository else place.directory
        try:
            return Workspace.make(top, project, home=place.home, env=place.env, remaps=self.backend.remaps)
        except BaseException:
            shutil.rmtree(top, ignore_errors=True)
            raise

    def _setup(
        self,
        opened: Opened,
        config: ResolvedConfig,
        workspace: Workspace,
        budget: Budget,
        without: Collection[str],
        top: str,
        model: Model | None,
        confirm: Confirm | None,
        servers: Servers | None,
        depth: int = 1,
    ) -> _Setup:
        place = self._skills.place
        below = os.path.relpath(os.path.realpath(place.directory), workspace.project)
        cwd = os.path.normpath(os.path.join(workspace.inside, below)) if not below.startswith(os.pardir) else ""
        judge = Judge(opened.skill, opened.card.directory, workspace, cwd or workspace.inside, place.home)
        hosts = declared_hosts(judge.grants or ())
        proxy = Proxy(hosts) if hosts and self.backend.networks else None

        def fork(name: str, arguments: str) -> Result:
            assert model is not None  # noqa: S101  only a model calls it
            return self._fork(name, arguments, top, workspace, budget, model, confirm, depth)

        toolbox = Toolbox(
            judge,
            self.backend,
            env=allowed_environment(place.env),
            stop=self._stop,
            left=lambda: (budget.seconds or float("inf")) - budget.spent().seconds,
            proxy=proxy,
            fork=fork if model is not None and depth < _DEEPEST else None,
            servers=servers,
            without=frozenset(without),
        )
        return _Setup(opened, config, workspace, self.backend, judge, toolbox, proxy, budget)

    def _begin(
        self, journal: Journal, setup: _Setup, arguments: str, script: str, model: str, asked: str, parent: str = ""
    ) -> None:
        hosts = declared_hosts(setup.judge.grants or ())
        gaps = setup.backend.level.gaps
        if hosts and setup.proxy is None:
            gaps = (*gaps, f"Programs have no network: this sandbox cannot limit them to {', '.join(hosts)}.")
        for server in dict.fromkeys(filter(None, map(server_of, setup.toolbox.names))):
            gaps = (*gaps, f"The MCP server {server} runs outside the sandbox, with your rights.")
        card = setup.opened.card
        journal.add(
            Start(
                os.path.basename(os.path.dirname(journal.path)),
                card.full_name,
                card.directory,
                setup.opened.digest,
                arguments,
                script,
                setup.workspace.project,
                setup.workspace.inside,
                model,
                asked,
                setup.backend.level.name,
                gaps,
                hosts if setup.proxy else (),
                parent,
            )
        )

    def _fork(
        self,
        name: str,
        arguments: str,
        top: str,
        workspace: Workspace,
        budget: Budget,
        model: Model,
        confirm: Confirm | None,
        depth: int,
    ) -> Result:
        """Run another skill in the same copy; it shares the limits, and only the user can approve calls."""
        message = self._message(name, arguments, MODEL)
        opened, config = self._open(name)
        self._check_tools(opened, config, ())
        asked = opened.skill.execution.model
        chosen = model if asked in _INHERIT else self._choose_model(asked, None, config)
        place = self._make_directory()
        journal = self._journal(place)
        agree = confirm or (lambda _call: False)
        with self._servers(opened, config, workspace, ()) as servers:
            setup = self._setup(opened, config, workspace, budget, (), place, chosen, agree, servers, depth + 1)
            self._begin(journal, setup, arguments, "", chosen.name, asked, os.path.basename(top))
            journal.add(Said("system", PROMPT))
            journal.add(Said("user", message))
            end = Agent(journal, setup.toolbox, chosen, budget, confirm=agree, proxy=setup.proxy).run()
        made = RunResult(self._view(journal), make_report(journal, ()), "")
        return Result(made.message, end.status != "done", child=os.path.basename(place))

    # state

    def remove_old(self) -> tuple[str, ...]:
        """Delete runs that are unchanged for `run_days`, and the oldest of more than `MOST_RUNS`; return them.

        Active runs stay, and so does everything if `run_days` is 0.
        """
        days = self._skills.config().settings.run_days
        ages: list[tuple[float, str]] = []
        for name in os.listdir(self._top) if days and os.path.isdir(self._top) else ():
            with suppress(OSError):  # incomplete, or just deleted
                ages.append((os.stat(os.path.join(self._top, name, JOURNAL)).st_mtime, name))
        newest = sorted(ages, reverse=True)
        latest = self._skills.clock() / 1e9 - days * 86_400
        old = [name for at, (touched, name) in enumerate(newest) if touched < latest or at >= MOST_RUNS]
        removed = []
        for name in old:
            with suppress(ConflictError), _hold(os.path.join(self._top, name)):
                shutil.rmtree(os.path.join(self._top, name), ignore_errors=True)
                removed.append(name)
        return tuple(removed)

    def _make_directory(self) -> str:
        top = os.path.join(self._top, secrets.token_hex(4))
        make_directories(top, private=True)
        return top

    def _journal(self, top: str) -> Journal:
        from whet.learning.models.providers import keys_of

        return Journal(top, self._skills.clock, keys_of(self._skills.place.env), self.observe)

    def _find(self, run: str) -> str:
        top = os.path.join(self._top, run)
        if not run.isalnum() or not os.path.exists(os.path.join(top, JOURNAL)):
            raise NotFoundError("no-such-run", f"There is no run {run}.", hint="`whet run --list` shows the runs.")
        return top

    def _check_copy(self, workspace: Workspace) -> None:
        if not os.path.isdir(workspace.copy):
            hint = "Start a new run."
            raise InvalidError("run-broken", "The copy of the project no longer exists.", hint=hint)

    def _view(self, journal: Journal) -> RunView:
        start, end = journal.start, journal.end
        directory = os.path.dirname(journal.path)
        status: Status = "running" if end is None else end.status
        reason = end.reason if end else ""
        if end is None and not start.parent and not _is_held(directory):
            status, reason = "interrupted", "It was killed."
        transcript = os.path.join(directory, TRANSCRIPT)
        started = iso(start.time)
        return RunView(
            start.run, start.skill, status, reason, started, start.project, start.model, start.script, transcript
        )

    def _finish(self, journal: Journal, workspace: Workspace, *, apply: bool) -> RunResult:
        self.backend.leave(workspace)
        end = journal.end
        if apply and end is not None and end.status == "done" and os.path.isdir(workspace.copy):
            made = workspace.apply(self._skills.place.env)
            journal.add(Applied(tuple(change.path for change in made)))
        return self._result(journal, workspace)

    def _result(self, journal: Journal, workspace: Workspace) -> RunResult:
        env = self._skills.place.env
        files = workspace.changes(env) if os.path.isdir(workspace.copy) else ()
        report = make_report(journal, files, [*self._children(journal)])
        diff = "" if report.applied else workspace.diff(env)
        return RunResult(self._view(journal), report, diff)

    def _children(self, journal: Journal) -> Iterator[RunReport]:
        for done in journal.records:
            if isinstance(done, Done) and done.child:
                child = self._journal(os.path.join(self._top, done.child))
                yield make_report(child, (), [*self._children(child)])


def _granted(opened: Opened, without: Collection[str]) -> set[str]:
    """Return the tools that a skill is granted, without those in `without`."""
    granted = {grant.tool for grant in declared_tools(opened.skill) or () if not grant.problem}
    return {tool for tool in granted if not is_left_out(tool, without)}


@contextmanager
def _hold(top: str) -> Iterator[None]:
    """Hold the lock of a run. Raise ConflictError `run-busy`."""
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(os.path.join(top, "lock"), timeout=0))
        except FailedError as error:
            if error.code != "lock-timeout":
                raise
            hint = "Wait until it is done, or stop it."
            raise ConflictError("run-busy", f"The run {os.path.basename(top)} is still running.", hint=hint) from error
        yield


def _is_held(top: str) -> bool:
    try:
        with _hold(top):
            return False
    except ConflictError:
        return True


def _spent(journal: Journal) -> Spent:
    """Return what a run has spent so far."""
    uses = [record for record in journal.records if isinstance(record, Use)]
    return Spent(
        sum(use.tokens_in + use.tokens_out for use in uses),
        len(uses),
        sum(record.seconds for record in journal.records if isinstance(record, End)),
        sum(use.cost or 0.0 for use in uses),
        sum(isinstance(record, Done) for record in journal.records),
    )


def _interpreter(path: str) -> tuple[str, ...]:
    """Return the interpreter of a script: from its first line, or else its suffix."""
    with open(path, "rb") as file:
        first = file.readline(200).decode("utf-8", "replace")
    if first.startswith("#!") and (words := first[2:].split()):
        return tuple(words[1:] if os.path.basename(words[0]) == "env" else words)
    return _SCRIPTS.get(os.path.splitext(path)[1], ("sh",))
