"""Data flow through a shell script: where the input of each command comes from, and which secrets are in it.

Every command becomes a `Step` that records the data that reaches it by pipe, substitution, variable, function argument or
file: secrets that were read or are in the environment, fetched content, decoded text. Rules then ask a step instead of
looking at its neighbours. A variable or file may hold everything that is ever put into it, so that neither an unused branch
nor a later assignment makes a script look better. Steps are visited until nothing new is added.
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
from whet.guard.shell.command import Command
from whet.guard.shell.commands import parse
from whet.guard.shell.constant import decodes, printed, read_file
from whet.guard.shell.words import Known, Word
from whet.guard.shell.wrappers import FINDERS, inner, name_of, peel, texts_of
from whet.guard.tables import shape, words
from whet.guard.taint.call import Call, find_rows
from whet.guard.taint.commands import Given
from whet.guard.taint.judges import Judges
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.secret import secret_key
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whet.guard.places import Place
    from whet.guard.shell.commands import Script

_VARIABLE = expression(r"\$\{?!?([A-Za-z_]\w{0,60}|[0-9@*])")
_OPTION = expression(
    r"^[ \t]{0,12}-{0,2}([a-z][\w-]{1,40})(?:[ \t]{0,12}[=:][ \t]{0,12}|[ \t]{1,12})\"?([^\"=:\s][^\"\n]{0,2000})",
    re.MULTILINE,
)
_FILE_MARK = expression(r"^[^@\s]{0,60}@")
_DEVICE = expression(r"/dev/(?:tcp|udp)/([^/\s]{1,200})")
_DIGEST = expression(r"dgst|sha\d|md5|mac\b|rand\b|passwd")
_DECLARATIONS = frozenset(("export", "declare", "local", "readonly", "typeset"))
_SETTINGS = frozenset({"the agent's own keys", "Docker credentials", "Kubernetes credentials", "git credentials"})
_COMMON_FOLDERS = frozenset(("", ".", "..", "/", "/tmp", "/var/tmp", "~", "$HOME", "${HOME}", "/home", "/root"))  # noqa: S108  names in scripts that are read, nothing is opened
CONTENT = frozenset(("secret", "env", "captured", "file"))
"""Kinds of marks that stand for private content itself, not for its name."""
_BAD = words("shell_signs", "bad")
_WIDEST = 60
_CONNECTIONS = 1_000_000
_DEEPEST = 200
_LONGEST_PATH = 2_000
_ROUNDS = 12
_ORIGINS = 12
"""Number of origins of a variable or file up to which unremarkable steps are remembered."""


class Step(Call):
    """One command and all the data that reaches it."""

    __slots__ = (
        "arguments", "argv", "assignments", "before", "below", "command", "device", "fed", "feeders", "inner",
        "leaves", "marks", "named", "number", "operands", "own", "plain", "rows", "sources", "spelled", "targets", "texts", "visited",
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
        self.before: list[Step] = []
        """All commands before it in its pipelines."""
        self.feeders: list[Step] = []
        """The commands that are piped directly into it."""
        self.below: list[Step] = []
        """The command substitutions in its arguments."""
        self.marks: dict[Mark, None] = {}
        """The secrets in its input and its arguments."""
        self.fed: dict[Mark, None] = {}
        """The secrets that it prints even if its arguments are not part of its output."""
        self.own: dict[Mark, None] = {}
        """The secrets that the command itself reads."""
        self.sources: dict[str, Mark] = {}
        """The origins of fetched (`fetched`) and decoded (`decoded`) content that passes through it."""
        words = (*command.argv, *(word for _, word in command.assignments))
        self.named = [word for word in (*words, *(one.target for one in command.redirections)) if word.names]
        """Its words that contain variables."""
        self.visited = False
        self.leaves: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        """The variables and the names of the files that it writes."""
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
        return self.sources.get("fetched")

    @property
    def loops(self) -> bool:
        """Whether the step is the head of a loop over words."""
        return not self.argv and any(not word.source for _, word in self.command.assignments)

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
            if ">" in one.operator and not one.operator.startswith("<") and one.target.text not in ("1", "2", "-"):
                yield one.target.text, ">>" in one.operator
        rows = [row for row in self.rows if row.does == "write"]
        output = [path for path in self.placed("output") if path != "-"]
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
        if self.fetched is not None and not output and (self.name == "wget" or self.has(*_NAMED)):
            yield self.fetched.subject.partition("?")[0].rstrip("/").rpartition("/")[2], False

    def connect(self, opened: dict[str, str]) -> None:
        """Set the host that the step writes to; `opened` are the hosts of descriptors that earlier steps opened."""
        for one in self.command.redirections:
            found = _DEVICE.match(one.target.text)
            self.device = self.device or (found[1] if found else opened.get(one.target.text, ""))
            if found and (self.name == "exec" or not self.argv):
                opened[one.descriptor] = found[1]

    def grave(self) -> str:
        """Return the name of the first grave secret whose content reaches the step."""
        return next((mark.what for mark in self.marks if mark.grave and mark.kind in CONTENT), "")

    def carries(self) -> bool:
        """Return whether the step reads or prints a secret. Most steps do not, and every later step asks."""
        return bool(self.marks or self.fed or self.own)

    def passed(self) -> Iterable[Mark]:
        """Return the secrets in the output of the step."""
        if self.name in programs("stoppers") or (
            self.name == "openssl" and (_DIGEST.match(" ".join(self.texts[:1])) or self.has("-noout", "-pubout"))
        ):
            return ()
        if self.name in programs("fetchers"):
            return self.own if self.own and not sends(self.name, self.arguments) else ()
        marks = self.marks if self.name in programs("printers") else self.fed
        if self.name in ("jq", "yq") and not any(re.search(r"\.data\b|^\.$|@base64", word) for word in self.texts):
            return [mark for mark in marks if mark.what != "Kubernetes secrets"]
        return marks


def _printed(step: Step, files: Mapping[str, str]) -> list[Word]:
    """Return the words that are piped into a step, if they are literal or in files whose text is known."""
    found: list[Word] = []
    for one in step.feeders:
        if one.name in ("echo", "printf", "ls"):
            found += [word for word in one.spelled if not word.text.startswith("-")]
        elif one.name == "cat":
            found += [Word(line) for path in one.operands for line in (read_file(path, files) or "").split()[:_WIDEST]]
        elif one.name == "git" and one.texts in (["ls-files"], ["ls-files", "-z"]):
            found.append(Word("$(git ls-files)", known=False, substituted=True))
    return found


def _configured(text: str) -> Iterator[Word]:
    """Yield the options in a curl configuration file as words."""
    for option, value in _OPTION.findall(text[:20_000]):
        word = f"--{option}={value}"
        yield Word(word, "$" not in value, word, tuple(_VARIABLE.findall(value)))


def _origin(marks: Iterable[Mark], text: str | None = None) -> Step:
    """Return a step that stands for input from outside the script."""
    step = Step(-1, Command((), (), (), text, 0, ""))
    step.marks.update(dict.fromkeys(marks))
    step.fed.update(step.marks)
    step.sources = {mark.kind: mark for mark in step.marks if mark.kind in ("fetched", "decoded")}
    return step


class Scene(Judges):
    """A script under judgement: its steps and the findings so far."""

    language = "shell"
    typed = True

    def __init__(self, text: str, line: int, outer: Scene | None = None, given: Given | None = None) -> None:
        super().__init__(0, lambda _text, _level: Seen())
        known = Known.within(outer.script.known if outer is not None else None)
        known.files.update(given.shipped.texts if given is not None and given.shipped is not None else {})
        self._outer = frozenset(known.variables)
        self.script: Script = parse(text, known, splice=True)
        self.first = line
        self.variables: dict[str, list[Step]] = {}
        """The steps whose output each variable may hold."""
        self.writers: dict[str, list[Step]] = {}
        """The steps that write each file."""
        self.steps = [Step(number, command) for number, command in enumerate(self.script.commands)]
        self.step = _origin(())
        """The step that is being judged."""
        self._asked: set[str] = set()
        """The variables and files that steps have looked up so far."""
        self._again = False
        """A variable, file or function changed after a step had looked it up."""
        self._bodies: dict[str, list[Step]] = {}
        """The steps of each function whose output is the output of the function."""
        self._calls: dict[str, list[Step]] = {}
        if outer is not None:
            self.variables.update((name, list(steps)) for name, steps in outer.variables.items())
            self.writers.update((name, list(steps)) for name, steps in outer.writers.items())
        self._connect()
        if given is not None:
            self._take(given)
        for step in self.steps:
            if step.feeders and name_of(step.command.argv) in ("xargs", "parallel"):
                step.take(_printed(step, self.script.known.files))
            if path := next(iter(step.placed("config")), ""):
                step.take(list(_configured(self.content(step) if path == "-" else self._text_of(path))))
        order = list(self._ordered())
        for step in order:
            self._prepare(step)
        self._writes = bool(self.writers) or any(step.leaves[1] for step in order)
        for _ in range(_ROUNDS):
            self._again = False
            for step in order:
                self._visit(step)
            if not self._again:
                break

    def _take(self, given: Given) -> None:
        """Start with the data that the script is given."""
        if given.marks:
            self.variables[HOLE] = [_origin(given.marks)]
        for path in {**given.files, **given.texts}:
            origin = _origin(given.files.get(path, ()), given.texts.get(path))
            self.writers.update((name, [origin]) for name in _path_names(bare_path(path)))
        for step in self.steps if given.fed else ():
            if not step.feeders and step.command.parent < 0:
                step.feeders = [_origin(given.fed)]

    def printed(self) -> Iterator[Mark]:
        """Yield the secrets in the output of the script, and the origins of fetched content in it."""
        for step in self.steps:
            inside = step.command.parent >= 0 or any(at != self._last[number] for number, at in step.command.pipes)
            if inside or step.leaves[1]:
                continue
            yield from (
                mark._replace(whole=True) for mark in step.passed() if mark.kind in CONTENT or mark.kind == "key"
            )
            if step.fetched is not None:
                yield step.fetched._replace(whole=True)

    def left(self, before: Given | None = None) -> Given:
        """Return the files that the script writes, with their marks and constant texts, in addition to those from `before`."""
        files, texts = (dict(before.files), dict(before.texts)) if before is not None else ({}, {})
        for step in (one for one in self.steps if one.leaves[1]):
            sources = (mark for mark in step.sources.values() if mark.whole or mark.kind == "decoded")
            marks = frozenset((*(mark for mark in step.passed() if mark.kind in CONTENT), *sources))
            text = self.content(step)
            for path in (bare_path(target) for target, _ in step.targets):
                if marks:
                    files[path] = files.get(path, NO_MARKS) | marks
                if text:
                    texts[path] = f"{texts.get(path, '')}{text}\n"
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
        return bool(script) and any(hit.rule in _BAD for hit in self.read_inner(script, 1).hits)

    def look(self, _text: str, _python: bool) -> bool:
        """Return `False`: a script that is written is read together with the step that writes it."""
        return False

    def content(self, step: Step, depth: int = 3, seen: frozenset[Step] = frozenset()) -> str:
        """Return the text that a step writes, if the script contains it: a here-document, or the arguments of `echo`."""
        whole = (*step.before, step)
        stages = [[one.name, *one.texts] for one in whole if all(word.known for word in one.argv)]
        if len(stages) == len(whole) and (text := printed(stages, self.script.known.files)):
            return text
        found: list[str] = []
        if not step.argv:
            found += [text.text for _, text in step.command.assignments if not text.substituted and not step.loops]
            found += [self.content(one, depth - 1, seen) for one in step.below if depth and not one.before]
        for one in (step, *step.before):
            found.append(one.command.heredoc or "")
            if one.name in ("echo", "printf"):
                found.append(printed([[one.name, *map(self._said, one.spelled)]], {}) or "")
            found += [two.target.text for two in one.command.redirections if two.operator == "<<<"]
            found += [self._text_of(two.target.text) for two in one.command.redirections if two.operator == "<"]
            copied = one.texts if depth and (one.name in programs("movers") or one.name in _SHOWN) else ()
            origins = {word: self.writers.get(bare_path(word), ())[:4] for word in copied}
            found += [self._text_of(word) for word in copied if not origins[word]]
            new = {origin: None for word in copied for origin in origins[word] if origin not in seen}
            found += [self.content(origin, depth - 1, seen.union((step, *new))) for origin in new]
        return "\n".join(part for part in found if part)

    def _text_of(self, path: str) -> str:
        """Return the text of a file of the package."""
        return read_file(path, self.script.known.files) or ""

    def _said(self, word: Word) -> str:
        """Return the text of a word; for a variable, the known part of its value."""
        name = "" if word.known else word.alone
        origins = self.variables.get(name, ()) if name else ()
        texts = [text.text for one in origins for other, text in one.command.assignments if other == name]
        return next((text for text in reversed(texts) if not text.startswith(("$(", "`"))), word.text)

    def given(self, step: Step, name: str, *, whole: bool = True) -> list[str]:
        """Return the arguments for parameter `name` in all calls of the function of `step`; with `whole`, one text per call."""
        found: list[str] = []
        for call in self._calls.get(step.command.function, ()) if name in "123456789@*" else ():
            texts = call.texts if name in "@*" else call.texts[int(name) - 1 : int(name)]
            found += [" ".join(texts)] if whole else texts
        return found

    def _operands(self, step: Step) -> Iterator[Value]:
        """Yield the operands of a step with all their possible texts."""
        for one in step.arguments:
            if not one.option:
                text, *others = self.possible_texts(step, step.spelled[one.at], 3)
                yield Value(text, choices=tuple(others))

    def possible_texts(self, step: Step, word: Word, depth: int) -> Iterator[str]:
        """Yield the texts that a word may have: items of a loop, input of `read`, arguments of the function around it."""
        yield word.text
        name = word.alone if depth else ""
        if name:
            yield from self.given(step, name, whole=False)
            for one in self.variables.get(name, ()):
                for _, text in (pair for pair in one.command.assignments if pair[0] == name):
                    yield from text.text.split() if one.loops else self.possible_texts(one, text, depth - 1)
                if one.name == "read":
                    yield from (two.target.text for two in one.command.redirections if two.operator == "<<<")
                    yield from texts_of(_printed(one, self.script.known.files))

    def written(self, path: str) -> list[Step]:
        """Return the steps that write a path or something in it, or else in its directory, or else a file of the same name."""
        bare = bare_path(path).rstrip("/*")
        self._asked.add(bare)
        found = self.writers.get(bare, [])
        if not found and "/" in bare:
            folder, _, name = bare.rpartition("/")
            self._asked.update((folder, name))
            found = self.writers.get(folder, []) if folder not in _COMMON_FOLDERS else []
            return found or (self.writers.get(name, []) if "." in name else [])
        return found

    def in_word(self, step: Step, word: Word, at: int) -> dict[Mark, None]:
        """Return the secrets in a word of a step: its `at`-th argument, or -1 for any other word."""
        return {mark: None for mark, _ in self.placed(step, word, at)}

    def placed(self, step: Step, word: Word, at: int) -> Iterator[tuple[Mark, str]]:
        """Yield the secrets in a word, each with the text before it in that word."""
        for name in dict.fromkeys(word.names):
            marks = dict.fromkeys(self._in_variable(step, name))
            if marks:
                sign = HOLE if name == HOLE else rf"\$[{{!#]{{0,3}}{re.escape(name)}(?!\w)"
                before = re.split(sign, word.source, maxsplit=1)
                yield from ((mark, before[0] if len(before) > 1 else "") for mark in marks)
        for one in step.below if at >= 0 else ():
            if one.command.slot == step.slot(at):
                before = re.split(r"\$\(|`|<\(", word.source, maxsplit=1)
                yield from ((mark, before[0] if len(before) > 1 else "") for mark in one.passed())

    def in_file(self, step: Step, path: str, word: Word, at: int) -> dict[Mark, None]:
        """Return the secrets in a file that a word of a step names."""
        found: dict[Mark, None] = {}
        for origin in self.written(path):
            found.update(dict.fromkeys(mark for mark in origin.passed() if mark.kind != "place"))
        for place in _secrets(_joined(step.folder, path)):
            found[Mark("secret", place.what, "", place.grave, True)] = None
        found.update(dict.fromkeys(map(_opened, self.in_word(step, word, at))))
        return found

    def stdin(self, step: Step) -> dict[Mark, None]:
        """Return the secrets that are piped or redirected into a step."""
        calls = self._calls.get(step.command.function, ()) if not step.feeders else ()
        feeders = [*step.feeders, *(one for call in calls if call is not step for one in call.feeders)]
        found = {mark: None for one in feeders for mark in one.passed()}
        for one in step.command.redirections:
            if one.operator.startswith("<") and one.operator != "<<<":
                path = f"/dev/fd/{one.target.text}" if one.operator == "<&" else one.target.text
                found.update(self.in_file(step, path, one.target, -1))
                found.update((mark, None) for two in step.below if two.command.slot < 0 for mark in two.passed())
            elif one.operator == "<<<":
                found.update(self.in_word(step, one.target, -1))
        for two in step.below if step.command.heredoc else ():
            if "heredoc" in two.command.inside:
                found.update(dict.fromkeys(two.passed()))
        for name in _VARIABLE.findall((step.command.heredoc or "")[:20_000]):
            found.update(dict.fromkeys(self._in_variable(step, name)))
        return found

    def _in_variable(self, step: Step, name: str) -> Iterator[Mark]:
        self._asked.add(name)
        origins = self.variables.get(name, ())
        for origin in origins:
            if origin is not step and origin.carries():
                yield from origin.passed()
        if name in "123456789@*" and step.command.function:
            for call in self._calls.get(step.command.function, ()):
                for at, word in enumerate(call.spelled):
                    if call is not step and name in ("@", "*", str(at + 1)):
                        yield from self.in_word(call, word, at)
                        yield from _paths(word.text)
        elif name[0] == "!":
            if self.variables.get(name[1:]):
                yield ENVIRONMENT
        elif (key := secret_key(name)) is not None and name not in self._outer:
            asked = any(one.name == "read" or any(word.names for _, word in one.command.assignments) for one in origins)
            if not origins or asked:
                yield key

    def _connect(self) -> None:
        stages: dict[int, list[tuple[int, Step]]] = {}
        opened: dict[str, str] = {}
        folder = ""
        for step in self.steps:
            command = step.command
            step.connect(opened)
            if step.name in ("cd", "pushd"):
                folder = step.operands[0] if step.operands else "~"
            step.folder = folder
            for number, position in command.pipes:
                stages.setdefault(number, []).append((position, step))
            if step.name in self.script.functions:
                self._calls.setdefault(step.name, []).append(step)
        for members in stages.values():
            by_place: dict[int, list[Step]] = {}
            for position, step in members:
                by_place.setdefault(position, []).append(step)
            wide = len(members) ** 2 > _CONNECTIONS
            for position, step in members:
                feeders = by_place.get(position - 1, [])
                step.feeders += [*feeders[:_WIDEST], *feeders[-_WIDEST:]] if wide else feeders
                step.before += [other for place in range(position) for other in by_place.get(place, [])[:_WIDEST]]
            if wide:
                self.script = self.script._replace(stopped="a pipeline is too wide")
        last = self._last = {number: max(at for at, _ in members) for number, members in stages.items()}
        for step in self.steps:
            above = step.command.parent
            if step.command.function and above < 0:
                if all(at == last[number] for number, at in step.command.pipes):
                    self._bodies.setdefault(step.command.function, []).append(step)
            elif 0 <= above < len(self.steps) and above != step.number:
                around = self.steps[above].command.pipes
                if all(at == last[number] for number, at in step.command.pipes if (number, at) not in around):
                    self.steps[above].below.append(step)

    def _ordered(self) -> Iterator[Step]:
        done = [False] * len(self.steps)
        for first in self.steps:
            stack = [first]
            while stack:
                step = stack[-1]
                waiting = next((one for one in (*step.below, *step.feeders) if not done[one.number]), None)
                if waiting is not None and not done[step.number] and len(stack) < _DEEPEST:
                    stack.append(waiting)
                    continue
                stack.pop()
                if not done[step.number]:
                    done[step.number] = True
                    yield step

    def _prepare(self, step: Step) -> None:
        """Set the data that a step has independently of other steps."""
        if step.name in programs("fetchers"):
            step.sources = {mark.kind: mark for mark in fetches(step.name, step.arguments)[:1]}
        step.targets = tuple(step.find_targets())
        if step.argv and (decodes([step.name, *step.texts]) or _decodes_in_code(step)):
            step.sources["decoded"] = Mark("decoded", "a decoder")
        self._read(step)
        lists = step.name in programs("listers")
        if lists or not step.argv or step.name in _DECLARATIONS:
            words = (*step.argv, *(word for _, word in step.command.assignments))
            for word in (*words, *(one.target for one in step.command.redirections)):
                step.marks.update(dict.fromkeys(_paths(word.text)))
        if lists and step.name not in programs("printers"):
            step.marks.update(dict.fromkeys(_searched(step.texts)))
        given = [name for name, _ in step.assignments] if step.name in self._calls else ()
        step.leaves = tuple(dict.fromkeys((*_variables(step), *given))), tuple(dict.fromkeys(_files(step)))

    def _visit(self, step: Step) -> None:
        """Add the data that reaches a step from other steps."""
        before = (len(step.marks), len(step.fed), len(step.sources))
        step.visited = True
        self._again = self._again or not all(one.visited for one in (*step.before, *step.below))
        named = {} if step.name in programs("stoppers") else dict.fromkeys(self._from_variables(step))
        shown = named if not step.argv or step.name in programs("printers") or step.name in programs("readers") else {}
        elsewhere = dict.fromkeys(self._from_elsewhere(step))
        for origin in (*step.below, *elsewhere, *shown):
            if origin.carries():
                step.fed.update(dict.fromkeys(origin.passed()))
        step.fed.update(self.stdin(step))
        for origin in (*step.before, *step.below, *elsewhere, *named):
            step.sources = {**origin.sources, **step.sources}
        self._names(step)
        step.marks.update(step.fed)
        grew = before != (len(step.marks), len(step.fed), len(step.sources))
        if grew and (step.command.function or step.name in self._bodies):
            self._again = True
        for room, names in zip((self.variables, self.writers), step.leaves, strict=True):
            for name in names:
                if (_add(room, name, step) or grew) and name in self._asked and _matters(step):
                    self._again = True

    def _from_variables(self, step: Step) -> Iterator[Step]:
        """Yield the steps whose output the variables in a step may hold."""
        for word in step.named:
            for name in word.names:
                self._asked.add(name)
                yield from (one for one in self.variables.get(name, ()) if one is not step)

    def _from_elsewhere(self, step: Step) -> Iterator[Step]:
        """Yield the steps whose output reaches a step through files and functions."""
        if self._writes:
            for text in (*step.texts, step.argv[0].text if step.argv else ""):
                name = _FILE_MARK.sub("", text).partition(";")[0] if "@" in text else text
                yield from (one for one in self.written(name.removeprefix("if=")) if one is not step)
            for redirection in step.command.redirections:
                if redirection.operator.startswith("<"):
                    yield from (one for one in self.written(redirection.target.text) if one is not step)
        if step.name in self._bodies and step.command.function != step.name:
            yield from self._bodies[step.name][:_WIDEST]
        if step.command.function:
            for call in self._calls.get(step.command.function, ()):
                yield from call.feeders

    def _names(self, step: Step) -> None:
        """Add the secrets that the words of a step name: variables, and files by their names."""
        for word in step.named:
            step.marks.update(self.in_word(step, word, -1))
        if step.name in programs("readers") or step.name in programs("fetchers"):
            listed = name_of(step.command.argv) in ("xargs", "parallel") or step.value(*_LISTS) == "-"
            step.fed.update(dict.fromkeys(self._opened(step, listed=listed)))
        if step.name in programs("listers") and step.name not in programs("printers"):
            step.fed.update((mark, None) for mark in step.marks if mark.kind == "place")

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
                    step.own.update(dict.fromkeys(_picked(step)))
                else:
                    grave = place.grave and not (picker and place.what in _SETTINGS)
                    step.own[Mark("secret", place.what, "", grave, whole=not picker)] = None
            if "known_hosts" in text and name in programs("readers"):
                step.own[Mark("listing", "the machines that this one knows", text)] = None
        if name in ("read", "mapfile", "readarray"):
            for line in self.content(step).split("\n")[:_WIDEST]:
                step.fed.update(dict.fromkeys(_paths(f"~/{line}")))
        if self._is_given(step):
            step.own.update(dict.fromkeys(map(_opened, _searched(texts_of(step.command.argv)))))
        if (dumped := _dump(step)) is not None:
            step.own[dumped] = None
        step.fed.update(step.own)
        printed_by_code = (_NAMED_IN_CODE.findall(code) for code in _printing_code(step))
        names = step.texts if name == "printenv" else chain.from_iterable(printed_by_code)
        step.fed.update((key, None) for word in names if (key := secret_key(word)) is not None)
        if (taken := _source_code(step)) is not None:
            step.fed[taken] = None

    def _opened(self, step: Step, *, listed: bool) -> Iterator[Mark]:
        """Yield the secret files that a step opens: named in its words, or listed to `xargs`."""
        skipped = {one.target for one in step.command.redirections if one.operator != "<"}
        marks = [mark for word in step.named if word not in skipped for mark in self.in_word(step, word, -1)]
        if listed:
            marks += [mark for one in step.feeders for mark in one.passed()]
        yield from (_opened(mark) for mark in marks if mark.kind == "place")


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
    if step.name in ("read", "mapfile", "readarray"):
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
        if target and target[0] != "-" and target != "/dev/null":
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


def _matters(step: Step) -> bool:
    return bool(step.marks or step.fed or step.own or step.sources)


def _add(room: dict[str, list[Step]], name: str, step: Step) -> bool:
    """Record a step as an origin of a variable or file, and return whether it is new."""
    steps = room.setdefault(name, [])
    if step not in steps and len(steps) < (_DEEPEST if _matters(step) else _ORIGINS):
        steps.append(step)
        return True
    return False


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


def _opened(mark: Mark) -> Mark:
    """Turn a mark for the name of a secret file into a mark for its content."""
    return Mark("secret", mark.what, "", mark.grave, whole=True) if mark.kind == "place" else mark


def _paths(text: str) -> Iterator[Mark]:
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
_PRINTS = expression(r"\b(?:p?print\w?|puts|echo|write|log|say|dump|pp?|dir|table)\b")
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
    """Return a mark for the secrets that a command prints by its nature."""
    for row in printing(step.name):
        if re.match(row["arguments"], step.plain):
            what, grave = row["what"], row.get("grave", False)
            key = secret_key(what) if what.isupper() else ENVIRONMENT if row.get("kind") == "env" else None
            return key or Mark(row.get("kind", "secret"), what, "", grave, whole=grave)
    return ENVIRONMENT if any(map(_ENVIRONMENT.search, _printing_code(step))) else None
