"""How one sees that a step worked, told from what the tool answered when it did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.shell import programs
from whet.learning.facts.wording import shorten

if TYPE_CHECKING:
    from whet.learning.facts.acts import Act

_LAST = 6
"""Lines at the end of an output in which it says how things went."""
LINE = 120
"""Characters of a line of output that is quoted."""
TESTING = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|cypress|rspec|phpunit|ctest|go test|cargo test"
    r"|npm (?:run )?test"
    r"|pnpm (?:run )?test|yarn (?:run )?test|bun test|make (?:test|check)|mvn (?:test|verify)|gradlew? (?:test"
    r"|check)|dotnet test"
    r"|mix test|bats|nextest)\b"
)
BUILDING = re.compile(
    r"\b(?:npm run build|pnpm (?:run )?build|yarn build|make(?! (?:test|check))|cargo build|go build"
    r"|mvn (?:clean )?(?:package|install|compile)"
    r"|gradlew? build|docker build|tsc|webpack|vite build|dotnet build|cmake --build|terraform (?:plan|apply"
    r"|validate)|ruff|mypy"
    r"|eslint|flake8|shellcheck|helm lint)\b"
)
_TOLD = re.compile(
    r"(?i)\b(?:\d+ passed|passed|success(?:ful(?:ly)?)?|succeeded|done|complete[d]?|created|wrote|written|saved"
    r"|finished|ok|installed"
    r"|generated|built|deployed|converted|applied|updated|merged|pushed|uploaded|downloaded|no (?:errors|issues"
    r"|problems)|valid"
    r"|healthy|ready|running|up to date|0 (?:errors|failed|failures)|match(?:es|ed)?|found|total|exported|imported"
    r"|restored)\b"
)
_FRAMES = re.compile(r"[\s=\-_*#|+.~]{0,200}")
_TARGET = re.compile(r"(?:-o|--output|--out|-O|>)[= ]\s*([\w./{}~-]{2,200})")
_NOISE = re.compile(r"\A<|\AShell cwd was reset|\A\(Bash completed|\A\(no output\)|\A\[secret", re.IGNORECASE)


def criterion(act: Act) -> str:
    """A sentence that says how to tell that it worked."""
    command = act.text("command")
    if act.tool in ("Write", "Edit", "NotebookEdit"):
        path = act.text("path")
        return f"`{path}` holds the change." if act.tool != "Write" else f"`{path}` exists and holds this."
    if act.tool == "Task":
        return "The subagent returns what was asked for; check it before using it."
    if act.tool in ("Read", "Search", "Web"):
        return "It shows what the next steps need."
    if not command:
        return "The call returns without an error."
    if TESTING.search(command):
        line = _line(act.output, re.compile(r"(?i)\b(?:passed|ok|pass|success)\b"))
        return f"All tests pass, exit code 0{_quote(line)}."
    if BUILDING.search(command):
        return f"It ends with exit code 0 and no errors{_quote(_line(act.output, _TOLD))}."
    if line := _line(act.output, _TOLD):
        return f"It exits with 0{_quote(line)}."
    if "\n" not in command and (target := _TARGET.search(command)):
        return f"It exits with 0 and `{target[1]}` exists and is not empty."
    if all(one.looks for one in programs(command)) or (
        act.output.strip() and len(act.output) < 4_000 and _first(act.output)
    ):
        first = _first(act.output)
        return f"It exits with 0{_quote(first)}." if first else "It exits with 0."
    return "It exits with 0 and reports no error."


def _quote(line: str) -> str:
    return f"; the session showed `{line}`" if line else ""


def _line(output: str, wanted: re.Pattern[str]) -> str:
    """The last line of an output that tells of success, short enough to be quoted."""
    lines = [line for line in output[-6_000:].split("\n") if line.strip()]
    for line in reversed(lines[-_LAST:]):
        text = _plain(line)
        if (
            text
            and wanted.search(text)
            and not re.search(r"(?i)\b(?:error|fail(?:ed|ure)?|warning)s?\b(?!\W{0,3}0)", text)
        ):
            return text
    return ""


def _first(output: str) -> str:
    return next((text for line in output[:2_000].split("\n") if (text := _plain(line))), "")


def _plain(line: str) -> str:
    text = shorten(line.replace("`", "'").strip(" \t=-*#_|✓✔"), LINE)
    return "" if _FRAMES.fullmatch(line) or _NOISE.match(line.strip()) or not re.search(r"[A-Za-z]{2}", line) else text
