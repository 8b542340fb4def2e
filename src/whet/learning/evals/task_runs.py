"""A model does the tasks of a skill, once with the skill and once without it.

Every try is one conversation of its own, with nothing of the others in it. The skill is given as if the user had asked
for it; whether it comes up by itself is for the trigger evals. The model has three tools: to look at the skill's
files, to read the files of the task, and to write files, which are kept in memory. Nothing is executed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import UsageError
from whet.learning.evals.results import Output, Run
from whet.learning.evals.subject import shown, written_path
from whet.learning.models.model import Message, ModelError, Tool
from whet.skill.paths import collides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.learning.evals.formats import Eval
    from whet.learning.evals.results import Result, Side
    from whet.learning.evals.subject import Subject
    from whet.learning.models.model import Call, Model

    Grade = Callable[[Eval, Output], tuple[tuple[Result, ...], int]]
    """Judges an output; with the tokens that took."""

TURNS = 12
"""Answers of the model in one try; after that, what there is counts."""
MAX_TOKENS = 4_000
MAX_FILES = 50
MAX_WRITTEN = 1_000_000
"""Bytes of all files that a model writes."""
FATAL = frozenset(("model-budget",))
"""Errors after which no other try can do better."""
_WORK = (
    "Do what the user asks for. Answer with the result itself. Where the result is a file, write it with write_file. "
    "Nobody can be asked back and no command can be run."
)


class Setup(NamedTuple):
    """What a try is made of, besides the eval."""

    model: Model
    grade: Grade
    clock: Callable[[], float] = time.monotonic


def run_evals(
    evals: Sequence[Eval],
    sides: Mapping[Side, Subject | None],
    setup: Setup,
    *,
    task_files: Callable[[Eval], Mapping[str, bytes]],
    runs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[Run, ...]:
    """Every eval on every side, so many times.

    A try that fails is kept, with why; once the budget is used up the others are not made, which their errors say.
    Raises ModelError only where not a single try came to anything.
    """
    if runs < 1:
        raise UsageError(
            "bad-runs", f"The number of runs must be above zero, not {runs}.", hint="Pass a number above zero."
        )
    files = {item.id: task_files(item) for item in evals}  # one that is missing must cost nothing
    wanted = [(item, side, number) for item in evals for number in range(1, runs + 1) for side in sides]
    done: list[Run] = []
    stopped: ModelError | None = None
    first: ModelError | None = None
    progress(0, len(wanted))
    for item, side, number in wanted:
        if stopped is not None:
            done.append(Run(item, side, number, Output(""), error=f"Not run: {stopped.message}"))
            continue
        try:
            made = run_eval(item, side, number, sides[side], setup, files[item.id])
        except ModelError as error:
            first = first or error
            stopped = error if error.code in FATAL else None
            made = Run(item, side, number, Output(""), error=error.message)
        done.append(made)
        progress(len(done), len(wanted))
    if first is not None and all(run.error for run in done):
        raise first
    return tuple(done)


def run_eval(
    item: Eval, side: Side, number: int, subject: Subject | None, setup: Setup, files: Mapping[str, bytes]
) -> Run:
    """One try: a conversation, then its grade. Raises ModelError."""
    talk = _Talk(subject, files)
    messages = list(talk.opening(item))
    begun = setup.clock()
    tokens_in = tokens_out = turns = 0
    answer = ""
    while turns < TURNS:
        completion = setup.model.complete(messages, tools=talk.tools(), max_tokens=MAX_TOKENS)
        turns += 1
        tokens_in += completion.tokens_in
        tokens_out += completion.tokens_out
        answer = completion.text or answer
        if not completion.calls:
            break
        messages.append(Message("assistant", completion.text, completion.calls))
        messages.extend(Message("tool", talk.answer(call), call=call.id) for call in completion.calls)
    seconds = setup.clock() - begun
    output = Output(answer, talk.written)
    results, grading = setup.grade(item, output)
    return Run(
        *(item, side, number, output, results, "", seconds, tokens_in, tokens_out, grading, turns, talk.calls),
        tuple(dict.fromkeys(talk.viewed)),
    )


class _Talk:
    """What one conversation is about, and what its tools answer."""

    def __init__(self, subject: Subject | None, files: Mapping[str, bytes]) -> None:
        self.subject, self.files = subject, files
        self.written: dict[str, bytes] = {}
        self.viewed: list[str] = []
        self.calls = 0

    def opening(self, item: Eval) -> Iterator[Message]:
        parts = [_WORK]
        if self.files:
            parts.append(f"Files of the task, for read_file: {', '.join(sorted(self.files))}.")
        if self.subject is not None:
            listed = ", ".join(self.subject.visible()[:100])
            parts.append(f"Follow the instructions of the skill {self.subject.name} for this request.")
            parts.append(f'<skill name="{self.subject.name}">\n{self.subject.body()}\n</skill>')
            parts += [f"Files of the skill, for skill_view: {listed}."] if listed else []
        yield Message("system", "\n\n".join(parts))
        yield Message("user", item.prompt)

    def tools(self) -> list[Tool]:
        named = {"path": {"type": "string", "description": "Relative, with forward slashes."}}
        content = {"content": {"type": "string"}}
        tools = [_tool("write_file", "Write a file that belongs to the result.", {**named, **content})]
        if self.files:
            tools.append(_tool("read_file", "Read a file of the task.", named))
        if self.subject is not None and self.subject.visible():
            tools.append(_tool("skill_view", "Read a file of the skill.", named))
        return tools

    def answer(self, call: Call) -> str:
        """What a tool says; a mistake of the model is an answer, too."""
        self.calls += 1
        path = call.arguments.get("path", call.arguments.get("file_path"))
        if call.name == "write_file":
            return self._write(path, call.arguments.get("content"))
        if call.name == "skill_view" and self.subject is not None:
            self.viewed.append(str(path)[:200])
            return self.subject.view(str(path))
        if call.name == "read_file":
            held = {**self.files, **self.written}.get(str(path))
            return shown(held) if held is not None else f"There is no file {str(path)[:200]!r}."
        return f"There is no tool {call.name[:80]!r}."

    def _write(self, path: object, content: object) -> str:
        try:
            name = written_path(path)
        except UsageError as error:
            return f"Not written: {error.message}"
        if not isinstance(content, str):
            return "Not written: the content must be text."
        if name not in self.written and collides((*self.written, name)):
            return "Not written: another file is in the way."
        data = content.encode("utf-8", "replace")
        used = sum(len(held) for other, held in self.written.items() if other != name)
        if used + len(data) > MAX_WRITTEN or (name not in self.written and len(self.written) >= MAX_FILES):
            return f"Not written: more than {MAX_FILES} files or {MAX_WRITTEN:,} bytes."
        self.written[name] = data
        return f"Wrote {name}, {len(data):,} bytes."


def _tool(name: str, description: str, properties: Mapping[str, Any]) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(properties)})
