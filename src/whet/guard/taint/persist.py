"""The judge of written content: start-up files, the agent's own files, system settings, registries, scripts.

Writing there is often honest, so the content decides: fetched or hidden programs, disabled approvals, servers at raw
addresses. Content that is a script is checked like any other script.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of, is_unsafe
from whet.guard.places import Place, places
from whet.guard.tables import shape
from whet.guard.taint.mark import HOLE, NO_MARKS, comes_from, subject_of
from whet.guard.taint.network import Judgement
from whet.guard.taint.sources import judge_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.finding import Severity
    from whet.guard.taint.mark import Mark

_SCRIPT = expression(r"\.(?:sh|bash|zsh|command|py|pyw|pth)$", re.IGNORECASE)
_UNKNOWN = expression(r"(?!.*\.(?:md|rst|txt|log|json|ya?ml)[\"']?$)[^$]{0,200}\$(?!\{?GITHUB_)")
"""A path with a variable, whose value is not known; not that of a text. Steps of workflows leave variables for each other."""
_HOSTS = expression(r"^.{0,40}[\\/]system32[\\/]drivers[\\/]etc[\\/]hosts$", re.IGNORECASE)
_SETTINGS = expression(r"(?:^|[\\/])\.claude\.json$")
_KEY = expression(r"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w{1,20})\s{1,4}AAAA[0-9A-Za-z+/]{30,}")
_RULING = shape("taint", "ruling", 0)
_TIMED = expression(
    r"ExecStart\w{0,4}\s{0,2}=\s{0,2}(.{1,400})|<string>([^<]{1,400})</string>|^Exec\s{0,2}=(.{1,400})"
    r"|^\s{0,4}(?:@(?:reboot|hourly|daily|weekly|monthly)|(?:[\d*/,-]{1,20}\s{1,4}){5})(?:root\s{1,4})?(.{1,600})$",
    re.MULTILINE,
)
"""Commands that timers and services run."""
_COMMANDS = expression(
    r"^\s{0,12}(?:ProxyCommand|LocalCommand|run-shell|(?:sshCommand|fsmonitor|pager|editor|helper)\s{0,4}=)\s{0,4}[\"']?([^\n]{4,600})"
    r"|!\s{0,4}([^\n]{4,600})",
    re.MULTILINE,
)
"""Commands that SSH, git, tmux and editors run."""
_MENU = expression(r"start menu[\\/]programs[\\/]startup", re.IGNORECASE)
_RULES = {
    "authorized SSH keys": "persist-key", "git hooks": "persist-hook",
    **dict.fromkeys(("cron", "launchd", "systemd", "init scripts", "autostart"), "persist-timer"),
}  # fmt: skip
"""The rule for each place that starts programs; other places use the rule for start-up files."""


def relaxes(text: str) -> bool:
    """Return whether a text makes an agent ask less."""
    return shape("harm", "relaxes").search(text) is not None


def conceals(text: str) -> bool:
    """Return whether a text makes an agent hide something or do something first."""
    return shape("harm", "conceals").search(text) is not None


def fetches(text: str) -> bool:
    """Return whether a text fetches or decodes a program, or opens a shell to another machine."""
    return shape("harm", "fetches").search(text) is not None or fetches_on_windows(text)


def fetches_on_windows(text: str) -> bool:
    """Return whether a script names an object of Windows that fetches."""
    return shape("harm", "fetchers").search(text) is not None


def hides(text: str) -> bool:
    """Return whether a text starts a program in an unusual place or under the name of another."""
    return any(shape("harm", name).search(text) for name in ("hides", "takes_names"))


def written_places(path: str) -> list[Place]:
    """Return the start-up places and agent files that a path names."""
    named = path.replace(HOLE, "x")
    if _SETTINGS.search(named):
        return [Place("agent", "the agent's settings", False, named)]
    return [place for place in places(named) if place.kind in ("start", "agent")]


class Writing(NamedTuple):
    """A write to a path."""

    path: str
    text: str
    """The content, as far as it is known."""
    marks: frozenset[Mark] = NO_MARKS
    appends: bool = False
    typed: bool = False
    """Whether a command writes it. People do that themselves, so the place alone is only information."""
    moved: bool = False
    """Whether a command copies or links a file there."""

    @property
    def alone(self) -> Severity:
        """The severity if nothing is known against the content."""
        return "info" if self.typed else "warn"


def judge_written(
    one: Writing, is_bad: Callable[[str], bool], look: Callable[[str, bool], bool]
) -> Iterator[Judgement]:
    """Judge a write to a path.

    `is_bad` returns whether a script should not run repeatedly and unseen; `look` checks a Python or shell script,
    reports what it does, and returns whether that is bad.
    """
    path, text = one.path, one.text
    named = path.replace(HOLE, "x")
    named_places = written_places(path)
    if not named_places and one.appends and _UNKNOWN.match(path) and is_bad(text):
        severity: Severity = "critical" if any(map(is_unsafe, URL.findall(text)[:20])) else "warn"
        yield Judgement("persist-start", severity, path, "It adds to a file a command that downloads and runs code")
    for place in named_places:
        yield _judge_start(place, one, is_bad, look) if place.kind == "start" else _judge_agent(place, one, is_bad)
    if named.startswith("/etc/") or _HOSTS.search(named):
        yield from _judge_system(_HOSTS.sub("/etc/hosts", named), text)
    if named.endswith(".npmrc") and _PRELOADS.search(text):
        grave: Severity = "critical" if path.startswith(("~", "/home/", "/root/", "$HOME")) else "warn"
        yield Judgement("persist-start", grave, path, "npm and node run a file that these settings name")
    if shape("harm", "unchecked").search(text) and _CLIENTS.search(named):
        yield Judgement("tls-unverified", "warn", path, "It switches verification off for all downloads")
    if shape("harm", "packages").search(named):
        found = chain.from_iterable(map(judge_index, URL.findall(text)[:5]))
        yield from (one._replace(rule="redirects-downloads") for one in found)
    if shape("harm", "hooks").search(named) and shape("harm", "sends").search(text) and _remote(text):
        yield Judgement("persist-hook", "critical", path, "It writes a hook that sends data to another host")
    if len(text) > 20 and (text.startswith("#!") or _SCRIPT.search(named)):
        look(text, named.endswith((".py", ".pyw", ".pth")) or "python" in text[:60])


def _remote(text: str) -> bool:
    return any(not host_of(url).near for url in URL.findall(text)[:20])


def _judge_start(
    place: Place, one: Writing, is_bad: Callable[[str], bool], look: Callable[[str, bool], bool]
) -> Judgement:
    """Judge a write to a place that runs automatically: by a shell, a timer, git or Python; or to authorized keys."""
    rule, text = _RULES.get(place.what, "persist-start"), one.text
    fetched, decoded = comes_from(one.marks, "fetched"), comes_from(one.marks, "decoded")
    if rule == "persist-key":
        own = fetched and host_of(subject_of(one.marks, "fetched")).name == "github.com"
        given = _KEY.search(text) is not None or ("ssh-" in text and not one.typed)
        bad = given or decoded or (fetched and not own)
        return Judgement(rule, "critical" if bad else "warn" if own else one.alone, one.path)
    settings = place.what == "settings that run programs"
    named = _TIMED if rule == "persist-timer" else _COMMANDS if settings else None
    lines = [next(filter(None, found.groups())).strip() for found in named.finditer(text)] if named else []
    run = "\n".join(lines) or text
    bad = decoded or is_bad(run) or "preload" in one.path
    bad = bad or (fetched and (rule != "persist-start" or not one.typed))
    if place.what == "Python start-up":
        bad = bad or ("import" in text and look(text, True))
    quiet = settings or rule == "persist-hook" or (place.what == "Python start-up" and text and "import" not in text)
    message = f"It writes to {place.what}" + (" content that is downloaded, decoded or fixed in advance" if bad else "")
    if bad or quiet:
        return Judgement(rule, "critical" if bad else "info", one.path, message)
    if hides(run) or "com.apple." in one.path:
        severity: Severity = "warn" if one.typed and rule == "persist-timer" else "critical"
        message = f"It adds to {place.what} a program that is hidden or uses the name of another"
        return Judgement(rule, severity, one.path, message)
    quiet = one.typed and not _MENU.search(one.path)  # nobody writes to the menu of Windows by hand
    return Judgement(rule, "warn" if (fetched and not text) or not quiet else "info", one.path, message)


def _judge_agent(place: Place, one: Writing, is_bad: Callable[[str], bool]) -> Judgement:
    """Judge a write to the instructions, settings or skills of an agent."""
    path, text, rule = one.path, one.text, "agent-write"
    settings, instructions = place.what == "the agent's settings", place.what == "the agent's instructions"
    skills = place.what == "other skills"
    if (relaxes(text) and not (skills and one.typed)) or (not skills and conceals(text)):
        return Judgement(rule, "critical", path, f"It changes {place.what} so that the agent asks or shows less")
    if skills:
        return Judgement(rule, "info", path)
    runs = is_bad(text) and (_remote(text) or one.typed)
    if (settings and (runs or hides(text) or any(map(is_unsafe, URL.findall(text)[:20])))) or (one.typed and runs):
        return Judgement(rule, "critical", path, f"It adds its own command or server to {place.what}")
    foreign = comes_from(one.marks, "decoded") or (comes_from(one.marks, "fetched") and not one.typed)
    if foreign and ((instructions and path.startswith(("~", "/"))) or one.typed):
        return Judgement(rule, "critical", path, f"It adds downloaded or decoded content to {place.what}")
    if one.typed:
        quiet = one.moved or not rules_everywhere(path)
    else:
        quiet = (instructions and not one.appends and "~" not in path) or (
            settings and not path.startswith(("~", "/", "$"))
        )
    return Judgement(rule, "info" if quiet else "warn", path, f"It changes {place.what}")


_CLIENTS = expression(r"\.(?:curlrc|wgetrc|npmrc|gitconfig|condarc|yarnrc(?:\.yml)?)$")
_PRELOADS = expression(r"(?:^|\n)\s{0,9}(?:node-options\s{0,4}=[^\n]{0,40}--(?:require|import)|script-shell\s{0,4}=)")


def rules_everywhere(path: str) -> bool:
    """Return whether a path holds an agent's rules for all projects. A skill's own directory does not count."""
    at_home = path.startswith(("~", "$HOME", "${HOME}", "/home/", "/Users/", "/root")) or "../" in path
    return (at_home and _RULING.search(path) is not None) or "claude_desktop_config" in path


def _judge_system(path: str, text: str) -> Iterator[Judgement]:
    """Judge a write to the settings of the machine."""
    if path.startswith("/etc/sudoers") and "NOPASSWD" in text:
        every = re.search(r"NOPASSWD\s{0,3}:\s{0,3}ALL\b", text) is not None
        yield Judgement("sudo-without-password", None if every else "warn", path)
    elif path == "/etc/hosts":
        for address in shape("harm", "maps").findall(text)[:5]:
            if host_of(address).kind in ("address", "private"):
                message = f"It sends other hosts' requests to {address}"
                yield Judgement("redirects-downloads", "critical", path, message)
