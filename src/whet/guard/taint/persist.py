"""The judge of what is written: start-up files, the agent's own files, system settings, registries, scripts.

That something is written there is often honest, so it is the content that decides: fetched or hidden programs,
approvals switched off, servers at raw addresses. Content that is a script is read like any other script.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of, is_unsafe
from whet.guard.places import Place, places
from whet.guard.tables import shape
from whet.guard.taint.mark import HOLE, comes_from
from whet.guard.taint.network import Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.taint.mark import Mark

_SCRIPT = expression(r"\.(?:sh|bash|zsh|command|py|pyw|pth)$", re.IGNORECASE)
_SETTINGS = expression(r"(?:^|[\\/])\.claude\.json$")


def relaxes(text: str) -> bool:
    """Does it make an agent ask less?"""
    return shape("harm", "relaxes").search(text) is not None


def conceals(text: str) -> bool:
    """Does it make an agent hide something or do something first?"""
    return shape("harm", "conceals").search(text) is not None


def fetches(text: str) -> bool:
    """Does it fetch or decode a program, or open a shell to another machine?"""
    return shape("harm", "fetches").search(text) is not None


def hides(text: str) -> bool:
    """Does it start a program that lies where nobody looks, or one that takes the name of another?"""
    return any(shape("harm", name).search(text) for name in ("hides", "takes_names"))


def written_places(path: str) -> list[Place]:
    """Where programs start by themselves and what rules the agent, of the places that a path names."""
    named = path.replace(HOLE, "x")
    if named.endswith("authorized_keys"):
        named = "authorized_keys"
    elif _SETTINGS.search(named):
        return [Place("agent", "the agent's settings", False, named)]
    return [place for place in places(named) if place.kind in ("start", "agent")]


def judge_written(
    path: str, text: str, marks: frozenset[Mark], look: Callable[[str, bool], bool], *, appends: bool = False
) -> Iterator[Judgement]:
    """Judge what is written to a path; `look` reads a script, of Python or of a shell, and says whether it is bad."""
    named = path.replace(HOLE, "x")
    for place in written_places(path):
        if place.kind == "start":
            yield _judge_start(place, path, text, marks, look)
        else:
            yield _judge_agent(place, path, text, marks, appends=appends)
    if named.startswith("/etc/"):
        yield from judge_system(named, text)
    if shape("harm", "packages").search(named):
        yield from _judge_packages(text)
    if shape("harm", "hooks").search(named) and shape("harm", "sends").search(text) and _remote(text):
        yield Judgement("writes-start-file", "critical", path, "It writes a hook that sends data to another host")
    if len(text) > 20 and (text.startswith("#!") or _SCRIPT.search(named)):
        look(text, named.endswith((".py", ".pyw", ".pth")) or "python" in text[:60])


def _remote(text: str) -> bool:
    return any(not host_of(url).near for url in URL.findall(text)[:20])


def _judge_start(
    place: Place, path: str, text: str, marks: frozenset[Mark], look: Callable[[str, bool], bool]
) -> Judgement:
    foreign = comes_from(marks, "fetched", "decoded")
    quiet = place.what == "git hooks" or (
        place.what == "Python start-up" and path.endswith(".pth") and text and "import" not in text
    )
    if quiet and not foreign:
        return Judgement("writes-start-file", "info", path)
    bad = foreign or fetches(text) or (place.grave and "ssh-" in text) or "preload" in path
    bad = bad or (place.what == "Python start-up" and "import" in text and look(text, True))
    message = f"It writes to {place.what}" + (" content that is downloaded, decoded or fixed in advance" if bad else "")
    if not bad and (hides(text) or "com.apple." in path):
        bad = True
        message = f"It adds to {place.what} a program that is hidden or uses the name of another"
    return Judgement("writes-start-file", "critical" if bad else "warn", path, message)


def _judge_agent(place: Place, path: str, text: str, marks: frozenset[Mark], *, appends: bool) -> Judgement:
    settings, instructions = place.what == "the agent's settings", place.what == "the agent's instructions"
    if relaxes(text) or (place.what != "other skills" and conceals(text)):
        message = f"It changes {place.what} so that the agent asks or shows less"
        return Judgement("writes-agent-file", "critical", path, message)
    if settings and ((fetches(text) and _remote(text)) or hides(text) or any(map(is_unsafe, URL.findall(text)[:20]))):
        message = f"It adds its own command or server to {place.what}"
        return Judgement("writes-agent-file", "critical", path, message)
    if instructions and path.startswith(("~", "/")) and comes_from(marks, "fetched", "decoded"):
        message = f"It adds downloaded or decoded content to {place.what}"
        return Judgement("writes-agent-file", "critical", path, message)
    if (
        place.what == "other skills"
        or (instructions and not appends and "~" not in path)
        or (settings and not path.startswith(("~", "/", "$")))
    ):
        return Judgement("writes-agent-file", "info", path)
    return Judgement("writes-agent-file", "warn", path, f"It changes {place.what}")


def judge_system(path: str, text: str) -> Iterator[Judgement]:
    """Judge what is written to the settings of the machine."""
    if path.startswith("/etc/sudoers") and "NOPASSWD" in text:
        yield Judgement("sudo-without-password", None, path)
    elif path == "/etc/hosts":
        for address in shape("harm", "maps").findall(text)[:5]:
            if host_of(address).kind in ("address", "private"):
                message = f"It sends other hosts' requests to {address}"
                yield Judgement("redirects-downloads", "critical", path, message)


def _judge_packages(text: str) -> Iterator[Judgement]:
    for url in URL.findall(text)[:5]:
        host = host_of(url)
        if host.kind not in ("known", "loopback", "private"):
            bad = host.shady or url.startswith("http:")
            yield Judgement("redirects-downloads", "critical" if bad else "info", host.name)
