"""Findings across the files of a package: a source in one file, a sink in another.

The checker of a text joins the facts of that text; this module joins the facts of different files. A secret and a
connection in one package are common (a script that finds a key, another that calls an API), so the two files must
belong together: one names the other, or both name the same third file. Programs are also read again with the content
of the other files: Python with its modules and data, shell scripts with the variables that another script sets,
JavaScript with the data that it loads.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.documents import checker
from whet.guard.expression import expression
from whet.guard.finding import Hit
from whet.guard.hosts import host_of, is_unsafe
from whet.guard.patterns import line_of, shorten
from whet.guard.places import hints_in
from whet.guard.prose.exfiltration import ORDERED
from whet.guard.rules import every, severity_of
from whet.guard.tables import shape
from whet.guard.taint.commands import Given
from whet.guard.taint.shipped import Budget, Shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Fact

_FILE = shape("flow", "file", frame=r"[\w-]{2,60}\.(?:{})\b")
_OBEY = expression(
    r"\b(?:do|follow|execute|carry out|obey|perform|apply|run)\b[^.\n]{0,40}"
    r"\b(?:what(?:ever)?|everything|all|the|its|each|every)\b[^.\n]{0,40}"
    r"\b(?:prints?|printed|outputs?|says?|returns?|tells?|shows?|steps|instructions)\b",
    re.IGNORECASE,
)
MOST_FILES = 300
"""Maximum number of files that read secrets, and of files that send, which are compared."""
_SPLIT = {"exfiltration": "split-exfiltration", "remote-execution": "split-execution"}


def hits(documents: Sequence[Document], facts: Mapping[str, Sequence[Fact]]) -> Iterator[tuple[str, Hit]]:
    """Yield the hits that follow from facts in different files, each with the path of the later file."""
    texts: dict[str, str] = {}
    for document in documents:
        if document.path in facts and not document.via:
            texts[document.path] = document.text
    yield from _sent(facts, texts)
    yield from _run(facts, texts)
    yield from _obeyed(documents, facts)
    yield from _read_together(documents)


def _sent(facts: Mapping[str, Sequence[Fact]], texts: Mapping[str, str]) -> Iterator[tuple[str, Hit]]:
    sources = _first(facts, lambda fact: fact.kind == "source" and fact.grave)
    sinks = _first(facts, lambda fact: fact.kind == "sink" and _is_outside(fact.subject))
    if sources and sinks and max(len(sources), len(sinks)) > MOST_FILES:
        yield min(sinks), Hit("not-analysed", 1, f"more than {MOST_FILES} files that read secrets or send")
    names = {path: set(_FILE.findall(texts.get(path, ""))) - {"SKILL.md"} for path in (*sources, *sinks)}
    piped = _piped(texts) if sources and sinks else set()
    for one, first in sources.items():
        for two, second in sinks.items():
            said = first.what == ORDERED or second.what == ORDERED
            if one != two and (
                names[one] & names[two] or (not said and (_names(one, two, texts) or (_name(one), _name(two)) in piped))
            ):
                message = f"{one} collects {first.what} and {two} sends data ({second.what})"
                hit = Hit("split-exfiltration", second.line, second.evidence, subject=second.subject, message=message)
                yield two, hit
                return


_STARTS = (
    r"(?:^|[\s;&|(`\"'])(?:(?:ba|z|da)?sh\s+|python3?\s+|node\s+|exec\s+|source\s+|\.\s+|chmod\s+[+\w]{1,6}\s+)?[\"']?"
)


def _run(facts: Mapping[str, Sequence[Fact]], texts: Mapping[str, str]) -> Iterator[tuple[str, Hit]]:
    """Report a file that saves a download from an unsafe address which another file runs."""
    for one, found in facts.items():
        fetched = next((fact for fact in found if fact.kind == "fetch" and is_unsafe(fact.subject)), None)
        kept = {fact.subject for fact in found if fact.kind == "write"} if fetched else ()
        for path in sorted(path for path in kept if len(path) > 5):
            runs = re.compile(f"{_STARTS}{re.escape(path)}(?![\\w.-])", re.MULTILINE)
            for two, text in texts.items():
                if fetched and two != one and path in text and (match := runs.search(text)) is not None:
                    message = f"{one} keeps what it downloads as {path}, and {two} runs it"
                    hit = Hit(
                        "split-execution", line_of(text, match.start()), shorten(match[0].strip()), message=message
                    )
                    yield two, hit._replace(subject=fetched.subject)
                    return


def _first(facts: Mapping[str, Sequence[Fact]], test: Callable[[Fact], bool]) -> dict[str, Fact]:
    """Return the first fact of each file that passes `test`, for at most one file more than is compared."""
    found = ((path, next(filter(test, seen), None)) for path, seen in facts.items())
    return dict(islice(((path, fact) for path, fact in found if fact is not None), MOST_FILES + 1))


def _is_outside(host: str) -> bool:
    return not host_of(host or "unknown.host").near


_PIPE = expression(
    r"(?<![\w.-])([\w-]{1,60}\.\w{1,4})\b[^|;&`\n]{0,200}\|[ \t]{0,9}(?:[\w./-]{1,60}[ \t]{1,9}){0,3}"
    r"[\"'~]?(?:[\w.-]{1,60}/){0,9}([\w-]{1,60}\.\w{1,4})\b"
)
"""A program whose output another one takes."""


def _piped(texts: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the names of programs that a text or script connects by a pipe."""
    return {
        (found[1], found[2])
        for path, text in texts.items()
        if path.endswith((".md", ".sh"))
        for found in _PIPE.finditer(text)
    }


def _names(one: str, two: str, texts: Mapping[str, str]) -> bool:
    """Return whether one of two files names the other."""
    return _stem(two) in texts.get(one, "") or _stem(one) in texts.get(two, "")


def _obeyed(documents: Sequence[Document], facts: Mapping[str, Sequence[Fact]]) -> Iterator[tuple[str, Hit]]:
    """Report a script that shows text from a disreputable address if the skill tells the agent to follow it."""
    shown = [
        (path, fact)
        for path, found in facts.items()
        for fact in found
        if fact.what == "text that is shown" and fact.grave
    ]
    if not shown:
        return
    path, fact = shown[0]
    for document in documents:
        if (
            document.kind == "markdown"
            and not document.via
            and _stem(path) in document.text
            and _OBEY.search(document.text)
        ):
            message = f"{path} shows text that it downloads, and {document.path} tells the agent to follow it"
            yield path, Hit("split-execution", fact.line, fact.evidence, subject=fact.subject, message=message)
            return


def _read_together(documents: Sequence[Document]) -> Iterator[tuple[str, Hit]]:
    """Yield the hits of programs read together with the other files, under rules that are critical by default."""
    if len(documents) < 2:
        return
    budget, shell = Budget(MOST_TEXT), Budget(MOST_TEXT // 4)
    if any(document.kind == "python" for document in documents):
        from whet.guard.python import package as python_package

        yield from ((path, _grave(hit)) for path, hit in python_package.hits(documents, budget))
    if any(document.kind == "javascript" for document in documents):
        from whet.guard.javascript import package as javascript_package

        yield from ((path, _grave(hit)) for path, hit in javascript_package.hits(documents, budget))
    own = [document for document in documents if not document.via]
    yield from ((path, _grave(hit)) for path, hit in _assembled(own, budget))
    yield from ((path, _grave(hit)) for path, hit in _filled_in(own, budget, shell))
    if missed := budget.missed or shell.missed:
        yield missed, Hit("not-analysed", 1, "too much text in files that use each other")
    yield from _put_together(documents)


def _grave(hit: Hit) -> Hit:
    rule = every()[hit.rule]
    if rule.severity == "critical":
        return hit
    return hit._replace(
        rule=_SPLIT.get(rule.category, "split-payload"), severity=None, message=hit.message or rule.title
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _stem(path: str) -> str:
    name = _name(path)
    stem = name.rpartition(".")[0]
    return stem if len(stem) > 3 and stem.lower() != "skill" else name


# --- programs checked again together with the content of other files of the package -----------------------------------

MOST_TEXT = 1 << 20
"""Maximum number of characters that are read again, a quarter of it for shell scripts; larger packages are reported."""
_SET = expression(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w{0,60})=([^\n]{0,400})$", re.MULTILINE)
_USED = expression(r"\$\{?([A-Za-z_]\w{0,60})")
_READS = shape("flow", "reads")
_RUNS = expression(
    r"(?:\b(?:system|exec|eval|popen|passthru|shell_exec|os\.execute|loadstring|instance_eval|class_eval)\b|%x)[^\n]{0,200}"
    r"(?:\.zip\b|\bchars\b|\breverse\b|\bunpack\w{0,3}\b|\bpack\b|\.tr\(|\bstr_rot13\b|\bstrrev\b|\bchr\b|each_slice|each_char)",
    re.IGNORECASE,
)
_CALLED = {
    "python": (
        expression(r"\b(?:import_module|__import__)\(\s{0,4}(?:[\"']{2}\.join|[^)\"'\n]{0,80}[+\[])"),
        expression(r"\bgetattr\([^,\n]{1,60},\s{0,4}(?:[\"']{2}\.join|[^)\"'\n]{1,80}[+\[])[^\n]{0,80}?\)\s{0,4}\("),
    ),
    "javascript": (
        expression(r"\b(?:import|require)\(\s{0,4}[^)\n]{0,80}\+"),
        expression(r"\w\[[^\]\n]{1,80}\]?[^\]\n]{0,20}\+[^\n]{1,80}\]\s{0,4}\("),
    ),
}
"""A module that is loaded, and a function that is called, by an assembled name."""
_DATA = ("text", "json", "yaml", "toml", "markdown")


class _Reading(NamedTuple):
    """A program that is read again with the data it is given, after the scripts that it uses."""

    document: Document
    given: Given
    before: Sequence[tuple[str, str]] = ()
    """The path and text of each of these scripts."""

    @property
    def length(self) -> int:
        """Number of characters to read."""
        return len(self.document.text) + sum(len(text) for _, text in self.before)


def _filled_in(documents: Sequence[Document], budget: Budget, shell: Budget) -> Iterator[tuple[str, Hit]]:
    """Yield the hits that are critical only with the other files, each with its path. The shortest programs are read
    first, so that no file uses up the budget of the others."""
    before = Budget(2 * MOST_TEXT)
    for reading in sorted(_readings(documents, budget, _Used(documents, before)), key=lambda one: one.length):
        if shell.take(reading.document.path, reading.length):
            yield from _new(reading)
    shell.missed = shell.missed or before.missed


def _readings(documents: Sequence[Document], budget: Budget, used: _Used) -> Iterator[_Reading]:
    programs = [document for document in documents if document.kind in ("shell", "python", "javascript")]
    left = _left_behind(programs)
    short = [document for document in documents if len(document.text) <= MOST_TEXT // 4]
    shipped = {"shell": Shipped(short, "", budget), "javascript": Shipped(documents, "javascript", budget)}
    named = [_name(document.path) for document in documents if document.kind != "markdown"]
    for page in (document for document in documents if document.kind == "markdown"):
        if _passes(page, named):
            from whet.guard.prose.checker import commands

            script = page._replace(kind="shell", text=commands(page.text))
            yield _Reading(used.called(script), Given(shipped=shipped["shell"]), used.before(script))
    for document in programs:
        data = shipped.get(document.kind)
        data = data if data is not None and data.is_named(document.text) else None
        files = {path: marks for path, marks in left.files.items() if _last(path) in document.text}
        texts = {path: text for path, text in left.texts.items() if _last(path) in document.text}
        before = [*_settings(document, documents), *used.before(document)] if document.kind == "shell" else []
        if data or files or texts or before:
            yield _Reading(used.called(document), Given(files=files, texts=texts, shipped=data), before)
    for document in documents if len(documents) > 1 else ():
        if document.kind == "powershell" and (loaded := list(_loaded(document, documents))):
            yield _Reading(document, Given(), loaded)
    for document, given in _started(documents, budget):
        yield _Reading(document, given._replace(shipped=shipped.get(document.kind)))


_LOADS = expression(
    r"^[ \t]{0,40}(?:\.|&|import-module|ipmo|using[ \t]{1,9}module)[ \t]{1,9}[^\n]{0,200}?([\w.-]{1,80}\.ps(?:1|m1|d1))\b",
    re.IGNORECASE | re.MULTILINE,
)


def _loaded(script: Document, documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each script that a PowerShell script loads."""
    names = {name.lower() for name in _LOADS.findall(script.text)}
    for other in documents:
        if other is not script and other.kind == "powershell" and _name(other.path).lower() in names:
            yield other.path, f"{other.text}\n"


_PASSES = expression(r"[|>$<]")


def _passes(page: Document, names: Iterable[str]) -> bool:
    """Return whether a line with one of some files may pass something on to it, or the path of a secret."""
    hints = hints_in([page.text])
    return any(
        line[:1] not in ("|", ">")
        and (_PASSES.search(line) or any(map(line.lower().__contains__, hints)))
        and any(map(line.__contains__, names))
        for line in page.text.split("\n")
    )


def _started(documents: Sequence[Document], budget: Budget) -> Iterator[tuple[Document, Given]]:
    """Yield the programs that a script or a text of the package starts with secrets or their paths, and what they are given."""
    programs = {_name(one.path): one for one in documents if one.kind in ("python", "javascript")}
    for page in documents if programs else ():
        if (
            page.kind not in ("shell", "markdown")
            or not _passes(page, programs)
            or not budget.take(page.path, len(page.text))
        ):
            continue
        from whet.guard.prose.checker import commands
        from whet.guard.shell.checker import runs

        for path, given in runs(page.text if page.kind == "shell" else commands(page.text), programs):
            yield programs[_name(path)], given


def _left_behind(programs: Sequence[Document]) -> Given:
    """Return the files that the shell scripts of a package leave for its other programs."""
    left = Given(files={}, texts={})
    for script in programs:
        names = {_last(path) for path in _paths(script.text)} if script.kind == "shell" and len(programs) > 1 else ()
        if any(name in one.text for one in programs if one is not script for name in names):
            from whet.guard.shell.checker import leave

            left = leave(script.text, left)
    return left


_JOINS = shape("flow", "joins")


def _put_together(documents: Sequence[Document]) -> Iterator[tuple[str, Hit]]:
    """Report text that tells the agent to join files of the package into a command, in the order it names them."""
    parts = {_name(one.path): one.text for one in documents if not one.via and len(one.text) < 2000}
    parts.pop("SKILL.md", None)
    for document in documents:
        if document.kind != "markdown" or document.via or sum(name in document.text for name in parts) < 2:
            continue
        for found in _JOINS.finditer(document.text):
            start = document.text.rfind("\n\n", 0, found.start()) + 1
            end = document.text.find("\n\n", found.end())
            passage = document.text[start : end if end > 0 else None][:2000]
            named = sorted((passage.find(name), name) for name in parts if name in passage)
            if len(named) < 2:
                continue
            from whet.guard.shell.checker import check

            pieces = [" ".join(parts[name].split()) for _, name in named]
            for joint in ("", " "):
                grave = next(iter(check(joint.join(pieces)).hits), None)
                if grave is not None:
                    line = line_of(document.text, found.start())
                    message = (
                        f"The files {', '.join(name for _, name in named)} are a command together: {grave.evidence}"
                    )
                    yield document.path, Hit("split-payload", line, shorten(found[0]), message=message)
                    return


def _assembled(documents: Sequence[Document], budget: Budget) -> Iterator[tuple[str, Hit]]:
    """Report programs that run text assembled from data files, or call what their data names."""
    data = {_name(document.path).partition(".")[0]: document for document in documents if document.kind in _DATA}
    names = set(data)

    @cache
    def holds_command(name: str) -> bool:
        return budget.take(data[name].path, len(data[name].text)) and _holds_command(data[name].text)

    for document in documents:
        call = _DISPATCHES.search(document.text) if document.kind == "code" else None
        named = [name for name in names if len(name) > 2 and name in document.text] if call else ()
        if call and any(map(holds_command, named)):
            message = "The code calls what its data names, and there are commands in the data"
            line = line_of(document.text, call.start())
            yield document.path, Hit("split-payload", line, shorten(call[0]), message=message)
        if document.kind in _CALLED and len(names) > 1 and (call := _CALLED[document.kind][1].search(document.text)):
            if _CALLED[document.kind][0].search(document.text):
                message = "The code takes both the module and the function that it calls from its data"
                line = line_of(document.text, call.start())
                yield document.path, Hit("split-payload", line, shorten(call[0]), "warn", message=message)
            continue
        if document.kind != "code" or not _READS.search(document.text):
            continue
        found = _RUNS.search(document.text)
        if found and any(len(name) > 2 and name in document.text for name in names):
            line = line_of(document.text, found.start())
            message = "The code assembles text from its data files and runs it"
            yield document.path, Hit("split-payload", line, shorten(found[0]), message=message)


_DISPATCHES = shape("flow", "dispatches")
_ENTRY = expression(r"[:=,\[]\s{0,9}[\"']?([^\"'\n]{8,400})")


def _holds_command(data: str) -> bool:
    """Return whether a value in a data file is a dangerous command."""
    from whet.guard.shell.checker import check

    entries = _ENTRY.findall(data)
    parts = ("\n".join(entries[start : start + 500]) for start in range(0, len(entries), 500))
    return any(_is_grave(hit) for part in parts for hit in check(part).hits)


def _new(reading: _Reading) -> Iterator[tuple[str, Hit]]:
    """Yield the critical hits that a program has only together with the files and scripts that it uses."""
    document = reading.document
    check = checker(document.kind)
    given = (reading.given,) if document.kind != "powershell" else ()
    parts = [*reading.before, (document.path, document.text)]
    grave = [hit for hit in check("".join(text for _, text in parts), *given).hits if _is_grave(hit)]
    first = 0
    for path, text in parts:
        last = first + text.count("\n") if (path, text) != parts[-1] else sys.maxsize
        here = [hit._replace(line=hit.line - first) for hit in grave if first < hit.line <= last]
        if path and here:
            alone = {(hit.rule, hit.line) for hit in check(text).hits if _is_grave(hit)}
            yield from ((path, hit) for hit in here if (hit.rule, hit.line) not in alone)
        first = last


def _is_grave(hit: Hit) -> bool:
    return severity_of(hit) == "critical" and not hit.steps


def _settings(script: Document, documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Yield the lines of other files that set variables which a script uses, joined under an empty path."""
    wanted = set(_USED.findall(script.text)) - {name for name, _ in _SET.findall(script.text)}
    lines: dict[str, str] = {}
    pages = [document.text for document in documents if document.kind == "markdown"]
    for document in documents:
        if document is script or not wanted or document.kind not in ("shell", "text"):
            continue
        given = [(name, value) for name, value in _SET.findall(document.text) if name in wanted]
        if given and _belongs(script, document, pages):
            for name, value in given:
                if len(lines) < 200:
                    lines[name] = f"{name}={value}\n"
    if lines:
        yield "", "".join(lines.values())


_PATH = expression(
    r"(?<![\w:/.])(?:(?:/(?:var/)?tmp|/dev/shm|~|\$\{?(?:HOME|TMPDIR|XDG_\w{1,20})\}?|\.{1,2})/[\w./-]{1,80}"
    r"|[\w-]{2,60}\.(?:txt|json|log|dat|tmp|cache|bin|zip|tar|gz|tgz|db|csv|enc|b64|out|sh|py|env|conf|cfg)\b)"
)
"""The path of a file that one script may leave for another."""


def _paths(text: str) -> frozenset[str]:
    return frozenset(_PATH.findall(text))


def _last(path: str) -> str:
    """Return the name of a file; the whole path if the name is short."""
    name = path.rstrip("/").rpartition("/")[2]
    return name if len(name) > 3 else path


_SHELLS = r"(?:\S{0,30}/)?(?:ba|da|z|k)?sh[ \t]{1,9}(?:-[a-z]{1,6}[ \t]{1,9}){0,3}"
_CALL = (
    r"(^|[|;&(`{{!][ \t]{{0,40}}|[ \t])"
    r"(?:(source|\.)[ \t]{{1,9}}|{shells})?(?:(?:\$\([^()\n]{{0,80}}\)|[^\s|;&()<>`]){{0,80}}/|[\"'])?({names})[\"']?"
    r"(?=([ \t][^\n;&]{{0,400}}|[|;&)<>`])?)(?![\w.-])"
)
"""A script that another script sources or runs: the text before it, and the rest of the line."""
_SOURCED_ALL = expression(
    r"(?:^|[\s;&|({])(?:source|\.)[ \t]{1,9}[\"']?\$\{?\w{1,40}\}?[\"']?[ \t]{0,9}(?:$|[;&|)])", re.MULTILINE
)
_GLOB = expression(r"[\w./-]{0,80}\*[\w.-]{0,40}")


class _Used:
    """The use of scripts by other scripts: a sourced script is put in front, one that is run becomes a function."""

    def __init__(self, documents: Sequence[Document], budget: Budget) -> None:
        self._budget = budget
        """The budget for all scripts that are put in front."""
        self._scripts: dict[str, list[Document]] = {}
        """All scripts by name: which one a path leads to depends on the working directory."""
        for document in documents:
            if document.kind in ("shell", "text", "code") and document.text:
                self._scripts.setdefault(_name(document.path), []).append(document)
        names = "|".join(map(re.escape, self._scripts))
        call = _CALL.format(shells=_SHELLS, names=names)
        self._call = re.compile(call, re.MULTILINE) if self._scripts else None
        self._known: dict[tuple[str, str], dict[str, bool]] = {}

    def before(self, script: Document) -> list[tuple[str, str]]:
        """Return the path and text of each script that must be read before `script`, including indirect ones."""
        found: dict[str, str] = {}
        waiting = [script]
        while waiting and not self._budget.missed:
            used = self._uses(waiting.pop())
            for name, other in ((one, other) for one in used for other in self._scripts[one]):
                if other.path in found or other.path == script.path:
                    continue
                text = self.called(other).text
                if self._budget.take(other.path, len(text)):
                    found[other.path] = f"{text}\n" if used[name] else f"{name}() {{ {text}\n}}\n"
                    waiting.append(other)
        return [*reversed(found.items())]

    def called(self, script: Document) -> Document:
        """Return a script in which runs of other scripts are calls of functions."""
        if self._call is None or script.kind != "shell":
            return script
        text = self._call.sub(lambda found: found[0] if found[2] else f"{found[1]}{found[3]}", script.text)
        return script._replace(text=text)

    def _uses(self, script: Document) -> dict[str, bool]:
        """Return the scripts that `script` uses, each with whether it is sourced. A script that is run without input,
        output or shared variables is left out, because it can be checked alone."""
        found = self._known.get((script.path, script.kind))
        if found is not None or self._call is None:
            return found or {}
        found = self._known[script.path, script.kind] = {}
        calls = list(self._call.finditer(script.text))
        shares = "export " in script.text or any(call[2] for call in calls)
        for call in calls:
            before = script.text[script.text.rfind("\n", 0, call.start() + 1) + 1 : call.start()]
            rest = call[4] or ""
            given = re.search(r"[|$<]", rest) or hints_in([rest])
            if shares or given or call[1][:1] in ("|", "(", "`") or "=" in before:
                found[call[3]] = found.get(call[3], False) or bool(call[2])
        globs = _GLOB.findall(script.text) if _SOURCED_ALL.search(script.text) else ()
        for name, others in self._scripts.items():
            paths = [f"/{other.path}" for other in others if other.path != script.path]
            if any(fnmatchcase(path, f"*/{glob.lstrip('./')}") for path in paths for glob in globs):
                found[name] = True
        return found


def _belongs(script: Document, other: Document, pages: Sequence[str]) -> bool:
    """Return whether a file is read before a script runs: the script names it, or a page names both."""
    name = _name(other.path)
    return name in script.text or any(name in page and _name(script.path) in page for page in pages)
