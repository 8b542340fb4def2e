"""The commands of PowerShell that need more than a judge: requests, files and variables by one name, what is run."""

from __future__ import annotations

import fnmatch
import re
from importlib import import_module
from typing import TYPE_CHECKING

from whet.guard.code.batch import rearranged
from whet.guard.code.calls import SPECIAL as SHARED
from whet.guard.code.com import words_of
from whet.guard.code.conditions import (
    ORDINARY,
    ORDINARY_FILES,
    SECRET_FILES,
    SECRETS,
    chosen,
    conditions,
    matched,
    texts_in,
)
from whet.guard.code.dotnet import DOTNET
from whet.guard.code.powershell_tree import full_name, parse
from whet.guard.expression import expression
from whet.guard.hosts import URL
from whet.guard.taint import execute, files, network
from whet.guard.taint.call import find_row
from whet.guard.taint.containers import concatenated, gathered, one_of
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.names import named, variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, everything

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.guard.code.powershell import PowerShell
    from whet.guard.taint.call import Call

_VARIABLES = expression(r"env:[\\/*]{0,2}(\w{0,60})", re.IGNORECASE)
_NAME = expression(r"variable:[\\/]{0,2}(\w{1,60})$", re.IGNORECASE)
SCRIPT = expression(r"\.(?:ps1|psm1|cmd|bat)$", re.IGNORECASE)


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
    held = [matched(way, text, SECRETS, ORDINARY) for way, text in wanted]
    if not held or None in held:
        return call.owner
    return chosen([name for listed in held for name in listed or ()])


_ALL_COMMANDS = "(commands)"
"""The name of a value that is any command."""


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
    if SCRIPT.search(target.said) and (text := reader.texts.get(target.said)):
        reader.body(parse(text), call.scope)
        return NOTHING
    low = full_name(target.said.lower())
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
        return DOTNET["run code"](reader, call) or NOTHING
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


COMMANDS: dict[str, Callable[[PowerShell, Call], Value | None]] = {
    "web request": _web_request, "transfer": _transfer, "read items": _read_items, "list items": _list_items,
    "write items": _write_items, "filter": _filter, "mail": _mail, "for each": _for_each, "run block": _run_block,
    "start process": _start_process, "compile": _compile, "new drive": _new_drive, "copy item": _copy_item, "native": _program,
    "ask": _ask, "find command": _find_command, "set name": _set_name, "get name": _get_name,
    "event": _event, "script": _script,
}  # fmt: skip
"""These functions by their names in the table."""
