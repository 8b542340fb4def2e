"""The shell checker: judges the effects of a script, command by command.

A text is parsed as a shell would parse it, its data flows are followed, and every command is passed to the rules of its kind.
Scripts inside scripts (`bash -c`, `eval`, `echo .. | sh`, here-documents) are judged the same way, a few levels deep.
A text without any word that matters is not parsed at all.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

from whet.guard.documents import checker
from whet.guard.expression import expression
from whet.guard.finding import Hit, Seen
from whet.guard.patterns import shorten
from whet.guard.places import places
from whet.guard.shell import fetch, persist, power, send, supply
from whet.guard.shell.constant import unescape
from whet.guard.shell.flow import Scene
from whet.guard.shell.private import named_places
from whet.guard.shell.step import CONTENT
from whet.guard.shell.wrappers import INTERPRETERS, Inner, from_console
from whet.guard.tables import shape, word_list
from whet.guard.taint.branches import united
from whet.guard.taint.call import judged_programs
from whet.guard.taint.commands import Given, Ran, private
from whet.guard.taint.judges import JUDGES
from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import one_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from whet.guard.finding import Fact
    from whet.guard.shell.step import Step
    from whet.guard.taint.mark import Mark

_DEPTH = 4
_MOST = 400
_EACH = 60
"""Largest numbers of facts, and of hits of one rule and severity, that are reported."""
_LONG = 20_000
"""Length in characters from which a script is always read."""
_ACTIONS = expression(r"\$\{\{\s{0,4}(?:secrets|env|vars)\.(\w{1,80})\s{0,4}\}\}")
"""A secret in the syntax of workflows."""
_DATE = expression(r"\bdate\s{1,4}(?:-u\s{1,4})?\+?[\"']?\+?%")


def check(text: str, given: Given | None = None) -> Seen:
    """Return the hits of a script, and its facts for the flow analysis over the package."""
    text = _ACTIONS.sub(r"${\1}", dedent(text) if text[:1] in " \t\n" else text)
    reader = _Reader()
    scene = Scene(text, 1, None, given)
    seen = reader.judged(text, scene, _DEPTH)
    known = scene.script.known
    for branches in known.branches.others(known.variables):
        other = _Reader().judged(text, Scene(text, 1, None, given, branches), _DEPTH)
        seen = united(seen, other)
    if console := from_console(text):
        # The text may be a transcript, or a script that looks like one: the hits of both readings count.
        other = reader.judged(console, Scene(console, 1), _DEPTH)
        seen = Seen((*seen.hits, *other.hits), (*seen.facts, *other.facts))
    return Seen(tuple(_told(seen.hits, text)), tuple(dict.fromkeys(seen.facts))[:_MOST])


def run(text: str, given: Given) -> Ran:
    """Judge a shell command that a program runs with the data `given`; `HOLE` stands for text that the program inserts."""
    named = given.texts or any(path in text for path in given.files)
    if not (given.marks or given.fed or given.variables or named or worth_reading(text)):
        return Ran()
    scene = Scene(text, 1, None, given)
    scene.typed = False
    seen = _Reader().judge(scene, _DEPTH)
    hits = tuple(
        hit._replace(evidence=_shown(hit.evidence), subject=_shown(hit.subject)) for hit in _told(seen.hits, text)
    )
    facts = (fact._replace(evidence=_shown(fact.evidence), subject=_shown(fact.subject)) for fact in seen.facts)
    kept = ((path, frozenset(filter(_is_content, marks))) for path, marks in scene.left().files.items())
    files = {path: marks for path, marks in kept if marks}
    return Ran(Seen(hits, tuple(dict.fromkeys(facts))[:_MOST]), frozenset(scene.printed()), files)


def _is_content(mark: Mark) -> bool:
    return mark.kind in CONTENT


def _shown(text: str) -> str:
    return text.replace(HOLE, "...")


def worth_reading(text: str) -> bool:
    """Return whether the text contains a word that any rule could be about, or spelling that could hide one."""
    if len(text) > _LONG or _alarms(text) or any(place.kind == "secret" for place in places(text)):
        return True
    bare = text.translate(_QUOTES)
    return bare != text and _alarms(bare)


def _alarms(text: str) -> bool:
    found = frozenset(_WORD.findall(text))
    if not judged_programs().isdisjoint(found) or not word_list("shell_alarms").isdisjoint(found):
        return True
    if _SIGNS.search(text) or _SECRET.search(text):
        return True
    return not found.isdisjoint(word_list("shell_in_company")) and _USES.search(text) is not None


_QUOTES = str.maketrans("", "", "\"'\\")
_WORD = expression(r"[A-Za-z_]\w*(?:-\w+)*")
_USES = shape("shell_signs", "uses", 0)
_SIGNS = shape("shell_signs", "signs", 0)
_SECRET = shape("shell_signs", "secret", frame=r"\$[{!]{0,2}\w{0,60}?(?:{})")


_ALWAYS = (fetch.judge_run, send.judge_sent, persist.judge_left, power.judge_harm, supply.judge_supply)
"""The judges that see every command, regardless of its program."""
SPECIALS = {**fetch.JUDGES, **send.JUDGES, **persist.JUDGES, **power.JUDGES, **supply.JUDGES}
"""The judges of the shell, in addition to those shared by all languages."""


class _Reader:
    """Judges a script and the scripts in it, each once, within a budget."""

    __slots__ = ("_known", "_left", "_told")

    def __init__(self) -> None:
        self._known: dict[str, tuple[Hit, ...]] = {}
        self._told: set[str] = set()
        """The scripts whose hits are reported; the hits of other scripts are not."""
        self._left = _BUDGET

    def judged(self, text: str, scene: Scene, depth: int) -> Seen:
        """Judge a script."""
        self._known[text] = ()
        self._told.add(text.strip())
        seen = self.judge(scene, depth)
        self._known[text] = seen.hits
        return seen

    def judge(self, scene: Scene, depth: int) -> Seen:
        """Return the hits and facts of a script that has been parsed."""
        hits: list[Hit] = []
        facts: list[Fact] = []

        def read_inner(script: str, _level: int) -> Seen:
            if script not in self._known and depth > 0 and self._pays(script):
                self.judged(script, Scene(script, 1), depth - 1)
                self._told.discard(script.strip())
            return Seen(self._known.get(script, ()))

        scene.read_inner = read_inner
        for step in scene.steps:
            scene.at(step)
            for judge in _ALWAYS:
                judge(scene, step)
            for row in step.rows:
                step.row = row
                if row.does != "write":
                    (SPECIALS.get(row.does) or JUDGES[row.does])(scene, step)
            for script in _scripts(scene, step):
                if script.text.strip() in self._told:
                    continue
                self._told.add(script.text.strip())
                line = scene.first + script.line - 1
                if script.text in self._known:
                    hits += Seen(self._known[script.text]).shift(line - 1).hits
                    continue
                if depth <= 0 or not self._pays(script.text):
                    hits.append(Hit("shell-not-read", line, shorten(script.text)))
                    break
                more = self._inside(script, line, depth - 1, scene)
                hits += more.hits
                facts += more.facts
        if scene.script.functions:
            power.bombs(scene)
        if scene.script.stopped:
            hits.append(Hit("shell-not-read", scene.first, shorten(scene.script.stopped)))
        return Seen((*scene.hits.values(), *hits), (*scene.facts.values(), *facts))

    def _pays(self, text: str) -> bool:
        self._left -= len(text) + _PRICE
        return self._left > 0

    def _inside(self, script: Inner, line: int, depth: int, outer: Scene) -> Seen:
        if script.language == "shell":
            return self.judged(script.text, Scene(script.text, line, outer), depth)
        self._known[script.text] = ()
        text = script.text.replace(HOLE, "X")
        given = _given(outer, text) if script.language in ("python", "javascript") else None
        seen = checker(script.language)(*((text, given) if given is not None else (text,)))
        return seen.shift(line - 1)


def _given(scene: Scene, text: str) -> Given:
    """Return the variables and files that a program in a script can use."""
    held = {name: value.marks for name in frozenset(_NAME.findall(text)) if (value := scene.variables.find(name))}
    return Given(files=scene.left().files, variables={name: marks for name, marks in held.items() if marks})


_NAME = expression(r"[A-Za-z_]\w{0,60}")


def leave(text: str, left: Given) -> Given:
    """Return the content of the files that a script leaves for other scripts, merged with the files left for it."""
    if not worth_reading(text) and not any(path in text for path in left.files):
        return left
    return Scene(text, 1, None, left).left(left)


def runs(text: str, names: Container[str]) -> Iterator[tuple[str, Given]]:
    """Yield the programs of the given names that a script runs with secrets, or with their paths, and what each is given."""
    scene = Scene(text, 1)
    for step in scene.steps:
        words = [(-1, step.argv[0]), *enumerate(step.spelled)] if step.argv else []
        first = next((at for at, word in words[:_FARTHEST] if word.text.rpartition("/")[2] in names), None)
        if first is None:
            continue
        arguments = tuple(
            one_of(scene.possible_texts(step, word), scene.in_word(step, word, at).union(named_places(word.text)))
            for at, word in words
            if at > first
        )
        fed = private(step.input.marks)
        if fed or any(value.has("place") or private(value.marks) for value in arguments):
            yield step.spelled[first].text if first >= 0 else step.argv[0].text, Given(fed=fed, arguments=arguments)


_FARTHEST = 5
"""Words of a command among which the name of the program is looked for."""

_BUDGET = 150_000
"""Characters of inner scripts that are judged; each script costs a little more than its length."""
_PRICE = 300
_SCRIPT_FILE = shape("shell_signs", "script_file", 0)


def _scripts(scene: Scene, step: Step) -> Iterator[Inner]:
    """Yield the scripts that a step carries, receives as input, runs from a file or writes."""
    language = INTERPRETERS.get(step.name, "shell")
    for one in step.inner:
        if one.text.strip() and (one.known or one.language == "shell") and not step.command.spliced:
            yield one
    for value, _ in fetch.executed(scene, step):
        for text in (text.strip("\n") for text in value.texts if text.strip() and not text.startswith(("$(", "`"))):
            shebang = _SHEBANG.match(text)
            line = scene.lines.get(text, step.command.line)
            yield Inner(INTERPRETERS.get(shebang[1], language) if shebang else language, text, True, line)
    shown = step.output.has("decoded") and step.piped and not step.targets and step.command.parent < 0
    if shown and step.name not in INTERPRETERS:
        yield Inner("shell", step.output.said, True, step.command.line)
    if step.argv and any(">" in one.operator for one in step.command.redirections):
        for target, _ in step.targets:
            text = step.output.said
            if text and (_SCRIPT_FILE.search(target) or re.match(r"#!.{0,40}sh\b", text)):
                yield Inner("shell", unescape(text), True, step.command.line)


_SHEBANG = expression(r"#!\S{0,40}/(?:env\s{1,4})?(\w{2,12})")


def _told(hits: tuple[Hit, ...], text: str) -> Iterator[Hit]:
    """Drop repeated hits, limit the hits of each rule, and note a date check around them."""
    seen: set[tuple[str, int, str, str | None]] = set()
    counts: dict[tuple[str, str | None], int] = {}
    dated = _DATE.search(text) is not None and re.search(r"\b(?:if|\[\[|test)\b|\[ ", text) is not None
    for hit in hits:
        kind, told = (hit.rule, hit.severity), (hit.rule, hit.line, hit.subject, hit.severity)
        counts[kind] = counts.get(kind, 0) + (told not in seen)
        if told in seen or counts[kind] > _EACH:
            continue
        seen.add(told)
        timed = dated and hit.message and hit.severity in (None, "critical")
        yield hit._replace(message=hit.message + ", and the script checks the date") if timed else hit
