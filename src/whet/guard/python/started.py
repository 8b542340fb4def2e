"""Files of a program's own making that it runs: downloads, and what it has decoded and written out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.python.access import files_of
from whet.guard.python.files import above, key_of
from whet.guard.taint.execute import judge_started
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark
from whet.guard.taint.value import NOTHING, UNKNOWN, Value

if TYPE_CHECKING:
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_INTERPRETERS = re.compile(
    r"(?:python[\d.]*|pypy\d?|(?:ba|z|da|k)?sh|node|perl|ruby|sudo|open|xdg-open|start|nohup|env|source|\.|pwsh|powershell|cmd|msiexec"
    r"|osascript|installer|dpkg|rpm|pip\d?|chmod)(?:\.exe)?$",
    re.IGNORECASE,
)


def written_before(reader: Reader, this: Call, given: list[Value]) -> frozenset[Mark]:
    """The marks of files written earlier that are now run: as the program, or by an interpreter."""
    if not reader.files:
        return NO_MARKS
    marks = NO_MARKS
    nodes = list(this.node.args[:1])
    elements = getattr(nodes[0], "elts", None) if nodes else None
    first = given[0].const if given else UNKNOWN
    if isinstance(first, (list, tuple)):
        words = [part if isinstance(part, str) else HOLE for part in first]
        for index in _run_words(words):
            marks |= above(reader, words[index])
            if elements and index < len(elements):
                marks |= reader.files.get(key_of(NOTHING, elements[index]), NO_MARKS)
    elif isinstance(first, str) and first.strip(HOLE):
        for part in re.split(r"&&|\|\||[;|&\n]", first[:4000]):
            words = part.split()
            for index in _run_words(words):
                marks |= reader.files.get(words[index].strip("'\""), NO_MARKS)
    elif nodes:
        marks |= reader.files.get(key_of(NOTHING, nodes[0]), NO_MARKS)
    return marks


def _run_words(words: list[str]) -> list[int]:
    """Which words of a command are run: the first, and what an interpreter is given."""
    if not words:
        return []
    first = words[0].rpartition("/")[2]
    if not _INTERPRETERS.match(first):
        return [0]
    later = next((index for index, word in enumerate(words[1:], 1) if not word.startswith("-")), 0)
    return [0, later] if later else [0]


def ran_file(reader: Reader, marks: frozenset[Mark]) -> None:
    """A file of the program's own making is run: judged by where its content came from."""
    for mark in sorted(marks):
        if mark.kind in ("fetched", "decoded"):
            one = judge_started(mark)
            own = files_of(marks) if mark.kind == "decoded" else []
            reader.hit(one.rule, one.severity, own[0] if own else one.subject, one.message)


def imported(reader: Reader, module: str) -> None:
    """A module by the name of a file that was written before is that file."""
    name = f"{module.partition('.')[0]}.py"
    for path, marks in reader.files.items():
        if marks and path.rpartition("/")[2] == name:
            ran_file(reader, marks)
