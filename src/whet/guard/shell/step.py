"""One command of a shell script as a call with values: its arguments, its input and output, the variables and files that it sets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.options import read_arguments
from whet.guard.shell.clients import programs, sends
from whet.guard.shell.wrappers import inner, name_of, peel, texts_of
from whet.guard.taint.call import Call, find_rows
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whet.guard.shell.command import Command
    from whet.guard.shell.words import Word
    from whet.guard.taint.mark import Mark

_SHARE = expression(r"^//([\w.-]{2,200})(?:@\w{1,9})?/")
"""A share of another machine."""
_DEVICE = expression(r"/dev/(?:tcp|udp)/([^/\s]{1,200})")
_DIGEST = expression(r"dgst|sha\d|md5|mac\b|rand\b|passwd")
_NO_FILES = ("1", "2", "-", "/dev/null")
_NAMED = ("-O", "--remote-name", "--remote-name-all")
"""Options of curl that name the file after the address."""
DECLARATIONS = frozenset(("export", "declare", "local", "readonly", "typeset"))
READS = ("read", "mapfile", "readarray")
"""Commands that put their input into variables."""
COMMON_FOLDERS = frozenset(("", ".", "..", "/", "/tmp", "/var/tmp", "~", "$HOME", "${HOME}", "/home", "/root"))  # noqa: S108  names in scripts that are read, nothing is opened
CONTENT = frozenset(("secret", "env", "captured", "file"))
"""Kinds of marks that stand for private content itself, not for its name."""
_BRACED = expression(r"\$\{(\w{1,60})\}")


class Step(Call):
    """One command, the data that reaches it, and what it prints."""

    __slots__ = (
        "arguments", "argv", "assignments", "command", "device", "fed", "inner", "input", "marks", "named", "number",
        "operands", "output", "own", "piped", "plain", "rows", "spelled", "targets", "texts",
    )  # fmt: skip

    def __init__(self, number: int, command: Command) -> None:
        self.argv, variables = peel(command.argv)
        super().__init__(name_of(self.argv), NOTHING, NOTHING, (), {}, command)
        self.folder: str = ""
        self.number = number
        self.command = command
        self.assignments = (*command.assignments, *variables)
        """The variables that are set for the command or by it."""
        self.spelled: tuple[Word, ...] = ()
        """Its arguments as words."""
        self.take(self.argv[1:])
        self.inner = inner(command)
        """The scripts in its arguments."""
        self.piped = any(at for _, at in command.pipes)
        """Whether it is not the first in a pipeline."""
        self.input = NOTHING
        """What is piped or redirected into it."""
        self.output = NOTHING
        """What it prints, or sets variables to."""
        self.own: set[Mark] = set()
        """The marks of the data that the command itself reads or fetches."""
        self.fed: set[Mark] = set()
        """The marks of the data that it prints even if its arguments are not part of its output."""
        self.marks: set[Mark] = set()
        """The marks of its input and its arguments."""
        words = (*command.argv, *(word for _, word in command.assignments))
        self.named = [word for word in (*words, *(one.target for one in command.redirections)) if word.names]
        """Its words that contain variables."""
        self.device = ""
        """The host that it writes to through `/dev/tcp` or `/dev/udp`, or through a descriptor opened on it."""
        self.targets: tuple[tuple[str, bool], ...] = ()
        """The files that it writes, each with whether it appends."""

    def take(self, words: Sequence[Word]) -> None:
        """Append `words` to the arguments of the step and parse all of them again."""
        self.spelled = (*self.spelled, *words)
        self.texts = list(texts_of(self.spelled))
        self.arguments = read_arguments(self.name, tuple(self.texts))
        """Its arguments by their meaning for the program."""
        self.operands = [one.text for one in self.arguments if not one.option]
        self.plain = " ".join(part for one in self.arguments for part in (one.option, one.text) if part)
        """Its arguments with every option written separately, followed by its value."""
        self.rows = find_rows(self.name, self.plain)
        """What the tables say about the command."""
        self.args = [Value(text) for text in self.operands]
        self.words = {name: Value(one.text) for one in self.arguments for name in (one.option.lstrip("-"), one.place)}

    @property
    def fetched(self) -> Mark | None:
        """The origin of fetched content that passes through the step."""
        return next(iter(self.output.has("fetched")), None)

    def has(self, *names: str) -> bool:
        """Return whether one of `names` is an option or an operand of the command."""
        return any((one.option or one.text) in names for one in self.arguments)

    def value(self, *options: str) -> str | None:
        """Return the value of the first of `options` that is given."""
        return next((one.text for one in self.arguments if one.option in options), None)

    def placed(self, *places: str) -> list[str]:
        """Return the arguments in the given `places`."""
        return [one.text for one in self.arguments if one.place in places]

    def slot(self, at: int) -> int:
        """Return the index of the `at`-th argument in the whole command, wrappers included."""
        return len(self.command.argv) - len(self.argv) + 1 + at

    def find_targets(self) -> Iterator[tuple[str, bool]]:
        """Yield the files that the step writes, each with whether the step appends to it."""
        for one in self.command.redirections:
            if ">" in one.operator and not one.operator.startswith("<") and one.target.text not in _NO_FILES:
                yield one.target.text, ">>" in one.operator
        rows = [row for row in self.rows if row.does == "write"]
        output = [path for path in self.placed("output") if path not in _NO_FILES]
        for row in rows:
            paths = [value.said for value in ([self.part(row.at)] if row.at else self.args)]
            end = "" if output else row.gives
            yield from (
                (f"{path[len(row.what) :]}{end}", self.has("-a")) for path in paths if path.startswith(row.what)
            )
        if not rows:
            yield from ((path, False) for path in output)
        elif output and self.name in programs("movers"):
            yield from ((f"{output[0].rstrip('/')}/{path.rpartition('/')[2]}", False) for path in self.operands)
        if not output and (self.name == "wget" or self.has(*_NAMED)):
            for mark in self.own:
                if mark.kind == "fetched":
                    yield mark.subject.partition("?")[0].rstrip("/").rpartition("/")[2], False

    def connect(self, opened: dict[str, str]) -> None:
        """Set the host that the step writes to; `opened` are the hosts of descriptors that earlier steps opened."""
        for one in self.command.redirections:
            found = _DEVICE.match(one.target.text)
            share = _SHARE.match(one.target.text) if ">" in one.operator else None
            place = found[1] if found else share[1] if share else opened.get(one.target.text, "")
            self.device = self.device or place
            if found and (self.name == "exec" or not self.argv):
                opened[one.descriptor] = found[1]

    def grave(self) -> str:
        """Return the name of a grave secret whose content reaches the step."""
        return min((mark.what for mark in self.marks if mark.grave and mark.kind in CONTENT), default="")

    def passed(self) -> Iterable[Mark]:
        """Return the marks of the output of the step."""
        if self.name in programs("stoppers") or (
            self.name == "openssl" and (_DIGEST.match(" ".join(self.texts[:1])) or self.has("-noout", "-pubout"))
        ):
            return ()
        if self.name in programs("fetchers"):
            kept = {"fetched"} if sends(self.name, self.arguments) else {mark.kind for mark in self.own}
            return (mark for mark in self.fed if mark.kind == "decoded" or (mark in self.own and mark.kind in kept))
        marks = self.marks if self.name in programs("printers") else self.fed
        if self.name in ("jq", "yq") and not any(re.search(r"\.data\b|^\.$|@base64", word) for word in self.texts):
            return (mark for mark in marks if mark.what != "Kubernetes secrets")
        return marks


def bare_path(path: str) -> str:
    """Return a path in the form used for lookups: variables spelled one way, without a leading `./`."""
    path = (_BRACED.sub(r"$\1", path) if "${" in path else path).removeprefix("./")
    return f"~{path[5:]}" if path.startswith("$HOME/") else path


def variables_of(step: Step) -> Iterator[str]:
    """Yield the variables that a step sets."""
    if not step.argv or step.name in DECLARATIONS:
        yield from (name.partition("[")[0] for name, _ in step.command.assignments)
    if step.name in READS:
        yield from step.operands
    elif step.name == "getopts":
        yield "OPTARG"
    elif step.name == "set" and step.command.argv[1:2] and step.command.argv[1].text == "--":
        yield from "@*123456789"
    elif step.name == "printf" and step.texts[:1] == ["-v"] and len(step.texts) > 1:
        yield step.texts[1]


def written_names(step: Step) -> Iterator[str]:
    """Yield the lookup names of the files that a step writes: path, name and directory."""
    opened = (
        f"/dev/fd/{one.descriptor}" for one in step.command.redirections if one.operator == "<" and one.descriptor
    )
    for target in (*opened, *(path for path, _ in step.targets)):
        if target and target[0] != "-":
            bare = bare_path(target).rstrip("/")
            yield from path_names(bare)
            if step.folder:
                yield bare_path(joined_path(step.folder, bare))


def path_names(path: str) -> Iterator[str]:
    """Yield a path, its last component and its directory."""
    folder, _, name = path.rpartition("/")
    yield from (one for one in (path, name, folder if folder not in COMMON_FOLDERS else "") if one)


def joined_path(folder: str, path: str) -> str:
    """Resolve a path against the directory that the script changed to."""
    bare = path.removeprefix("@").removeprefix("./")
    return path if not folder or bare.startswith(("/", "~", "$", "-", "http")) or not bare else f"{folder}/{bare}"
