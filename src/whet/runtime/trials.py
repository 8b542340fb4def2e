"""Attempts at the tasks of evals: the same agent, tools, permissions and sandbox as a run, on the files of the task.

An attempt has the tools of the measured skill, even without the skill itself. Everything it does is discarded, so a
call that needs approval is made, unless it leads out of the sandbox. Paths are the same every time, so that recorded
answers can be replayed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from typing import TYPE_CHECKING

from whet.learning.evals.results import Output
from whet.learning.models.model import Budget
from whet.prompt.message import ASKED, compose, remarks, spoken, tagged
from whet.prompt.shell import allowed_environment
from whet.runtime.agent import PROMPT, Agent
from whet.runtime.approvals import Judge
from whet.runtime.backends import open_backend
from whet.runtime.journal import Decided, Journal, Said, Start, Use
from whet.runtime.proxy import Proxy, declared_hosts
from whet.runtime.servers import server_of
from whet.runtime.tools import Toolbox
from whet.runtime.workspace import Workspace
from whet.skill.tree import digest, entries
from whet.store.directories import make_directories, make_missing
from whet.store.failures import os_failures
from whet.store.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.evals.evaluation import Task
    from whet.learning.evals.subject import Subject
    from whet.learning.models.model import Model
    from whet.library.workspace import Workspace as SkillWorkspace
    from whet.runtime.backends import Backend

TURNS = 30
"""Answers of the model in one attempt; after that, the result so far counts."""
SECONDS = 1800.0
MOST_FILES = 50
MOST_BYTES = 1_000_000
"""Largest total size of the resulting files that are read."""
_WAIT = 3600.0


class Trials:
    """Makes attempts, one after the other. Evals call `Trials(...)` with a task and a model."""

    def __init__(self, workspace: SkillWorkspace, backend: Backend | None = None) -> None:
        self._place, self._clock = workspace.place, workspace.clock
        self._run_on = workspace.config().settings.run_on
        self._backend = backend

    def __call__(self, task: Task, model: Model) -> Output:
        """Do one task. Raises ModelError, RefusedError `no-sandbox`."""
        if self._backend is None:
            self._backend = open_backend(self._run_on, self._place.home, self._place.env)
        backend = self._backend
        backend.check()
        key = digest(entries(task.subject.tree)) if task.subject else f"without {task.tools.name}"
        top = os.path.join(self._place.state, "runs", f"eval-{hashlib.sha256(key.encode()).hexdigest()[:12]}")
        make_directories(os.path.dirname(top), private=True)
        with FileLock(f"{top}.lock", timeout=_WAIT):
            try:
                shutil.rmtree(top, ignore_errors=True)  # left by a killed attempt
                return self._attempt(task, model, backend, top)
            finally:
                shutil.rmtree(top, ignore_errors=True)

    def _attempt(self, task: Task, model: Model, backend: Backend, top: str) -> Output:
        place = self._place
        project, skill, own = (os.path.join(top, name) for name in ("task", "skill", "run"))
        for path in (project, skill, own):
            make_directories(path, private=True)
        _write(project, task.files)
        directory = os.path.join(skill, os.path.basename(task.subject.directory) if task.subject else "none")
        make_directories(directory, private=True)
        if task.subject:
            _write(directory, {path: item.data for path, item in task.subject.shown().items()}, task.subject)
        copy = Workspace.make(own, project, home=place.home, env=place.env, remaps=backend.remaps)
        judge = Judge(task.tools, directory, copy, copy.inside, place.home)
        hosts = declared_hosts(judge.grants or ())
        proxy = Proxy(hosts) if hosts and backend.networks else None
        budget = Budget(calls=TURNS, seconds=SECONDS)
        toolbox = Toolbox(
            judge,
            backend,
            env=allowed_environment(place.env),
            stop=threading.Event(),
            left=lambda: SECONDS - budget.spent().seconds,
            proxy=proxy,
        )
        journal = Journal(own, self._clock)
        name = task.subject.name if task.subject else ""
        level = backend.level.name
        journal.add(Start("eval", name, directory, "", "", "", project, copy.inside, model.name, "", level, (), hosts))
        journal.add(Said("system", PROMPT))
        journal.add(Said("user", _message(task, directory)))
        agent = Agent(journal, toolbox, model, budget, confirm=_confirm, proxy=proxy)
        end = agent.run()
        if end.status == "interrupted":
            raise KeyboardInterrupt
        if agent.error is not None and budget.spent().calls < TURNS:
            raise agent.error
        backend.leave(copy)
        return self._result(journal, copy, directory, end.seconds)

    def _result(self, journal: Journal, copy: Workspace, directory: str, seconds: float) -> Output:
        said = [one for one in journal.records if isinstance(one, Said) and one.role == "assistant"]
        uses = [one for one in journal.records if isinstance(one, Use)]
        looked = [str(one.given.get("file_path")) for one in journal.decisions().values() if one.tool == "Read"]
        return Output(
            next((one.text for one in reversed(said) if one.text), ""),
            self._files(copy),
            seconds,
            sum(use.tokens_in for use in uses),
            sum(use.tokens_out for use in uses),
            sum(len(one.calls) for one in said),
            tuple(dict.fromkeys(path.removeprefix(f"{directory}/")[:200] for path in looked)),
        )

    def _files(self, copy: Workspace) -> dict[str, bytes]:
        """Return the new and changed files of the attempt, within the limits."""
        found: dict[str, bytes] = {}
        size = 0
        for change in copy.changes(self._place.env):
            real = copy.locate(os.path.join(copy.inside, change.path))
            if change.change == "deleted" or real is None or len(found) >= MOST_FILES:
                continue
            with os_failures(real, doing="read", other="read-failed"), open(real, "rb") as file:
                data = file.read(MOST_BYTES - size)
            found[change.path] = data
            size += len(data)
        return found


def _confirm(decided: Decided) -> bool:
    """Approve calls that stay in the sandbox and in the copy."""
    return decided.tool != "WebFetch" and not server_of(decided.tool)


def _message(task: Task, directory: str) -> str:
    """Return the user's message: that of a run of the skill, or only the task."""
    subject = task.subject
    if subject is None:
        return task.prompt
    files = [(path, len(subject.tree[path].data)) for path in subject.visible()]
    runs = any(not path.endswith((".md", ".txt")) for path, _ in files)
    shown = directory if runs else ""  # a local path is in the message only if commands need it
    below = remarks(files, shown, (), (), opens="Read(file_path)")
    text = "\n".join((subject.body(directory).strip("\n"), "", *below)).strip("\n")
    head = f"{ASKED}skill {spoken(subject.name)}. Follow its instructions for this request."
    return compose([head], [tagged(subject.name, digest(entries(subject.shown())), text)], task.prompt)


def _write(top: str, files: Mapping[str, bytes], subject: Subject | None = None) -> None:
    for path, data in files.items():
        place = os.path.join(top, *path.split("/"))
        with os_failures(place):
            make_missing(os.path.dirname(place))
            with open(place, "wb") as file:
                file.write(data)
            if subject and subject.tree[path].executable:
                os.chmod(place, 0o700)
