"""Follow values through programs in languages without a parser here, statement by statement.

A statement is a line, or several lines while a bracket is open. Names on its left side get the marks of its right
side: a secret file, the whole environment, something fetched or decoded, a connection. Arguments of a function go to
its parameters, and its results to its callers. Commands are read with the values that are inserted into their texts.
This is coarse, and enough for code that reads a key and posts it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.finding import Seen
from whet.guard.hosts import URL, host_of
from whet.guard.literals import vocabulary
from whet.guard.places import hints_in, places
from whet.guard.tables import api, shape
from whet.guard.taint.call import Call, Row
from whet.guard.taint.commands import PRIVATE
from whet.guard.taint.execute import run_program, run_shell
from whet.guard.taint.files import plain_path
from whet.guard.taint.judges import Judges
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.network import judge_request
from whet.guard.taint.secret import secret_key
from whet.guard.taint.value import NOTHING, Value, union

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


class Statement(NamedTuple):
    """A statement of a program, with its properties that need no context."""

    line: int
    text: str
    inside: str
    """The function that contains the statement."""
    names: frozenset[str]
    marks: frozenset[Mark]
    sends: bool
    puts: bool
    """Whether it puts data into a file or connection that it names."""
    writes: bool
    runs: bool


LONGEST = 20_000
"""Maximum length of a constant text."""
LARGEST = 100_000
"""Maximum number of characters of a program that are read."""


def follow(text: str) -> Seen:
    """Return the hits and facts of a program, by where the data goes that it reads, fetches and decodes."""
    return _Flow(text[:LARGEST]).run()


def worth(text: str, words: Collection[str]) -> bool:
    """Return whether a program takes sensitive data and uses it, or runs a command that is worth reading."""
    names = frozenset(NAME.findall(text))
    runs = not names.isdisjoint(RUNNING_NAMES) or "`" in text
    if runs and not BUSY.isdisjoint(words):
        return True
    takes = not names.isdisjoint(TAKING_NAMES) or bool(hints_in((text,)))
    return takes and (runs or not names.isdisjoint(SENDING_NAMES))


def _own(text: str, names: frozenset[str], hints: Collection[str]) -> frozenset[Mark]:
    """Return the marks of the sources that a text names; `hints` are the place hints found in the whole program."""
    joined = JOINT.sub("/", text) if hints else ""
    marks = {
        Mark("secret", place.what, place.text, place.grave, whole=True)
        for place in (places(joined, hints) if hints else ())
        if place.kind == "secret" and place.what != "cloud metadata" and (place.grave or READS.search(text))
    }
    if BEGINNING.search(joined):
        marks.add(Mark("secret", "SSH keys", ".ssh", grave=True, whole=True))
    if names.isdisjoint(TAKING_NAMES):
        return frozenset(marks)
    if ALL_VARIABLES.search(text):
        marks.add(ENVIRONMENT)
    marks |= {mark for name in VARIABLE.findall(text) if (mark := secret_key(name)) is not None}
    if FETCHES.search(text):
        url = URL.search(text)
        near = url is not None and host_of(url[0]).near
        marks.add(Mark("served" if near else "fetched", "the network", url[0][:300] if url else ""))
    if DECODES.search(text):
        marks.add(Mark("decoded", "a decoder"))
    return frozenset(marks)


def _statements(text: str, hints: Collection[str]) -> list[Statement]:
    """Return the statements of a program: lines, joined while a bracket is open or the next line begins with a dot."""
    rows: list[tuple[int, str]] = []
    kept: list[str] = []
    first = depth = 0
    for number, row in enumerate(text.split("\n"), 1):
        bare = row.strip()
        if not kept:
            if not bare or bare.startswith(("//", "#", "--", "/*", "* ", "*/")):
                continue
            if rows and bare.startswith((".", "->", "|>")) and len(rows[-1][1]) < 4000:
                rows[-1] = (rows[-1][0], f"{rows[-1][1]}\n{row[:2000]}")
                continue
            first = number
        kept.append(row[:2000])
        plain = STRING.sub("''", row)
        depth += plain.count("(") + plain.count("[") - plain.count(")") - plain.count("]")
        if depth <= 0 or len(kept) > 12:
            whole = "\n".join(kept)
            several = len(kept) == 1 and "; " in plain and "for" not in plain and "{" not in plain
            rows += [(first, part) for part in whole.split("; ")[:20]] if several else [(first, whole)]
            kept, depth = [], 0
    found: list[Statement] = []
    inside = ""
    for line, part in rows:
        names = frozenset(NAME.findall(part))
        defined = DEFINED.search(part) if not names.isdisjoint(DEFINING) else None
        inside = (defined[1] or defined[3]) if defined else inside
        sends = not names.isdisjoint(SENDING_NAMES) and (SENDS.search(part) or FETCHES.search(part)) is not None
        puts = not names.isdisjoint(PUTTING)
        writes = not names.isdisjoint(WRITING_NAMES) and WRITES.search(part) is not None
        runs = not names.isdisjoint(RUNNING_NAMES) and (RUNS.search(part) or EVALUATES.search(part)) is not None
        own = _own(part, names, hints)
        found.append(Statement(line, part, inside, names, own, sends, puts, writes, runs))
    return found


class _Flow(Judges):
    """The state of following values through one program."""

    language = "code"

    def __init__(self, text: str) -> None:
        super().__init__(0, lambda _text, _level: Seen())
        self.hints = hints_in((text,))
        self.rows = _statements(text, self.hints)
        self.row = Statement(1, "", "", frozenset(), NO_MARKS, sends=False, puts=False, writes=False, runs=False)
        self.names: dict[tuple[str, str], frozenset[Mark]] = {}
        """Marks by function and name; names outside any function are visible to all."""
        self.runs = any(row.runs or "`" in row.text for row in self.rows)
        self.constants: dict[str | None, str] = {None: ""}
        """The text of each name that has the same text everywhere."""
        self.connections: dict[str, str] = {}
        """The address of each connection, by name."""
        self.opened: dict[str, frozenset[str]] = {}
        """The texts and names that each handle was opened with."""
        self.parameters: dict[str, list[str]] = {}
        self.changed = False
        self.first = True
        """Whether this is the first pass."""

    def run(self) -> Seen:
        """Read the statements repeatedly until no name gets new marks."""
        if not self.runs and not (
            any(row.marks for row in self.rows) and any(row.sends or row.puts for row in self.rows)
        ):
            return Seen()
        for row in self.rows:
            for found in DEFINED.finditer(row.text) if not row.names.isdisjoint(DEFINING) else ():
                self.parameters[found[1] or found[3]] = _parameters(found[2] or found[4] or "")
        for _ in range(4):
            self.changed = False
            for row in self.rows:
                self._statement(row)
            if not self.changed:
                break
            self.first = False
        self.check_together()
        return Seen(tuple(self.hits.values()), tuple(self.facts.values()))

    def _statement(self, row: Statement) -> None:
        self.line, self.row = row.line, row
        marks = self._marks(row) | self._printed(row)
        found = ASSIGNED.match(row.text)
        if found:
            left, right = NAME.findall(found[1].split("[")[0])[:8], found[3]
            address = URL.search(right)
            for name in left:
                self._learn(row.inside, name, marks)
                if address is not None:
                    self.addresses.setdefault(name, address[0])
            if left and CONNECTS.search(right):
                goal = next((text for text in _texts(right) if GOAL.fullmatch(text)), "")
                self.connections.setdefault(left[0], f"tcp://{goal}" if goal else "")
            if len(left) == 1 and self.runs and (begin := BEGINS.match(right)) and begin[1] in self.constants:
                self._name_text(left[0], self._value(row, right.strip(" ;")), found[2])
            if left and OPENED.search(right):
                self.opened[left[0]] = frozenset(_texts(right)) | frozenset(NAME.findall(STRING.sub("", right)))
        if marks:
            self._given(row, marks)
            if RETURNED.match(row.text) or (not found and not row.runs and "=" not in row.text):
                self._learn("", f"{row.inside}()", marks)
        self._judge(row, marks)

    def _name_text(self, name: str, value: Value, sign: str) -> None:
        """Store the text of a name while it has only one text, or one that grows."""
        text, known = value.said, self.constants.get(name)
        if sign in ("+=", ".=", "<<"):
            if known is not None and self.first:
                self.constants[name] = (known + text)[:LONGEST]
        elif known is None and HOLE not in text:
            self.constants[name] = text
        elif known is not None and self.first:
            self.constants[name] = HOLE

    def _given(self, row: Statement, marks: frozenset[Mark]) -> None:
        """Mark the names that get a value without an assignment: loop variables, handles, receivers and parameters."""
        for looped in LOOPED.finditer(row.text):
            for name in NAME.findall(next((group for group in looped.groups() if group), "")):
                self._learn(row.inside, name, marks, common=False)
        for handle in HANDLE.finditer(row.text):
            self._learn(row.inside, handle[1], marks)
        if owner := CALLED_ON.match(row.text):
            self._learn(row.inside, owner[1], marks)
        for name in row.names & self.parameters.keys():
            if name != row.inside:
                for parameter in self.parameters[name]:
                    self._learn(name, parameter, marks)

    def _learn(self, where: str, name: str, marks: frozenset[Mark], *, common: bool = True) -> None:
        known = self.names.get((where, name), frozenset())
        if not (common and name in _COMMON) and marks - known:
            self.names[where, name] = known | marks
            self.changed = True

    def _held(self, where: str, name: str) -> frozenset[Mark]:
        marks = self.names.get((where, name), frozenset()) | self.names.get(("", name), frozenset())
        return marks | self.names.get(("", f"{name}()"), frozenset()) if name in self.parameters else marks

    def _marks(self, row: Statement) -> frozenset[Mark]:
        return _few(row.marks.union(*(self._held(row.inside, name) for name in row.names)))

    # -- commands ----------------------------------------------------------------------------------------------------

    def _printed(self, row: Statement) -> frozenset[Mark]:
        """Read the commands of a statement with their inserted values, and return the marks of their output."""
        marks = NO_MARKS
        for given in _commands(row.text) if row.runs or "`" in row.text else ():
            values = [self._value(row, one) for one in given]
            said = " ".join(value.said for value in values)
            if not union(values) and not self.files and vocabulary(said).isdisjoint(BUSY):
                continue
            call = Call("", NOTHING, NOTHING, values, {}, given)
            call.row = Row(what="rest")
            marks |= (run_shell if " " in values[0].said else run_program)(self, call).marks
        return frozenset(mark for mark in marks if mark.kind in PRIVATE)

    def name_words(self, call: Call) -> list[str]:
        """Return the names that the program uses for the words of a command."""
        return [f"${word.strip(' $@&')}" for word in call.node]

    def _value(self, row: Statement, given: str) -> Value:
        """Return the value of a text expression: strings, names, and placeholders inside strings."""
        pieces: list[str] = []
        marks = NO_MARKS
        for term in _split(given, SUMS):
            text = STRING.match(bare := term.strip())
            formatted = FORMATS.match(bare)
            if formatted is not None:
                first, *rest = _split(bare[formatted.end() :], COMMAS)
                text = STRING.match(first.strip())
                marks |= self._named(row, " ".join(rest))
            if text is None:
                marks |= self._named(row, bare)
                pieces.append(self.constants.get(bare.strip("$@;"), HOLE) if bare else "")
                continue
            for at, part in enumerate(FILLED.split(_unescaped(text[0][1:-1]))):
                if at % 2 and (put := self._put_in(row, part, formatted=formatted is not None)) is not None:
                    marks |= self._named(row, part)
                    pieces.append(put)
                else:
                    pieces.append(part)
        return Value("".join(pieces), marks=frozenset(mark for mark in _few(marks) if mark.kind in PRIVATE))

    def _put_in(self, row: Statement, part: str, *, formatted: bool) -> str | None:
        """Return the text for a placeholder in a string; None if a shell expands it instead of the program."""
        names = NAME.findall(part)
        if len(names) == 1 and names[0] in self.constants:
            return self.constants[names[0]]
        known = part[0] in "#\\" or (formatted and part[0] in "%{") or self._named(row, part)
        return HOLE if known else None

    def _named(self, row: Statement, text: str) -> frozenset[Mark]:
        """Return the marks of a part of a statement."""
        names = frozenset(NAME.findall(text))
        return _own(text, names, self.hints).union(*(self._held(row.inside, name) for name in names))

    # -- judging -----------------------------------------------------------------------------------------------------

    def _judge(self, row: Statement, marks: frozenset[Mark]) -> None:
        if marks and (row.sends or (row.puts and not row.names.isdisjoint(self.connections))):
            self._sent(row, marks)
        if row.writes:
            for mark in sorted(marks):
                if mark.kind in ("fetched", "decoded"):
                    self._written(row, mark)
        if row.runs:
            self._run(row, marks)

    def _sent(self, row: Statement, marks: frozenset[Mark]) -> None:
        found = URL.search(row.text)
        known = {**self.connections, **self.addresses}
        names = [known[name] for name in sorted(row.names) if name in known]
        url = found[0] if found else names[0] if names else ""
        keys = frozenset(mark for mark in marks if mark.kind == "key") if HEADER.search(row.text) else NO_MARKS
        sent = frozenset(mark for mark in marks if mark.kind in ("secret", "env", "key"))
        self.report(judge_request(url, sent - keys, keys))

    def _written(self, row: Statement, mark: Mark) -> None:
        """Record the mark of a written file under every text and name that may be its path."""
        handles = frozenset[str]().union(*(self.opened.get(name, frozenset()) for name in row.names))
        for text in {*_texts(row.text), *handles}:
            if len(text) > 3 and "://" not in text and ("/" in text or "." in text):
                self.files[plain_path(text)] = frozenset((mark,))
        for name in (row.names | handles) - _COMMON - self.parameters.keys():
            if not any(held.kind == mark.kind for held in self._held(row.inside, name)) or name in handles:
                self.files.setdefault(f"${name}", frozenset((mark,)))

    def _run(self, row: Statement, marks: frozenset[Mark]) -> None:
        found = RUNS.search(row.text) or EVALUATES.search(row.text)
        if found is None:
            return
        given = row.text[found.end() :]
        first = _split(given, COMMAS)[0]
        evaluates = EVALUATES.match(found[0]) is not None
        if not STRING.match(first.strip()) or evaluates:
            self._foreign(row, first, marks)
        elif SHELL.match(first.strip()):
            self._foreign(row, given[len(first) :], marks)
        for name in NAME.findall(STRING.sub("", first))[:6] if evaluates else ():
            self.run_files(self.files.get(f"${name}", NO_MARKS))

    def _foreign(self, row: Statement, given: str, marks: frozenset[Mark]) -> None:
        """Report code that is run and was fetched or decoded."""
        bare = STRING.sub("''", given)
        own = set(NAME.findall(bare))
        inner = frozenset(mark for name in own for mark in self._held(row.inside, name))
        if DECODES.search(bare):
            inner |= {Mark("decoded", "a decoder")}
        if FETCHES.search(given):
            inner |= {mark for mark in marks if mark.kind == "fetched"}
        for mark in sorted(inner):
            if mark.kind == "decoded":
                self.hit("exec-decoded")
            elif mark.kind == "fetched":
                unknown = host_of(mark.subject).kind == "known" if mark.subject else not FETCHES.search(given)
                self.hit("exec-fetched", "warn" if unknown else None)

    def evidence(self) -> str:
        """Return the text of the current statement."""
        return self.row.text


_COMMON = api("code", "common")


def _texts(text: str) -> list[str]:
    """Return the contents of the strings in a statement."""
    return [found[1:-1] for found in STRING.findall(text)]


def _parameters(given: str) -> list[str]:
    """Return the names of a function's parameters, with their types before or after them."""
    found = []
    for part in given.split(",")[:10]:
        names = [name for name in NAME.findall(part.partition("=")[0]) if name not in _TYPES]
        if names:
            found.append(names[-1] if len(names) > 1 and names[0][0].isupper() else names[0])
    return found


_TYPES = api("code", "types")


def _few(marks: frozenset[Mark]) -> frozenset[Mark]:
    return marks if len(marks) <= 12 else frozenset(sorted(marks)[:12])


def _split(given: str, signs: re.Pattern[str]) -> list[str]:
    """Split a text at the signs outside strings and brackets, up to a closing bracket without an opening one."""
    parts: list[str] = []
    start = depth = 0
    for found in signs.finditer(given[:2000]):
        if found[0] in ("(", "[", "{"):
            depth += 1
        elif found[0] in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                return [*parts, given[start : found.start()]]
        elif found["sign"] and depth == 0:
            parts.append(given[start : found.start()])
            start = found.end()
    return [*parts, given[start:2000]]


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the commands that a statement runs, each as the arguments of its call."""
    for found in RUNS.finditer(text):
        given = _split(CHAINED.sub(", ", text[found.end() :]), COMMAS)
        if len(given) == 1 and (inner := LISTED.match(given[0])) is not None:
            given = _split(given[0][inner.end() :], COMMAS)
        yield given
    for found in TICKED.finditer(text):
        yield [found[0]]


def _unescaped(text: str) -> str:
    return ESCAPED.sub(r"\1", text) if "\\" in text else text


# --- the shapes by which programs of many languages are read ----------------------------------------------------------


NAME = expression(r"[A-Za-z_]\w{0,60}")
STRING = expression(r"\"(?:[^\"\\\n]|\\.){0,600}\"|'(?:[^'\\\n]|\\.){0,600}'|`[^`]{0,600}`")
ASSIGNED = expression(
    r"^[\s{}]{0,200}(?:(?:let|var|val|const|my|our|local|final|auto|mut|static|set|string|byte\[\]|char|async"
    r"|return)\s{1,9}){0,3}"
    r"(?:[A-Z][\w.]{0,40}(?:<[^=>\n]{0,60}>)?(?:\[\]){0,2}\s{1,4})?"
    r"([($@%*&]{0,2}[A-Za-z_][\w.\[\]\"'$:]{0,60}(?:\s{0,4},\s{0,4}[$@%*&]{0,2}[A-Za-z_][\w.]{0,60}){0,5})\)?"
    r"(?:\s{0,4}:\s{0,4}[\w<>:&\[\](), ]{1,60})?\s{0,4}(:=|\+=|\.=|<{1,2}-|<<|\|\|=|=(?![=~>])|\bto\b)(.{0,2000})$",
    re.DOTALL,
)
LOOPED = expression(
    r"\bfor\s{0,4}\(?\s{0,4}(?:var|let|auto|final"
    r"|my)?\s{0,4}(?:[\w<>:.]{1,40}(?:,\s{0,4}[\w<>:.]{1,40})?\s{1,4})?([$\w]{1,60}(?:\s{0,4},\s{0,4}[$\w]{1,60})?)\s{1,4}"
    r"(?:in|:=\s{0,4}range|:)\s{1,4}|\bforeach\s{0,4}\(?\s{0,4}(?:my|var|string)?\s{0,4}([$\w]{0,60})"
    r"|\bas\s{1,4}([$\w]{1,60})\s{0,4}\)"
    r"|(?:do|\{)\s{0,4}\|([^|\n]{1,80})\||\brepeat\s{1,4}with\s{1,4}(\w{1,40})\s{1,4}in"
)
DEFINED = expression(
    r"\b(?:func|function|def|fn|sub)\s{1,9}(?:\([^)\n]{0,80}\)\s{0,4})?([A-Za-z_]\w{0,60}[!?]?)\s{0,4}(?:<[^>\n]{0,60}>)?\s{0,4}\(?([^){\n]{0,300})"
    r"|(?:static|public|private|protected"
    r"|void)\s{1,4}(?:[\w<>\[\],]{1,60}\s{1,4}){1,4}([A-Za-z_]\w{0,60})\s{0,4}\(([^){\n]{0,300})"
)
DEFINING = frozenset(("func", "function", "def", "fn", "sub", "static", "public", "private", "protected", "void"))
HEADER = expression(r"authorization|bearer|x-api-key|set_?header|headers?\b", re.IGNORECASE)
"""A part of a request where a key belongs."""
_BRACKET = rf"{STRING.pattern}|[()\[\]{{}}]"
COMMAS = expression(rf"{_BRACKET}|(?P<sign>,)")
SUMS = expression(rf"{_BRACKET}|(?P<sign>\+|\.\.|&|<>|\s\.\s|(?<=[\"'])\.(?=\$)|\.(?=[\"']))")
"""Operators that concatenate texts."""
BEGINS = expression(r"\s{0,9}(?:[\"'`]|[$@]?([A-Za-z_]\w{0,60})\b)")
"""The start of a text expression: a string or a name."""
CHAINED = expression(r"\)\s{0,40}\.args?\s{0,4}\(\s{0,4}(?:&?\[)?")
LISTED = expression(
    r"\s{0,4}(?:new\s{1,4}String\s{0,4}\[\s{0,4}\]\s{0,4}\{|\[|(?:List\.of|listOf|arrayOf|Arrays\.asList|c)\s{0,4}\()"
)
TICKED = expression(r"`[^`\n]{6,1000}`")
FORMATS = expression(r"(?:fmt\.Sprintf|format!|String\.format|string\.format|sprintf|format)\s{0,4}\(?")
FILLED = expression(
    r"(#\{[^{}\n]{1,200}\}|\$\{[^{}\n]{1,200}\}|\$[A-Za-z_][\w.]{0,60}(?:\{\w{1,60}\}|\[[\"']?\w{1,60}[\"']?\])?|\\\([^()\n]{1,100}\)|\{\$?\w{0,60}\}|%[svq@])"
)
"""A placeholder for a program value in a string."""
ESCAPED = expression(r"\\([\"'$`\\])")
JOINT = expression(r"[\"'`]\s{0,4}[,+]\s{0,4}[\"'`]")
"""The separator between the parts of a path."""
READS = expression(
    r"\b(?:File\.read|file_get_contents|ReadFile|read_to_string|readAll\w{1,6}|readString|ReadAllText|io\.open|open|fopen|readLines)\b"
)
GOAL = expression(r"(?:[\w-]{1,60}\.){1,8}[\w-]{1,60}(?::\d{1,5})?|localhost(?::\d{1,5})?")
"""The host and port of a connection."""
BEGINNING = expression(r"\.ssh[\\/]{1,2}(?:id_)?[\"'`*]")
"""The start of the path of an SSH key."""
RETURNED = expression(r"^\s{0,200}return\b(.{0,2000})$", re.DOTALL)
CALLED_ON = expression(r"^[\s{}]{0,200}[$@]?([A-Za-z_]\w{0,60})(?:\.|->|::)\w")

VARIABLE = expression(
    r"(?:\bENV|\$_ENV|\$_SERVER|\b(?:getenv|Getenv|get_env|getEnv)|\bSystem\.env|\bLookupEnv|\benv::var(?:_os)?|\bGetEnvironmentVariable|\benvironment)"
    r"(?:\.fetch)?\s{0,3}[(\[{.]\s{0,3}[\"']?([A-Za-z]\w{1,80})"
)
"""An environment variable, by its name."""
ALL_VARIABLES = shape("code_api", "all_variables", 0)
DECODES = shape("code_api", "decodes", 0)
FETCHES = shape("code_api", "fetches", 0)
SENDS = shape("code_api", "sends", 0)
RUNS = shape("code_api", "runs", 0)
EVALUATES = shape("code_api", "evaluates", 0)
WRITES = shape("code_api", "writes", 0)
CONNECTS = shape("code_api", "connects", 0)
PUTTING = api("code", "putting")
BUSY = api("code", "busy")
OPENED = expression(
    r"\b(?:File|FileWriter|FileOutputStream|os\.Create|os\.OpenFile|File::create|fopen|io\.open|File\.open)\s{0,4}\("
)
HANDLE = expression(r"\bopen\s{0,4}\(?\s{0,4}(?:my\s{0,4})?\$?(\w{1,40})\s{0,4},")
SYNTAX = expression(r"\\[bswdnt]|\{\d+,?\d*\}|\?[:!=<]")


def _names(*shapes: re.Pattern[str], more: str = "") -> frozenset[str]:
    """Return the names of which at least one is in every match of the shapes."""
    return frozenset(NAME.findall(" ".join((more, *(SYNTAX.sub(" ", shape.pattern) for shape in shapes)))))


TAKING_NAMES = _names(
    ALL_VARIABLES, VARIABLE, DECODES, FETCHES, more="unpack Inflate DownloadFile DownloadString DownloadData"
)
SENDING_NAMES = _names(
    SENDS, FETCHES, CONNECTS, more="UploadString UploadData UploadFile UploadValues UploadStringAsync UploadFileAsync"
)
RUNNING_NAMES = _names(RUNS, EVALUATES, more="x")
WRITING_NAMES = _names(WRITES, more="writeBytes writeText write_all DownloadFileAsync DownloadFileTaskAsync")

SHELL = expression(
    r"[\"'](?:/bin/|/usr/bin/)?(?:ba|z|da)?sh[\"']|[\"'](?:cmd(?:\.exe)?|powershell(?:\.exe)?|python3?|node)[\"']"
)
