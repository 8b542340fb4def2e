"""Check Python code by its syntax tree: names are resolved, constants folded, values followed from source to sink.

Nothing is imported or executed. A text without any of the trigger words is not parsed. A text that cannot be parsed
is tried again without notebook magics and prompts, and then searched with a few patterns.
"""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.patterns import hits as pattern_hits
from whet.guard.patterns import load_patterns
from whet.guard.python.calls import invoke
from whet.guard.python.reader import STEPS, Reader
from whet.guard.python.repair import repaired
from whet.guard.python.statements import block
from whet.guard.tables import api
from whet.guard.taint.branches import united
from whet.guard.taint.harm import conclude
from whet.guard.taint.value import Value

if TYPE_CHECKING:
    from whet.guard.finding import Severity
    from whet.guard.taint.branches import Branches
    from whet.guard.taint.commands import Given

LARGEST = 1 << 20
"""Maximum number of characters that are parsed at once."""
_WORD = expression(r"[A-Za-z_]\w*")
_TRIGGERS = api("python", "triggers")


def check(text: str, given: Given | None = None) -> Seen:
    """Return the hits and facts of a Python text; `given` is the data that the program running it passes to it."""
    return read_text(text, 0, given)


def read_text(text: str, level: int, given: Given | None = None) -> Seen:
    """Check text that was found inside another text, `level` decodings deep."""
    if len(text) > LARGEST:
        return _in_parts(text, level)
    return _read(text, level, given)


def _in_parts(text: str, level: int) -> Seen:
    """Check a text that is too long to parse at once in parts, split at unindented lines."""
    hits: list[Hit] = []
    facts: list[Fact] = []
    start = line = 0
    while start < len(text):
        end = min(start + LARGEST // 2, len(text))
        while 0 < end < len(text):
            end = text.find("\n", end) + 1 or len(text)
            if not text[end : end + 1].isspace() and text[end : end + 1] not in (")", "]", "}", "#", ""):
                break
            if end - start >= LARGEST:
                break
        part = text[start:end][:LARGEST]
        seen = _read(part, level).shift(line)
        hits.extend(seen.hits)
        facts.extend(seen.facts)
        line += part.count("\n")
        start += len(part)
    return Seen(tuple(hits), tuple(facts))


def _read(text: str, level: int, given: Given | None = None, branches: Branches | None = None) -> Seen:
    if _TRIGGERS.isdisjoint(_WORD.findall(text)) and "[::-1]" not in text and not has_magics(text):
        return Seen()
    source, tree, deep = parse(text)
    failed = Seen() if tree is not None else _unparsed(source, deep)
    if tree is None:
        source, tree = repaired(source)
    if tree is None:
        return failed
    reader = Reader(source, read_text, level, branches=branches)
    if given is not None:
        reader.take(given)
    seen = finished(reader, tree, source, text)
    seen = Seen((*seen.hits, *failed.hits), seen.facts)
    for other in reader.branches.others():
        seen = united(seen, _read(text, level, given, other))
    return seen


def finished(reader: Reader, tree: ast.Module, source: str, text: str) -> Seen:
    """Run `reader` over a parsed file and return all its hits and facts."""
    try:
        if source != text and ("!" in text or "%%" in text):
            for reader.line, command in magics(text):
                reader.look(command, False)
        run(reader, tree, source)
    except RecursionError:
        reader.hits["python-unparsable", 1, ""] = _unread("The code is nested too deeply")
    if reader.steps <= 0:
        message = f"The file has more than {STEPS} expressions; the rest was not read"
        reader.hits["python-unparsable", 1, ""] = _unread(message)
    return Seen(tuple(sorted(reader.hits.values(), key=lambda hit: hit.line)), tuple(reader.facts.values()))


def _unread(message: str) -> Hit:
    return Hit("python-unparsable", 1, "", "warn", "", message)


def parse(text: str) -> tuple[str, ast.Module | None, bool]:
    """Return the parsed text, its tree (or None), and whether the text is nested too deeply to parse."""
    source = text.lstrip("\ufeff").replace("\r\n", "\n")
    tree, deep = _tree(source)
    if tree is None and not deep:
        cleaned = plain(source)
        if cleaned != source:
            return cleaned, *_tree(cleaned)
    return source, tree, deep


def parses(text: str) -> bool:
    """Return whether the text parses as Python, regardless of its file name."""
    return len(text) <= LARGEST and parse(text)[1] is not None


def _tree(source: str) -> tuple[ast.Module | None, bool]:
    return _recent_tree(source) if len(source) <= _KEPT else _parse(source)


@lru_cache(maxsize=16)
def _recent_tree(source: str) -> tuple[ast.Module | None, bool]:
    return _parse(source)


_KEPT = 50_000
"""Maximum length of a text whose tree is cached: trees are often needed twice, alone and with the other files."""


def _parse(source: str) -> tuple[ast.Module | None, bool]:
    if too_deep(source):
        return None, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source), False
    except (SyntaxError, ValueError):
        return None, False
    except (RecursionError, MemoryError):
        return None, True


def _unparsed(source: str, deep: bool) -> Seen:
    found = list(pattern_hits(FALLBACK, source))
    if deep:
        found.append(_unread("The code is nested too deeply"))
    elif likely(source):
        found.append(Hit("python-unparsable", 1, ""))
    return Seen(tuple(found))


def run(reader: Reader, tree: ast.Module, source: str) -> None:
    """Read the module, then the functions that were never called; read all functions again if marks were added."""
    if not reader.done:
        reader.done = True
        reader.doc = ast.get_docstring(tree, clean=False)
        block(reader, tree.body, reader.module)
    before = reader.changes
    _functions(reader)
    if reader.changes != before or reader.outlived:
        for function in reader.functions:
            function.runs.clear()
        _functions(reader)
    _installs(reader)
    reader.check_together()
    conclude(reader, source, lambda: _constants(tree))
    if "fork" in source:
        _forks(reader, tree)


def _forks(reader: Reader, tree: ast.Module) -> None:
    """Report an endless loop that only forks processes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and len(node.body) < 3:
            calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
            if calls and all(isinstance(one.func, ast.Attribute) and one.func.attr == "fork" for one in calls):
                reader.line = node.lineno
                reader.hit("fork-bomb")


def _constants(tree: ast.Module) -> list[tuple[int, str]]:
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def _functions(reader: Reader) -> None:
    for function in islice(reader.functions, 5000):  # the list grows meanwhile
        if not function.runs:
            invoke(reader, function, [], {}, Value(fn=function.klass))


_PIPED = expression(r"\b(?:curl|wget)\b[^\n]{0,200}\|\s{0,4}(?:sudo\s{1,4})?(?:ba|z)?sh\b")
_HOOKS = ("install", "develop", "egg_info", "build_py", "build", "sdist", "bdist_wheel")


def _installs(reader: Reader) -> None:
    """Report install command classes that use the network or a shell."""
    for klass in reader.klasses:
        if any(
            base.rpartition(".")[2] in _HOOKS and ("setuptools" in base or "distutils" in base) for base in klass.bases
        ):
            for function in klass.methods.values():
                first, last = function.node.lineno, function.node.end_lineno or function.node.lineno
                inside = [fact for fact in reader.facts.values() if first <= fact.line <= last]
                fetches = any(fact.kind in ("fetch", "sink", "source") for fact in inside)
                commands = [fact for fact in inside if fact.kind == "execute" and "shell" in fact.what]
                if fetches or commands:
                    grave = any(_PIPED.search(fact.subject) for fact in commands)
                    severity: Severity = "critical" if grave else "warn" if fetches else "info"
                    reader.line = first
                    reader.hit("runs-at-install", severity, klass.name)


# --- preparing text for the parser: magics and prompts removed, and patterns for text that never parses ---------------

_DEEP = ("(" * 60, "[" * 60, "{" * 60, "~" * 500, "not " * 200, "lambda:" * 100, "-" * 5000)
_MAGIC = expression(r"^(\s*)(?:%{1,2}\w|!|\?\w).*$", re.MULTILINE)
_TAKEN = expression(r"^(\s{0,40}\w{1,60}\s{0,4}=\s{0,4})(?:!|%(?:sx|system)\s)(.+)$", re.MULTILINE)
"""A notebook command whose output is assigned to a variable."""
_ASSIGNED = expression(r"^\s{0,40}(?:for\s{1,4})?(\w{1,60})\s{0,4}(?:=[^=]|in\b)", re.MULTILINE)
_PUT_IN = expression(r"[{$](\w{1,60})\}?")
"""A program variable inside a notebook command."""
_SHELL = expression(r"^\s{0,40}(?:(?:\w{1,60}\s{0,4}=\s{0,4})?!|%%(?:bash|sh|script)\b|%(?:sx|system)\s)", re.MULTILINE)
_PROMPT = expression(r"^[ \t]*(?:>>> ?|\.\.\. ?|In \[\d{0,4}\]: ?)")
_TEMPLATE = expression(r"\{\{[^{}\n]{0,200}\}\}|\{%[^{}\n]{0,200}%\}")
_PRINT = expression(r"^(\s*)print (?![=(])(.*)$", re.MULTILINE)
_EXCEPT = expression(r"^(\s*except\s{1,4}[\w.() ]{1,80}?),\s{0,4}(\w{1,40})\s{0,4}:", re.MULTILINE)
_LOOKS = expression(
    r"^(?:import [\w.]+(?: as \w+)?\s*$|from [\w.]+ import [\w(*]|def \w+\(.*:\s*$|class \w{1,80}.*:\s*$|#!.*\bpython)",
    re.MULTILINE,
)

FALLBACK = load_patterns("python")
"""Patterns for text that cannot be parsed."""


def too_deep(source: str) -> bool:
    """Return whether the text is nested too deeply to parse. Code that people write stays far below this limit."""
    return any(run in source for run in _DEEP)


def plain(source: str) -> str:
    """Remove notebook magics, prompts and templates, and convert Python 2 syntax; lines keep their numbers."""
    if ">>>" in source or "In [" in source:
        source = "\n".join(_unprompted(source.split("\n")))
    if "%" in source or "!" in source or "?" in source:
        named = frozenset(_ASSIGNED.findall(source)) if "!" in source else frozenset[str]()
        source = _TAKEN.sub(lambda found: f"{found[1]}get_ipython().getoutput({_put_in(found[2], named)})", source)
        source = _MAGIC.sub(lambda found: found[1] + _called(found[0].strip(), named), source)
    if "{{" in source or "{%" in source:
        source = _TEMPLATE.sub("template", source)
    if "print " in source:
        source = _PRINT.sub(r"\1print(\2)", source)
    if "except" in source:
        source = _EXCEPT.sub(r"\1 as \2:", source)
    return _dedented(source)


def _called(magic: str, named: frozenset[str]) -> str:
    """Return a magic as a statement: a call for a shell command that uses program variables, else `pass`."""
    if magic[0] != "!" or named.isdisjoint(_PUT_IN.split(magic)[1::2]):
        return "pass"
    return f"get_ipython().system({_put_in(magic[1:], named)})"


def _put_in(command: str, named: frozenset[str]) -> str:
    """Return a notebook command as an expression that concatenates its text and the program variables in it."""
    parts = enumerate(_PUT_IN.split(command))
    return " + ".join(f"str({part})" if at % 2 and part in named else repr(part) for at, part in parts)


def has_magics(source: str) -> bool:
    """Return whether the text contains notebook magics that run shell commands."""
    return ("!" in source or "%" in source) and _SHELL.search(source) is not None


def magics(source: str) -> list[tuple[int, str]]:
    """Return the shell commands of a notebook, each with its line number."""
    found: list[tuple[int, str]] = []
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        command = line.strip()
        if command.startswith("!"):
            found.append((number, command.lstrip("!")))
        elif command.startswith(("%sx ", "%system ")):
            found.append((number, command.partition(" ")[2]))
        elif command.startswith(("%%bash", "%%sh", "%%script bash", "%%script sh")):
            found.append((number, "\n".join(lines[number:])))
        if len(found) >= 200:
            break
    return found


def _unprompted(lines: list[str]) -> list[str]:
    """Return the lines that were typed at a prompt; output lines become empty."""
    return [line[found.end() :] if (found := _PROMPT.match(line)) else "" for line in lines]


def _dedented(source: str) -> str:
    first = next((line for line in source.split("\n") if line.strip()), "")
    if first[:1] not in (" ", "\t"):
        return source
    margin = first[: len(first) - len(first.lstrip())]
    return "\n".join(line[len(margin) :] if line.startswith(margin) else line.lstrip() for line in source.split("\n"))


def likely(source: str) -> bool:
    """Return whether the text is certainly Python: several lines must match constructs that only Python has."""
    return len(source) > 200 and len(_LOOKS.findall(source)) >= 4
