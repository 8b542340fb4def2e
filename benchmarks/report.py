"""What a run of speed.py amounts to: the goals with their ratios, a table for the terminal, a page for the docs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contest import Result

    Results = dict[int, dict[str, dict[str, Result]]]

TITLES = {
    "cold": "Find and read every skill for the first time",
    "warm": "Look again: has anything changed?",
    "open": "Open one skill by name",
    "validate": "Validate one skill against the specification",
    "process": "Whole programs, start to end",
}
_IMAGE = '<img src="{}" width="860" alt="{} The table below has the numbers.">'
PICTURES = {
    "cold": _IMAGE.format(
        "speed-first-look.svg", "Time of the first look at 100, 1,000 and 10,000 skills, beside other programs."
    ),
    "process": _IMAGE.format("speed-list.svg", "Time of the list commands of Whet and others, by the number of skills.")
    + "\n\n"
    + _IMAGE.format("speed-spread.svg", "Median and third quartile of whole programs at 1,000 skills."),
}
"""Drawn by `docs/charts.py` from the results of the run."""
LISTS = ("agentskills to-prompt", "hermes skills list", "skills list", "openskills list")
"""The commands of peers that list skills."""
_LIST_SIZE = 1000
REASONS = {
    "First look": "Beyond the floor, Whet takes the times of each main file and folder, looks for metadata files in "
    "the folder, and reads the frontmatter.",
    "Looking again": "Whet asks about the folder of each skill too; otherwise it would not notice a metadata file that "
    "appears in it.",
    "`whet list`": "Half of the time beyond starting Python goes into loading modules, a fifth into asking about every "
    "file and folder, so that the list is never out of date.",
}
"""What to say of a goal that is missed, by how its name begins."""


class Goal(NamedTuple):
    """A ratio and what it should be."""

    name: str
    value: float | None
    """None when somebody it takes was not there."""
    limit: float
    at_most: bool
    low: float | None = None
    high: float | None = None
    """Half of the rounds were between these; None where the two did not run in the same rounds."""
    reason: str = ""
    """What takes the time, for the case that the goal is missed."""

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    @property
    def wanted(self) -> str:
        return f"at {'most' if self.at_most else 'least'} {self.limit:g} x"

    @property
    def verdict(self) -> str:
        return {True: "met", False: "missed", None: "not measured"}[self.met]

    @property
    def spread(self) -> str:
        return "" if self.low is None or self.high is None else f"{self.low:.2f} to {self.high:.2f}"

    def to_json(self) -> dict[str, Any]:
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        rounded = {name: None if number is None else round(number, 3) for name, number in numbers.items()}
        return {**self._asdict(), **rounded, "met": self.met}


class Report(NamedTuple):
    """Everything a run brought."""

    machine: dict[str, Any]
    peers: dict[str, str | None]
    """Versions; None for a peer that is not installed."""
    rounds: int
    results: Results
    memory: dict[int, float]
    """Peak memory of `whet list` in MB, by size."""

    def to_json(self) -> dict[str, Any]:
        results = {
            str(size): {
                contest: {name: result.to_json() for name, result in contenders.items()}
                for contest, contenders in contests.items()
            }
            for size, contests in self.results.items()
        }
        memory = {str(size): round(value, 1) for size, value in self.memory.items()}
        return {
            "machine": self.machine,
            "peers": self.peers,
            "rounds": self.rounds,
            "goals": [goal.to_json() for goal in goals(self)],
            "results": results,
            "peak_memory_mb": memory,
        }


def goals(report: Report) -> list[Goal]:
    """The ratios that matter."""
    results = report.results
    small, large = min(results), max(results)
    listed = _LIST_SIZE if _LIST_SIZE in results else large

    def goal(
        name: str, contest: str, above: str, below: str, limit: float, *, at: int, at_most: bool = True, other: int = 0
    ) -> Goal:
        """The ratio of two contenders at a size, or of one at two sizes."""
        first, second = results[at][contest].get(above), results[other or at][contest].get(below)
        if first is None or second is None or first.error or second.error:
            return Goal(name, None, limit, at_most)
        value = first.best / second.best
        if other or len(first.times) != len(second.times):
            return Goal(name, value, limit, at_most)
        rounds = sorted(one / two for one, two in zip(first.times, second.times, strict=True))
        return Goal(name, value, limit, at_most, rounds[len(rounds) // 4], rounds[len(rounds) * 3 // 4])

    cold, warm = f"First look at {large:,} skills", f"Looking again at {large:,}"
    opening, command = f"Opening one by name, {large:,} against {small:,}", f"`whet list` at {listed:,}"
    name = f"{command}, the best peer's command against it"
    lists = [goal(name, "process", peer, "whet list", 6, at=listed, at_most=False) for peer in LISTS]
    watched, fresh = "floor, all that is watched", "whet, fresh library"
    found = [
        goal(f"{cold}, against walk, read 4 KiB, split", "cold", "whet", "floor", 1.6, at=large),
        goal(f"{cold}, hermes-agent against Whet", "cold", "hermes-agent", "whet", 6, at=large, at_most=False),
        goal(f"{warm}, against stat of every file and folder watched", "warm", "whet", watched, 1.5, at=large),
        goal(f"{warm}, against stat of every SKILL.md alone", "warm", "whet", "floor, SKILL.md only", 1.5, at=large),
        goal(f"{opening}, library in use", "open", "whet", "whet", 2, at=large, other=small),
        goal(f"{opening}, fresh library", "open", fresh, fresh, 2, at=large, other=small),
        goal(
            "Validating one skill, skills-ref against Whet",
            "validate",
            "skills-ref",
            "whet",
            20,
            at=large,
            at_most=False,
        ),
        min(lists, key=lambda one: float("inf") if one.value is None else one.value),
        goal(f"{command}, against bare Python", "process", "whet list", "python -c pass", 3, at=listed),
        goal("`whet --version`, against bare Python", "process", "whet --version", "python -c pass", 2.5, at=small),
    ]
    return [one._replace(reason=_reason(one)) for one in found]


def _reason(goal: Goal) -> str:
    return next((reason for start, reason in REASONS.items() if goal.name.startswith(start)), "")


def table(report: Report) -> str:
    """The report for a terminal."""
    lines = []
    for goal in goals(report):
        value = "-" if goal.value is None else f"{goal.value:.2f} x"
        lines.append(f"{goal.name:<75} {value:>10}   {goal.spread:<16} {goal.wanted:<16} {goal.verdict}")
    sizes = sorted(report.results)
    for contest, title in TITLES.items():
        lines += ["", f"{title} (ms)", " " * 32 + "".join(f"{size:>12,}" for size in sizes)]
        for name, row in _rows(report, contest):
            lines.append(f"  {name:<30}" + "".join(f"{cell:>12}" for cell in row))
    lines += ["", "Peak memory of whet list: " + ", ".join(f"{report.memory[size]:.0f} MB" for size in report.memory)]
    missing = [name for name, version in report.peers.items() if version is None]
    if missing:
        lines.append(f"Not installed: {', '.join(missing)}. See benchmarks/peers.py.")
    return "\n".join(lines)


def _rows(report: Report, contest: str) -> Iterable[tuple[str, list[str]]]:
    sizes = sorted(report.results)
    for name in report.results[sizes[0]][contest]:
        yield name, [_cell(report.results[size][contest].get(name)) for size in sizes]


def _cell(result: Result | None) -> str:
    if result is None:
        return "-"
    if result.error:
        return "failed"
    milliseconds = result.best * 1e3
    return (
        f"{milliseconds:,.{0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2 if milliseconds >= 1 else 3}f}"
    )


_PAGE = """\
# How fast it is

Written by `python benchmarks/speed.py`; do not edit. Run it yourself: ratios are similar on other machines,
milliseconds are not.

| ratio | measured | half of the rounds | goal | |
|---|---|---|---|---|
{goals}
{missed}{contests}
Peak memory of `whet list`: {memory}.
{others}{growth}
## How it is measured

{cores} cores, {system}, Python {python}. Peers: {peers}.

Times are {clock}. Each number is the best of {rounds} interleaved rounds ({slow_rounds} for programs that take over two
seconds); ratios are of these, and half of the rounds had a ratio in the range beside it. Every program runs in a
separate process, on the same generated files, which are in the page cache. Trees come from `benchmarks/trees.py`:
unique names, descriptions of 160 to 1,000 characters, bodies of 2 to 20 KB, three of five skills with supporting
files, frontmatter in the mix of forms seen in public skills.

- The floors are plain Python without any parsing (`benchmarks/floors.py`): the first walks to every SKILL.md, reads
  4 KiB and splits at the fences, without listing any skill's folder; the second asks the file system about every
  known file.
- `whet, cache written` also writes the cache that the next process reads.
- When Whet looks again, it checks each skill's main file and its folder, so that it notices metadata files beside it.
  hermes-agent answers from memory for 30 seconds without looking at the files.
- deepagents, skills and openskills get the same skills in one flat directory, because they do not look deeper.
- `agentskills to-prompt` stops at the first skill it cannot parse; it gets only those it can.
- Each program runs in its own home directory, with telemetry off and no network; its output is read to the end.
"""


def page(report: Report, growth: str = "", others: str = "") -> str:
    """The report as a page of the documentation; `growth` and `others` are sections that were measured apart."""
    return _PAGE.format(
        **report.machine,
        goals=_goal_rows(goals(report)),
        missed=_missed(goals(report)),
        others=others,
        contests="".join(_section(report, contest) for contest in TITLES),
        memory=_memory(report),
        growth=growth,
        peers=", ".join(f"{name} {version or '(not installed)'}" for name, version in report.peers.items()),
        rounds=report.rounds,
        slow_rounds=-(-report.rounds // 3),
    )


def _goal_rows(found: Iterable[Goal]) -> str:
    rows = []
    for goal in found:
        value = "–" if goal.value is None else f"**{goal.value:.2f} ×**"
        rows.append(f"| {goal.name} | {value} | {goal.spread} | {goal.wanted.replace(' x', ' ×')} | {goal.verdict} |")
    return "\n".join(rows)


def _missed(found: Iterable[Goal]) -> str:
    """What takes the time where goals are missed, each reason once."""
    rows = dict.fromkeys(f"- {goal.reason}\n" for goal in found if goal.met is False and goal.reason)
    return f"\nWhere a goal is missed, this takes the time:\n\n{''.join(rows)}" if rows else ""


def other_python(document: dict[str, Any]) -> str:
    """The ratios of a run on another Python, from its JSON."""
    found = [Goal(**{name: row[name] for name in Goal._fields if name in row}) for row in document["goals"]]
    measured = [goal for goal in found if goal.value is not None]
    head = "| ratio | measured | half of the rounds | goal | |\n|---|---|---|---|---|"
    return f"\n## On Python {document['machine']['python']}\n\n{head}\n{_goal_rows(measured)}\n"


def _section(report: Report, contest: str) -> str:
    sizes = sorted(report.results)
    head = " | ".join(f"{size:,} skills" for size in sizes)
    rows = "".join(f"| {name} | {' | '.join(row)} |\n" for name, row in _rows(report, contest))
    picture = f"{PICTURES[contest]}\n\n" if contest in PICTURES else ""
    return f"\n## {TITLES[contest]}\n\n{picture}| milliseconds | {head} |\n|---|{'---:|' * len(sizes)}\n{rows}"


def _memory(report: Report) -> str:
    return (
        ", ".join(f"{report.memory[size]:.0f} MB at {size:,} skills" for size in sorted(report.memory))
        or "not measured"
    )
