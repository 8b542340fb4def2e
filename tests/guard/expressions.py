"""Every regular expression of the guard, and what in it could make a text take more than linear time.

Expressions are collected from the values of the modules and from the calls in their sources, and looked at as parsed:
a repetition without end inside another one, two such repetitions side by side that can take the same characters, and
one that takes nearly everything in an expression that may begin anywhere.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from re import _constants as c  # type: ignore[attr-defined]  # the parsed form has no public name
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

import whet.guard
from whet.guard.expression import Expression as Lazy
from whet.guard.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_CALLS = frozenset(("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"))
_CHARACTERS = (*map(chr, range(9, 127)), "é", "中", "\u200b", "\u00a0")
_ENDLESS = 400
"""So many repetitions are without end, for what stands beside them."""
Expression = tuple[str | bytes, int]
_KNOWN: dict[tuple[str, str, int], frozenset[str]] = {}


def expressions() -> dict[Expression, str]:
    """Each expression with its flags, and where it stands."""
    found: dict[Expression, str] = {}
    for info in pkgutil.walk_packages(whet.guard.__path__, "whet.guard."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            _take(found, f"{info.name}.{name}", value)
        if module.__file__ is not None and module.__file__.endswith(".py"):
            with open(module.__file__, encoding="utf-8") as file:
                _called(found, info.name, ast.parse(file.read()), vars(module))
    return found


def searched() -> list[str]:
    """The expressions that are tried only where their words stand: those of patterns, and others."""
    found: set[str] = set()
    for info in pkgutil.walk_packages(whet.guard.__path__, "whet.guard."):
        module = importlib.import_module(info.name)
        found.update(getattr(module, "EXPRESSIONS", ()))
        for value in vars(module).values():
            found.update(_patterns(value))
    return sorted(found)


def _patterns(value: object) -> Iterator[str]:
    if isinstance(value, Pattern):
        yield value.regex
    elif isinstance(value, tuple | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _patterns(one)


def _take(found: dict[Expression, str], where: str, value: object, depth: int = 0) -> None:
    if isinstance(value, re.Pattern | Lazy):
        found.setdefault((value.pattern, value.flags), where)
    elif isinstance(value, Pattern):
        for regex in filter(None, (value.regex, value.unless)):
            found.setdefault((regex, re.IGNORECASE | re.MULTILINE), where)
    elif isinstance(value, tuple | list | set | frozenset) and depth < 6:
        for one in value:
            _take(found, where, one, depth + 1)
    elif isinstance(value, dict) and depth < 6:
        _take(found, where, [*value, *value.values()], depth + 1)


def _called(found: dict[Expression, str], where: str, tree: ast.AST, names: dict[str, Any]) -> None:
    """What is handed to `re` and to `compiled` where it stands, as far as the module's own names tell it."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        named = node.func.id if isinstance(node.func, ast.Name) else ""
        method = node.func.attr if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re" else ""
        if named != "compiled" and method not in _CALLS:
            continue
        values = [_value(arg, names) for arg in (*node.args, *(word.value for word in node.keywords))]
        flags = re.IGNORECASE | re.MULTILINE if named else re.NOFLAG
        for value in values[1:]:
            flags |= value if isinstance(value, re.RegexFlag) else re.NOFLAG
        if isinstance(values[0], str | bytes):
            found.setdefault((values[0], re.compile(values[0], flags).flags), f"{where}:{node.lineno}")


def _value(node: ast.expr, names: dict[str, Any]) -> object:
    try:
        return eval(compile(ast.Expression(node), "<ours>", "eval"), names)  # our own sources, nothing else
    except Exception:  # noqa: BLE001  names that only the function knows; such expressions are built of ones seen here
        return None


def faults(expression: Expression) -> set[str]:
    """`nested`, `adjacent` and `anywhere`, where an expression is that."""
    pattern, flags = expression
    look = _Look(flags)
    tree = list(parser.parse(pattern, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags))
    look.walk(tree, [], endless=None)
    begins = tree[0] == (c.AT, c.AT_BEGINNING) or tree[0] == (c.AT, c.AT_BEGINNING_STRING) if tree else True
    return look.found - ({"anywhere"} if begins else set())


class _Look:
    def __init__(self, flags: int) -> None:
        self.flags = flags
        self.found: set[str] = set()

    def walk(
        self, items: list[tuple[Any, Any]], before: list[frozenset[str]], *, endless: frozenset[str] | None
    ) -> list[frozenset[str]]:
        """Go through a sequence with the endless repetitions that may end right before it; those that end it.

        `endless` says that all of it is repeated without end: with what each round begins, if that is one character.
        """
        for number, (kind, value) in enumerate(items):
            if self.characters(kind, value) is not None or kind is c.GROUPREF:
                before = []
            elif kind is c.SUBPATTERN:
                before = self.walk(list(value[3]), before, endless=endless)
            elif kind is c.ATOMIC_GROUP:
                before = self.walk(list(value), before, endless=endless)
            elif kind is c.BRANCH:
                before = [one for branch in value[1] for one in self.walk(list(branch), before, endless=endless)]
            elif kind in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
                last = number == len(items) - 1
                before = self.repeat(value, before, endless=endless, last=last)
        return before

    def repeat(
        self, value: Any, before: list[frozenset[str]], *, endless: frozenset[str] | None, last: bool
    ) -> list[frozenset[str]]:
        least, most, inner = value[0], value[1], list(value[2])
        unending = most is c.MAXREPEAT
        taken = self.characters(*inner[0]) if len(inner) == 1 else None
        if unending and taken is not None and endless is not None and (not endless or endless & taken):
            self.found.add("nested")
        kept = before if least == 0 else []
        if taken is None:
            if unending:
                endless = self.characters(*inner[0]) or frozenset()
            after = self.walk(inner, before, endless=endless)
            if unending:
                self.walk(inner, after, endless=endless)
            return [*kept, *after]
        if not unending and most < _ENDLESS:
            return kept
        if any(one & taken for one in before):
            self.found.add("adjacent")
        if unending and not last and len(taken) > 0.9 * len(_CHARACTERS):
            self.found.add("anywhere")
        return [*kept, taken]

    def characters(self, kind: Any, value: Any) -> frozenset[str] | None:
        """What one character of an expression can be; nothing for what is no character."""
        if kind not in (c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY):
            return None
        key = (str(kind), str(value), self.flags & (re.DOTALL | re.IGNORECASE))
        if key not in _KNOWN:
            _KNOWN[key] = frozenset(one for one in _CHARACTERS if self.accepts(kind, value, one))
        return _KNOWN[key]

    def accepts(self, kind: Any, value: Any, one: str) -> bool:
        if kind is c.ANY:
            return one != "\n" or bool(self.flags & re.DOTALL)
        spellings = {one, one.lower(), one.upper()} if self.flags & re.IGNORECASE else {one}
        codes = [ord(spelling) for spelling in spellings if len(spelling) == 1]
        if kind is c.LITERAL:
            return value in codes
        if kind is c.NOT_LITERAL:
            return value not in codes
        negated = value[0][0] is c.NEGATE
        return any(_within(part, code) for part in value for code in codes) != negated


def _within(part: tuple[Any, Any], code: int) -> bool:
    kind, value = part
    if kind is c.LITERAL:
        return bool(value == code)
    if kind is c.RANGE:
        return bool(value[0] <= code <= value[1])
    if kind is not c.CATEGORY:
        return False
    one = chr(code)
    tests = {"DIGIT": one.isdigit(), "SPACE": one.isspace(), "WORD": one.isalnum() or one == "_"}
    name = str(value).removeprefix("CATEGORY_")
    return tests[name.removeprefix("NOT_")] != name.startswith("NOT_")


def literals(items: Any) -> list[str]:
    """What every text that an expression matches holds, one text for each way through it; `\0` is anything."""
    found = [""]
    for operator, argument in items:
        match operator:
            case c.LITERAL:
                tails = [chr(argument)]
            case c.SUBPATTERN:
                tails = literals(argument[3])
            case c.BRANCH:
                tails = [text for branch in argument[1] for text in literals(branch)]
            case c.MAX_REPEAT | c.MIN_REPEAT:
                least, most, inner = argument
                tails = [*([""] if not least else []), *(f"{text}\0" if most > 1 else text for text in literals(inner))]
            case c.ASSERT | c.ASSERT_NOT:
                tails = [""]
            case c.IN if all(kind is c.LITERAL for kind, _ in argument):
                tails = [chr(letter) for _, letter in argument]
            case _:
                tails = ["\0"]
        found = [f"{head}{tail}" for head in found for tail in dict.fromkeys(tails)]
        assert len(found) < 50_000, "too many ways"
    return found
