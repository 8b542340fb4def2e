"""Rules for fetched or decoded code that is executed, and for shells that are handed to the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import host_of
from whet.guard.options import codes
from whet.guard.shell.clients import fetches, host_in, programs, table
from whet.guard.shell.flow import bare_path
from whet.guard.shell.wrappers import INTERPRETERS, SHELLS, name_of
from whet.guard.taint.execute import judge_piped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.finding import Severity
    from whet.guard.shell.flow import Scene, Step
    from whet.guard.shell.words import Word

_SOURCES = ("source", ".")
_BEFORE = expression(r"run|dlx|-y|--yes|-A|-q|--quiet|--allow-[\w-]{1,20}")
"""Words that may precede the address of a program that is run."""


def judge_run(scene: Scene, step: Step) -> None:
    """Judge the code that a command runs, and the shells that it hands to the network."""
    for origin, how in executed(scene, step):
        for one in judge_piped(origin.sources, how):
            scene.report([one])
            if one.rule != "decode-to-shell":
                scene.fact("execute", "fetched code", one.subject, grave=one.severity == "critical")
    if step.name in INTERPRETERS or step.name in table()["packages"]["runners"]:
        first = next((at for at, word in enumerate(step.texts) if not _BEFORE.fullmatch(word)), 0)
        for fetch in fetches(step.name, [one for one in step.arguments if one.at == first and "://" in one.text]):
            scene.report(judge_piped({"fetched": fetch}, "run by its address"))
    _shells(scene, step)


def _unpack(scene: Scene, step: Step) -> None:
    if step.fetched is not None and step.fetched.grave:
        severity: Severity = "critical" if _runs_later(scene, step) else "warn"
        message = "the command unpacks an archive from that host"
        scene.hit("pipe-shady", severity, host_in(step.fetched).name, message)


def _evaluate(scene: Scene, step: Step) -> None:
    if step.name == "eval" and step.spelled and not all(word.known for word in step.spelled):
        scene.fact("execute", "text that is made when it runs", ",".join(step.spelled[0].names)[:80])
    if any(len(set(word.names)) > 1 for word in step.spelled):
        scene.fact("assemble", "a command put together from pieces")
    if step.name == "eval" or step.name in SHELLS:
        for at, word in code_words(step):
            for origin in _evaluated(scene, step, word, at):
                _assembled(scene, origin)


def _assembled(scene: Scene, origin: Step) -> None:
    """Report a command whose pieces are in several files."""
    first = origin.before[0] if origin.before else origin
    files = first.operands
    if first.name in ("cat", "paste") and len(files) > 1 and not any(word.endswith((".sh", ".bash")) for word in files):
        scene.hit("assembled-command", None, "", "the command is assembled from several files")


def _runs_later(scene: Scene, step: Step) -> bool:
    """Return whether anything in the working directory is run after this step."""
    return any(
        later.name == "chmod" or later.name in INTERPRETERS or (later.argv and later.argv[0].text.startswith("./"))
        for later in scene.steps[step.number + 1 :]
    )


def executed(scene: Scene, step: Step) -> Iterator[tuple[Step, str]]:
    """Yield the steps whose output this step runs as code."""
    name = step.name
    if name in INTERPRETERS and takes_input(step):
        yield from ((one, "piped into an interpreter") for one in _piped(step))
        names = [name for one in step.command.redirections if one.operator == "<<<" for name in one.target.names]
        yield from ((one, "run by an interpreter") for name in names for one in scene.variables.get(name, ()))
        yield from ((one, "run by an interpreter") for one in step.below if one.command.slot < 0)
        paths = [one.target.text for one in step.command.redirections if one.operator == "<"]
        yield from ((one, "run by an interpreter") for path in paths for one in _file(scene, path))
    if name in INTERPRETERS or name in _SOURCES:
        yield from _scripts(scene, step)
    if name == "eval" or name in INTERPRETERS:
        for at, word in code_words(step):
            yield from ((one, "evaluated") for one in _evaluated(scene, step, word, at))
    if step.argv and not step.argv[0].known:
        how = "run as a command" if step.argv[0].substituted else "run"
        yield from ((one, how) for one in _evaluated(scene, step, step.argv[0], -1))
    if step.argv:
        yield from ((one, "run") for one in _file(scene, step.argv[0].text) if one is not step)
    if name == "chmod" and any("x" in word or re.fullmatch(r"0?7[0-7]{2}", word) for word in step.operands[:1]):
        for path in step.operands[1:]:
            yield from ((one, "made executable") for one in _file(scene, path) if _grave(one))
    bare = not step.texts or step.texts[-1] in ("{}", "%", "$0", "$@", "$1", "-c")
    if bare and step.before and name in SHELLS and name_of(step.command.argv) in ("xargs", "parallel"):
        yield from ((one, "run line by line") for one in _piped(step))


def _piped(step: Step) -> list[Step]:
    """Return the command that is piped into a step; a substitution in its words is only a part of it."""
    numbers = {one.number for one in step.before}
    return [one for one in step.before if one.command.parent not in numbers][-1:]


def _evaluated(scene: Scene, step: Step, word: Word, at: int) -> Iterator[Step]:
    """Yield the steps that produce a whole program: `-c "$(..)"`, `eval "$X"`; a value inside a longer text is only input."""
    if _AS_A_WHOLE.match(word.source):
        yield from (one for one in step.below if word.substituted and one.command.slot == step.slot(at))
        names = word.names if at >= 0 else (word.alone,)
        yield from (one for name in names for one in scene.variables.get(name, ()))


def code_words(step: Step) -> list[tuple[int, Word]]:
    """Return the words of a step that are programs: those of `eval`, and the values of options such as `-c`."""
    if step.name == "eval":
        return [*enumerate(step.spelled)]
    return [(one.at, step.spelled[one.at]) for one in codes(step.name, tuple(step.texts))]


_AS_A_WHOLE = expression(r"[\"']?(?:\$|`)")


def _grave(step: Step) -> bool:
    """Return whether a file that is only made executable is worth reporting."""
    return any(one.severity != "info" for one in judge_piped(step.sources, "run"))


def _scripts(scene: Scene, step: Step) -> Iterator[tuple[Step, str]]:
    """Yield the origins of a file or `<(..)` that is passed to an interpreter."""
    script = next((one for one in step.arguments if not one.option), None)
    if script is None or given_code(step):
        return
    if script.text.startswith(("<(", "/dev/fd/")):
        yield from ((one, "run by an interpreter") for one in step.below if one.command.slot == step.slot(script.at))
    else:
        yield from ((one, "saved and run") for one in _file(scene, script.text))


def given_code(step: Step) -> bool:
    """Return whether an option gives the interpreter its program."""
    return bool(codes(step.name, tuple(step.texts))) or step.has("-m", "-S")


def _file(scene: Scene, path: str) -> list[Step]:
    return scene.writers.get(bare_path(path), [])


def takes_input(step: Step) -> bool:
    """Return whether an interpreter reads its program from standard input."""
    if given_code(step):
        return False
    if step.name in SHELLS and step.has("-s"):
        return True
    script = next((word for word in step.operands if word and not word.startswith("<")), "-")
    return script in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def _shells(scene: Scene, step: Step) -> None:
    name = step.name
    if step.device and host_of(step.device).kind != "loopback":
        shell = name in SHELLS and (not step.texts or step.has("-i") or not _has_script(step))
        obeys = name in ("eval", "read") or (step.argv and not step.argv[0].known)
        if shell or obeys:
            scene.hit("shell-handed-over", "critical", step.device)
        elif name == "exec":
            scene.hit("shell-handed-over", "critical" if step.has("-i") else "info", step.device)
    if name in programs("sockets") and any(one.name in SHELLS and not _has_script(one) for one in step.before):
        scene.hit("shell-handed-over")
    if (
        name in SHELLS
        and takes_input(step)
        and any(one.name in programs("sockets") and not step.has("-z") and _host_word(one) for one in step.before)
    ):
        scene.hit("shell-handed-over")


def _has_script(step: Step) -> bool:
    return any(not word.startswith(("<", ">")) for word in step.operands)


def _host_word(step: Step) -> bool:
    if step.has("-l", "--listen"):
        return True
    plain = step.operands
    return len(plain) >= 2 and plain[-1].isdigit() and host_of(plain[-2]).kind != "loopback"


JUDGES: dict[str, Callable[[Scene, Step], None]] = {"unpack": _unpack, "evaluate": _evaluate}
"""The ways to run fetched content that the tables name, with their judges."""
