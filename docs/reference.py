"""The page about the Python API: every public name, with its signature as it is written and its docstring.

Signatures, fields and docstrings are taken from the source text, because what `inspect` prints of an annotation differs
between versions of Python. What is imported only tells where a name is at home and what a class is made of.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import whet
from whet.api.guard import SkillGuard
from whet.api.learning import SkillLearning
from whet.api.settings import SkillSettings
from whet.api.sources import SkillSources, TapInfo
from whet.api.tool_definitions import Tool
from whet.api.tools import Tools
from whet.authoring.editor import SkillEditor
from whet.authoring.history import History
from whet.authoring.proposals import Proposals
from whet.learning.curator import Curating
from whet.learning.usage import Usage
from whet.prompt.conversation import Active
from whet.sources.install.installer import InspectedSkill, Inspection, OfferedSkill
from whet.sources.install.plan import Applied, Plan, Step
from whet.sources.install.report import CheckedSkill, Installation, Origin, Outdated, Verification, VerifiedSkill
from whet.sources.publish.prepare import Published, Release
from whet.sources.publish.snapshots import SnapshotExport
from whet.sources.search import Hit, SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WIDTH = 120
"""Characters of a line of prose."""
SIGNATURE = 100
"""Characters of a signature on one line; a longer one has a line for each parameter."""
DEFAULT = 30
"""Characters of a default; a longer one is left out."""
INTRODUCTION = """\
`make docs` writes this page from the signatures and docstrings of the package. Import everything from `whet`,
except `Tools` and [the objects of a library](#the-objects-of-a-library):

```py
from whet import Library, Session
```

Results are frozen values; their `to_json()` is what the command prints with `--json`. A method that
returns a `dict` returns that directly. A failure raises one of the [errors](#errors), whose `to_json()` is what the
command prints. Only `Tools.call`, which answers a model, never raises: it returns `success: false` instead.
Name a skill as people do: by a name, a qualified name such as `user:deploy`, or a path. `here=True` means
the project instead of the user. The version of the package is `whet.__version__`."""


class Topic(NamedTuple):
    """What people come for, and the members of `Library` that do it."""

    name: str
    about: str
    members: tuple[str, ...]
    beside: tuple[str, ...] = ()
    """Other headings of the page that belong to it."""


TOPICS = (
    Topic("open", "Begin and end", ("open", "close")),
    Topic(
        "look",
        "List skills, read them, and find out what is wrong with them",
        ("skills", "read", "card", "catalogue", "reload", "watch", "doctor", "repair"),
    ),
    Topic("match", "Know which skill fits a message", ("find", "detect")),
    Topic(
        "prompt",
        "Put skills before a model",
        ("index", "invoke", "render", "commands", "needs", "session"),
        ("Session", "recover"),
    ),
    Topic("tools", "Give a model tools, through any API", ("tools",), ("Tools", "Tool")),
    Topic(
        "write",
        "Create, edit and delete skills, see what was changed, and go back",
        ("edit", "history", "proposals"),
        ("SkillEditor", "History", "Proposals"),
    ),
    Topic(
        "install",
        "Install skills from anywhere, keep them up to date, share them",
        ("sources", "progress"),
        ("SkillSources", "Plan"),
    ),
    Topic("guard", "Know whether a skill is safe, and what it may do", ("guard",), ("SkillGuard",)),
    Topic("decide", "Trust projects; disable, pin and bundle skills", ("settings",), ("SkillSettings",)),
    Topic("learn", "Learn from use and from sessions", ("learning",), ("SkillLearning", "Usage", "Curating")),
)
SERVICES = (
    ("edit", SkillEditor),
    ("history", History),
    ("proposals", Proposals),
    ("sources", SkillSources),
    ("guard", SkillGuard),
    ("settings", SkillSettings),
    ("learning", SkillLearning),
)
"""What a library has by subject."""
UNDERNEATH = Topic("underneath", "Use the parts underneath, which may change with any version", ())
"""Where everything goes that no topic names."""

VALUES = (
    *("Card", "Catalogue", "Skills", "SkillView", "FileView", "Reload", "Note", "Caller", "MODEL", "PERSON"),
    *("MessageContext", "Match", "Matches", "Detection", "Index", "Invocation", "Needs", "Need"),
    *("Skill", "Use", "Tokenizer", "Probe", "LocalProbe"),
)
HANDED_OUT = (
    *(Tool, Usage, Curating, Plan, Step, Applied, Active),
    *(SearchResult, Hit, TapInfo, Inspection, OfferedSkill, InspectedSkill),
    *(Verification, VerifiedSkill, Outdated, CheckedSkill, Origin, Installation),
    *(Published, Release, SnapshotExport),
)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Member(NamedTuple):
    """One attribute, property or method of a class."""

    name: str
    signature: str
    text: str
    """Its docstring."""
    is_method: bool = False


def api() -> str:
    """The whole page."""
    members = {member.name: member for member in members_of(whet.Library)}
    topics = [*TOPICS, UNDERNEATH._replace(members=_left(members))]
    parts = ["# The Python API", INTRODUCTION, _contents(topics), "## Library", _prose(_class(whet.Library).doc)]
    for topic in topics:
        parts += [f"### Library: {topic.name}", f"{topic.about}."]
        for name in topic.members:
            parts += _shown(f"#### Library.{name}", members[name])
    parts += _broad(whet.Session)
    parts += ["## recover", *_function(whet.recover)]
    parts += _broad(Tools)
    for name, service in SERVICES:
        parts += [f"## {service.__name__}", f"It is `library.{name}`.", *_broad(service)[1:]]
    parts += ["## Values", "What goes in and comes out. Where there are fields, it is an immutable `NamedTuple`."]
    for name in VALUES:
        parts += _value(name)
    parts += ["## The objects of a library", "Reached through a `Library` or a `Session`, not imported from `whet`."]
    for kind in HANDED_OUT:
        parts += _brief(kind)
    parts += ["## Errors", *_errors()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _left(members: Iterable[str]) -> tuple[str, ...]:
    placed = {name for topic in TOPICS for name in topic.members}
    return tuple(sorted(set(members) - placed))


def _contents(topics: Iterable[Topic]) -> str:
    rows = ["| | to | with |", "|---|---|---|"]
    for topic in topics:
        links = [f"[`{name}`]({_anchor(f'Library.{name}')})" for name in topic.members]
        links += [f"[{name}]({_anchor(name)})" for name in topic.beside]
        rows.append(f"| **{topic.name}** | {topic.about} | {' '.join(links)} |")
    values = " ".join(f"[`{name}`]({_anchor(name)})" for name in VALUES)
    handed = " ".join(f"[`{kind.__name__}`]({_anchor(kind.__name__)})" for kind in HANDED_OUT)
    rows.append(f"| **values** | What goes in and comes out | {values} {handed} |")
    rows.append("| **errors** | Know what failed, and who must act | [Errors](#errors) |")
    return "\n".join(rows)


def _anchor(heading: str) -> str:
    """Where GitHub puts a heading."""
    return "#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


# what is written about each


def _shown(heading: str, member: Member) -> list[str]:
    return [heading, _code(member.signature), _prose(member.text)]


def _broad(kind: type[Any]) -> list[str]:
    """A class people work with: how one is made, what it has, and a heading for each method."""
    members = members_of(kind)
    parts = [f"## {kind.__name__}", *_head(kind), _listed(member for member in members if not member.is_method)]
    for member in members:
        if member.is_method:
            parts += _shown(f"### {kind.__name__}.{member.name}", member)
    return parts


def _brief(kind: type[Any], *head: str) -> list[str]:
    """A class with what it has in one list; attributes that say nothing are nobody's business."""
    fields = {member.name for own in _ours(kind) for member in _fields(own)}
    members = (member for member in members_of(kind) if member.text or member.name in fields)
    return [f"### {kind.__name__}", *(head or (_prose(_class(kind).doc),)), _listed(members)]


def _head(kind: type[Any]) -> list[str]:
    own = _class(kind)
    made = own.functions.get("__init__")
    how = [_code(own.signature(made, kind.__name__)), _prose(ast.get_docstring(made) or "")] if made else []
    return [_prose(own.doc), *how]


def _listed(members: Iterable[Member]) -> str:
    rows = []
    for member in members:
        text, signature = " ".join(member.text.split()), " ".join(member.signature.split())
        signature = signature.replace("( ", "(").replace(", )", ")").replace("@contextmanager ", "").replace("def ", "")
        rows.append(_filled(f"- `{signature}`" + (f": {text}" if text else ""), "  "))
    return "\n".join(rows)


def _value(name: str) -> list[str]:
    value = getattr(whet, name)
    if isinstance(value, type):
        return _brief(value, *_head(value))
    signature, text = _module(whet.Caller.__module__).constants[name]
    return [f"### {name}", _code(f"{name} = {signature}"), _prose(text)]


def _function(function: Any) -> list[str]:
    module = _module(function.__module__)
    node = module.functions[function.__name__]
    return [_code(module.signature(node, f"def {node.name}")), _prose(ast.get_docstring(node) or "")]


def _errors() -> Iterator[str]:
    root = whet.WhetError
    yield from _head(root)
    yield _listed(members_of(root))
    rows = ["| error | a command ends with | when |", "|---|---:|---|"]
    for error in sorted(root.__subclasses__(), key=lambda kind: _class(kind).node.lineno):
        rows.append(f"| `{error.__name__}` | {error.exit_code} | {' '.join(_class(error).doc.split())} |")
    yield "\n".join(rows)
    yield "Every code is explained in [errors](codes.md)."


# reading the source


class Module:
    """The text of one module, and what is defined at its top."""

    def __init__(self, name: str) -> None:
        text = Path(str(sys.modules[name].__file__)).read_text(encoding="utf-8")
        self._lines = text.encode().splitlines(keepends=True)
        body = ast.parse(text).body
        self.classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        self.functions = {node.name: node for node in body if isinstance(node, Function)}
        self.constants = {
            node.targets[0].id: (self.source(node.value), _below(body, at))
            for at, node in enumerate(body)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }

    def source(self, node: ast.expr) -> str:
        """An expression as it is written, on one line."""
        # Lines of the node alone: `ast.get_source_segment` would go through the whole module each time.
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        lines = b"".join(self._lines[first:last])
        end = len(lines) - len(self._lines[last - 1]) + (node.end_col_offset or 0)
        return " ".join(lines[node.col_offset : end].decode().split())

    def signature(self, node: Function, called: str) -> str:
        """A function's parameters and what it returns, without `self`."""
        parameters = list(self._parameters(node.args))
        returns = f" -> {self.source(node.returns)}" if node.returns and node.name != "__init__" else ""
        line = f"{called}({', '.join(parameters)}){returns}"
        if len(line) <= SIGNATURE:
            return line
        return "\n".join((f"{called}(", *(f"    {parameter}," for parameter in parameters), f"){returns}"))

    def _parameters(self, given: ast.arguments) -> Iterator[str]:
        plain = [*given.posonlyargs, *given.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
        for at, (arg, default) in enumerate(zip(plain, [*defaults, *given.defaults], strict=True)):
            if at > 0 or arg.arg not in ("self", "cls"):
                yield self._parameter(arg, default)
        if given.vararg:
            yield f"*{self._parameter(given.vararg, None)}"
        elif given.kwonlyargs:
            yield "*"
        for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            yield self._parameter(arg, default)
        if given.kwarg:
            yield f"**{self._parameter(given.kwarg, None)}"

    def _parameter(self, arg: ast.arg, default: ast.expr | None) -> str:
        kind = f": {self.source(arg.annotation)}" if arg.annotation else ""
        if default is None:
            return f"{arg.arg}{kind}"
        return f"{arg.arg}{kind}{' = ' if kind else '='}{self.default(default)}"

    def default(self, node: ast.expr) -> str:
        """A default, short; a number or a text that has a name in its module is shown itself."""
        text = self.source(node)
        if isinstance(node, ast.Name) and re.fullmatch(r"[\d_]+|\"[^\"]*\"", self.constants.get(text, ("",))[0]):
            text = self.constants[text][0]
        return text if len(text) <= DEFAULT else "..."


class Class(Module):
    """One class of a module."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(module)
        self.node = self.classes[name]
        self.doc = ast.get_docstring(self.node) or ""
        self.functions = {node.name: node for node in self.node.body if isinstance(node, Function)}


@lru_cache
def _module(name: str) -> Module:
    return Module(name)


def _class(kind: type[Any]) -> Class:
    return _class_of(kind.__module__, kind.__name__)


@lru_cache
def _class_of(module: str, name: str) -> Class:
    return Class(module, name)


def _ours(kind: type[Any]) -> list[Class]:
    """The class and those of ours that it is made of, the nearest first."""
    whole = (each for each in kind.__mro__ if each.__module__.partition(".")[0] == "whet")
    return [_class(each) for each in whole if each.__module__ != "whet.records"]


def members_of(kind: type[Any]) -> list[Member]:
    """Everything public of a class, also what it inherits, in the order in which it is written."""
    found: dict[str, Member] = {}
    classes = _ours(kind)
    for own in classes:
        for member in (*_fields(own), *_attributes(own)):
            found.setdefault(member.name, member)
        for name, node in own.functions.items():
            if not name.startswith("_") and name not in found:
                found[name] = _member(classes, own, node)
    return list(found.values())


def _member(classes: list[Class], own: Class, node: Function) -> Member:
    """A method; where one hands on what it is given to the one it extends, it has the parameters of that one."""
    defined = [(other, other.functions[node.name]) for other in classes if node.name in other.functions]
    home, shown = next(((other, it) for other, it in defined if not it.args.kwarg), (own, node))
    marks = [f"@{own.source(mark)}\n" for mark in node.decorator_list]
    text = ast.get_docstring(node) or ""
    if marks in (["@property\n"], ["@cached_property\n"]):
        return Member(node.name, f"{node.name}: {own.source(node.returns)}" if node.returns else node.name, text)
    called = f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}def {node.name}"
    return Member(node.name, "".join(marks) + home.signature(shown, called), text, is_method=True)


def _attributes(own: Class) -> Iterator[Member]:
    """What `__init__` sets for everyone to see."""
    constructor = own.functions.get("__init__")
    if constructor is None:
        return
    given = constructor.args
    kinds = {arg.arg: arg.annotation for arg in (*given.args, *given.kwonlyargs)}
    kinds |= {given.kwarg.arg: None} if given.kwarg else {}
    for at, node in enumerate(constructor.body):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                kind = kinds.get(value.id) if isinstance(value, ast.Name) else None
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=kind):
                pass
            case _:
                continue
        if not name.startswith("_"):
            yield Member(name, f"{name}: {own.source(kind)}" if kind else name, _below(constructor.body, at))


def _fields(own: Class) -> Iterator[Member]:
    """What the body of a class declares: the fields of a value."""
    for at, node in enumerate(own.node.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            default = f" = {own.default(node.value)}" if node.value else ""
            signature = f"{node.target.id}: {own.source(node.annotation)}{default}"
            yield Member(node.target.id, signature, _below(own.node.body, at))


def _below(body: list[ast.stmt], at: int) -> str:
    """The docstring below an assignment."""
    match body[at + 1 : at + 2]:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return textwrap.dedent(text)
    return ""


# text


def _code(text: str) -> str:
    return f"```py\n{text}\n```"


def _prose(text: str) -> str:
    """A docstring as Markdown; what is indented stays as it is."""
    parts = []
    for part in text.split("\n\n"):
        lines = part.split("\n")
        if all(line.startswith("    ") for line in lines):
            parts.append(_code(textwrap.dedent(part)))
        elif any(line.startswith(("- ", " ")) for line in lines):
            parts.append(part)
        else:
            parts.append(_filled(part))
    return "\n\n".join(parts)


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
