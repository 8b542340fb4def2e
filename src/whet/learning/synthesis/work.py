"""The work of a session sorted by what it teaches: what did something, what only looked, what failed and why.

A failure is bad luck when trying again is all that helps (a network that is down, a limit of requests, a full disk), of
the machine when a program was only not installed, a slip when a tool was called wrongly, and real otherwise: only the
last kind is something that the next one would run into, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.facts.acts import IDLE, acts
from whet.learning.facts.mishaps import MACHINE, SLIP
from whet.learning.facts.shell import only_looks, programs, shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.facts.acts import Act
    from whet.learning.facts.model import DeadEnd
    from whet.learning.transcripts.events import Event

READING = frozenset(("Read", "Search", "Web", "Glob", "Grep", "LS", "WebFetch", "WebSearch", "NotebookRead"))
"""Tools that change nothing."""
WRITING = frozenset(("Write", "Edit", "NotebookEdit"))
KEEPING = frozenset(("skill_manage", "skill_create"))
"""Tools with which an agent writes skills itself."""
_OWN = IDLE | KEEPING
_OUTPUT = 4_000

LUCK = re.compile(
    r"(?i)rate.?limit|too many requests|\b429\b|could not resolve host|name or service not known|EAI_AGAIN|ENOTFOUND"
    r"|getaddrinfo|temporary failure in name resolution|network is (?:unreachable|down)|no route to host"
    r"|connection (?:reset|refused|timed out|aborted)|ECONNRESET|ECONNREFUSED|ETIMEDOUT|TLS handshake timeout"
    r"|(?:read|connect|request|gateway) time-?d? ?out|timed out|temporarily unavailable|service unavailable"
    r"|\b50[234]\b (?:bad gateway|service|gateway)|overloaded|try again later|no space left on device|ENOSPC|disk full"
    r"|disk quota exceeded|quota exceeded|out of memory|cannot allocate memory|resource temporarily"
)
"""What goes away by itself, or has nothing to do with the task."""
_INSTALL = re.compile(
    r"\b(?:apt(?:-get)?|brew|dnf|yum|apk|pacman|pip3?|pipx|npm|pnpm|yarn|cargo|gem|go|uv|conda|snap|choco|winget|scoop)\b"
    r"[^|;&\n]{0,40}\b(?:install|add|-S|get)\b"
)
_SKILLS = re.compile(
    r"(?:\A|[/\\])(?:SKILL\.md\Z|\.?(?:agents|claude|codex|hermes|whet)[/\\](?:[^\n]{0,80}[/\\])?skills[/\\])"
)
_STORES = re.compile(r"\[secret")
_PUTS = re.compile(r"\b(?:echo|printf|tee|export|cat\s*<<|secret set|kv put|put-secret|create-secret|setx|add-generic)")

_SAYS = re.compile(r"\b(?:echo|printf|cat\s*<<)[^|;&]{0,400}\[secret")


class Work(NamedTuple):
    """What was done in a session; every item is a call with its result."""

    every: tuple[Act, ...]
    """The calls that were work, in order."""
    doing: tuple[Act, ...]
    """Those that worked and did more than look."""
    hitches: tuple[Act, ...]
    """Failures that the next one would run into, too."""
    luck: tuple[Act, ...]
    """Failures that were bad luck, or only of this machine."""
    needless: tuple[Act, ...]
    """What bad luck cost: the failures themselves, trying again, installing what was missing."""
    upkeep: tuple[Act, ...]
    """What was done to the library of skills itself."""
    kept: tuple[Act, ...]
    """Calls with which the agent wrote a skill."""

    @property
    def calls(self) -> int:
        """How many calls the task took, without what bad luck and writing skills cost."""
        return len(self.every) - len(self.needless)


def work_of(events: Sequence[Event]) -> Work:
    """The work of a session."""
    found = acts(events)
    every = tuple(act for act in found if act.tool not in _OWN)
    kept = tuple(act for act in found if act.tool in KEEPING and not act.failed)
    failed = [act for act in every if act.failed and not SLIP.search(act.output[:_OUTPUT])]
    luck = tuple(act for act in failed if is_luck(act.output[-_OUTPUT:]) or MACHINE.search(act.output[-_OUTPUT:]))
    hitches = tuple(act for act in failed if act not in luck)
    return Work(
        every=every,
        doing=tuple(act for act in every if does(act) and not act.failed),
        hitches=hitches,
        luck=luck,
        needless=tuple(_needless(every, luck)),
        upkeep=tuple(act for act in every if _is_upkeep(act)),
        kept=kept,
    )


def does(act: Act) -> bool:
    """Does a call do more than look?"""
    if act.tool == "Bash":
        command = act.text("command")
        return not only_looks(command) or _redirects(command)
    return act.tool not in READING


def is_luck(text: str) -> bool:
    """Does an error go away by itself?"""
    return LUCK.search(text) is not None


def taught(end: DeadEnd) -> bool:
    """Is a dead end one that others would run into?"""
    return not is_luck(end.said) and MACHINE.search(end.said) is None


def got_over(work: Work) -> tuple[Act, ...]:
    """The real failures after which something of the same kind worked."""
    return tuple(act for act in work.hitches if any(_again(act, other) for other in work.every if other.at > act.at))


def stores_secret(act: Act) -> bool:
    """Is a secret what a call writes down, rather than what it is allowed with?"""
    if act.tool in WRITING:
        return any(_STORES.search(act.text(key)) for key in ("content", "new"))
    command = act.text("command")
    return bool(_STORES.search(command) and _PUTS.search(command))


def keeps_credentials(act: Act) -> bool:
    """Does a call write a file that is there for secrets, rather than one in which there is one, too?"""
    if act.tool in WRITING:
        lines = [line for key in ("content", "new") for line in act.text(key).split("\n") if line.strip()]
        return 2 * sum(_STORES.search(line) is not None for line in lines) >= max(1, len(lines))
    command = act.text("command")
    return _SAYS.search(command) is not None and _redirects(command)


def _again(failed: Act, other: Act) -> bool:
    if other.failed or not other.answered:
        return False
    if failed.tool == other.tool == "Bash":
        first, second = set(shape(failed.text("command"))), set(shape(other.text("command")))
        return does(other) and (bool(first & second) or not first)
    if {failed.tool, other.tool} <= WRITING:
        return failed.text("path") == other.text("path")
    return failed.tool == other.tool


def _needless(every: Sequence[Act], luck: Sequence[Act]) -> list[Act]:
    """The failures of bad luck, the installations after them; trying again costs nothing more than the one call."""
    unlucky = {act.at for act in luck}
    machine = [act.at for act in luck if MACHINE.search(act.output[-_OUTPUT:])]
    first = min(machine, default=-1)
    room = [act.at for act in luck if re.search(r"(?i)no space|ENOSPC|disk|quota", act.output[-_OUTPUT:])]
    cleared = min(room, default=-1)
    return [
        act
        for act in every
        if act.at in unlucky
        or (first >= 0 and act.at > first and _INSTALL.search(act.text("command")))
        or (
            cleared >= 0
            and act.at > cleared
            and re.match(r"\s*(?:rm|df|du|docker system prune)\b", act.text("command"))
        )
        or re.match(r"\s*(?:sleep|ping|curl -I|nslookup|dig)\b", act.text("command"))
    ]


def _redirects(command: str) -> bool:
    """`cat > file` and the like look like looking."""
    return re.search(r"(?<![0-9&>])>{1,2}\s*(?!/dev/null|&)[\w./~$\"'{-]", command) is not None or "| tee" in command


def _is_upkeep(act: Act) -> bool:
    if act.tool == "Bash":
        ran = [one.label.partition(" ")[0] for one in programs(act.text("command")) if one.label]
        return bool(ran) and ran.count("whet") * 2 >= len(ran)
    return act.tool in WRITING and _SKILLS.search(act.text("path")) is not None
