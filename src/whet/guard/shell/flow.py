"""Data flow through a shell script: what its variables, files, pipes and substitutions hold, and what reaches each command.

Every command becomes a `Step`, a call with values: its arguments, its input and its output. A value has marks (secrets that
were read or are in the environment, fetched content, decoded text) and the text, as far as the script contains it. A
variable or file may hold everything that is ever put into it, so that neither an unused branch nor a later assignment
makes a script look better. Steps are visited until nothing new is added.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import Seen
from whet.guard.shell.clients import fetches, programs
from whet.guard.shell.commands import parse
from whet.guard.shell.constant import decodes, print_constant, read_file, transform
from whet.guard.shell.private import add_private, named_places, opened_place, searched_places, secret_places
from whet.guard.shell.step import (
    COMMON_FOLDERS,
    CONTENT,
    DECLARATIONS,
    READS,
    Step,
    bare_path,
    joined_path,
    path_names,
    variables_of,
    written_names,
)
from whet.guard.shell.words import Known, Word
from whet.guard.shell.wrappers import name_of
from whet.guard.tables import words
from whet.guard.taint.commands import Given
from whet.guard.taint.files import holds_environment
from whet.guard.taint.judges import Judges
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.persist import fetches_on_windows
from whet.guard.taint.secret import secret_key
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, joined, one_of, union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.shell.branches import Branches
    from whet.guard.shell.commands import Script

_VARIABLE = expression(r"\$\{?!?([A-Za-z_]\w{0,60}|[0-9@*])")
_OPTION = expression(
    r"^[ \t]{0,12}-{0,2}([a-z][\w-]{1,40})(?:[ \t]{0,12}[=:][ \t]{0,12}|[ \t]{1,12})\"?([^\"=:\s][^\"\n]{0,2000})",
    re.MULTILINE,
)
_FILE_MARK = expression(r"^[^@\s]{0,60}@")
_LISTED = ("xargs", "parallel")
"""Programs that pass their input to a command as arguments."""
_ORIGINS = frozenset(("fetched", "decoded", "encoded", "assembled"))
"""Kinds of marks that say how a text came about, whoever may read it."""
_BAD = words("shell_signs", "bad")
_WIDEST = 60
_LONGEST_TEXT = 65_536
_MOST_TEXTS = 200
_ROUNDS = 12


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

    def __init__(
        self,
        text: str,
        line: int,
        outer: Scene | None = None,
        given: Given | None = None,
        branches: Branches | None = None,
    ) -> None:
        super().__init__(0, lambda _text, _level: Seen())
        known = Known.within(outer.script.known if outer is not None else None, branches)
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
        self._last: dict[int, int] = {}
        """The position of the last command in each pipeline."""
        self._sure: dict[str, int] = {}
        """The first step that sets each variable, whichever branches are taken."""
        self._called: dict[str, Step] = {}
        """The first call of each function that is in no branch."""
        self._asked: set[str] = set()
        """The names that steps have looked up so far."""
        self._again = False
        """A value changed after a step had looked it up."""
        self._connect(given.folder if given is not None else "")
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
            for name in path_names(bare_path(path)):
                self.put(self.written, name, value)
        for name, marks in given.variables.items():
            self.put(self.variables, name, Value(marks=marks))
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
            return value if self._sets(name, step) else joined(value, _inherited(name))
        if name[0] == "!":
            return _ANY if self.find(self.scope(step), name[1:]) is not NOTHING else NOTHING
        return NOTHING if name in self._outer else _inherited(name)

    def _sets(self, name: str, step: Step) -> bool:
        """Return whether a variable has been set when a step runs, whichever branches were taken."""
        if name in self._outer or _inherited(name) is NOTHING:
            return True
        used = self._called.get(step.command.function) if step.command.function else step
        return name in self._sure and (used is None or self._sure[name] < used.number)

    def file(self, path: str) -> Value:
        """Return what was written to a path or into something in it, or else into its directory, or else into a file of the
        same name."""
        bare = bare_path(path).rstrip("/*")
        found = self.find(self.written, bare)
        if found is NOTHING and "/" in bare:
            folder, _, name = bare.rpartition("/")
            found = self.find(self.written, folder) if folder not in COMMON_FOLDERS else NOTHING
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
            Mark("secret", place.what, "", place.grave, True) for place in secret_places(joined_path(step.folder, path))
        )
        marks.update((ENVIRONMENT,) if holds_environment(path) else ())
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

    def _connect(self, folder: str) -> None:
        """Set the directory and the device of each step, and find the ends of the pipelines; the script starts in `folder`."""
        opened: dict[str, str] = {}
        for step in self.steps:
            step.connect(opened)
            if not step.command.block:
                self._called.setdefault(step.name, step)
                for name in variables_of(step):
                    self._sure.setdefault(name, step.number)
            for number, at in step.command.pipes:
                self._last[number] = max(at, self._last.get(number, 0))
        self._enter(folder)

    def _enter(self, folder: str) -> None:
        """Set the directory of each step: what a branch changes to does not count after it."""
        entered: dict[tuple[tuple[int, int, int], ...], tuple[int, str]] = {(): (-1, folder)}
        left: dict[str, str] = {}
        for step in self.steps:
            block, function = step.command.block, step.command.function
            if step.name in ("cd", "pushd"):
                left[function] = step.operands[0] if step.operands else "~"
                entered[block] = step.number, left[function]
            elif step.name in self.functions and step.name in left and step.name != function:
                entered[block] = step.number, left[step.name]
            step.folder = max(entered[one] for at in range(len(block) + 1) if (one := block[:at]) in entered)[1]
        for step in self.steps:
            if not step.folder and (call := self._called.get(step.command.function)) is not None:
                step.folder = call.folder

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
        add_private(step)
        lists = step.name in programs("listers")
        if lists or not step.argv or step.name in DECLARATIONS:
            words = (*step.argv, *(word for _, word in step.command.assignments))
            for word in (*words, *(one.target for one in step.command.redirections)):
                step.marks.update(named_places(word.text))
        if lists and step.name not in programs("printers"):
            step.marks.update(searched_places(step.texts))

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
        if step.name == "envsubst":
            step.fed.update(*(self.variable(step, name).marks for name in _put_in(step)))
        if step.name in READS:
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
        for name in variables_of(step):
            self.put(self.variables, name, self._set(step, name))
        for name in written_names(step) if step.targets or command.redirections else ():
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
        if step.name in READS:
            key = _inherited(name).marks if step.name == "read" else NO_MARKS
            texts = (step.input.said.strip(), *_listed(step.input))
            return one_of([text for text in texts if text], step.output.marks | key)
        if step.name == "getopts":
            return self.find(self.scope(step), "@")
        word = next((word for other, word in step.assignments if other.partition("[")[0] == name), None)
        if word is None:
            return step.output
        if step.name in DECLARATIONS and step.has("-n"):  # another name for a variable
            return Value(marks=union(self.variable(step, text) for text in self.possible_texts(step, word) if text))
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

    def _opened(self, step: Step, *, listed: bool) -> Iterator[Mark]:
        """Yield the secret files that a step opens: named in its words, or listed to `xargs`."""
        skipped = {one.target for one in step.command.redirections if one.operator != "<"}
        marks = [mark for word in step.named if word not in skipped for mark in self.in_word(step, word)]
        if listed:
            marks += step.input.marks
        yield from (opened_place(mark) for mark in marks if mark.kind == "place")


def _put_in(step: Step) -> Iterator[str]:
    """Yield the variables that `envsubst` puts into its input."""
    chosen = _VARIABLE.findall(" ".join(step.operands))
    yield from (name for name in _VARIABLE.findall(step.input.said) if not chosen or name in chosen)


_LISTS = ("-T", "--files-from", "-@")
"""Options that name a list of files."""
_DECODING = expression(r"b64decode|base64|unhexlify|fromhex|decompress|unpack\(|decode64|rot_?13", re.IGNORECASE)


_SHOWN = ("crontab", "cat", "at", "batch")
"""Programs that use the text of the files they are given."""


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
