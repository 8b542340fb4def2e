"""Rendering a skill's body for the model: variables and arguments are filled in, allowed inline commands run.

The body is read once, from left to right, with one pattern. Inserted values (an argument, a directory, the output of a
command) are never parsed again, so no value can add a placeholder or a command. No value is put into the text of a
command: a placeholder there becomes a reference to an environment variable, which is as safe as `"$1"` in any script:
always one word. Only `$ARGUMENTS` that begins a word outside quotes is split at its spaces; such a script runs with
`set -f`, so that no part of it is taken for a pattern of file names. A placeholder without a value stays visible and
gets a note. A command is not run without all its values, nor if a shell could read them as code. A command that is off
or over a limit shows its values, quoted for a POSIX shell, so that a reader can run it as intended.
"""

from __future__ import annotations

import re
import time
from bisect import bisect

from whet.notes import Note
from whet.patterns import compile_late
from whet.prompt.arguments import PLACE, Answer, Given, has_heredoc, literal, makes_code, placeholder, quoting, word_at
from whet.prompt.shell import Left, shown
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.prompt.shell import Shell

MOST_COMMANDS = 20
MOST_OUTPUT = 20_000
"""Number of commands that a body may run, and characters of their output together."""


class Variables(NamedTuple):
    """The values of a skill's variables; "" if unknown."""

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
"""Each variable in a body, and its field of `Variables`."""

_VARIABLE = r"(?P<variable>\$\{(?:WHET|CLAUDE|HERMES)_\w{1,64}\}|(?<!\$)\{baseDir\})"
_FENCE = (
    r"^(?P<lead>(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*+)"
    r"(?P<fence>`{3,}+(?=[^`\n]*$)|~{3,}+)(?=(?P<info>[^\n]*))"
)
_SPAN = r"(?<!`)(?P<ticks>`{2,8})(?!`)(?=(?P<span>[^\n]+?(?<!`)(?P=ticks)(?!`)))"
_OWN = r"(?P<own>(?<!\\)\$[0-9]\w*)"  # not a placeholder (`$1x`), but a shell would expand it
_COMMAND = r"(?<!\S)!`(?=(?P<command>[^`\r\n]++)`)"
_CLOSING = compile_late(r"^([ \t]*+)(`{3,}+)[ \t]*+(?=\r?$)", re.MULTILINE)
# Word characters and spaces are those of ASCII: prose without spaces (`处理$ARGUMENTS文件`) holds placeholders too.
_FLAGS = re.MULTILINE | re.ASCII


class Rendered(NamedTuple):
    """A rendered body, and notes."""

    text: str
    notes: tuple[Note, ...]


class _Filled(NamedTuple):
    """A script with its values, and reasons not to use it: placeholders without a value, unsafe constructs."""

    text: str
    missing: dict[str, None]
    hazard: str


def render(
    body: str,
    variables: Variables,
    *,
    names: Sequence[str] = (),
    arguments: str | None = None,
    shell: Shell | None = None,
) -> Rendered:
    """Render a body.

    `names` are the declared arguments. `arguments` is the typed text; None means that nobody invoked the skill, which
    leaves the placeholders for arguments unchanged. Without a `shell` no command is run.
    """
    return _Pass(variables, tuple(names), arguments, shell).over(body)


def expand(text: str, variables: Variables) -> str:
    """Replace only the variables, for rules of `allowed-tools`; those without a value stay."""
    return re.sub(_VARIABLE, lambda found: _value(found.group(), variables) or found.group(), text, flags=_FLAGS)


def _value(variable: str, variables: Variables) -> str:
    return str(getattr(variables, VARIABLES[variable])) if variable in VARIABLES else ""


def _closes(lead: str, fence: str, opening_lead: str, opening: str) -> bool:
    """Return whether a fence ends the block: the same sign, as long, in the same quotation, not indented like code."""
    same_place = lead.count(">") == opening_lead.count(">") and len(lead) <= len(opening_lead) + 3
    return fence.startswith(opening) and same_place and not lead.strip(" \t>")


class _Pass:
    """One pass through one body, and its results."""

    def __init__(
        self, variables: Variables, names: tuple[str, ...], arguments: str | None, shell: Shell | None
    ) -> None:
        self.variables, self.shell = variables, shell
        self.given = Given.of(arguments, names)
        self.values = f"{_VARIABLE}|{placeholder(names)}"
        self.notes: dict[Note, None] = {}  # in order, each one once
        self.counts = False  # whether the body numbers its arguments
        self.block: tuple[str, str] | None = None  # the prefix and the fence of the current code block
        self.span_end = 0  # the end of the current code span
        self.ran, self.room, self.spent = 0, MOST_OUTPUT, 0.0  # commands run, remaining output, their time
        self.left = Left()

    def over(self, body: str) -> Rendered:
        pattern = re.compile(f"{_FENCE}|{_SPAN}|{_COMMAND}|{self.values}", _FLAGS)
        parts: list[str] = []
        at = 0
        while found := pattern.search(body, at):
            parts.append(body[at : found.start()])
            text, at = self._replace(found, body)
            parts.append(text)
        parts.append(body[at:])
        notes = [note for note in self.notes if self.counts or note.code != "placeholder-unfilled"]
        return Rendered("".join(parts), (*notes, *self.left.notes()))

    def _replace(self, found: re.Match[str], body: str) -> tuple[str, int]:
        """Return the replacement of a match, and where to continue."""
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
        elif found["escape"]:
            text = text[1:]
        elif (value := self._tell(self._answer(found)).value) is not None:
            text = value
        return text, found.end()

    def _fence(self, found: re.Match[str], body: str) -> tuple[str, int]:
        """Enter or leave a code block; a block of commands is read as a whole."""
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
                message = f"A block of inline commands is not closed with {fence}; it did not run."
                self.notes[Note("inline-shell-unclosed", "warning", message, "Close the block.")] = None
        else:
            self.block = (lead, fence)
        return found.group(), found.end()

    def _answer(self, found: re.Match[str], *, in_command: bool = False) -> Answer:
        """Look up a variable or a placeholder for arguments."""
        if not (variable := found["variable"]):
            return self.given.answer(found, in_command=in_command)
        name = "WHET_SKILL_DIR" if variable == "{baseDir}" else variable[2:-1]
        if value := _value(variable, self.variables):
            return Answer(name, value)
        if variable in VARIABLES:
            message = f"{variable} has no value here and stays as written."
            hint = "Pass the session or project it belongs to, or remove it."
            return Answer(name, None, Note("variable-without-value", "info", message, hint))
        message = f"{variable} is not a known variable and stays as written."
        hint = f"Use one of {', '.join(VARIABLES)}."
        return Answer(name, None, Note("variable-unknown", "warning", message, hint))

    def _tell(self, answer: Answer) -> Answer:
        self.counts |= answer.counts
        if answer.note:
            self.notes[answer.note] = None
        return answer

    def _command(self, script: str, written: str) -> str:
        """Return the output of a command, or the command itself if it is not run."""
        shell = self.shell
        if shell is None:
            self.left.add(Left.OFF)
            return self._spelled(written)
        env = {**shell.env}
        for variable in VARIABLES:
            if variable[0] == "$" and (value := _value(variable, self.variables)):
                env[variable[2:-1]] = value
        ready = self._referring(script, shell, env)
        if ready.hazard:
            self.left.add(Left.UNSAFE, f"`{ready.hazard}`")
            return written
        if ready.missing:
            self.left.add(Left.UNFILLED, *ready.missing)
            return written
        if self.ran == MOST_COMMANDS or self.room <= 0 or self.spent >= shell.total:
            most = f"{MOST_COMMANDS} at most, for {MOST_OUTPUT} characters of output and {shell.total:g} seconds"
            self.left.add(Left.LIMIT, most)
            return written if shell.is_powershell else self._spelled(written)
        self.ran += 1
        seconds, limit = min(shell.seconds, shell.total - self.spent), min(shell.limit, self.room)
        begun = time.monotonic()
        ran = shell.runner.run(ready.text, shell=shell.program, cwd=shell.cwd, env=env, seconds=seconds, limit=limit)
        self.spent += time.monotonic() - begun
        text, note = shown(ran, script, shell._replace(seconds=seconds, limit=limit))
        self.room -= min(len(text), limit)
        if note:
            self.notes[note] = None
        return text

    def _referring(self, script: str, shell: Shell, env: dict[str, str]) -> _Filled:
        """Return the script with references to environment variables for its placeholders; `env` gets their values."""
        splits = False

        def refer(variable: str, value: str, where: str) -> str:
            nonlocal splits
            env[variable] = value
            splits |= where == "words"
            return shell.reference(variable, whole=not where)

        filled = self._filled(script, refer)
        return filled._replace(text=f"set -f; {filled.text}") if splits and not shell.is_powershell else filled

    def _spelled(self, written: str) -> str:
        """Return a command that is not run, with its values quoted for a POSIX shell."""

        def spell(_: str, value: str, where: str) -> str:
            return (
                " ".join(literal(word, "") for word in self.given.words) if where == "words" else literal(value, where)
            )

        filled = self._filled(written, spell)  # the marks around the command do not change its quoting
        return written if filled.hazard else filled.text

    def _filled(self, script: str, put: Callable[[str, str, str], str]) -> _Filled:
        """Return a script with each variable replaced by `put`, which gets its name, value and quoting.

        The quoting is `"` inside double quotes, `words` where the value is split, and "" where it is one word.
        """
        values = re.compile(f"{self.values}|{_OWN}", _FLAGS)
        marked = values.sub(lambda found: found.group() if found["escape"] else PLACE, script)
        missing: dict[str, None] = {}
        if PLACE in marked and has_heredoc(script):
            return _Filled(script, missing, "<<")
        places, quotes = quoting(script)
        fills = False

        def replace(found: re.Match[str]) -> str:
            nonlocal fills
            written = found.group()
            if found["escape"]:
                return written[1:]
            quote = quotes[bisect(places, found.start()) - 1]
            answer = Answer("", None) if found["own"] else self._answer(found, in_command=True)
            if quote == "'":
                if answer.value is not None:
                    message = f"{written} is in single quotes in a command, where a shell expands nothing."
                    hint = "Use double quotes to insert the value."
                    self.notes[Note("inline-shell-quoted", "info", message, hint)] = None
                return written
            fills = True
            if (value := self._tell(answer).value) is None:
                missing[written] = None
                return written
            splits = found["all"] and not found["at"] and not quote and word_at(script, found.start())
            return put(answer.variable, value, "words" if splits else quote)

        text = values.sub(replace, script)
        return _Filled(text, missing, makes_code(marked) if fills else "")
