"""Data flow through a shell script: what its variables, files, pipes and substitutions hold, and what reaches each command.

Every command becomes a `Step`, a call with values: its arguments, its input and its output. A value has marks (secrets that
were read or are in the environment, fetched content, decoded text) and the text, as far as the script contains it. A
variable or file may hold everything that is ever put into it, so that neither an unused branch nor a later assignment
makes a script look better. Steps are visited until nothing new is added.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import Seen
from whet.guard.options import read_arguments
from whet.guard.places import places
from whet.guard.shell.clients import fetches, printing, programs, sends, sent_file, table
from whet.guard.shell.commands import parse
from whet.guard.shell.constant import decodes, print_constant, read_file, transform
from whet.guard.shell.words import Known, Word
from whet.guard.shell.wrappers import FINDERS, inner, name_of, peel, texts_of
from whet.guard.tables import shape, words
from whet.guard.taint.call import Call, find_rows
from whet.guard.taint.commands import Given
from whet.guard.taint.judges import Judges
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.persist import fetches_on_windows
from whet.guard.taint.secret import secret_key
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, one_of, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whet.guard.places import Place
    from whet.guard.shell.command import Command
    from whet.guard.shell.commands import Script

_VARIABLE = expression(r"\$\{?!?([A-Za-z_]\w{0,60}|[0-9@*])")
_OPTION = expression(
    r"^[ \t]{0,12}-{0,2}([a-z][\w-]{1,40})(?:[ \t]{0,12}[=:][ \t]{0,12}|[ \t]{1,12})\"?([^\"=:\s][^\"\n]{0,2000})",
    re.MULTILINE,
)
_FILE_MARK = expression(r"^[^@\s]{0,60}@")
_SHARE = expression(r"^//([\w.-]{2,200})(?:@\w{1,9})?/")
"""A share of another machine."""
_DEVICE = expression(r"/dev/(?:tcp|udp)/([^/\s]{1,200})")
_DIGEST = expression(r"dgst|sha\d|md5|mac\b|rand\b|passwd")
_DECLARATIONS = frozenset(("export", "declare", "local", "readonly", "typeset"))
_READ = ("read", "mapfile", "readarray")
"""Commands that put their input into variables."""
_NO_FILES = ("1", "2", "-", "/dev/null")
_LISTED = ("xargs", "parallel")
"""Programs that pass their input to a command as arguments."""
_SETTINGS = frozenset({"the agent's own keys", "Docker credentials", "Kubernetes credentials", "git credentials"})
_COMMON_FOLDERS = frozenset(("", ".", "..", "/", "/tmp", "/var/tmp", "~", "$HOME", "${HOME}", "/home", "/root"))  # noqa: S108  names in scripts that are read, nothing is opened
CONTENT = frozenset(("secret", "env", "captured", "file"))
"""Kinds of marks that stand for private content itself, not for its name."""
_ORIGINS = frozenset(("fetched", "decoded", "encoded", "assembled"))
"""Kinds of marks that say how a text came about, whoever may read it."""
_BAD = words("shell_signs", "bad")
_WIDEST = 60
_LONGEST_PATH = 2_000
_LONGEST_TEXT = 65_536
_MOST_TEXTS = 200
_ROUNDS = 12


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


def _listed(value: Value) -> tuple[str, ...]:
    """Return the words of a text, which may be the names of all files of a project."""
    return ("$(git ls-files)",) if value.has("project") else tuple(value.said.split()[:_WIDEST])


def _word(text: str) -> Word:
    """Return a word that another command prints."""
    return Word(text, "$" not in text, text, tuple(_VARIABLE.findall(text)))


def _configured(text: str) -> Iterator[Word]:
    """Yield the options in a curl configuration file as words."""
    for option, value in _OPTION.findall(text[:20_000]):
        yield _word(f"--{option}={value}")


class Scene(Judges):
    """A script under judgement: its steps, the values in it, and the findings so far."""

    language = "shell"
    typed = True

    def __init__(self, text: str, line: int, outer: Scene | None = None, given: Given | None = None) -> None:
        super().__init__(0, lambda _text, _level: Seen())
        known = Known.within(outer.script.known if outer is not None else None)
        known.files.update(given.shipped.texts if given is not None and given.shipped is not None else {})
        self._outer = frozenset(known.variables)
        self.script: Script = parse(text, known, splice=True)
        self.first = line
        self.variables: Scope = Scope(outer.variables if outer is not None else None)
        """The values of the variables."""
        self.written: Scope = Scope(outer.written if outer is not None else None)
        """The content of the files that are written, by path, name and directory."""
        self.functions = {name: Scope(self.variables) for name in self.script.functions}
        """The parameters of each function; `<` is its input, and `>` its output."""
        self._streams = Scope()
        """What the pipes and substitutions hold: `pipeline|stage`, `command(slot`, `command()` for all slots."""
        self._input = NOTHING
        """The input of the script."""
        self.steps = [Step(number, command) for number, command in enumerate(self.script.commands)]
        self.step: Step
        """The step that is being judged."""
        self.lines: dict[str, int] = {}
        """The first line of each text that a step prints."""
        self._asked: set[str] = set()
        """The names that steps have looked up so far."""
        self._again = False
        """A value changed after a step had looked it up."""
        self._connect()
        if given is not None:
            self._take(given)
        order = list(self._ordered())
        for step in order:
            self._prepare(step)
        self._writes = outer is not None or bool(self.written.names) or any(step.targets for step in order)
        for _ in range(_ROUNDS):
            self._again = False
            for step in order:
                self._visit(step)
            if not self._again:
                break

    def _take(self, given: Given) -> None:
        """Start with the data that the script is given."""
        if given.marks:
            self.put(self.variables, HOLE, Value(marks=given.marks))
        for path in {**given.files, **given.texts}:
            value = Value(given.texts.get(path, UNKNOWN), marks=given.files.get(path, NO_MARKS))
            for name in _path_names(bare_path(path)):
                self.put(self.written, name, value)
        self._input = Value(marks=given.fed) if given.fed else NOTHING

    def find(self, scope: Scope, name: str) -> Value:
        """Return everything that a name may stand for."""
        self._asked.add(name)
        return scope.find(name) or NOTHING

    def put(self, scope: Scope, name: str, value: Value) -> None:
        """Record another possible value of a name."""
        old = scope.find(name)
        if old is None or old is NOTHING:
            scope.names[name] = value
            changed = value is not NOTHING
        elif value.marks <= old.marks and value.texts == old.texts[: len(value.texts)]:
            return
        else:
            texts = tuple(dict.fromkeys((*value.texts, *old.texts)))[:_MOST_TEXTS]
            scope.names[name] = one_of(texts, old.marks | value.marks)
            changed = not value.marks <= old.marks or (old.text is None and bool(texts))
        self._again = self._again or (changed and name in self._asked)

    def printed(self) -> Iterator[Mark]:
        """Yield the secrets in the output of the script, and the origins of fetched content in it."""
        for step in self.steps:
            if step.command.parent < 0 and self._ends(step) and not step.targets:
                yield from (
                    mark._replace(whole=True)
                    for mark in step.output.marks
                    if mark.kind in CONTENT or mark.kind in ("key", "fetched")
                )

    def left(self, before: Given | None = None) -> Given:
        """Return the files that the script writes, with their marks and constant texts, in addition to those from `before`."""
        files, texts = (dict(before.files), dict(before.texts)) if before is not None else ({}, {})
        for step in (one for one in self.steps if one.targets):
            marks = frozenset(
                mark
                for mark in step.output.marks
                if mark.kind in CONTENT or mark.kind == "decoded" or (mark.kind == "fetched" and mark.whole)
            )
            for path in (bare_path(target) for target, _ in step.targets):
                if marks:
                    files[path] = files.get(path, NO_MARKS) | marks
                if step.output.said:
                    texts[path] = f"{texts.get(path, '')}{step.output.said}\n"
        return Given(files=files, texts=texts)

    def at(self, step: Step) -> None:
        """Make `step` the step that is being judged."""
        step.args = [] if name_of(step.command.argv) == "chroot" else list(self._operands(step))
        self.step, self.line = step, self.first + step.command.line - 1

    def evidence(self) -> str:
        """Return the statement that contains the step."""
        return self.step.command.text

    def is_bad(self, script: str) -> bool:
        """Return whether a rule says that `script` must not run repeatedly and unseen."""
        if not script:
            return False
        return fetches_on_windows(script) or any(hit.rule in _BAD for hit in self.read_inner(script, 1).hits)

    def look(self, _text: str, _python: bool) -> bool:
        """Return `False`: a script that is written is read together with the step that writes it."""
        return False

    def _text_of(self, path: str) -> str:
        """Return the text of a file that the script writes, or of a file of the package."""
        value = self.find(self.written, bare_path(path))
        return "\n".join(reversed(value.texts)) or read_file(path, self.script.known.files) or ""

    def _printed(self, step: Step) -> str:
        """Return the text that a step prints, as far as the script contains it: that of `echo`, of files, of its input."""
        name, given = step.name, step.input.said
        if not step.argv:
            return given
        if name in self.functions and step.command.function != name:
            return "\n".join(reversed(self.find(self.functions[name], ">").texts))
        if given and (text := transform([name, *step.texts], given)) is not None:
            return text
        parts: list[str] = []
        if name == "cat" and (text := print_constant([name, *step.texts], self.script.known.files)):
            parts.append(text)
        elif name in ("echo", "printf"):
            parts.append(print_constant([name, *(self._said(step, word) for word in step.spelled)], {}) or "")
        elif name == "ls":
            parts += step.operands
        elif name in programs("movers") or name in _SHOWN:
            own = [path for path, _ in step.targets]
            parts += [self._text_of(word) for word in step.texts if word not in own]
        return "\n".join(part for part in (*parts, given) if part)[:_LONGEST_TEXT]

    def _said(self, step: Step, word: Word) -> str:
        """Return the text of a word; for a variable, the known part of its value."""
        alone = "" if word.known else word.alone
        return (self.variable(step, alone).text if alone else None) or word.text

    def _operands(self, step: Step) -> Iterator[Value]:
        """Yield the operands of a step with their marks and all their possible texts."""
        for one in step.arguments:
            if not one.option:
                word = step.spelled[one.at]
                yield one_of(self.possible_texts(step, word), self.in_word(step, word, one.at))

    def possible_texts(self, step: Step, word: Word) -> tuple[str, ...]:
        """Return the texts that a word may have: items of a loop, input of `read`, arguments of the function around it."""
        return (word.text, *(self.variable(step, word.alone).texts if word.alone else ()))

    def scope(self, step: Step) -> Scope:
        """Return the scope of the variables in a step."""
        return self.functions.get(step.command.function, self.variables)

    def variable(self, step: Step, name: str) -> Value:
        """Return everything that a variable in a step may hold; if the script does not set it, it is in the environment."""
        self._asked.add(name)
        value = self.scope(step).find(name)
        if value is not None:
            return value
        if name[0] == "!":
            return _ANY if self.find(self.scope(step), name[1:]) is not NOTHING else NOTHING
        return NOTHING if name in self._outer else _inherited(name)

    def file(self, path: str) -> Value:
        """Return what was written to a path or into something in it, or else into its directory, or else into a file of the
        same name."""
        bare = bare_path(path).rstrip("/*")
        found = self.find(self.written, bare)
        if found is NOTHING and "/" in bare:
            folder, _, name = bare.rpartition("/")
            found = self.find(self.written, folder) if folder not in _COMMON_FOLDERS else NOTHING
            return self.find(self.written, name) if found is NOTHING and "." in name else found
        return found

    def substitution(self, step: Step, slot: int = -1) -> Value:
        """Return the output of the substitutions in a word of a command; if `slot` is -1, in its assignments and redirections."""
        return self.find(self._streams, f"{step.number}({slot}")

    def parts(self, step: Step, word: Word, at: int) -> Iterator[tuple[Value, str]]:
        """Yield the values inserted into a word, each with the text before it: the `at`-th argument, or -1 for another word."""
        for name in dict.fromkeys(word.names):
            value = self.variable(step, name)
            if value.marks:
                sign = HOLE if name == HOLE else rf"\$[{{!#]{{0,3}}{re.escape(name)}(?!\w)"
                before = re.split(sign, word.source, maxsplit=1)
                yield value, before[0] if len(before) > 1 else ""
        if at >= 0 and (value := self.substitution(step, step.slot(at))).marks:
            before = re.split(r"\$\(|`|<\(", word.source, maxsplit=1)
            yield value, before[0] if len(before) > 1 else ""

    def in_word(self, step: Step, word: Word, at: int = -1) -> frozenset[Mark]:
        """Return the marks of the values in a word of a step: its `at`-th argument, or -1 for any other word."""
        return union(value for value, _ in self.parts(step, word, at))

    def in_file(self, step: Step, path: str, word: Word, at: int) -> Value:
        """Return the content of a file that a word of a step names, which may be its input."""
        if path in ("-", "/dev/stdin"):
            return step.input
        kept = self.file(path)
        marks = {mark for mark in kept.marks if mark.kind != "place"}
        marks.update(
            Mark("secret", place.what, "", place.grave, True) for place in _secrets(_joined(step.folder, path))
        )
        marks.update(map(opened_place, self.in_word(step, word, at)))
        text = kept.text or read_file(path, self.script.known.files)
        return Value(text or UNKNOWN, marks=frozenset(marks)) if marks or text else NOTHING

    def _gather(self, step: Step) -> Value:
        """Return what is piped or redirected into a step."""
        command = step.command
        values = [self.find(self._streams, f"{number}|{at}") for number, at in command.pipes if at]
        if not values:
            values.append(self.find(self.scope(step), "<"))
            values.append(self._input if command.parent < 0 else NOTHING)
        redirections = [one for one in command.redirections if one.operator[:1] == "<"]
        for one in redirections:
            if one.operator == "<<<":
                values.append(Value(self._said(step, one.target), marks=self.in_word(step, one.target)))
            else:
                path = f"/dev/fd/{one.target.text}" if one.operator == "<&" else one.target.text
                values.append(self.in_file(step, path, one.target, -1))
        if command.heredoc is not None:
            names = _VARIABLE.findall(command.heredoc[:20_000])
            values.append(Value(command.heredoc, marks=union(self.variable(step, name) for name in names)))
        if redirections or command.heredoc is not None:
            values.append(self.substitution(step))
        values = [value for value in values if value is not NOTHING]
        if len(values) < 2:
            return values[0] if values else NOTHING
        text = "\n".join(value.said for value in values if value.said)
        return Value(text or UNKNOWN, marks=union(values))

    def _connect(self) -> None:
        """Set the directory and the device of each step, and find the ends of the pipelines."""
        opened: dict[str, str] = {}
        folder = ""
        self._last: dict[int, int] = {}
        for step in self.steps:
            step.connect(opened)
            if step.name in ("cd", "pushd"):
                folder = step.operands[0] if step.operands else "~"
            step.folder = folder
            for number, at in step.command.pipes:
                self._last[number] = max(at, self._last.get(number, 0))

    def _ends(self, step: Step, around: tuple[tuple[int, int], ...] = ()) -> bool:
        """Return whether a step is the last in its pipelines, apart from those `around` it."""
        return all(at == self._last[number] for number, at in step.command.pipes if (number, at) not in around)

    def _ordered(self) -> Iterator[Step]:
        """Yield the steps, those in a substitution before the command that contains it."""
        waiting: list[Step] = []
        for step in self.steps:
            while waiting and waiting[-1].number != step.command.parent:
                yield waiting.pop()
            waiting.append(step)
        yield from reversed(waiting)

    def _prepare(self, step: Step) -> None:
        """Set the data that a step has independently of other steps."""
        if step.name in programs("fetchers"):
            step.own.update(fetches(step.name, step.arguments)[:1])
        step.targets = tuple(step.find_targets())
        if step.argv and (decodes([step.name, *step.texts]) or _decodes_in_code(step)):
            step.own.add(Mark("decoded", "a decoder"))
        self._read(step)
        lists = step.name in programs("listers")
        if lists or not step.argv or step.name in _DECLARATIONS:
            words = (*step.argv, *(word for _, word in step.command.assignments))
            for word in (*words, *(one.target for one in step.command.redirections)):
                step.marks.update(named_places(word.text))
        if lists and step.name not in programs("printers"):
            step.marks.update(_searched(step.texts))

    def _complete(self, step: Step) -> None:
        """Add the arguments that are in the input of a step or in a file: those of `xargs`, and the options of a client."""
        before = step.spelled
        if step.piped and name_of(step.command.argv) in _LISTED:
            step.take([_word(text) for text in _listed(step.input) if text[0] != "-"])
        if path := next(iter(step.placed("config")), ""):
            step.take(list(_configured(step.input.said if path == "-" else self._text_of(path))))
        if step.spelled is not before:
            self._prepare(step)

    def _visit(self, step: Step) -> None:
        """Take the data that reaches a step, and pass on what it prints, sets and writes."""
        first, step.input = step.output is NOTHING, self._gather(step)
        if first:
            self._complete(step)
        step.fed |= step.input.marks | self.find(self._streams, f"{step.number}()").marks
        if self._writes:
            step.fed.update(*(value.marks for value in self._from_files(step)))
        if step.name in self.functions and step.command.function != step.name:
            step.fed |= self.find(self.functions[step.name], ">").marks
        if step.named and step.name not in programs("stoppers"):
            shown = not step.argv or step.name in programs("printers") or step.name in programs("readers")
            for name in (name for word in step.named for name in word.names):
                marks = self.find(self.scope(step), name).marks
                step.fed.update(marks if shown else (mark for mark in marks if mark.kind in _ORIGINS))
        if step.name in _READ:
            for line in step.input.said.split("\n")[:_WIDEST]:
                step.fed.update(named_places(f"~/{line}"))
        self._names(step)
        step.marks |= step.fed
        text = self._printed(step)
        if text:
            self.lines.setdefault(text.strip("\n"), step.command.line + (step.command.heredoc is not None))
        step.output = Value(text or UNKNOWN, marks=frozenset(step.passed()))
        self._pass(step)

    def _pass(self, step: Step) -> None:
        """Put the output of a step, and the values that it sets, where other steps find them."""
        command = step.command
        for number, at in command.pipes:
            self.put(self._streams, f"{number}|{at + 1}", step.output)
        if 0 <= command.parent < step.number:
            if self._ends(step, self.steps[command.parent].command.pipes):
                self.put(self._streams, f"{command.parent}({command.slot}", step.output)
                self.put(self._streams, f"{command.parent}()", step.output)
        elif command.function and self._ends(step):
            self.put(self.functions[command.function], ">", step.output)
        for name in _variables(step):
            self.put(self.variables, name, self._set(step, name))
        for name in _files(step) if step.targets or command.redirections else ():
            self.put(self.written, name, step.output)
        if (function := self.functions.get(step.name)) is not None:
            for name, _ in step.assignments:
                self.put(self.variables, name, self._set(step, name))
            self._call(step, function)

    def _call(self, step: Step, function: Scope) -> None:
        """Pass the arguments and the input of a step to a function."""
        values = []
        for at, word in enumerate(step.spelled):
            marks = self.in_word(step, word, at).union(named_places(word.text))
            values.append(one_of(self.possible_texts(step, word), marks))
            if at < 9:
                self.put(function, str(at + 1), values[-1])
        every = one_of((" ".join(step.texts), *step.texts), union(values))
        for name in "@*" if values else "":
            self.put(function, name, every)
        if step.input is not NOTHING:
            self.put(function, "<", step.input)

    def _set(self, step: Step, name: str) -> Value:
        """Return the value that a step gives to a variable."""
        if step.name in _READ:
            key = _inherited(name).marks if step.name == "read" else NO_MARKS
            texts = (step.input.said.strip(), *_listed(step.input))
            return one_of([text for text in texts if text], step.output.marks | key)
        word = next((word for other, word in step.assignments if other.partition("[")[0] == name), None)
        if word is None:
            return step.output
        marks = step.output.marks | (_inherited(name).marks if word.names else NO_MARKS)
        if not step.argv and not word.source:  # the head of a loop over words
            return one_of(word.text.split(), marks)
        if word.text.startswith(("$(", "`")):
            return Value(self.substitution(step).text or UNKNOWN, marks=marks, choices=(word.text,))
        return one_of(self.possible_texts(step, word), marks)

    def _from_files(self, step: Step) -> Iterator[Value]:
        """Yield the contents of the files named by a step."""
        for text in (*step.texts, step.argv[0].text if step.argv else ""):
            name = _FILE_MARK.sub("", text).partition(";")[0] if "@" in text else text
            yield self.file(name.removeprefix("if="))

    def _names(self, step: Step) -> None:
        """Add the secrets that the words of a step name: variables, and files by their names."""
        for word in step.named:
            step.marks |= self.in_word(step, word)
        if step.name in programs("readers") or step.name in programs("fetchers"):
            listed = name_of(step.command.argv) in _LISTED or step.value(*_LISTS) == "-"
            step.fed.update(self._opened(step, listed=listed))
        if step.name in programs("listers") and step.name not in programs("printers"):
            step.fed.update(mark for mark in step.marks if mark.kind == "place")

    def _opens(self, step: Step) -> list[str]:
        """Return the texts in which the step may name files that it reads."""
        name = step.name
        texts = [one.target.text for one in step.command.redirections if one.operator[:1] == "<"]
        reads = name in programs("readers")
        if reads and name in programs("movers"):
            texts += step.operands if step.placed("output") else step.operands[:-1]
        elif reads:
            texts += [one.text for one in step.arguments if not one.option.startswith("--exclude")]
        elif name in programs("fetchers"):
            texts += map(sent_file, step.arguments)
            texts += [
                word for word in step.texts if word[:5].lower() == "file:" or "169.254." in word or "metadata.g" in word
            ]
        elif name in programs("openers"):
            texts += [*step.texts, *(step.command.heredoc or "").split("\n")]
        elif not step.argv:
            texts += [word.text[2:-1].lstrip("< ") for _, word in step.command.assignments if "$(<" in word.text]
        texts += _printing_code(step)
        if step.folder and (reads or name in programs("fetchers")):
            texts = [_joined(step.folder, text) for text in texts]
        if self._is_given(step):
            texts += [word.text for word in step.command.argv[: step.slot(0)]]
        return texts

    def _is_given(self, step: Step) -> bool:
        """Return whether `find` or `fd` passes files to the step to read or send."""
        given = step.name not in FINDERS and name_of(step.command.argv) in FINDERS
        return given and (step.name in programs("readers") or step.name in programs("fetchers"))

    def _read(self, step: Step) -> None:
        """Add the secrets that the step itself reads."""
        name = step.name
        picker = name in programs("pickers") and not _keeps_all(step)
        for text in self._opens(step):
            for place in _secrets(text):
                if picker and not place.grave:
                    step.own.update(_picked(step))
                else:
                    grave = place.grave and not (picker and place.what in _SETTINGS)
                    step.own.add(Mark("secret", place.what, "", grave, whole=not picker))
            if "known_hosts" in text and name in programs("readers"):
                step.own.add(Mark("listing", "the machines that this one knows", text))
        if self._is_given(step):
            step.own.update(map(opened_place, _searched(texts_of(step.command.argv))))
        if (dumped := _dump(step)) is not None:
            step.own.add(dumped)
        step.fed.update(step.own)
        printed_by_code = (_NAMED_IN_CODE.findall(code) for code in _printing_code(step))
        names = step.texts if name == "printenv" else chain.from_iterable(printed_by_code)
        step.fed.update(key for word in names if (key := secret_key(word)) is not None)
        if (taken := _source_code(step)) is not None:
            step.fed.add(taken)

    def _opened(self, step: Step, *, listed: bool) -> Iterator[Mark]:
        """Yield the secret files that a step opens: named in its words, or listed to `xargs`."""
        skipped = {one.target for one in step.command.redirections if one.operator != "<"}
        marks = [mark for word in step.named if word not in skipped for mark in self.in_word(step, word)]
        if listed:
            marks += step.input.marks
        yield from (opened_place(mark) for mark in marks if mark.kind == "place")


_LISTS = ("-T", "--files-from", "-@")
"""Options that name a list of files."""
_DECODING = expression(r"b64decode|base64|unhexlify|fromhex|decompress|unpack\(|decode64|rot_?13", re.IGNORECASE)


_SHOWN = ("crontab", "cat", "at", "batch")
"""Programs that use the text of the files they are given."""
_BRACED = expression(r"\$\{(\w{1,60})\}")


def bare_path(path: str) -> str:
    """Return a path in the form used for lookups: variables spelled one way, without a leading `./`."""
    path = (_BRACED.sub(r"$\1", path) if "${" in path else path).removeprefix("./")
    return f"~{path[5:]}" if path.startswith("$HOME/") else path


def _variables(step: Step) -> Iterator[str]:
    """Yield the variables that a step sets."""
    if not step.argv or step.name in _DECLARATIONS:
        yield from (name.partition("[")[0] for name, _ in step.command.assignments)
    if step.name in _READ:
        yield from step.operands
    elif step.name == "set" and step.command.argv[1:2] and step.command.argv[1].text == "--":
        yield from "@*123456789"
    elif step.name == "printf" and step.texts[:1] == ["-v"] and len(step.texts) > 1:
        yield step.texts[1]


def _files(step: Step) -> Iterator[str]:
    """Yield the lookup names of the files that a step writes: path, name and directory."""
    opened = (
        f"/dev/fd/{one.descriptor}" for one in step.command.redirections if one.operator == "<" and one.descriptor
    )
    for target in (*opened, *(path for path, _ in step.targets)):
        if target and target[0] != "-":
            bare = bare_path(target).rstrip("/")
            yield from _path_names(bare)
            if step.folder:
                yield bare_path(_joined(step.folder, bare))


def _path_names(path: str) -> Iterator[str]:
    """Yield a path, its last component and its directory."""
    folder, _, name = path.rpartition("/")
    yield from (one for one in (path, name, folder if folder not in _COMMON_FOLDERS else "") if one)


_NAMED = ("-O", "--remote-name", "--remote-name-all")
"""Options of curl that name the file after the address."""


@lru_cache(maxsize=4096)
def _secrets(text: str) -> tuple[Place, ...]:
    """Return the places in a text that hold secrets, public keys excluded."""
    if len(text) >= _LONGEST_PATH:
        return ()
    plain = " ".join(word for word in text.split(" ") if not word.endswith(".pub"))
    return tuple(place for place in places(plain) if place.kind == "secret")


def _decodes_in_code(step: Step) -> bool:
    """Return whether a one-line program in Python, Perl or a similar language decodes something."""
    return any(one.language != "shell" and _DECODING.search(one.text) is not None for one in step.inner)


_ANY = Value(marks=frozenset((ENVIRONMENT,)))
"""A variable whose name is in another variable."""


@lru_cache(maxsize=4096)
def _inherited(name: str) -> Value:
    """Return what the environment may hold under a name."""
    key = secret_key(name)
    return Value(marks=frozenset((key,))) if key is not None else NOTHING


def opened_place(mark: Mark) -> Mark:
    """Turn a mark for the name of a secret file into a mark for its content."""
    return Mark("secret", mark.what, "", mark.grave, whole=True) if mark.kind == "place" else mark


def named_places(text: str) -> Iterator[Mark]:
    """Yield the marks of the secret files that a text names."""
    yield from (Mark("place", place.what, place.text, place.grave) for place in _secrets(text))
    for word in text.split() if "*" in text else ():
        yield from _globbed(word)


def _joined(folder: str, path: str) -> str:
    """Resolve a path against the directory that the script changed to."""
    bare = path.removeprefix("@").removeprefix("./")
    return path if not folder or bare.startswith(("/", "~", "$", "-", "http")) or not bare else f"{folder}/{bare}"


_SECRET_WORD = expression(r"[A-Za-z_]*(?:KEY|TOKEN|SECRET|PASS)[A-Za-z_]*", re.IGNORECASE)


def _keeps_all(step: Step) -> bool:
    """Return whether a filter keeps all lines that matter: `grep -v '^#'`, `awk 1`."""
    return step.has("-v", "--invert-match") or not step.operands or not any(map(str.isalpha, step.operands[0]))


def _picked(step: Step) -> Iterator[Mark]:
    """Yield the keys that a filter picks out of a settings file, by the names in its expression."""
    for name in _SECRET_WORD.findall(" ".join(step.texts[:-1]))[:20]:
        if (key := secret_key(name) or secret_key(f"API_{name}")) is not None:
            yield key


def _searched(texts: Sequence[str]) -> Iterator[Mark]:
    """Yield the secret files that `find` looks for."""
    for option, name in pairwise(texts):
        if option in ("-name", "-iname", "-path", "-wholename"):
            for what, names in table()["searches"].items():
                if name.lower() in names:
                    yield Mark("place", what, name, grave=True)
        elif option in ("-e", "--extension"):
            yield from _globbed(f"~/*.{name}")


def _globbed(text: str) -> Iterator[Mark]:
    """Yield the secret files that a glob pattern in a home directory matches."""
    name = text.rpartition("/")[2].lower()
    if "*" in name and text.startswith(("~", "$HOME", "/")):
        for what, names in table()["searches"].items():
            if name in names:
                yield Mark("place", what, text, grave=True)


def _source_code(step: Step) -> Mark | None:
    """Return a mark if the step prints or packs the whole project or the home directory."""
    here = not step.folder or step.folder in _COMMON_FOLDERS
    packed = here and step.name in programs("archivers") and any(word in table()["everything"] for word in step.texts)
    if packed or (step.name == "git" and step.operands[:1] and step.operands[0] in table()["prints_source"]):
        return Mark("file", "the source code of the project", ".", grave=True)
    return None


_NAMED_IN_CODE = expression(
    r"(?:\bos\.(?:environ(?:\.get\(|\[)|getenv\()|\bprocess\.env(?:\.|\[)|\$ENV[{.]|\bENV(?:\[|\.fetch\()|\bENVIRON\["
    r"|\benv\.|\bgetenv\()\s{0,3}[\"']?([A-Za-z_]\w{2,60})"
)
"""An environment variable as one-line programs of various languages spell it."""
_ENVIRONMENT = shape("shell_signs", "environment", 0)
_PRINTS = expression(r"\b(?:p?print\w?|print_r|var_dump|var_export|puts|echo|write|log|say|dump|pp?|dir|table)\b")
_CALL = r"\b(?:{})\b[\w.:>-]{0,60}\s?\((?:[^()]|\((?:[^()]|\([^()]{0,100}\)){0,100}\)){0,200}(?:\)|$)"
_CALLS_OUT = shape("shell_signs", "calls_out", 0, frame=_CALL)
"""A call that passes data to another program, with its arguments."""
_STATEMENT = expression(r"[;\n]")
_MAKES = expression(
    r"\$?(\w{1,40})\s{0,4}(?::?=(?![=~])|\+=|\bin\b)|\bas\s{1,4}(\w{1,40})|\bopen\s?\(\s{0,4}(?:my\s{1,4})?\$?(\w{1,40})"
)
"""A name that is assigned to."""
_NAME = expression(r"[A-Za-z_]\w{0,40}")
_PRINTERS = frozenset(("awk", "gawk", "mawk", "nawk", "jq", "yq", "gojq"))


def _printing_code(step: Step) -> list[str]:
    """Return the one-line programs of a step, reduced to the code that produces their output."""
    if step.name in _PRINTERS:
        return step.operands[:1]
    given = [_CALLS_OUT.sub("", one.text) for one in step.inner if one.language != "shell"]
    return given if step.name == "node" and step.has("-p", "--print") else list(filter(None, map(_shown, given)))


def _shown(code: str) -> str:
    """Return the statements of a program that print, and those that compute what is printed."""
    kept: list[str] = []
    used: set[str] = set()
    for statement in reversed(_STATEMENT.split(code)):
        made = {name for names in _MAKES.findall(statement) for name in names if name}
        if _PRINTS.search(statement) or not used.isdisjoint(made):
            kept.append(statement)
            used.update(_NAME.findall(statement))
    return ";".join(reversed(kept))


def _dump(step: Step) -> Mark | None:
    """Return a mark for what a command prints by its nature."""
    for row in printing(step.name):
        if re.match(row["arguments"], step.plain):
            what, grave = row["what"], row.get("grave", False)
            key = secret_key(what) if what.isupper() else ENVIRONMENT if row.get("kind") == "env" else None
            return key or Mark(row.get("kind", "secret"), what, "", grave, whole=grave)
    return ENVIRONMENT if any(map(_ENVIRONMENT.search, _printing_code(step))) else None
