"""Output that several commands share: tables, times, differences, findings of the guard, notes."""

from __future__ import annotations

from whet.interfaces.cli.text import clean, clean_block, plural, wrap_markdown
from whet.patterns import compile_late
from whet.store.clock import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.finding import Finding
    from whet.interfaces.cli.output import Screen, Style
    from whet.notes import Note
    from whet.store.chain import Problem


_DIFF_STYLES: tuple[tuple[str, Style], ...] = (
    ("+++", "bold"),
    ("---", "bold"),
    ("@@", "cyan"),
    ("+", "green"),
    ("-", "red"),
)


def format_time(screen: Screen, time: int) -> str:
    """Format a time to the minute for a person, 0 as never; a program gets all of it."""
    if not time:
        return "never" if screen.tty else ""
    text = iso(time)
    return f"{text[:10]} {text[11:16]}" if screen.tty else text


_LONG_DIFF = 60
"""Lines of one file's difference; a longer one is folded on a terminal unless -v is given."""
_FILES = compile_late(r"(?m)^(?=--- )")


def fold_diff(screen: Screen, text: str) -> bool:
    """Add a difference, with one line for each file that changes much; return whether something is folded."""
    if screen.verbose or not screen.tty:
        paint_diff(screen, text)
        return False
    folded = False
    for part in filter(None, _FILES.split(text)):
        if part.count("\n") <= _LONG_DIFF:
            paint_diff(screen, part)
            continue
        folded, lines = True, part.split("\n", 2)
        old, new = lines[0].removeprefix("--- "), lines[1].removeprefix("+++ ")
        name = new if new != "/dev/null" else old
        screen.line(f"{screen.paint(clean(name), 'bold')}  {count_lines(part)}")
    return folded


def paint_diff(screen: Screen, text: str) -> None:
    """Add a difference, line by line, in colour if colour is wanted."""
    for line in clean_block(text).removesuffix("\n").split("\n") if text else ():
        style = next((style for mark, style in _DIFF_STYLES if line.startswith(mark)), None)
        screen.line(screen.paint(line, style) if style else line)


def count_lines(diff: str) -> str:
    """Return the number of added and removed lines of a difference: `+3 -1`."""
    lines = [line for line in diff.split("\n") if not line.startswith(("+++", "---"))]
    counts = {mark: sum(line.startswith(mark) for line in lines) for mark in "+-"}
    return " ".join(f"{mark}{count}" for mark, count in counts.items() if count)


def percent(value: float) -> str:
    """Format a probability for a person."""
    return f"{value:.0%}"


def render_notes(notes: Sequence[Note], screen: Screen) -> None:
    for note in notes:
        screen.say(note.message)
        if note.hint:
            screen.hint(note.hint)


def render_report(notes: Sequence[Note], screen: Screen, *, place: bool = False, hint: bool = False) -> None:
    """Print a sentence for each note, with severity and code, and optionally its path and hint."""
    for note in notes:
        where = f"{screen.place(note.path)}: " if place else ""
        said = f"{note.message} {note.hint}".rstrip() if hint else note.message
        screen.say(f"{where}{note.severity}: {said} [{note.code}]")


SEVERITIES: dict[str, Style] = {"critical": "red", "warn": "yellow", "info": "cyan"}
VERDICTS: dict[str, Style] = {"dangerous": "red", "caution": "yellow", "safe": "green"}
DECISIONS: dict[str, Style] = {"block": "red", "ask": "yellow", "allow": "green"}
_FINDING_INDENT = 4
_SHOWN_PLACES = 6
"""Number of places of one finding that are named; -v names all."""
_SHOWN_WORDS = 3
"""Number of different words of one finding that are quoted; -v quotes all."""
_DIRECTORIES = {"local": "your own {}", "directory": "an untrusted {}"}
"""Names of a directory by its trust."""


def describe_source(source: str, trust: str, checkout: str = "") -> str:
    """Describe a source, with its trust."""
    if source.startswith("path:"):
        return _DIRECTORIES.get(trust, f"a {{}} ({trust})").format("git repository" if checkout else "directory")
    return "this machine" if trust == "local" else f"{'an' if trust[:1] in 'aeio' else 'a'} {trust} source"


def render_findings(findings: Sequence[Finding], path: str, screen: Screen, *, every: bool = False) -> None:
    """Print every finding that matters; in a pipe a line for each, with its place first.

    On a terminal, a finding that occurs several times is shown once with all its places, and findings about the same
    words are grouped, with the words below them.
    """
    same: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        if finding.severity == "info" and not every:
            continue
        if screen.tty:
            same.setdefault((finding.severity, finding.rule, finding.message), []).append(finding)
        else:
            _render_line(finding, path, screen)
    about: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Finding]] = {}
    for again in same.values():
        places = tuple(dict.fromkeys(format_place(one) for one in again))
        words = tuple(dict.fromkeys(one.evidence for one in again))
        about.setdefault((places, words), []).append(again[0])
    for (places, words), together in about.items():
        _render_block(together, _join_places(places, screen), words, screen)


def _join_places(places: Sequence[str], screen: Screen) -> str:
    """Join places in one line, with each file once for consecutive lines: `SKILL.md:3, 7, run.sh:2 and 4 more`."""
    most = len(places) if screen.verbose else _SHOWN_PLACES
    told, before = [], ""
    for place in places[:most]:
        file, _, line = place.rpartition(":")
        told.append(line if file and file == before else place)
        before = file
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return f"{', '.join(told)}{more}"


def _render_block(findings: Sequence[Finding], place: str, words: Sequence[str], screen: Screen) -> None:
    shown = ""
    for finding in findings:
        if finding.severity != shown:
            shown = finding.severity
            severity = screen.paint(f"{shown:<8}", SEVERITIES[shown])
            screen.line(f"  {severity}  {screen.paint(screen.fit(place, 14), 'bold')}")
        screen.paragraph(f"{finding.message} [{finding.rule}]", _FINDING_INDENT)
        if screen.verbose:
            from whet.guard.rules import every

            screen.paragraph(f"Why: {every()[finding.rule].why}", _FINDING_INDENT)
            screen.paragraph(f"For its author: {finding.remedy}", _FINDING_INDENT)
    quoted = [evidence for evidence in words if evidence]
    most = len(quoted) if screen.verbose else _SHOWN_WORDS
    for evidence in quoted[:most]:
        screen.paragraph(evidence, _FINDING_INDENT + 2, screen.paint(f"{' ' * _FINDING_INDENT}> ", "dim"))
    if len(quoted) > most:
        screen.paragraph(f"and {len(quoted) - most} more", _FINDING_INDENT + 2)


def format_place(finding: Finding) -> str:
    """Return the file of a finding, with its line if there is one."""
    return f"{finding.file}:{finding.line}" if finding.line else finding.file


def _render_line(finding: Finding, path: str, screen: Screen) -> None:
    severity = screen.paint(finding.severity, SEVERITIES[finding.severity])
    place = screen.place(f"{path}/{format_place(finding)}")
    screen.line(f"{place}: {severity}: {clean(finding.message)} [{finding.rule}]")


def render_text(text: str, screen: Screen) -> None:
    """Add the instructions of a skill, wrapped for a terminal."""
    text = clean_block(text).strip("\n")
    screen.line(wrap_markdown(text, screen.columns) if screen.tty else text)


def render_proof(
    problems: Sequence[Problem], screen: Screen, name: str, count: str, *, head: str, hint: str, empty: str
) -> None:
    """Print the head of a verified chain, or every problem in a line; `empty` if there is no chain yet."""
    for number, code, message in problems:
        where = f"entry {number}: " if number and name == "history" else ""
        screen.line(f"{where}{screen.paint('error', 'red')}: {clean(message)} [{code}]")
    if problems:
        screen.say(f"The {name} is not intact: {count}, {plural(len(problems), 'problem')}.")
        screen.hint(hint)
    elif empty:
        screen.say(empty)
    else:
        screen.line(head)
        screen.say(f"The {name} is intact: {count}.")


def render_failure(problem: Note | None, screen: Screen) -> None:
    """Print why the answer is no, and what to do about it."""
    if problem:
        screen.say(f"{clean(problem.message)} [{problem.code}]")
        screen.hint(problem.hint)
