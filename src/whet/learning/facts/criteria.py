"""How one sees that a step worked, told from what the tool answered when it did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.prose import shorten
from whet.learning.facts.shell import programs

if TYPE_CHECKING:
    from whet.learning.facts.tool_calls import Act

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
_SAVED = re.compile(
    r"\.(?:to_\w{2,12}|save\w{0,8}|write_\w{3,8})\(\s*[rf]?[\"']([\w./{}~-]{2,200})[\"']"
    r"|\bopen\(\s*[rf]?[\"']([\w./{}~-]{2,200})[\"'],\s*(?:mode=)?[\"'][wax]"
)
_BAD = re.compile(
    r"(?i)\b(?:error|fail(?:ed|ure|s)?|warning|unable|not found|missing|denied)s?\b(?!\W{0,3}0)(?<!\b0 errors)"
    r"(?<!\b0 failed)(?<!\b0 warnings)(?<!\bno errors)(?<!\b0 failures)(?<!\b0 missing)(?<!\bno warnings)"
)
_WORDS = 14
"""Words of a line that is still a message and not a text."""
_MOMENT = re.compile(
    r"(?<![\w/.-])(?:19|20)\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\[?\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?\]?(?!\w)"
)
_DURATION = re.compile(
    r"(?i)\s*\(?\b(?:in|after|took|within)?\s*(?<![\w.])\d[\d.,]*\s?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b\)?"
)
_DIGEST = re.compile(
    r"(?i)(?:sha\d{1,3}:)?(?:\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"
    r"|(?<![0-9a-z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![0-9a-z])"
    r"|(?<![\w/.-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{3,6}(?![\w/-]))"
)
_COUNT = re.compile(
    r"(?i)(\b(?:http|status|code|exit|port|line)\b[ :/=]{0,3}(?:code )?)?"
    r"(?<![\w{/.-])[#v]?\d(?:[\d.,]*\d)?(?:[x×]\d+)?(?:\s?(?:bytes|[kmg]i?b|px|%))?(?![\w}/-])"
)
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
        return f"All tests pass: exit code 0{_quote(line)}."
    line = _line(act.output, _TOLD)
    if BUILDING.search(command):
        return f"It ends with exit code 0 and no errors{_quote(line)}."
    if line:
        return f"It exits with 0{_quote(line)}."
    if (only := act.output.strip()) and len(only) > 2 and "\n" not in only and only in command:
        return f"It prints `{shorten(only, LINE)}`."
    if target := _target(command):
        return f"It exits with 0, and `{target}` exists and is not empty."
    if all(one.looks for one in programs(command)):
        return "It shows what the next steps need."
    return "It exits with 0 and reports no error."


def _target(command: str) -> str:
    """The file that a command or script leaves behind."""
    found = _TARGET.search(command) if "\n" not in command else _SAVED.search(command)
    return next((group for group in found.groups() if group), "") if found else ""


def _quote(line: str) -> str:
    return f", and it says `{line}`" if line else ""


def _line(output: str, wanted: re.Pattern[str]) -> str:
    """The last line of an output that tells of success, without what is so only this once."""
    lines = [line for line in output[-6_000:].split("\n") if line.strip()]
    for line in reversed(lines[-_LAST:]):
        text = lasting(_plain(line))
        if wanted.search(text) and not _BAD.search(text) and len(re.findall(r"[^\W\d_]{2,}", text)) <= _WORDS:
            return text
    return ""


def lasting(line: str) -> str:
    """A line of output without times, durations, sizes, digests and counts: what it says every time."""
    text = _MOMENT.sub("", line)
    text = _DURATION.sub("", text)
    text = _DIGEST.sub("…", text)
    text = _COUNT.sub(lambda found: found[0] if found[1] or found[0].strip() == "0" else "N", text)
    text = re.sub(r"\bN(?:[./:x×→-]{1,2}N)+\b", "N", text)
    return re.sub(r"\(\s*[N…]?\s*\)|\[\s*\]", "", " ".join(text.split())).strip(" ,;:-·|")


def _plain(line: str) -> str:
    text = shorten(line.replace("`", "'").strip(" \t=-*#_|✓✔✅"), LINE)
    return "" if _FRAMES.fullmatch(line) or _NOISE.match(line.strip()) or not re.search(r"[A-Za-z]{2}", line) else text
