"""A program in PowerShell: names without case, inputs of functions, parameters of commands, and what a condition chooses."""

from __future__ import annotations

import fnmatch
from importlib import import_module
from typing import TYPE_CHECKING

from whet.guard.code.cmdlets import COMMANDS, SCRIPT
from whet.guard.code.com import COM
from whet.guard.code.conditions import NAMES, ORDINARY, SECRETS, chosen, compared, matched, texts_in
from whet.guard.code.powershell_tree import class_name, full_name, spelled
from whet.guard.code.reader import Reader
from whet.guard.code.shaping import SHAPING
from whet.guard.code.syntax import Node
from whet.guard.expression import expression
from whet.guard.finding import Seen
from whet.guard.rules import severity_of
from whet.guard.tables import load_toml
from whet.guard.taint import network
from whet.guard.taint.call import find_row
from whet.guard.taint.containers import gathered, one_of, taken
from whet.guard.taint.findings import DEEPEST
from whet.guard.taint.mark import ENVIRONMENT, HOLE, Mark
from whet.guard.taint.value import NOTHING, Scope, Value, union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from whet.guard.taint.call import Call

_SHARE = expression(r"//[\w.-]{2,200}(?:@\w{1,9})?[/\\]")
_SPOKEN = frozenset(
    (
        "write-host",
        "write-output",
        "write-verbose",
        "write-warning",
        "write-error",
        "write-information",
        "write-debug",
        "throw",
    )
)


class PowerShell(Reader):
    """The state of reading one PowerShell program."""

    typed = True
    specials: Mapping[str, Callable[[Any, Call], Value | None]] = {**Reader.specials, **COM, **SHAPING, **COMMANDS}

    def __init__(
        self, text: str, program: Sequence[Node], read_inner: Callable[[str, int], Seen], level: int = 0
    ) -> None:
        super().__init__(text, program, read_inner, level)
        self.shares: dict[str, str] = {}
        """The shares of other machines, by their drives."""
        self.bound: dict[str, Value] = {}
        """The arguments by name of the function that is called."""

    def judge_text(self, command: str) -> None:
        """Report what is never honest in a command."""
        self.adopt(Seen(tuple(import_module("whet.guard.code.windows").judge_text(command, self.level))))

    def share(self, place: Value, content: Value) -> None:
        """Judge what is written to a share of another machine."""
        path = self.shares.get(place.said[:2].lower(), place.said[:2]) + place.said[2:]
        if _SHARE.match(path):
            network.deliver(self, Value(f"smb:{path}"), [content])

    def outside(self, call: Call, names: Sequence[str]) -> Value:
        """Return the result of a command or method; a command is also searched for what is never honest."""
        if call.owner.said.startswith("WinNT://") and call.verb in ("Add", "Create", "SetPassword"):
            self.hit("new-account", "critical" if call.verb == "Add" else "warn")
        if "shadowcopy" in call.owner.said.lower() and call.verb.lower() in _DELETES:
            self.hit("delete-shadows")
        if "-" in call.verb and call.verb not in _SPOKEN:
            self.judge_text(_spelled(call))
        return super().outside(call, names)

    def bind(self, node: Node, args: Sequence[Value], inner: Scope, owner: Value) -> None:
        """Name the arguments of a function or block."""
        super().bind(node, args, inner, owner)
        inner.names.setdefault("args", gathered(list(args)))
        inner.names.setdefault("input", owner)
        if node.kind == "function":
            inner.names["psboundparameters"] = Value(props=self.bound, marks=union(self.bound.values()))
        if node.kind == "function" and owner is not NOTHING:
            inner.names["_"] = owner
            free = next((name for name in node.params if name not in inner.names or inner.names[name] is NOTHING), None)
            if free is not None:  # what the input is bound to
                inner.names[free] = one_of(owner.items).marked(*owner.marks) if owner.items else owner

    def call_own(
        self, node: Node, name: str, args: Sequence[Value], words: dict[str, Value], scope: Scope, owner: Value
    ) -> Value:
        """Return the result of a function of the program."""
        self.bound = {**dict(zip(self.functions[name][0].params, args, strict=False)), **words}
        return super().call_own(node, name, args, words, scope, owner)

    def meanings(self, verb: str) -> tuple[str, ...]:
        """Return the command that the name of a function of the program stands for if the function is removed."""
        name = f"*.{full_name(verb)}"
        return (name,) if find_row("code", name) is not None else ()

    def words(self, node: Node, scope: Scope) -> dict[str, Value]:
        """Return the arguments of a call by name, with those that the program sets for all calls of a command."""
        found = super().words(node, scope)
        defaults = scope.find("psdefaultparametervalues")
        for key, value in (defaults.props or {}).items() if defaults is not None else ():
            command, _, word = key.lower().partition(":")
            if fnmatch.fnmatch(node.parts[0].text, full_name(command)):
                found.setdefault(word, value)
        return found

    def item(self, owner: Value, key: Value) -> Value:
        """Return an item; of the environment any variable, if its name comes from a list of all names."""
        if key.name == NAMES and ENVIRONMENT in owner.marks:
            return chosen(key.texts) if key.texts else Value(marks=owner.marks)
        if key.items is not None and owner.exact:
            return gathered([self.item(owner, one) for one in key.items])
        if (
            isinstance(key.const, int)
            and isinstance(owner.const, str)
            and -len(owner.const) <= key.const < len(owner.const)
        ):
            return owner.but(const=owner.const[key.const])
        if key.text is None and owner.props and (blocks := [one for one in owner.props.values() if one.fn is not None]):
            return gathered(blocks)  # any of them
        if owner.props and key.exact and (one := _entry(owner, key.exact)) is not None:
            return taken(owner, one)
        return super().item(owner, key)

    def composed(self, node: Node, values: list[Value], scope: Scope) -> Value:
        """Return a list, a map or a text of several values; the parts of a map are its computed keys, each before its value."""
        found = super().composed(node, values, scope)
        if node.kind == "map" and values:
            computed = {key.said or HOLE: one for key, one in zip(values[::2], values[1::2], strict=True)}
            found = found.but(props={**(found.props or {}), **computed})
        return found

    def resolved(self, node: Node, scope: Scope) -> Node:
        """Return a class or member whose name is computed, by its name."""
        *owner, key = node.parts
        named_by = self.value(key, scope)
        if not owner:
            return Node("name", node.line, class_name(named_by.said, node.text) or named_by.name)
        return Node("member", node.line, spelled(named_by.said.replace(HOLE, "")), tuple(owner), params=node.params)

    def member(self, node: Node, owner: Value) -> Value | None:
        """Return the value of a member that is known not to be a call; None for any other."""
        if ENVIRONMENT in owner.marks and node.text in ("Keys", "Name", "Key"):
            return Value(name=NAMES)
        if owner.props is not None and node.text == "Values" and "Values" not in owner.props:
            return gathered(list(owner.props.values()))
        if node.params == ("::",) and (held := self.scope.find(_static(node))) is not None:
            return held
        if owner.props is not None and (one := _entry(owner, node.text)) is not None:
            return taken(owner, one)
        return super().member(node, owner) if find_row("code", f"{owner.name}.{node.text}") is None else None

    def read_node(self, node: Node, scope: Scope) -> Value:
        """Return the value of an expression; a variable is never a function."""
        if node.kind == "name" and node.params:
            held = scope.find(node.text) or self.elsewhere.get(node.text)
            text = load_toml("powershell")["texts"].get(node.text) if held is None else None
            return held or (Value(text) if text is not None else NOTHING)
        if node.kind == "computed":
            return self.read_node(self.resolved(node, scope), scope)
        return super().read_node(node, scope)

    def assign(self, target: Node, value: Value, scope: Scope, *, grows: bool = False) -> None:
        """Store a value under a name, or in a member or an item."""
        target = self.resolved(target, scope) if target.kind == "computed" else target
        super().assign(target, value, scope, grows=grows)
        if target.kind == "member" and target.params == ("::",):
            self.scope.names[_static(target)] = value

    def assignment(self, node: Node, scope: Scope) -> Value:
        """Store a value; a match, which is kept, restricts what the name of a variable may be."""
        found = super().assignment(node, scope)
        if (condition := compared(node)) is not None:
            self.narrow(*condition, scope)
        return found

    def call(self, node: Node, scope: Scope) -> Value:
        """Return the result of a call; a comparison restricts what the name of a variable may be."""
        if node.parts[0].kind == "computed" and node.kind == "call":
            node = node._replace(parts=(self.resolved(node.parts[0], scope), *node.parts[1:]))
        found = super().call(node, scope)
        for word, one in node.words:
            keeps = word in _KEEPERS or (word == "variable" and node.parts[0].text == "tee-object")
            if keeps and (name := self.value(one, scope).said.lstrip("+").lower()):
                scope.names[name] = self.elsewhere[name] = found
        if (condition := compared(node)) is not None:
            self.narrow(*condition, scope)
        return found

    def narrow(self, way: str, sides: Sequence[Node], scope: Scope) -> None:
        """Restrict the names that a variable of the program may have, by a condition on them."""
        for side in sides:
            target = side.parts[0] if side.kind == "member" and side.text in ("Name", "Key") else side
            held = scope.find(target.text) if target.kind == "name" else None
            if held is None or (ENVIRONMENT not in held.marks and held.name != NAMES):
                continue
            texts = [text for other in sides if other is not side for text in texts_in(self.value(other, scope))]
            found = [matched(way, text, SECRETS, ORDINARY) for text in texts]
            if found and None not in found:
                names = [name for one in found for name in one or ()]
                new = Value(name=NAMES, choices=tuple(names or ORDINARY)) if held.name == NAMES else chosen(names)
                scope.home(target.text).names[target.text] = new

    def judge_file(
        self, path: str, text: str, marks: frozenset[Mark], *, appends: bool = False, moved: bool = False
    ) -> None:
        """Judge a write to a path; what is written to a script is read, too."""
        super().judge_file(path, text, marks, appends=appends, moved=moved)
        if len(text) > 20 and SCRIPT.search(path):
            self.look_inside(text.replace(HOLE, "X"))

    def is_bad(self, script: str) -> bool:
        """Return whether a script should not run repeatedly and unseen."""
        if super().is_bad(script):
            return True
        seen = self.read_inner(script, self.level + 1) if self.level < DEEPEST else Seen()
        return any(severity_of(hit) != "info" or hit.rule == "pipe-known" for hit in seen.hits)


def _entry(owner: Value, name: str) -> Value | None:
    """Return an entry of a map, whose names have no case."""
    props = owner.props or {}
    low = name.lower()
    return props[name] if name in props else next((one for key, one in props.items() if key.lower() == low), None)


def _static(node: Node) -> str:
    """Return the name of a static member."""
    return f"{node.parts[0].text}::{node.text}".lower()


_KEEPERS = frozenset(("outvariable", "pipelinevariable"))
"""Parameters that name a variable for the result of a command."""
_DELETES = frozenset(("delete", "delete_", "remove-ciminstance", "remove-wmiobject"))


def _spelled(call: Call) -> str:
    """Return a command with its arguments as they are known."""
    words = [call.verb, *(_shown(one) for one in call.args)]
    words += [f"-{name} {_shown(one)}" for name, one in call.words.items()]
    if call.owner.said or call.owner.name:
        words.insert(0, f"{call.owner.said or call.owner.name} |")
    return " ".join(words)


def _shown(value: Value) -> str:
    if value.const is True or value.const is False:
        return f"${str(value.const).lower()}"
    if value.props:
        entries = "; ".join(f"{name}={_shown(one)}" for name, one in list(value.props.items())[:20])
        return f"@{{{entries}}}"
    if value.items:
        return ",".join(map(_shown, value.items[:20]))
    text = (value.text if value.text is not None else str(value.const) if isinstance(value.const, int) else HOLE)[:400]
    text = text.replace("\n", " ").replace(HOLE, "...")
    return text.replace("/", "\\") if text[:2].upper() == "HK" or ":/" in text[:3] else text
