"""Parse what can be parsed of a Python text: a line that is none, or the syntax of a later version, must not hide the rest."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from whet.guard.expression import expression

if TYPE_CHECKING:
    import re

_MOST, _WORK = 60, 4_000_000
"""Maximum number of lines that are replaced, and of characters that are parsed for it."""
_RUN = expression(r"([(\[{)\]}~])\1{39,}|(not |lambda:)\2{39,}|-{400,}")
"""What is nested too deeply for the parser, or looks like it."""
_ALIAS = expression(r"^([ \t]{0,80})type[ \t]{1,9}\w{1,80}(?:\[[^\]\n]{0,200}\])?[ \t]{0,9}=.*$")
_GENERIC = expression(r"^([ \t]{0,80}(?:async[ \t]{1,9})?(?:def|class)[ \t]{1,9}\w{1,80})\[[^\]\n]{0,400}\]")
_TEMPLATE = expression(r"\bt(?=[\"'])")
_FORMATTED = expression(
    r"\b([rR]?[fFtT][rR]?)(?:\"((?:[^\"{}\n]|\{\{|\}\}|\{[^{}\n]{0,400}\}){0,400})\"|'((?:[^'{}\n]|\{\{|\}\}|\{[^{}\n]{0,400}\}){0,400})')"
)
_FIELD = expression(r"\{[^{}\n]{0,400}\}")
_HEADER = expression(r"on line (\d+)")


def repaired(source: str) -> tuple[str, ast.Module | None]:
    """Return a text in which the lines that cannot be parsed are replaced, and its tree; None if there are too many."""
    source = _RUN.sub(lambda found: found[2] or found[0][0], source.replace("\0", " "))
    lines = source.split("\n")
    for _ in range(min(_MOST, _WORK // (len(source) + 1))):
        text = "\n".join(lines)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return text, ast.parse(text)
        except SyntaxError as error:
            _mend(lines, error)
        except (RecursionError, MemoryError):
            deepest = max(range(len(lines)), key=lambda at: sum(map(lines[at].count, "([{~")))
            lines[deepest] = _stand_in(lines, deepest)
        except ValueError:
            break
    return source, None


def _mend(lines: list[str], error: SyntaxError) -> None:
    """Replace the line of a syntax error."""
    at = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    if isinstance(error, TabError):
        lines[:] = [line.expandtabs(8) for line in lines]
    elif (header := _HEADER.search(error.msg or "")) is not None and "indented block" in error.msg:
        lines[int(header[1]) - 1] += " pass"
    elif "unexpected indent" in (error.msg or "") or "unindent" in (error.msg or ""):
        _shift(lines, at)
    else:
        lines[at] = _later(lines[at]) or _stand_in(lines, at)


def _later(line: str) -> str:
    """Return a line in the syntax of a later version as one of an earlier version; empty if it is none."""
    new = _GENERIC.sub(r"\1", _ALIAS.sub(r"\1pass", line))
    new = _TEMPLATE.sub("f", _FORMATTED.sub(_quoted, new))
    return new if new != line else ""


def _quoted(found: re.Match[str]) -> str:
    """Return a formatted text whose fields have other quotation marks than the text."""
    mark, other = ('"', "'") if found[2] is not None else ("'", '"')

    def field(inner: re.Match[str]) -> str:
        return inner[0].replace(mark, other)

    return f"{found[1]}{mark}{_FIELD.sub(field, found[2] if found[2] is not None else found[3])}{mark}"


def _shift(lines: list[str], at: int) -> None:
    """Move a block to the left, to the statement before it."""
    before = next((line for line in reversed(lines[:at]) if line.strip()), "")
    margin, own = _margin(before), _margin(lines[at])
    for number in range(at, len(lines)):
        if lines[number].strip() and len(_margin(lines[number])) < len(own):
            break
        lines[number] = margin + lines[number][len(own) :] if lines[number].strip() else ""
    if margin == own:
        lines[at] = ""


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _stand_in(lines: list[str], at: int) -> str:
    """Return a statement that stands for a line."""
    if not lines[at].strip() or lines[at].strip() in ("pass", "if True:"):
        return ""
    margin = _margin(lines[at])
    after = next((line for line in lines[at + 1 :] if line.strip()), "")
    return f"{margin}if True:" if len(_margin(after)) > len(margin) else f"{margin}pass"
