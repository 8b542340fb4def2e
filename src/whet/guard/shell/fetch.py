"""Rules for fetched or decoded code that is executed, and for shells that are handed to the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import host_of
from whet.guard.options import codes
from whet.guard.shell.clients import fetches, host_in, programs, table
from whet.guard.shell.step import bare_path
from whet.guard.shell.wrappers import INTERPRETERS, SHELLS, name_of
from whet.guard.taint.execute import judge_piped
from whet.guard.taint.sources import judge_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.finding import Severity
    from whet.guard.shell.flow import Scene
    from whet.guard.shell.step import Step
    from whet.guard.shell.words import Word
    from whet.guard.taint.value import Value

_SOURCES = ("source", ".")
_BEFORE = expression(r"run|dlx|-y|--yes|-A|-q|--quiet|--allow-[\w-]{1,20}")
"""Words that may precede the address of a program that is run."""


def judge_run(scene: Scene, step: Step) -> None:
    """Judge the code that a command runs, and the shells that it hands to the network."""
    for value, how in executed(scene, step):
        for one in judge_piped(value.marks, how):
            scene.report([one])
            if one.rule != "decode-to-shell":
                scene.fact("execute", "fetched code", one.subject, grave=one.severity == "critical")
    if step.name in INTERPRETERS or step.name in table()["packages"]["runners"]:
        first = next((at for at, word in enumerate(step.texts) if not _BEFORE.fullmatch(word)), 0)
        for fetch in fetches(step.name, [one for one in step.arguments if one.at == first and "://" in one.text]):
            scene.report(judge_piped(frozenset((fetch,)), "run by its address"))
    _shells(scene, step)


def _unpack(scene: Scene, step: Step) -> None:
    if step.fetched is not None and step.fetched.grave:
        severity: Severity = "critical" if _runs_later(scene, step) else "warn"
        message = "the command unpacks an archive from that host"
        scene.hit("pipe-shady", severity, host_in(step.fetched).name, message)
    elif step.fetched is not None and any(text.rstrip("/").endswith("/bin") for text in step.texts):
        scene.report(judge_package(step.fetched.subject))


def _evaluate(scene: Scene, step: Step) -> None:
    if step.name == "eval" and step.spelled and not all(word.known for word in step.spelled):
        scene.fact("execute", "text that is made when it runs", ",".join(step.spelled[0].names)[:80])
    if any(len(set(word.names)) > 1 for word in step.spelled):
        scene.fact("assemble", "a command put together from pieces")
    if step.name == "eval" or step.name in SHELLS:
        for at, word in code_words(step):
            if any(value.has("assembled") for value in _evaluated(scene, step, word, at)):
                scene.hit("assembled-command", None, "", "the command is assembled from several files")


def _runs_later(scene: Scene, step: Step) -> bool:
    """Return whether anything in the working directory is run after this step."""
    return any(
        later.name == "chmod" or later.name in INTERPRETERS or (later.argv and later.argv[0].text.startswith("./"))
        for later in scene.steps[step.number + 1 :]
    )


def executed(scene: Scene, step: Step) -> Iterator[tuple[Value, str]]:
    """Yield the values that a step runs as code, each with how it does so."""
    name = step.name
    if name in INTERPRETERS and takes_input(step):
        yield step.input, "piped into an interpreter" if step.piped else "run by an interpreter"
    if name in INTERPRETERS or name in _SOURCES:
        yield from _scripts(scene, step)
    if name == "eval" or name in INTERPRETERS:
        for at, word in code_words(step):
            yield from ((one, "evaluated") for one in _evaluated(scene, step, word, at))
    if step.argv and not step.argv[0].known:
        how = "run as a command" if step.argv[0].substituted else "run"
        yield from ((one, how) for one in _evaluated(scene, step, step.argv[0], -1))
    if step.argv and step.argv[0].text not in (path for path, _ in step.targets):
        yield find_file(scene, step.argv[0].text), "run"
    if name == "chmod" and any("x" in word or re.fullmatch(r"0?7[0-7]{2}", word) for word in step.operands[:1]):
        files = (find_file(scene, path) for path in step.operands[1:])
        yield from ((one, "made executable") for one in files if _grave(one))
    bare = not step.texts or step.texts[-1] in ("{}", "%", "$0", "$@", "$1", "-c")
    if bare and step.piped and name in SHELLS and name_of(step.command.argv) in ("xargs", "parallel"):
        yield step.input, "run line by line"


def _evaluated(scene: Scene, step: Step, word: Word, at: int) -> Iterator[Value]:
    """Yield the values of a whole program: `-c "$(..)"`, `eval "$X"`; a value inside a longer text is only input."""
    if _AS_A_WHOLE.match(word.source):
        if word.substituted:
            yield scene.substitution(step, step.slot(at))
        yield from (scene.find(scene.scope(step), name) for name in (word.names if at >= 0 else (word.alone,)))


def code_words(step: Step) -> list[tuple[int, Word]]:
    """Return the words of a step that are programs: those of `eval`, and the values of options such as `-c`."""
    if step.name == "eval":
        return [*enumerate(step.spelled)]
    return [(one.at, step.spelled[one.at]) for one in codes(step.name, tuple(step.texts))]


_AS_A_WHOLE = expression(r"[\"']?(?:\$|`)")


def _grave(content: Value) -> bool:
    """Return whether a file that is only made executable is worth reporting."""
    return any(one.severity != "info" for one in judge_piped(content.marks, "run"))


def _scripts(scene: Scene, step: Step) -> Iterator[tuple[Value, str]]:
    """Yield the content of a file or `<(..)` that is passed to an interpreter."""
    script = next((one for one in step.arguments if not one.option), None)
    if script is None or given_code(step):
        return
    if script.text.startswith(("<(", "/dev/fd/")):
        yield scene.substitution(step, step.slot(script.at)), "run by an interpreter"
    else:
        yield find_file(scene, script.text), "saved and run"


def given_code(step: Step) -> bool:
    """Return whether an option gives the interpreter its program."""
    return bool(codes(step.name, tuple(step.texts))) or step.has("-m", "-S")


def find_file(scene: Scene, path: str) -> Value:
    """Return the content of a file that the script wrote before."""
    return scene.find(scene.written, bare_path(path))


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
    if name in programs("sockets") and any(one.name in SHELLS and not _has_script(one) for one in _before(scene, step)):
        scene.hit("shell-handed-over")
    if name in SHELLS and takes_input(step):
        sockets = [one for one in _before(scene, step) if one.name in programs("sockets")]
        if any(not one.has("-z") and _host_word(one) for one in sockets):
            scene.hit("shell-handed-over")


def _before(scene: Scene, step: Step) -> list[Step]:
    """Return the commands that precede a step in its pipelines."""
    stages = dict(step.command.pipes)
    nearby = scene.steps[max(0, step.number - 60) : step.number] if step.piped else ()
    return [one for one in nearby if any(at < stages.get(number, 0) for number, at in one.command.pipes)]


def _has_script(step: Step) -> bool:
    return any(not word.startswith(("<", ">")) for word in step.operands)


def _host_word(step: Step) -> bool:
    if step.has("-l", "--listen"):
        return True
    plain = step.operands
    return len(plain) >= 2 and plain[-1].isdigit() and host_of(plain[-2]).kind != "loopback"


JUDGES: dict[str, Callable[[Scene, Step], None]] = {"unpack": _unpack, "evaluate": _evaluate}
"""The ways to run fetched content that the tables name, with their judges."""
