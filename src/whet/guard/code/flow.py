"""Where values go in programs of languages without a reader of their own, followed by statements.

A statement is a line, or several while a bracket is open. Names on its left get what stands on its right: a secret
file, the whole environment, something fetched or decoded. What is given to a function goes to the names of its
parameters, and what it returns to whoever calls it. That is coarse, and enough for code that reads a key and posts it.
"""

from __future__ import annotations

from typing import NamedTuple

from whet.guard import patterns
from whet.guard.code import shapes
from whet.guard.finding import Hit, Seen
from whet.guard.hosts import URL, host_of
from whet.guard.places import places


class Mark(NamedTuple):
    """Where a value comes from."""

    kind: str
    what: str = ""


class Statement(NamedTuple):
    """A piece of a program, with what can be said of it by itself."""

    line: int
    text: str
    inside: str
    """The function that it stands in."""
    names: frozenset[str]
    marks: frozenset[Mark]
    sends: bool
    writes: bool
    runs: bool


LARGEST = 100_000
"""Characters of a program that are followed."""


def follow(text: str) -> Seen:
    """What a program does with what it reads, fetches and decodes."""
    text = text[:LARGEST]
    if "\n=cut" in text:
        text = _without_manual(text)
    return _Flow(text).run()


def _without_manual(text: str) -> str:
    """A program of Perl without the manual that is written into it."""
    rows, manual = [], False
    for row in text.split("\n"):
        manual = (manual or shapes.MANUAL.match(row) is not None) and not row.startswith("=cut")
        rows.append("" if manual or row.startswith("=cut") else row)
    return "\n".join(rows)


def secret_looking(text: str) -> bool:
    """May a secret place be named in it? Much quicker than looking for one."""
    lowered = text.lower()
    return any(mark in lowered for mark in shapes.SECRET_MARKS)


def worth(text: str) -> bool:
    """Does it take something that matters, and do something with it?"""
    names = frozenset(shapes.NAME.findall(text))
    if names.isdisjoint(shapes.SENDING_NAMES) and names.isdisjoint(shapes.RUNNING_NAMES):
        return False
    return not names.isdisjoint(shapes.TAKING_NAMES) or secret_looking(text)


def _own(text: str, names: frozenset[str], *, secrets: bool) -> frozenset[Mark]:
    """What a text takes by itself."""
    marks: set[Mark] = set()
    if secrets and secret_looking(text):
        marks |= {Mark("secret", place.what) for place in places(text) if place.kind == "secret" and place.grave}
        if shapes.BEGINNING.search(text):
            marks.add(Mark("secret", "SSH keys"))
    if names.isdisjoint(shapes.TAKING_NAMES):
        return frozenset(marks)
    if shapes.ENVIRONMENT.search(text):
        marks.add(Mark("environment"))
    if shapes.FETCHES.search(text):
        url = URL.search(text)
        marks.add(Mark("fetched", url[0][:300] if url else ""))
    if shapes.DECODES.search(text):
        marks.add(Mark("decoded"))
    return frozenset(marks)


def _statements(text: str) -> list[Statement]:
    """The statements of a program: lines, joined while a bracket is open or the next one begins with a dot."""
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
        plain = shapes.STRING.sub("''", row)
        depth += plain.count("(") + plain.count("[") - plain.count(")") - plain.count("]")
        if depth <= 0 or len(kept) > 12:
            whole = "\n".join(kept)
            several = len(kept) == 1 and "; " in plain and "for" not in plain and "{" not in plain
            rows += [(first, part) for part in whole.split("; ")[:20]] if several else [(first, whole)]
            kept, depth = [], 0
    found: list[Statement] = []
    inside, secrets = "", secret_looking(text)
    for line, part in rows:
        defined = shapes.DEFINED.search(part)
        inside = (defined[1] or defined[3]) if defined else inside
        names = frozenset(shapes.NAME.findall(part))
        sends = not names.isdisjoint(shapes.SENDING_NAMES) and shapes.SENDS.search(part) is not None
        writes = not names.isdisjoint(shapes.WRITING_NAMES) and shapes.WRITES.search(part) is not None
        runs = (
            not names.isdisjoint(shapes.RUNNING_NAMES)
            and (shapes.RUNS.search(part) or shapes.EVALUATES.search(part)) is not None
        )
        own = _own(part, names, secrets=secrets)
        found.append(Statement(line, part, inside, names, own, sends, writes, runs))
    return found


class _Flow:
    """One program."""

    def __init__(self, text: str) -> None:
        self.rows = _statements(text)
        self.names: dict[tuple[str, str], frozenset[Mark]] = {}
        """What each name of each function holds; the names of no function are seen by all."""
        self.paths: dict[str, Mark] = {}
        """Texts and names of files that something fetched was written to."""
        self.opened: dict[str, frozenset[str]] = {}
        """What a handle was opened with."""
        self.parameters: dict[str, list[str]] = {}
        self.hits: dict[tuple[str, int], Hit] = {}
        self.changed = False

    def run(self) -> Seen:
        """Go through it until nothing new is learned."""
        if not any(row.marks for row in self.rows) or not any(row.sends or row.runs for row in self.rows):
            return Seen()
        for row in self.rows:
            for found in shapes.DEFINED.finditer(row.text):
                self.parameters[found[1] or found[3]] = _parameters(found[2] or found[4] or "")
        for _ in range(4):
            self.changed = False
            for row in self.rows:
                self._statement(row)
            if not self.changed:
                break
        return Seen(tuple(self.hits.values()))

    def _statement(self, row: Statement) -> None:
        marks = self._marks(row)
        found = shapes.ASSIGNED.match(row.text)
        if found:
            left = shapes.NAME.findall(found[1].split("[")[0])[:8]
            for name in left:
                self._learn(row.inside, name, marks)
            if left and shapes.OPENED.search(found[2]):
                self.opened[left[0]] = frozenset(_texts(found[2])) | frozenset(
                    shapes.NAME.findall(shapes.STRING.sub("", found[2]))
                )
        if marks:
            self._given(row, marks)
            if shapes.RETURNED.match(row.text) or (not found and not row.runs and "=" not in row.text):
                self._learn("", f"{row.inside}()", marks)
        self._judge(row, marks)

    def _given(self, row: Statement, marks: frozenset[Mark]) -> None:
        """Names that get something without an assignment: of loops, handles, receivers and parameters."""
        for looped in shapes.LOOPED.finditer(row.text):
            for name in shapes.NAME.findall(next((group for group in looped.groups() if group), "")):
                self._learn(row.inside, name, marks)
        for handle in shapes.HANDLE.finditer(row.text):
            self._learn(row.inside, handle[1], marks)
        if owner := shapes.CALLED_ON.match(row.text):
            self._learn(row.inside, owner[1], marks)
        if row.marks and shapes.ASKED.match(row.text):
            for name in shapes.LOOKED_AT.findall(row.text)[:6]:
                self._learn(row.inside, name, row.marks)
        for name in row.names & self.parameters.keys():
            if name != row.inside:
                for parameter in self.parameters[name]:
                    self._learn(name, parameter, marks)

    def _learn(self, where: str, name: str, marks: frozenset[Mark]) -> None:
        known = self.names.get((where, name), frozenset())
        if name not in _COMMON and marks - known:
            self.names[where, name] = known | marks
            self.changed = True

    def _held(self, where: str, name: str) -> frozenset[Mark]:
        marks = self.names.get((where, name), frozenset()) | self.names.get(("", name), frozenset())
        return marks | self.names.get(("", f"{name}()"), frozenset()) if name in self.parameters else marks

    def _marks(self, row: Statement) -> frozenset[Mark]:
        marks = row.marks.union(*(self._held(row.inside, name) for name in row.names))
        return marks if len(marks) <= 12 else frozenset(sorted(marks)[:12])

    # -- judging -----------------------------------------------------------------------------------------------------

    def _judge(self, row: Statement, marks: frozenset[Mark]) -> None:
        if marks and row.sends:
            self._sent(row, marks)
        if row.writes:
            for mark in sorted(marks):
                if mark.kind in ("fetched", "decoded"):
                    self._written(row, mark)
        if row.runs:
            self._run(row, marks)

    def _sent(self, row: Statement, marks: frozenset[Mark]) -> None:
        url = URL.search(row.text)
        host = host_of(url[0]) if url else None
        if host is not None and host.kind in ("loopback", "private"):
            return
        secrets = sorted(mark.what for mark in marks if mark.kind == "secret" and mark.what != "cloud metadata")
        if secrets:
            self._hit("code-secret-exfiltration", row, host.name if host else "")
        elif Mark("environment") in marks:
            self._hit("code-environment-exfiltration", row, host.name if host else "")

    def _written(self, row: Statement, mark: Mark) -> None:
        handles = frozenset[str]().union(*(self.opened.get(name, frozenset()) for name in row.names))
        for text in {*_texts(row.text), *handles}:
            if len(text) > 3 and "://" not in text and ("/" in text or "." in text):
                self.paths[text] = mark
        for name in (row.names | handles) - _COMMON - self.parameters.keys():
            if not any(held.kind == mark.kind for held in self._held(row.inside, name)) or name in handles:
                self.paths.setdefault(name, mark)

    def _run(self, row: Statement, marks: frozenset[Mark]) -> None:
        found = shapes.RUNS.search(row.text) or shapes.EVALUATES.search(row.text)
        if found is None:
            return
        given = row.text[found.end() :]
        first = _first(given)
        if not shapes.STRING.match(first.strip()) or shapes.EVALUATES.match(found[0]):
            self._foreign(row, first, marks)
        elif shapes.SHELL.match(first.strip()):
            self._foreign(row, given[len(first) :], marks)
        for text in (
            first,
            *(
                shapes.STRING.findall(given)
                if shapes.SHELL.match(first.strip()) or shapes.PROGRAM.match(first.strip())
                else ()
            ),
        ):
            bare = text.strip().strip("\"'`")
            if (mark := self.paths.get(bare)) is not None:
                self._started(row, mark)
        for name in shapes.NAME.findall(shapes.STRING.sub("", first))[:6]:
            if (mark := self.paths.get(name)) is not None:
                self._started(row, mark)

    def _foreign(self, row: Statement, given: str, marks: frozenset[Mark]) -> None:
        """Is what is run fetched or decoded?"""
        bare = shapes.STRING.sub("''", given)
        own = set(shapes.NAME.findall(bare))
        inner = frozenset(mark for name in own for mark in self._held(row.inside, name))
        if shapes.DECODES.search(bare):
            inner |= {Mark("decoded")}
        if shapes.FETCHES.search(given):
            inner |= {mark for mark in marks if mark.kind == "fetched"}
        if not own and not inner:
            return
        if any(mark.kind == "decoded" for mark in inner):
            self._hit("code-decoded-execution", row)
        for mark in sorted(inner):
            if mark.kind == "fetched" and not _near(mark.what):
                unknown = not mark.what or host_of(mark.what).kind == "known"
                self._hit("code-remote-execution", row, severity="warn" if unknown else None)

    def _started(self, row: Statement, mark: Mark) -> None:
        if mark.kind == "decoded":
            self._hit("code-decoded-execution", row)
        elif not _near(mark.what):
            host = host_of(mark.what) if mark.what else None
            plain = mark.what.lower().startswith("http://") or (host is not None and host.shady)
            severity = None if plain else "info" if host is not None and host.kind == "known" else "warn"
            self._hit("code-remote-execution", row, severity=severity)

    def _hit(self, rule: str, row: Statement, subject: str = "", severity: str | None = None) -> None:
        key = (rule, row.line)
        if key not in self.hits or (severity is None and self.hits[key].severity is not None):
            self.hits[key] = Hit(rule, row.line, patterns.shorten(row.text), severity, subject)  # type: ignore[arg-type]  # literals of the callers


_COMMON_NAMES = """err e ok ctx self this nil null true false String string byte os io http net fmt exec File Net HTTP
URI Process System new return if else end do var let my error json JSON require import use package main filepath Join
Dir ENV Path Paths ioutil strings Base64 base64 URL tmp i j k n std fs env print println puts echo local function func
bytes buf"""
_COMMON = frozenset(_COMMON_NAMES.split())
"""Names that say nothing about a value."""


def _texts(text: str) -> list[str]:
    """The strings of a statement."""
    return [found[1:-1] for found in shapes.STRING.findall(text)]


def _parameters(given: str) -> list[str]:
    """The names of a function's parameters, whichever side their types stand on."""
    found = []
    for part in given.split(",")[:10]:
        names = [name for name in shapes.NAME.findall(part.partition("=")[0]) if name not in _TYPES]
        if names:
            found.append(names[-1] if len(names) > 1 and names[0][0].isupper() else names[0])
    return found


_TYPES_NAMES = "string byte int bool error String char float mut ref const final str u8 Vec array list dict my"
_TYPES = frozenset(_TYPES_NAMES.split())


def _first(given: str) -> str:
    """The first argument of a call."""
    depth = 0
    quote = ""
    for number, letter in enumerate(given[:2000]):
        if quote:
            if letter == quote and given[number - 1] != "\\":
                quote = ""
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth < 0:
                return given[:number]
        elif letter == "," and depth == 0:
            return given[:number]
    return given[:2000]


def _near(url: str) -> bool:
    return bool(url) and host_of(url).kind in ("loopback", "private")
