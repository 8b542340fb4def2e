"""What a shell command was about: the programs and sub-commands it ran, whether it only looked, how it reads best.

The reader is the guard's: wrappers (`sudo`, `env`, `timeout`), lists, loops and scripts inside scripts are seen
through. Nothing here is ever run.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.shell.commands import inner, name_of, parse, unwrapped
from whet.learning.facts.labels import label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.shell.commands import Command, Word

LONGEST = 20_000
"""Characters of a command that are read."""
_DEPTH = 3

BUILTIN = frozenset(
    """
    cd export echo printf set source . true false test [ [[ exit read pwd type command unset shift local declare return
    wait sleep pushd popd alias trap hash ulimit umask eval : let break continue exec shopt
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of forty strings
)
LOOKING = frozenset(
    """
    ls cat pwd head tail which find echo wc file stat tree grep rg egrep fgrep ack ag env printenv whoami id date du df
    ps uname hostname less more type command test [ [[ true false cd export printf sort uniq cut column fd locate
    whereis nproc free lscpu history realpath readlink basename dirname diff cmp md5sum sha256sum xxd strings jq
    nl bat tac sleep set exit read
    """.split()  # noqa: SIM905  a paragraph of names reads better than a list of eighty strings
)
_HOUSEKEEPING = frozenset(("mkdir", "cp", "mv", "rm", "touch", "chmod", "cd", "ln", "sleep"))
_LOOKING_ALSO = frozenset(
    """
    git status|git log|git diff|git show|git branch|git remote|git rev-parse|git blame|git ls-files|kubectl get
    kubectl describe|kubectl logs|kubectl config|docker ps|docker logs|docker images|docker inspect|npm ls|npm list
    npm view|pip list|pip show|pip freeze|gh pr view|gh pr list|gh issue view|gh issue list|gh run view|gh run list
    systemctl status|terraform show|helm list|cargo tree|go env|go version|apt list|brew list|conda list
    """.replace("\n", "|")
    .replace("    ", "")
    .split("|")
)
_HELP = frozenset(("--help", "-h", "help"))
_VERSION = _HELP | frozenset(("--version", "-V", "-version", "-v", "version", "-VV"))
_RUNNING = frozenset(("uv", "poetry", "pipenv", "pdm", "hatch"))
"""Programs whose `run` starts another one: both have to be named."""
_ENDING = re.compile(
    r"\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-(?:n\s*)?\d{1,5})?|\|\s*(?:cat|less)|(?:;|&&"
    r"|\|\|)\s*(?:echo|printf)"
    r"(?:\s+(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[\w.!:=$?-]{1,80})){0,4}|\|\|\s*true)\s*\Z"
)
_BEGINNING = re.compile(r"\A\s*cd\s+(\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|[^\s;&|]{1,300})\s*(?:&&|;)\s*")


class Ran(NamedTuple):
    """One program in a command."""

    label: str
    """The program with its sub-command: `git commit`, `npm run build`, `python3 scripts/fill.py`; "" for a builtin."""
    looks: bool
    """It only shows something."""
    help: bool
    """It was asked for its manual or version."""


@lru_cache(maxsize=8192)
def programs(command: str) -> tuple[Ran, ...]:
    """The programs a command runs, in order."""
    return tuple(_programs(command[:LONGEST], 0))


def _programs(text: str, depth: int) -> Iterator[Ran]:
    script = parse(text)
    for command in script.commands:
        if not command.argv or "heredoc" in command.inside or "error" in command.inside:
            continue
        argv = unwrapped(command.argv)
        name = name_of(argv)
        scripts = [one for one in inner(command) if one.language == "shell"] if depth < _DEPTH else []
        for one in scripts:
            yield from _programs(one.text, depth + 1)
        if not scripts and name not in script.functions and re.fullmatch(r"[a-z0-9.:\[][\w.+\[-]{0,40}", name):
            yield _ran(name, argv, command)


def _ran(name: str, argv: Sequence[Word], command: Command) -> Ran:
    words = [word.text for word in argv[1:]]
    writes = any(
        ">" in one.operator and "&" not in one.operator[1:] and not one.target.text.startswith("/dev/")
        for one in command.redirections
    )
    if name in BUILTIN:
        return Ran("", not writes, help=False)
    called = label(name, words)
    first = [word.text for word in command.argv[:2]]
    if len(command.argv) > 2 and first[1] == "run" and first[0] in _RUNNING:
        called = f"{first[0]} run" if command.argv[2].text.startswith("-") else f"{first[0]} run {called}"
    manual = bool(words) and words[-1] in _VERSION and len(words) <= 3
    looks = (name in LOOKING or called in _LOOKING_ALSO or manual) and not writes
    return Ran(called, looks, help=manual and words[-1] in _HELP)


def main_program(command: str) -> str:
    """What a command is about: the first program that neither looks nor only makes room, as people would call it."""
    ran = [one for one in programs(command) if one.label]
    ranked = sorted(ran, key=lambda one: (one.looks, one.label.partition(" ")[0] in _HOUSEKEEPING))
    words = ranked[0].label.split() if ranked else []
    return " ".join(word.rpartition("/")[2] for word in words)


def only_looks(command: str) -> bool:
    """Does a command only show something? One that runs nothing at all (`cd`, `export`) does, too."""
    return all(ran.looks for ran in programs(command))


def asks_manual(command: str) -> bool:
    """Was a program asked how it is used?"""
    return any(ran.help or ran.label == "man" for ran in programs(command))


def tidy(command: str, homes: Sequence[str] = ()) -> str:
    """A command without what only served the session: going to the project, cutting and labelling the output."""
    text = command.strip()
    found = _BEGINNING.match(text)
    if found and found[1].strip("\"'").rstrip("/") in homes:
        text = text[found.end() :].strip()
    if "<<" not in text:
        while (end := _ENDING.search(text)) and end.start() > 0:
            text = text[: end.start()].rstrip()
    return text


def shape(command: str) -> tuple[str, ...]:
    """What two attempts at the same thing have in common: the programs that do not just look."""
    ran = [one for one in programs(command) if one.label]
    return tuple(dict.fromkeys(one.label for one in ran if not one.looks)) or tuple(
        dict.fromkeys(one.label for one in ran)
    )
