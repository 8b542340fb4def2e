"""Rules for excessive authority, disabled protections, and data or resources that are destroyed or used up."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.options import read_arguments
from whet.guard.shell.clients import host_in, programs
from whet.guard.shell.wrappers import name_of, program, texts_of
from whet.guard.tables import shape
from whet.guard.taint.harm import ROOT_MOUNT, judge_container, judge_overwritten, names_miner, weigh_removal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.shell.flow import Scene
    from whet.guard.shell.step import Step

_BY_AGE = frozenset(("-mtime", "-size", "-newer", "-mmin"))
"""Options of `find` that spare some files of a directory, whatever their names."""
_PERSONAL = shape("shell_signs", "personal", frame=r"\*\.(?:{})")
_NARROWS = _BY_AGE | {"-name", "-iname", "-path", "-regex"}


def judge_harm(scene: Scene, step: Step) -> None:
    """Judge the data and resources that a command destroys or uses up."""
    if any(program(word.text) == "find" for word in step.command.argv[:12]):
        _find(scene, step)
    if step.argv and step.name not in programs("mentions") and names_miner(f"{step.name} {step.plain}"):
        scene.hit("miner", "warn" if step.name in programs("prepares") else None)
    if step.name in _EMPTY:
        emptied = [one.target for one in step.command.redirections if one.operator in (">", ">|") and one.target.names]
        for path in (text for word in emptied for text in scene.possible_texts(step, word)):
            if weigh_removal(path, step.folder) == "critical":
                scene.hit("wipe-home", "critical", path[:80], "The script empties files of the user")
    if any(word in ("/dev/zero", "/dev/urandom", "/dev/random") for word in step.texts):
        for one in step.command.redirections:
            if ">" in one.operator:
                scene.report(judge_overwritten(scene.possible_texts(step, one.target), erased=True))
    for name, word in step.assignments:
        if _UNTRACED.match(f"{name}={word.text}"):
            scene.hit("hide-traces")


_EMPTY = frozenset(("", ":", "true"))
"""Programs that print nothing: a redirection empties its target."""
_UNTRACED = expression(r"HISTFILE=(?:/dev/null)?$|HIST(?:FILE)?SIZE=0$")


def bombs(scene: Scene) -> None:
    """Report functions that pipe into themselves in the background."""
    for name in scene.script.functions:
        calls = [step for step in scene.steps if "function" in step.command.inside and step.argv[:1]]
        calls = [step for step in calls if step.argv[0].text == name]
        if len(calls) > 1 and any(step.piped and "background" in step.command.inside for step in calls):
            scene.at(calls[0])
            scene.hit("fork-bomb")


def _find(scene: Scene, step: Step) -> None:
    """Report files that `find` removes or passes to a program that does."""
    texts = texts_of(step.command.argv)
    at = next(at for at, text in enumerate(texts) if program(text) == "find")
    arguments = read_arguments("find", texts[at + 1 :])
    after = {(number, at + 1) for number, at in step.command.pipes}
    later = scene.steps[step.number + 1 : step.number + 6]
    users = (step, *(one for one in later if not after.isdisjoint(one.command.pipes)))
    removes = any(one.name in ("rm", "shred", "truncate") for one in users) or any(
        one.option == "-delete" for one in arguments
    )
    narrowing = {
        one.option
        for number, one in enumerate(arguments)
        if ((one.option in _NARROWS and not re.fullmatch(r"[*.?/~+]{0,6}", one.text)) or one.option == "-empty")
        and not _PERSONAL.fullmatch(one.text)
        and (number == 0 or (arguments[number - 1].option or arguments[number - 1].text) not in ("-not", "!"))
    }
    roots = [one.text for one in itertools.takewhile(lambda one: len(one.option) < 3, arguments) if not one.option]
    weights = ("critical",) if narrowing else ("critical", "warn")
    wiped = [root for root in roots if weigh_removal(root, step.folder) in weights]
    if removes and wiped and narrowing <= _BY_AGE:
        scene.hit("wipe-home", "critical", wiped[0])


def _drop(scene: Scene, step: Step) -> None:
    """Report a script that drops every database of a server."""
    lists = [one.command.text for one in scene.steps if _DATABASES.search(one.command.text)]
    each = "loop" in step.command.inside or name_of(step.command.argv) in ("xargs", "parallel")
    if each and lists and not any(map(_NARROWS_LIST.search, lists)):
        scene.hit("wipe-home", "critical", "", "The script drops all databases of the server")


_DATABASES = shape("shell_signs", "databases")
_NARROWS_LIST = shape("shell_signs", "narrows")


def _docker(scene: Scene, step: Step) -> None:
    mounts = [*step.placed("url"), *(word for word in step.texts if "docker.sock" in word or ROOT_MOUNT.match(word))]
    powerful = step.has("--privileged") or step.value("--pid") == "host"
    scene.report(judge_container(mounts, " ".join(step.texts), powerful=powerful))


def _password(scene: Scene, step: Step) -> None:
    """Report a fixed password for an account that the same script makes an administrator."""
    fixed = re.search(r"^\w[\w-]{0,40}:[^$\s]{3,80}$", step.output.said, re.MULTILINE)
    made = " ".join(" ".join(one.texts) for one in scene.steps if one.name in ("usermod", "useradd", "gpasswd"))
    if fixed and re.search(r"\b(?:sudo|wheel|admin)\b", made):
        scene.hit("new-account", "critical")


def _quarantine(scene: Scene, step: Step) -> None:
    """Report content of the network that is opened without a warning."""
    host = host_in(step.fetched) if step.fetched is not None else None
    if host is not None and host.name and host.kind != "known":
        scene.hit("protection-off", "critical" if host.shady else "warn", host.name)
    else:
        scene.hit("protection-off", "info")


def _encrypts(scene: Scene, step: Step) -> None:
    """Report files that are encrypted one after the other while the originals are removed."""
    if "loop" not in step.command.inside and name_of(step.command.argv) != "find":
        return
    removed = re.search(r"-exec\s{1,4}(?:rm|shred)\b|-delete\b", step.command.text) is not None or any(
        other.name in ("rm", "shred", "srm") and "loop" in other.command.inside and abs(other.number - step.number) < 8
        for other in scene.steps
    )
    if removed and any(map(_AT_HOME.search, _searched(scene))):
        scene.hit("encrypt-files")


_AT_HOME = expression(r"^(?:~|\$\{?HOME\b)|/(?:root|home/[\w${}-]|Users/[\w${}-])")


def _searched(scene: Scene) -> Iterator[str]:
    """Yield the paths that loops and `find` go through."""
    for step in scene.steps:
        yield from (part for _, word in step.command.assignments for part in word.text.split())
        if name_of(step.command.argv) == "find":
            yield from (word.text for word in step.command.argv)


JUDGES: dict[str, Callable[[Scene, Step], None]] = {
    "drop": _drop, "container": _docker, "set password": _password, "unquarantine": _quarantine, "encrypt": _encrypts,
}  # fmt: skip
"""The kinds of harm that the tables name, with their judges."""
