"""Attributes, items and sums of values, and the marks they pass on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.python.values import Klass
from whet.guard.taint import containers
from whet.guard.taint.containers import literal, plain
from whet.guard.taint.fold import binary
from whet.guard.taint.mark import Mark
from whet.guard.taint.names import named, variable
from whet.guard.taint.value import LONGEST, NOTHING, UNKNOWN, Hidden, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.python.reader import Reader


DANGEROUS = expression(
    r"(?:exec|eval|compile|__import__|open)|(?:os|posix|nt)\.(?:system|popen\w*|exec\w+|spawn\w+|posix_spawnp?|environ|remove|unlink"
    r"|dup2)|subprocess(?:\.\w+)?|pty\.spawn|(?:socket|ctypes|marshal|pickle|requests|httpx|urllib|smtplib|ftplib|shutil|winreg"
    r"|_winreg|builtins|importlib|runpy|commands)(?:\.[\w.]+)?|os|posix|nt"
)
"""Names that honest code has no reason to assemble from pieces."""


def bare(name: str) -> str:
    """Return a dotted name without call parentheses, with old and low-level module names normalised."""
    if "(" in name:
        name = name.replace("()", "")
    if name.startswith(("builtins.", "__builtins__.", "__builtin__.")):
        name = name.partition(".")[2]
    if name.startswith(("posix.", "nt.")):
        name = "os." + name.partition(".")[2]
    return name


def several(marks: frozenset[Mark]) -> list[Mark]:
    """Return the marks of a text that a loop assembled from several files."""
    return [mark._replace(subject=mark.subject + " and more") for mark in marks if mark.kind == "file" and mark.subject]


def attribute(owner: Value, name: str) -> Value:
    """Return the value of an attribute."""
    if isinstance(owner.fn, Klass):
        method = owner.fn.methods.get(name)
        if method is not None:
            return Value(fn=method)
        return owner.fn.fields.get(name, NOTHING)
    if owner.props is not None and name in owner.props and not owner.name:
        return owner.props[name]
    if owner.name:
        full = f"{owner.name}.{name}"
        if name in ("parent", "name", "stem", "suffix", "parents") and isinstance(owner.const, str):
            return _of_path(owner, name)
        if name == "name" and owner.path:
            return Value(owner.path, marks=owner.marks)
        found = named("python", full, owner.marks)
        return found.but(hidden=owner.hidden, path=owner.path) if owner.hidden or owner.path else found
    return Value(marks=owner.marks, path=owner.path) if owner.marks or owner.path else NOTHING


def _of_path(owner: Value, name: str) -> Value:
    path = str(owner.const).rstrip("/")
    if name == "parent":
        return Value(path.rpartition("/")[0] or ".", owner.name, owner.marks)
    if name == "parents":
        above = [path[:at] or "/" for at in reversed(range(len(path))) if path[at] == "/"] or ["."]
        above += above[-1:] * 3  # how deep the package lies is not known
        return Value(name=owner.name, marks=owner.marks, items=[Value(one, owner.name, owner.marks) for one in above])
    return Value(path.rpartition("/")[2], marks=owner.marks)


def combined(operator: str, left: Value, right: Value) -> Value:
    """Return the result of a binary operator."""
    hidden: Hidden = left.hidden or right.hidden
    if (items := _lengthened(operator, left, right)) is not None:
        return Value(items=items, marks=left.marks | right.marks, hidden=hidden)
    first, second = plain(left), plain(right)
    const = binary(operator, first, second) if first is not UNKNOWN or second is not UNKNOWN else UNKNOWN
    if operator == "Add" and not hidden and _breaks_word(first, second):
        hidden = "split"
    marks = left.marks | right.marks
    if const is UNKNOWN and not marks and operator == "BitXor":
        marks = frozenset((Mark("decoded", "xor"),))
    name = "pathlib.Path" if operator == "Div" and left.name.startswith("pathlib.") else ""
    found = literal(const, marks, hidden)
    if left.choices or right.choices:
        found.choices = tuple(_choices(operator, left, right))
    return found.but(name=name) if name else found


def _choices(operator: str, left: Value, right: Value) -> Iterator[str]:
    """Yield the other possible results of a binary operator on texts."""
    for first in left.choices:
        if isinstance(const := binary(operator, first, plain(right)), str):
            yield const
    for second in right.choices:
        if isinstance(const := binary(operator, plain(left), second), str):
            yield const


def _lengthened(operator: str, left: Value, right: Value) -> list[Value] | None:
    """Return the items of a list plus another one, or times a number; None for anything else."""
    if left.items is None:
        return None
    if operator == "Add" and right.items is not None and len(left.items) + len(right.items) <= LONGEST:
        return [*left.items, *right.items]
    if operator == "Mult" and isinstance(right.const, int) and 0 <= right.const * len(left.items) <= LONGEST:
        return list(left.items) * right.const
    return None


def _breaks_word(left: Any, right: Any) -> bool:
    return (
        isinstance(left, str)
        and isinstance(right, str)
        and left[-1:].isalnum()
        and right[:1].isalnum()
        and not (len(left) > 60 and len(right) > 60)
    )


def item(owner: Value, key: Value) -> Value:
    """Return the item of a value under a key; if the key is unknown, any item."""
    if owner.name == "os.environ":
        return variable(key)
    name = bare(owner.name)
    if name in ("globals", "locals", "vars", "__builtins__", "sys.modules") or name.endswith(".__dict__"):
        if isinstance(key.const, str):
            base = "" if name in ("globals", "locals", "vars", "sys.modules") else name.removesuffix(".__dict__") + "."
            full = key.const if name == "__builtins__" or key.const == "__builtins__" else base + key.const
            return Value(name=full if not owner.path else f"{owner.path}.{key.const}", hidden=key.hidden)
        return NOTHING
    found = containers.item(owner, key.const)
    if found is not None:
        return found if found.hidden or not owner.hidden else found.but(hidden=owner.hidden)
    const: Any = UNKNOWN
    if isinstance(owner.const, (str, bytes)) and isinstance(key.const, int):
        const = owner.const[key.const] if -len(owner.const) <= key.const < len(owner.const) else UNKNOWN
    marks = owner.marks
    if marks and key.const is not UNKNOWN:  # an item that was stored under the key is whole
        marks = frozenset(mark._replace(whole=False) if mark.whole else mark for mark in marks)
    instance = owner.name if owner.name.startswith(("pathlib.", "sys.argv")) else ""
    choices = containers.any_item(owner).choices if key.const is UNKNOWN else ()
    return Value(const, instance, marks, owner.hidden, choices=choices)


_NAMES = expression(r"[$%{]\{?([A-Za-z_]\w{0,80})")


def expanded(text: Value) -> Value:
    """Return a text into which variables of the environment are put."""
    return text.but(
        const=UNKNOWN, marks=text.marks.union(*(variable(Value(name)).marks for name in _NAMES.findall(text.said)))
    )


def name_of(node: ast.expr | None) -> str:
    """Return a placeholder name for an expression whose value is unknown."""
    if isinstance(node, ast.Name):
        return f"${node.id}"
    if isinstance(node, ast.Attribute):
        return f"$.{node.attr}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        return f"$.{node.func.attr}()"
    return name_of(node.args[0]) if isinstance(node, ast.Call) and node.args else ""


def imported(reader: Reader, module: str) -> None:
    """Judge an import that loads a file which the program wrote before."""
    name = f"{module.partition('.')[0]}.py"
    for path, marks in reader.files.items():
        if marks and path.rpartition("/")[2] == name:
            reader.run_files(marks)
