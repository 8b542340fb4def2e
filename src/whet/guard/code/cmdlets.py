"""The commands of PowerShell that need more than a judge: requests, files and variables by one name, what is run."""

from __future__ import annotations

import fnmatch
import re
from importlib import import_module
from typing import TYPE_CHECKING

from whet.guard.code.batch import rearranged
from whet.guard.code.calls import SPECIAL as SHARED
from whet.guard.code.com import COM, words_of
from whet.guard.code.conditions import (
    ORDINARY,
    ORDINARY_FILES,
    SECRET_FILES,
    SECRETS,
    compared,
    conditions,
    matched,
    texts_in,
)
from whet.guard.code.powershell import class_name, parse, spelled
from whet.guard.code.reader import Reader
from whet.guard.code.shaping import SHAPING
from whet.guard.code.syntax import Node
from whet.guard.expression import expression
from whet.guard.finding import Seen
from whet.guard.hosts import URL
from whet.guard.rules import severity_of
from whet.guard.tables import load_toml
from whet.guard.taint import execute, files, network
from whet.guard.taint.call import find_row
from whet.guard.taint.containers import concatenated, gathered, one_of, taken
from whet.guard.taint.findings import DEEPEST
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.names import named, variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, everything, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.guard.taint.call import Call

_VARIABLES = expression(r"env:[\\/*]{0,2}(\w{0,60})", re.IGNORECASE)
_NAME = expression(r"variable:[\\/]{0,2}(\w{1,60})$", re.IGNORECASE)
_SHARE = expression(r"//[\w.-]{2,200}(?:@\w{1,9})?[/\\]")
_SCRIPT = expression(r"\.(?:ps1|psm1|cmd|bat)$", re.IGNORECASE)
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

    def words(self, node: Node, scope: Scope) -> dict[str, Value]:
        """Return the arguments of a call by name, with those that the program sets for all calls of a command."""
        found = super().words(node, scope)
        defaults = scope.find("psdefaultparametervalues")
        for key, value in (defaults.props or {}).items() if defaults is not None else ():
            command, _, word = key.lower().partition(":")
            if fnmatch.fnmatch(node.parts[0].text, _full(command)):
                found.setdefault(word, value)
        return found

    def item(self, owner: Value, key: Value) -> Value:
        """Return an item; of the environment any variable, if its name comes from a list of all names."""
        if key.name == _NAMES and not key.texts and ENVIRONMENT in owner.marks:
            return Value(marks=owner.marks)
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
            return Value(name=_NAMES)
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
            if held is None or (ENVIRONMENT not in held.marks and held.name != _NAMES):
                continue
            texts = [text for other in sides if other is not side for text in texts_in(self.value(other, scope))]
            found = [matched(way, text, SECRETS, ORDINARY) for text in texts]
            if found and None not in found:
                names = [name for one in found for name in one or ()]
                if held.name == _NAMES:
                    new = Value(name=_NAMES, choices=tuple(names or ORDINARY))
                else:
                    new = gathered([variable(Value(name)) for name in names])
                scope.home(target.text).names[target.text] = new

    def judge_file(
        self, path: str, text: str, marks: frozenset[Mark], *, appends: bool = False, moved: bool = False
    ) -> None:
        """Judge a write to a path; what is written to a script is read, too."""
        super().judge_file(path, text, marks, appends=appends, moved=moved)
        if len(text) > 20 and _SCRIPT.search(path):
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


def _full(command: str) -> str:
    """Return the full name of a command."""
    return str(load_toml("powershell")["aliases"].get(command, command))


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


def _web_request(reader: PowerShell, call: Call) -> Value:
    """Judge a request, the file that it sends and the file that it writes."""
    words = call.words
    if "infile" in words:
        marks = reader.read(words["infile"], words["infile"].said)
        words["body"] = Value(marks=marks)
    url = call.part(call.row.at)
    head = [one for name, one in words.items() if name in ("headers", "token")]
    body = [one for name, one in words.items() if name in ("body", "form")]
    files_sent = [one for part in (words.get("form", NOTHING).props or {}).values() for one in _each(part)]
    body += [Value(marks=_content(reader, one)) for one in files_sent]
    if call.owner is not url:
        body.append(call.owner)
    body += [one for one in call.args if one is not url]
    if words.get("skipcertificatecheck") is not None:
        reader.hit("tls-unverified")
    reader.fact("sink", "HTTP", url.said or HOLE, network.host_at(url.said).shady)
    answer = network.deliver(reader, url, body, head)
    target = words.get("outfile")
    if target is not None:
        reader.write(target, target.path or target.said, answer)
    return answer.but(path=url.said)


def _content(reader: PowerShell, path: Value) -> frozenset[Mark]:
    """Return the secrets in a file that a form names."""
    named = path.text is not None and ("/" in path.said or path.said[:1] == ".")
    kept = reader.read(path, path.said) if named or path.has("place", "folder", "listing") else NO_MARKS
    return frozenset(mark for mark in kept if mark.kind == "secret")


def _transfer(reader: PowerShell, call: Call) -> Value:
    """Judge a file that is fetched or sent in the background."""
    source, target = call.part(call.row.at), call.part(call.row.given)
    if URL.match(target.said):
        return network.deliver(reader, target, [Value(marks=reader.read(source, call.key(call.row.at)))])
    reader.write(target, call.key(call.row.given), network.deliver(reader, source, []))
    return NOTHING


def _read_items(reader: PowerShell, call: Call) -> Value:
    """Return the content of a file, or of an environment variable."""
    place = call.part(call.row.at)
    if (found := _VARIABLES.match(place.said)) is not None:
        return _environment(reader, found[1])
    if call.place(call.row.at) == "owner" and place.text is None:
        return place
    marks = NO_MARKS.union(*(reader.read(one, one.path or one.said or call.key(call.row.at)) for one in _each(place)))
    return Value(reader.data(place), marks=marks | place.marks)


def _each(value: Value) -> Sequence[Value]:
    return value.items or [value]


def _environment(reader: PowerShell, name: str) -> Value:
    """Return a variable of the environment, or all of them."""
    return (
        (reader.exported.get(name.upper()) or variable(Value(name.upper()))) if name else named("code", "process.env")
    )


def _list_items(reader: PowerShell, call: Call) -> Value:
    """Return the files in a directory, the variables of the environment, or one of them."""
    place = call.part(call.row.at)
    if (found := _VARIABLES.match(place.said)) is not None:
        return _environment(reader, found[1])
    if (held := _NAME.match(place.said)) is not None:
        return call.scope.find(held[1].lower()) or NOTHING
    if call.verb != "get-childitem":
        return place
    if place is NOTHING:
        return NOTHING
    patterns = [one.said for word in ("filter", "include") if word in call.words for one in _each(call.words[word])]
    call.row = call.row._replace(grave="recurse" in call.words)
    found_in: list[Value] = []
    for one in _each(place):
        for pattern in patterns or [""]:
            path = one.but(const=f"{one.said}/{pattern}") if pattern and one.text else one
            made = reader.made(call.node, [path], call.scope, "get-childitem")
            made.row = call.row._replace(at=(0,))
            listed = files.list_directory(reader, made)
            within = pattern or ("" if "*" in path.said else "*")
            found_in.append(
                Value(f"{path.said}/{within}".rstrip("/") if path.text else UNKNOWN, marks=everything(listed))
            )
    return one_of(found_in) if len(found_in) < 2 else gathered(found_in)


def _write_items(reader: PowerShell, call: Call) -> Value:
    """Judge what is written to a file, or to an environment variable."""
    place = call.part(call.row.at)
    content = call.part(call.row.given) if call.verb != "clear-content" else Value("")
    if call.verb == "new-item" and "value" not in call.words:
        return place
    appends = call.verb == "add-content" or "append" in call.words
    for one in _each(place):
        if (found := _VARIABLES.match(one.said)) is not None:
            reader.exported[found[1].upper()] = content
        elif (held := _NAME.match(one.said)) is not None:
            call.scope.names[held[1].lower()] = content
        made = reader.made(call.node, [one, content], call.scope, "append" if appends else "write")
        made.row = call.row._replace(at=(0,), given=(1,))
        reader.share(one, content)
        files.write_file(reader, made)
    return call.owner if call.verb == "tee-object" else place


def _for_each(reader: PowerShell, call: Call) -> Value:
    """Return the results of a block for each item of the input."""
    over = call.owner if call.owner is not NOTHING else call.words.get("inputobject", NOTHING)
    results = [one for block in call.every() if block.fn is not None for one in reader.each(block, over, call)]
    call.args, call.words = [], {}
    marks = NO_MARKS.union(*map(everything, results))
    if not results:
        return over
    return Value(marks=marks, items=results) if over.items else results[-1].but(marks=marks)


def _filter(reader: PowerShell, call: Call) -> Value:
    """Return the items of the input that a condition holds for; of the environment, the variables that may match it."""
    paths = [one for one in _each(call.owner) if one.said.endswith("*")]
    if ENVIRONMENT not in call.owner.marks and not paths and call.owner.name != _ALL_COMMANDS:
        return call.owner
    block = next((one for one in call.every() if one.fn is not None), None)
    if block is None:
        way = next((name for name in ("like", "match", "in", "eq") if name in call.words), "")
        wanted = [(way, text) for text in texts_in(call.words.get(way, NOTHING))]
    else:
        wanted = list(conditions(reader, block.fn[0].parts, Scope(block.fn[1])))
    if call.owner.name == _ALL_COMMANDS:
        return next((Value(text.strip("^$") + "*" * (way == "match")) for way, text in wanted), call.owner)
    if paths:
        names = [name for way, text in wanted for name in matched(way, text, SECRET_FILES, ORDINARY_FILES) or ()]
        found = [one.but(const=one.said.removesuffix("*") + name) for one in paths for name in (*names, HOLE)]
        return one_of(found[:20])
    chosen = [matched(way, text, SECRETS, ORDINARY) for way, text in wanted]
    if not chosen or None in chosen:
        return call.owner
    return gathered([variable(Value(name)) for listed in chosen for name in listed or ()])


_ALL_COMMANDS = "(commands)"
"""The name of a value that is any command."""
_NAMES = "(names)"
"""The name of a value that is the name of any variable of the environment."""


def _compile(reader: PowerShell, call: Call) -> Value:
    """Judge C# that is compiled."""
    source = call.part(call.row.at)
    if source.exact:
        reader.adopt(import_module("whet.guard.code.checker").check(source.exact))
    elif source is not NOTHING:
        execute.evaluate(reader, source, call.verb)
    return NOTHING


def _run_block(reader: PowerShell, call: Call) -> Value:
    """Run a block, or a command or program that a value names."""
    target = call.part(call.row.at)
    given = [one for one in call.args if one is not target]
    blocks = [one.fn for one in _each(target) if one.fn is not None]
    if blocks:
        given += [part for name in ("argumentlist", "input") if name in call.words for part in _each(call.words[name])]
        call.args, call.words = [], {}
        results = [reader.invoke(node, given, scope) for node, scope in blocks]
        return results[0].marked(*NO_MARKS.union(*map(everything, results)))
    if _SCRIPT.search(target.said) and (text := reader.texts.get(target.said)):
        reader.body(parse(text), call.scope)
        return NOTHING
    low = _full(target.said.lower())
    if "*" in low:
        low = next((name for name in _COMMANDS if fnmatch.fnmatch(name, low)), low)
    if low in reader.functions:
        return reader.invoke_all(low, given, call.scope, NOTHING, call.words)
    if find_row("code", f"*.{low}") is not None or _COMMAND.fullmatch(low):
        made = reader.made(call.node, given, call.scope, low, call.words.pop("input", NOTHING))
        made.words = call.words
        return reader.outside(made, (f"*.{low}",))
    words = [part for name, one in call.words.items() if name[0] == "@" for part in _each(one)]
    return reader.outside(reader.made(call.node, [target, *given, *words], call.scope, "(program)"), ("(program)",))


_COMMAND = expression(r"[a-z]{2,12}-[a-z]\w{0,60}")
_COMMANDS = (
    "set-mppreference", "add-mppreference", "invoke-expression", "invoke-restmethod", "invoke-webrequest", "start-process", "remove-item",
    "set-executionpolicy", "set-netfirewallprofile", "add-localgroupmember", "register-scheduledtask",
)  # fmt: skip
"""Commands that a pattern for names may stand for."""


def _find_command(_reader: PowerShell, call: Call) -> Value:
    """Return a command by its name, or any command."""
    found = call.part(call.row.at)
    return found if found.text else Value(name=_ALL_COMMANDS)


def _set_name(reader: PowerShell, call: Call) -> Value:
    """Store a value under a name that may be computed."""
    name = call.part(call.row.at).said.lower()
    if name:
        value = call.part(call.row.given)
        call.scope.names[name] = reader.elsewhere[name] = value
    return NOTHING


def _get_name(_reader: PowerShell, call: Call) -> Value:
    """Return the value under a name that may be computed."""
    found = call.scope.find(call.part(call.row.at).said.lower()) or NOTHING
    return found if "valueonly" in call.words else Value(props={"Value": found}, marks=everything(found))


def _event(reader: PowerShell, call: Call) -> Value:
    """Keep the data of an event for the blocks that handle it."""
    if (given := call.words.get("messagedata")) is not None:
        reader.elsewhere["event"] = Value(props={"MessageData": given}, marks=everything(given))
    call.words.pop("messagedata", None)
    return NOTHING


def _script(reader: PowerShell, call: Call) -> Value:
    """Return a runspace with a block and the arguments that are added to it, and with its results."""
    held = [one for one in call.owner.items or () if one.fn is not None]
    given = [one for one in call.owner.items or () if one.fn is None]
    if call.verb == "AddScript" and call.arg(0).fn is None:
        return SHARED_CODE(reader, call) or NOTHING
    new = call.arg(0 if call.verb != "AddParameter" else 1)
    given, held = ([*given, new], held) if new.fn is None else (given, [new])
    results = [reader.invoke(one.fn[0], given, one.fn[1]) for one in held if one.fn is not None]
    marks = NO_MARKS.union(*map(everything, results))
    runspace = Value(name=call.owner.name, items=[*held, *given], marks=marks)
    callee = call.node.parts[0]
    if callee.kind == "member" and callee.parts[0].kind == "name":
        reader.assign(callee.parts[0], runspace, call.scope, grows=True)
    call.args = []
    return runspace


SHARED_CODE = Reader.specials["run code"]


def _start_process(reader: PowerShell, call: Call) -> Value:
    """Judge a program that is started with its arguments."""
    program, given = call.part(call.row.at), call.part(call.row.given)
    rest = [] if given is NOTHING else _each(given)
    words = [part for one in rest for part in (words_of(one) if one.exact else [one])]
    made = reader.made(call.node, [program, *words], call.scope, "(program)")
    made.names = {0: call.names.get(0, "")}
    return reader.outside(made, ("(program)",))


def _mail(reader: PowerShell, call: Call) -> Value:
    """Judge a mail with its text and attachments."""
    attached = [
        Value(marks=reader.read(one, one.path or one.said))
        for one in _each(call.words.get("attachments", NOTHING))
        if one is not NOTHING
    ]
    to = re.search(r"@([\w.-]{3,200})", call.words.get("to", call.arg(0)).said)
    body = [one for name, one in call.words.items() if name in ("body", "subject")]
    return network.deliver(reader, Value(f"smtp://{to[1]}") if to else NOTHING, [*body, *attached, call.owner])


def _program(reader: PowerShell, call: Call) -> Value:
    """Judge a program with its words; those of Windows also as the programs of a shell that do the same."""
    given = [part for one in call.args for part in (one.items or [one])]
    texts = [one.said for one in given]
    if texts[:2] == ["net", "use"] and len(texts) > 3 and texts[3].startswith("//"):
        reader.shares[texts[2].lower()] = texts[3]
    texts = [reader.shares.get(one[:2].lower(), one[:2]) + one[2:] for one in texts]
    piped = call.words.get("input", NOTHING)
    if _is_printed(piped) or any(map(_is_printed, given)):  # programs among themselves, as in a shell
        said = [f'"$({one.path})"' if _is_printed(one) else one.said or HOLE for one in given]
        before = f"{piped.path} | " if _is_printed(piped) else ""
        call.args, call.words = [Value(before + " ".join(said))], {}
        return SHARED["start program"](reader, call) or NOTHING
    for command in rearranged(texts) if texts else ():
        words = [
            given[one] if isinstance(one, int) and texts[one] == given[one].said
            else Value(texts[one]) if isinstance(one, int)
            else Value(one) if isinstance(one, str)
            else concatenated([given[one[0]], Value("/"), given[one[1]]], pieced=False)
            for one in command
        ]  # fmt: skip
        made = reader.made(call.node, words, call.scope, call.name)
        made.row, made.words = call.row, dict(call.words)
        SHARED["start program"](reader, made)
    return SHARED["start program"](reader, call) or NOTHING


def _is_printed(value: Value) -> bool:
    """Return whether a value is what a program printed that fetched it."""
    return bool(value.path) and value.name.startswith("(program)")


def _new_drive(reader: PowerShell, call: Call) -> Value:
    """Remember the share of another machine that gets the name of a drive."""
    reader.shares[f"{call.part(('name', 0)).said.lower()}:"] = call.words.get("root", NOTHING).said
    return NOTHING


def _copy_item(reader: PowerShell, call: Call) -> Value:
    """Judge a copy of files, perhaps to another machine."""
    target, sources = call.part(call.row.given), _each(call.part(call.row.at))
    for source in sources:
        key = call.key(call.row.at) if len(sources) < 2 else source.path or source.said
        content = Value(marks=reader.read(source, key))
        reader.share(target, content)
        if source.text is None:
            reader.write(target, call.key(call.row.given), content)
            continue
        made = reader.made(call.node, [source, target], call.scope, call.verb)
        made.row = call.row._replace(at=(0,), given=(1,))
        made.names = {number: name for number, name in ((0, key), (1, call.key(call.row.given))) if name}
        SHARED["copy any"](reader, made)
    return target


def _ask(_reader: PowerShell, call: Call) -> Value:
    """Return what a person types, which is a password if it is not shown."""
    hidden = not call.words.keys().isdisjoint(("maskinput", "assecurestring"))
    mark = Mark("secret", "a password that is asked for", call.verb, True, whole=True)
    return Value(marks=frozenset((mark,))) if hidden else NOTHING


SPECIAL: dict[str, Callable[[PowerShell, Call], Value | None]] = {
    "web request": _web_request, "transfer": _transfer, "read items": _read_items, "list items": _list_items,
    "write items": _write_items, "filter": _filter, "mail": _mail, "for each": _for_each, "run block": _run_block,
    "start process": _start_process, "compile": _compile, "new drive": _new_drive, "copy item": _copy_item, "native": _program,
    "ask": _ask, "find command": _find_command, "set name": _set_name, "get name": _get_name,
    "event": _event, "script": _script,
}  # fmt: skip
PowerShell.specials = {**Reader.specials, **COM, **SHAPING, **SPECIAL}
