"""A skill's body as the model reads it: variables and arguments filled in, inline commands run where that is allowed.

The body is read once, from left to right, with one pattern. What is put in (an argument, a directory, what a command
printed) is never looked at again, so no value can bring a placeholder or a command of its own. Into the text of a
command no value is put at all: a placeholder there becomes a reference to an environment variable, which is as safe as
`"$1"` in any script. What cannot be filled stays visible and is told in a note.
"""

from __future__ import annotations

import re
from bisect import bisect
from typing import TYPE_CHECKING, NamedTuple

from whet.prompt.arguments import Given, placeholder, split_arguments
from whet.prompt.shell import shown, single_quoted
from whet.skill.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.prompt.arguments import Answer
    from whet.prompt.shell import Shell

MOST_COMMANDS = 20
MOST_OUTPUT = 20_000
"""How many commands a body may run, and how many characters they may put into it together."""


class Scene(NamedTuple):
    """What the variables of a skill mean; empty is unknown."""

    skill_dir: str
    skill_name: str = ""
    session_id: str = ""
    project_dir: str = ""
    plugin_root: str = ""
    plugin_data: str = ""
    effort: str = ""


VARIABLES: dict[str, str] = {
    "${WHET_SKILL_DIR}": "skill_dir",
    "${WHET_SKILL_NAME}": "skill_name",
    "${WHET_SESSION_ID}": "session_id",
    "${WHET_PROJECT_DIR}": "project_dir",
    "${CLAUDE_SKILL_DIR}": "skill_dir",
    "${CLAUDE_SESSION_ID}": "session_id",
    "${CLAUDE_PROJECT_DIR}": "project_dir",
    "${CLAUDE_PLUGIN_ROOT}": "plugin_root",
    "${CLAUDE_PLUGIN_DATA}": "plugin_data",
    "${CLAUDE_EFFORT}": "effort",
    "${HERMES_SKILL_DIR}": "skill_dir",
    "${HERMES_SESSION_ID}": "session_id",
    "{baseDir}": "skill_dir",
}
"""Each variable as a body writes it, and the field of `Scene` it stands for."""

_VARIABLE = r"(?P<variable>\$\{(?:WHET|CLAUDE|HERMES)_\w{1,64}\}|(?<!\$)\{baseDir\})"
_FENCE = (
    r"^(?P<lead>(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*+)"
    r"(?P<fence>`{3,}+(?=[^`\n]*$)|~{3,}+)(?=(?P<info>[^\n]*))"
)
_SPAN = r"(?<!`)(?P<ticks>`{2,8})(?!`)(?=(?P<span>[^\n]+?(?<!`)(?P=ticks)(?!`)))"
_COMMAND = r"(?<!\S)!`(?=(?P<command>[^`\r\n]++)`)"
_CLOSING = re.compile(r"^([ \t]*+)(`{3,}+)[ \t]*+(?=\r?$)", re.MULTILINE)
# Word characters and spaces are those of ASCII: prose without spaces (`处理$ARGUMENTS文件`) holds placeholders too.
_FLAGS = re.MULTILINE | re.ASCII


class Rendered(NamedTuple):
    """A body ready to be read, and what is worth knowing about how it became so."""

    text: str
    notes: tuple[Diagnostic, ...]
    takes_arguments: bool
    """Whether the body has a place for arguments; if not, what was typed must reach the model another way."""


def render(
    body: str, scene: Scene, *, names: Sequence[str] = (), arguments: str | None = None, shell: Shell | None = None
) -> Rendered:
    """Fill in a body.

    `names` are the declared arguments. `arguments` is what was typed; None is a look at the skill that nobody invoked,
    which leaves the placeholders for arguments alone. Without a `shell` no command is run.
    """
    return _Pass(scene, tuple(names), arguments, shell).over(body)


def expand(text: str, scene: Scene) -> str:
    """Only the variables, as rules of `allowed-tools` use them; what has no value stays as it is."""
    return re.sub(_VARIABLE, lambda found: _value(found.group(), scene) or found.group(), text, flags=_FLAGS)


def _value(variable: str, scene: Scene) -> str:
    return str(getattr(scene, VARIABLES[variable])) if variable in VARIABLES else ""


def _closes(lead: str, fence: str, opening_lead: str, opening: str) -> bool:
    """Does a fence end the block: the same sign, no fewer, in the same quotation, not indented like code?"""
    same_place = lead.count(">") == opening_lead.count(">") and len(lead) <= len(opening_lead) + 3
    return fence.startswith(opening) and same_place and not lead.strip(" \t>")


class _Pass:
    """One way through one body, and what is gathered on it."""

    def __init__(self, scene: Scene, names: tuple[str, ...], arguments: str | None, shell: Shell | None) -> None:
        self.scene, self.shell = scene, shell
        self.given = Given(arguments, split_arguments(arguments or ""), names)
        self.values = f"{_VARIABLE}|{placeholder(names)}"
        self.notes: dict[Diagnostic, None] = {}  # in order, each one once
        self.takes_arguments = False
        self.block: tuple[str, str] | None = (
            None  # the code block we are in: what stood before its fence, and the fence
        )
        self.span_end = 0  # where the code span we are in ends
        self.ran, self.left, self.room = 0, 0, MOST_OUTPUT  # commands run and not run, output they may still give

    def over(self, body: str) -> Rendered:
        pattern = re.compile(f"{_FENCE}|{_SPAN}|{_COMMAND}|{self.values}", _FLAGS)
        parts: list[str] = []
        at = 0
        while found := pattern.search(body, at):
            parts.append(body[at : found.start()])
            text, at = self._replace(found, body)
            parts.append(text)
        parts.append(body[at:])
        if self.left:
            self._tell_left()
        return Rendered("".join(parts), tuple(self.notes), self.takes_arguments)

    def _replace(self, found: re.Match[str], body: str) -> tuple[str, int]:
        """What stands in the text for a match, and where to read on."""
        text = found.group()
        if found["fence"]:
            return self._fence(found, body)
        if found["ticks"]:
            if found.start() >= self.span_end:
                self.span_end = found.end("span")
        elif command := found["command"]:
            if command.strip() and not self.block and found.start() >= self.span_end:
                end = found.end("command") + 1
                return self._command(command, body[found.start() : end]), end
        elif variable := found["variable"]:
            text = self._variable(variable) or variable
        elif found["escape"]:
            text = text[1:]
        elif (value := self._argument(found).value) is not None:
            text = value
        return text, found.end()

    def _fence(self, found: re.Match[str], body: str) -> tuple[str, int]:
        """Enter or leave a code block; a block of commands is taken as a whole."""
        lead, fence, info = found["lead"], found["fence"], found["info"].strip()
        if self.block:
            if not info and _closes(lead, fence, *self.block):
                self.block = None
        elif info == "!" and fence[0] == "`" and not lead.strip():
            start = found.end("info") + 1
            closings = (line for line in _CLOSING.finditer(body, start) if _closes(line[1], line[2], lead, fence))
            closing = next(closings, None)
            if closing and (block := body[start : closing.start()]).strip():
                script = re.sub(rf"^[ \t]{{0,{len(lead)}}}", "", block, flags=re.MULTILINE).replace("\r\n", "\n")
                return self._command(script, body[found.start() : closing.end()]), closing.end()
            self.block = (lead, fence)
            if closing is None and self.shell:
                message = f"A block of inline commands is not closed by a line {fence} and was not run."
                self._tell(Diagnostic("inline-shell-unclosed", "warning", message, hint="Close it."))
        else:
            self.block = (lead, fence)
        return found.group(), found.end()

    def _variable(self, variable: str) -> str:
        if value := _value(variable, self.scene):
            return value
        if variable in VARIABLES:
            message = f"{variable} has no value here and stays as written."
            hint = "Give the session or the project it belongs to, or do without it."
            self._tell(Diagnostic("variable-without-value", "info", message, hint=hint))
        else:
            message = f"{variable} is not a known variable and stays as written."
            hint = f"Use one of {', '.join(VARIABLES)}."
            self._tell(Diagnostic("variable-unknown", "warning", message, hint=hint))
        return ""

    def _argument(self, found: re.Match[str]) -> Answer:
        answer = self.given.answer(found)
        self.takes_arguments |= answer.taken
        self._tell(answer.note)
        return answer

    def _command(self, script: str, written: str) -> str:
        """What a command printed, or the command as it was written when it may not run."""
        shell = self.shell
        if shell is None or self.ran == MOST_COMMANDS or self.room <= 0:
            self.left += 1
            return written
        self.ran += 1
        limit = min(shell.limit, self.room)
        env = {**shell.env}
        ready = self._referring(script, shell, env)
        ran = shell.runner.run(ready, shell=shell.program, cwd=shell.cwd, env=env, seconds=shell.seconds, limit=limit)
        text, note = shown(ran, script, shell, limit)
        self.room -= min(len(text), limit)
        self._tell(note)
        return text

    def _referring(self, script: str, shell: Shell, env: dict[str, str]) -> str:
        """The script with references to environment variables for its placeholders; `env` gets their values."""
        for variable in VARIABLES:
            if variable[0] == "$" and (value := _value(variable, self.scene)):
                env[variable[2:-1]] = value
        quoted = single_quoted(script)

        def reference(found: re.Match[str]) -> str:
            if found["escape"]:
                return found.group()[1:]
            if bisect(quoted, found.start()) % 2:
                message = f"{found.group()} stands in single quotes in a command, where a shell fills in nothing."
                hint = "Use double quotes where the value is meant."
                self._tell(Diagnostic("inline-shell-quoted", "info", message, hint=hint))
                return found.group()
            if variable := found["variable"]:
                name = "WHET_SKILL_DIR" if variable == "{baseDir}" else variable[2:-1]
                return shell.reference(name) if self._variable(variable) else variable
            answer = self._argument(found)
            if answer.value is None:
                return found.group()
            env[answer.variable] = answer.value
            return shell.reference(answer.variable)

        return re.sub(self.values, reference, script, flags=_FLAGS)

    def _tell(self, note: Diagnostic | None) -> None:
        if note:
            self.notes[note] = None

    def _tell_left(self) -> None:
        number = "1 inline command was" if self.left == 1 else f"{self.left} inline commands were"
        if self.shell is None:
            hint = "To allow it, add the trust level of the skill to `inline_shell` in config.toml."
            message = f"{number} not run: inline shell is off."
            self._tell(Diagnostic("inline-shell-off", "info", message, hint=hint))
        else:
            message = f"{number} not run: a body runs {MOST_COMMANDS} at most, for {MOST_OUTPUT} characters of output."
            hint = "Put several commands into one block, or let the model run them."
            self._tell(Diagnostic("inline-shell-limit", "warning", message, hint=hint))
