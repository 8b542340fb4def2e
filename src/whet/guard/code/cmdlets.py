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
from whet.guard.code.reader import Reader
from whet.guard.expression import expression
from whet.guard.finding import Seen
from whet.guard.hosts import URL
from whet.guard.rules import severity_of
from whet.guard.tables import load_toml
from whet.guard.taint import execute, files, network
from whet.guard.taint.call import find_row
from whet.guard.taint.containers import concatenated, gathered, one_of
from whet.guard.taint.findings import DEEPEST
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.names import named, variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, everything

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.guard.code.syntax import Node
    from whet.guard.taint.call import Call

_VARIABLES = expression(r"env:[\\/*]{0,2}(\w{0,60})", re.IGNORECASE)
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

    def item(self, owner: Value, key: Value) -> Value:
        """Return an item; of the environment any variable, if its name comes from a list of all names."""
        if key.name == _NAMES and not key.texts and ENVIRONMENT in owner.marks:
            return Value(marks=owner.marks)
        return super().item(owner, key)

    def member(self, node: Node, owner: Value) -> Value | None:
        """Return the value of a member that is known not to be a call; None for any other."""
        if ENVIRONMENT in owner.marks and node.text in ("Keys", "Name", "Key"):
            return Value(name=_NAMES)
        return super().member(node, owner) if find_row("code", f"{owner.name}.{node.text}") is None else None

    def read_node(self, node: Node, scope: Scope) -> Value:
        """Return the value of an expression; a variable is never a function."""
        if node.kind == "name" and node.params:
            held = scope.find(node.text)
            return held if held is not None else self.elsewhere.get(node.text, NOTHING)
        return super().read_node(node, scope)

    def assignment(self, node: Node, scope: Scope) -> Value:
        """Store a value; a match, which is kept, restricts what the name of a variable may be."""
        found = super().assignment(node, scope)
        if (condition := compared(node)) is not None:
            self.narrow(*condition, scope)
        return found

    def call(self, node: Node, scope: Scope) -> Value:
        """Return the result of a call; a comparison restricts what the name of a variable may be."""
        found = super().call(node, scope)
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
        return _environment(found[1])
    if call.place(call.row.at) == "owner" and place.text is None:
        return place
    marks = NO_MARKS.union(*(reader.read(one, one.path or one.said or call.key(call.row.at)) for one in _each(place)))
    return Value(reader.data(place), marks=marks | place.marks)


def _each(value: Value) -> Sequence[Value]:
    return value.items or [value]


def _environment(name: str) -> Value:
    return variable(Value(name.upper())) if name else named("code", "process.env")


def _list_items(reader: PowerShell, call: Call) -> Value:
    """Return the files in a directory, the variables of the environment, or one of them."""
    place = call.part(call.row.at)
    if (found := _VARIABLES.match(place.said)) is not None:
        return _environment(found[1])
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
    if ENVIRONMENT not in call.owner.marks and not paths:
        return call.owner
    block = next((one for one in call.every() if one.fn is not None), None)
    if block is None:
        way = next((name for name in ("like", "match", "in", "eq") if name in call.words), "")
        wanted = [(way, text) for text in texts_in(call.words.get(way, NOTHING))]
    else:
        wanted = list(conditions(reader, block.fn[0].parts, Scope(block.fn[1])))
    if paths:
        names = [name for way, text in wanted for name in matched(way, text, SECRET_FILES, ORDINARY_FILES) or ()]
        found = [one.but(const=one.said.removesuffix("*") + name) for one in paths for name in (*names, HOLE)]
        return one_of(found[:20])
    chosen = [matched(way, text, SECRETS, ORDINARY) for way, text in wanted]
    if not chosen or None in chosen:
        return call.owner
    return gathered([variable(Value(name)) for listed in chosen for name in listed or ()])


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
    if target.fn is not None:
        given += [part for name in ("argumentlist", "input") if name in call.words for part in _each(call.words[name])]
        call.args, call.words = [], {}
        return reader.invoke(target.fn[0], given, target.fn[1])
    low = load_toml("powershell")["aliases"].get(target.said.lower(), target.said.lower())
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


def _add_member(reader: PowerShell, call: Call) -> Value:
    """Return an object with one more member."""
    at = len(call.args) > 2
    name = call.part(("notepropertyname", "name", int(at))).said
    value = call.part(("notepropertyvalue", "value", 1 + at))
    found = call.part(("inputobject", "owner"))
    found = found.but(props={**(found.props or {}), name or "?": value})
    callee = call.node.parts[0]
    if callee.kind == "member" and callee.parts[0].kind in ("name", "member"):
        reader.assign(callee.parts[0], found, call.scope, grows=True)
    return found


def _join(_reader: PowerShell, call: Call) -> Value:
    """Return the items of a list as one text."""
    items = call.owner.items
    return concatenated(items, call.arg(0).said, pieced=False) if items is not None else call.owner


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
    target = call.part(call.row.given)
    reader.share(target, Value(marks=reader.read(call.part(call.row.at), call.key(call.row.at))))
    return SHARED["copy any"](reader, call) or NOTHING


def _ask(_reader: PowerShell, call: Call) -> Value:
    """Return what a person types, which is a password if it is not shown."""
    hidden = not call.words.keys().isdisjoint(("maskinput", "assecurestring"))
    mark = Mark("secret", "a password that is asked for", call.verb, True, whole=True)
    return Value(marks=frozenset((mark,))) if hidden else NOTHING


def _keep_input(_reader: PowerShell, call: Call) -> Value:
    """Return the argument or the input unchanged."""
    return call.part((*call.row.at, "owner"))


def _compare(_reader: PowerShell, call: Call) -> Value:
    """Return the items of a list that a condition may hold for; of anything else, nothing is known."""
    return call.owner if call.owner.items is not None else NOTHING


def _replace(_reader: PowerShell, call: Call) -> Value:
    """Return a text with other text in some places."""
    text, old, new = call.arg(0), call.arg(1).exact, call.arg(2).said
    if text.text is None or old is None:
        return Value(marks=text.marks | call.arg(2).marks)
    plain = re.sub(r"\\(.)", r"\1", old)
    return text.but(const=text.said.replace(plain, new), marks=text.marks | call.arg(2).marks)


def _characters(_reader: PowerShell, call: Call) -> Value:
    """Return the characters of numbers."""
    codes = [one.const for one in _each(call.arg(0))]
    if not all(isinstance(one, int) and 0 < one < 0x110000 for one in codes):
        return call.arg(0)
    texts = [Value(chr(one)) for one in codes]
    return texts[0] if len(texts) == 1 else gathered(texts)


SPECIAL: dict[str, Callable[[PowerShell, Call], Value | None]] = {
    "web request": _web_request, "transfer": _transfer, "read items": _read_items, "list items": _list_items,
    "write items": _write_items, "filter": _filter, "mail": _mail, "for each": _for_each, "run block": _run_block,
    "start process": _start_process, "add member": _add_member, "join": _join,
    "compile": _compile, "new drive": _new_drive, "copy item": _copy_item, "native": _program, "compare": _compare,  "keep input": _keep_input, "ask": _ask, "replace": _replace,
    "characters": _characters,
}  # fmt: skip
PowerShell.specials = {**Reader.specials, **COM, **SPECIAL}
