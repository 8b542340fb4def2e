"""The functions of other languages that need more than a judge: what reads a file or an address, handles, builders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import URL
from whet.guard.taint import execute, files, network
from whet.guard.taint.containers import concatenated, gathered
from whet.guard.taint.judges import decode
from whet.guard.taint.mark import ENVIRONMENT, NO_MARKS
from whet.guard.taint.names import variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, everything

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.guard.code.reader import Reader
    from whet.guard.taint.call import Call

_FOUND = frozenset(("place", "listing", "folder"))
"""Kinds of marks of a path that was found by listing a directory."""


def _read(reader: Reader, call: Call) -> Value:
    """Read a file, an address or a stream, whichever is given."""
    place = call.part(call.row.at)
    if URL.match(place.said):
        parts = [part for one in call.every() if one is not place for part in _parts(one)]
        head = [part for name, part in parts if name.lower() in ("header", "headers")]
        return network.deliver(reader, place, [part for _, part in parts if part not in head], head)
    if place.text is None and not any(mark.kind in _FOUND for mark in place.marks):
        return Value(marks=place.marks)
    return files.read_file(reader, call)


def _parts(value: Value) -> list[tuple[str, Value]]:
    """Return the entries of options within options, each with its name; a value that is no map has no name."""
    if value.props is None:
        return [("", value)]
    return [
        (name if part.props is None else inner, one)
        for name, part in value.props.items()
        for inner, one in (_parts(part) if name.lower() not in ("header", "headers") else [(name, part)])
    ]


def _flat(values: Iterable[Value]) -> list[Value]:
    """Return values, and the items of those that are lists."""
    return [part for one in values for part in (one.items or [one])]


def _store(reader: Reader, call: Call, number: int, value: Value) -> None:
    """Assign a new value to the variable that was passed as an argument."""
    if len(call.node.parts) > number + 1:
        reader.assign(call.node.parts[number + 1], value, call.scope, grows=True)


def _open(reader: Reader, call: Call) -> Value:
    """Return the handle of a file, an address or a program; `given` names the mode."""
    if call.owner.text is not None or call.owner.items is not None:  # a method of a path
        call.args, call.row = [call.owner, *call.args], call.row._replace(given=(1,), gives="")
    place, mode = call.part(call.row.at), call.part(call.row.given).said
    if place.name.startswith(("(socket)", "(connection)")):
        return place
    if URL.match(place.said):
        return _read(reader, call)
    if "|" in mode:
        return execute.run_shell(reader, call)
    key = call.key(call.row.at)
    writes = call.row.gives or any(sign in mode for sign in "waxc+>")
    marks = NO_MARKS if writes else _read(reader, call).marks
    return Value(reader.data(place), call.row.gives or ("open.append" if writes else "open"), marks, path=key)


def _open_into(reader: Reader, call: Call) -> Value:
    """Open a file into the variable that is the first argument."""
    if len(call.args) < 2:
        return _open(reader, call)
    mode, rest = call.args[1], call.args[2:]
    sign = mode.said.strip()
    if call.args[0].name in ("STDIN", "STDOUT") and sign[1:2] == "&":
        reader.note("spawns")
    if not rest:
        rest, mode = [mode.but(const=sign.lstrip("<>+| "))] if mode.text else [mode], Value(sign[:1])
    if "|" in sign[:2] or sign.endswith("|"):
        call.row = call.row._replace(at=(0,), what="rest")
        call.args = [rest[0].but(const=rest[0].said.rstrip("| ")) if rest[0].text else rest[0], *rest[1:]]
        handle = _start(reader, call)
    else:
        made = reader.made(call.node, [rest[0], mode], call.scope, "open")
        made.row = call.row._replace(at=(0,), given=(1,))
        made.names = {0: call.names.get(2, "")}
        handle = _open(reader, made)
    _store(reader, call, 0, handle)
    return handle


def _list_into(reader: Reader, call: Call) -> Value:
    """Open a directory into the variable that is the first argument."""
    call.row = call.row._replace(at=(1,))
    handle = files.list_directory(reader, call)
    _store(reader, call, 0, handle)
    return handle


def _put_back(reader: Reader, call: Call, value: Value) -> None:
    """Store a new value under the name, or in the member, on which a method was called."""
    callee = call.node.parts[0] if call.node.parts else call.node
    if callee.kind == "member":
        reader.assign(callee.parts[0], value, call.scope, grows=True)


def _give(reader: Reader, call: Call) -> Value:
    """Judge data that is given to a file, a connection or a program; printed text is only shown."""
    handle = call.part(call.row.at)
    target = next((call.words[word] for word in ("to", "toFile", "atPath", "toPath") if word in call.words), None)
    if target is not None:
        reader.write(target, target.path or target.said, handle)
        return handle
    content = [one for one in call.every() if one is not handle]
    marks = NO_MARKS.union(*map(everything, content))
    if handle.name.startswith(("(socket)", "(connection)")):
        network.deliver(reader, Value(handle.path or UNKNOWN), content)
    elif handle.name.startswith("open") and handle.path:
        text = concatenated(content, "\n", pieced=False)
        reader.write(Value(path=handle.path), handle.path, text.but(marks=marks), appends=handle.name == "open.append")
    elif handle.name == "(shell)":
        reader.feed(handle.path, concatenated(content, pieced=False))
    elif call.row.at == ("owner",) and handle.text is not None:
        _put_back(reader, call, concatenated([handle, *content], pieced=False))
    elif call.row.at == ("owner",) and marks:
        _put_back(reader, call, handle.marked(*marks))
    return handle


def _start(reader: Reader, call: Call) -> Value:
    """Judge a program that is started, given as one text for a shell or as its words."""
    given = [one for one in call.args if one.fn is None] or [call.owner]
    if len(given) > 1 and given[0].props is not None:  # the environment of the program
        call.words = {**call.words, "env": given.pop(0)}
    first, *rest = given
    words = _flat((first, *rest))
    if _BARE_SHELL.fullmatch(" ".join(one.said for one in words)):
        reader.note("spawns")
    if call.verb.endswith("popen"):
        words = [words[0], *(one for one in words[1:] if one.said not in _MODES)]
    if first.text is None and first.items is None and len(words) > 1:
        made = reader.made(call.node, [first], call.scope, call.name)
        made.row = call.row._replace(at=(0,), what="")
        execute.run_shell(reader, made)
    single = first.items is None and (len(words) < 2 or " " in first.said)
    words = words[:1] if single else words
    if single or (len(words) == 2 and words[1].said.startswith(("-", "/")) and " " in words[1].said):
        call.args = [concatenated(words, " ", pieced=False)]
        call.row = call.row._replace(at=(0,), what="")
        return execute.run_shell(reader, call)
    call.args = words
    call.row = call.row._replace(at=(0,), what="rest")
    return execute.run_program(reader, call)


_MODES = frozenset(("r", "w", "r+", "w+", "rb", "wb", "re"))
_BARE_SHELL = expression(r"(?:/\w+){0,3}/?(?:ba|z|da|k)?sh(?: -i)?(?: [\d&<>$ ]*)?|cmd(?:\.exe)?|powershell(?:\.exe)?")


def _hand_over(reader: Reader, call: Call) -> Value | None:
    """Judge what a process gets as its input or output."""
    if any(one.name.startswith("(socket)") or one.has("socket") for one in call.every()):
        reader.hit("shell-handed-over")
    return None


def _gather(_reader: Reader, call: Call) -> Value:
    """Return a list of the arguments, and of the items of those that are lists if the row says so."""
    if call.row.what:
        return gathered(_flat(call.args))
    return gathered(call.args) if call.args else Value(props=call.words)


def _fill_argument(reader: Reader, call: Call) -> Value:
    """Put what is read or parsed into the last argument."""
    marks = NO_MARKS.union(*map(everything, (call.owner, *call.args[:-1])))
    if call.args and marks:
        _store(reader, call, len(call.args) - 1, call.args[-1].marked(*marks))
    return Value(marks=marks)


def _command(reader: Reader, call: Call) -> Value:
    """Return a command whose arguments are added later; it is judged with those that it has."""
    result = _start(reader, call)
    return Value(name="(command)", items=list(call.args), marks=result.marks)


def _argument(reader: Reader, call: Call) -> Value:
    """Add arguments to a command, and judge it again."""
    call.args = [*(call.owner.items or []), *_flat(call.every())]
    return _command(reader, call)


def _set_arguments(reader: Reader, call: Call) -> Value:
    """Judge the arguments that a process object is given."""
    props = call.owner.props or {}
    program = next((props[name] for name in ("launchPath", "executableURL", "FileName") if name in props), Value("sh"))
    call.args = [program, *call.args]
    return _start(reader, call)


def _option(reader: Reader, call: Call) -> Value:
    """Set options of a request: its address, or what it sends."""
    handle = call.arg(0)
    options = call.words or {call.arg(1).name: call.arg(2)}
    for name, value in options.items():
        if name.endswith("_URL"):
            handle = handle.but(path=value.said)
        elif name.endswith("HEADER"):
            network.carry(reader, handle.path, NO_MARKS, [value])
        else:
            handle = handle.marked(*everything(value))
    _store(reader, call, 0, handle)
    return handle


def _prepare(reader: Reader, call: Call) -> Value:
    """Return a request that is sent later; the word before its address may be its method."""
    url = next((one for one in call.every() if URL.match(one.said)), call.part(call.row.at))
    url = Value(marks=url.marks) if url.said.isupper() else url  # the method of the request
    head = {
        word: one for word, one in call.words.items() if "-" in word or word in ("Authorization", "Cookie", "headers")
    }
    body = [one for one in call.every() if one is not url and one not in head.values()]
    network.carry(reader, url.said, NO_MARKS, list(head.values()))
    return Value(name=call.row.gives, marks=NO_MARKS.union(*map(everything, body)) | url.marks, path=url.said)


def _perform(reader: Reader, call: Call) -> Value:
    """Judge a request that was prepared."""
    made = call.part(call.row.at)
    url = made.path or (made.said if URL.match(made.said) else "")
    reader.fact("sink", "HTTP", url)
    return network.deliver(reader, Value(url or UNKNOWN), [Value(marks=everything(made)), *call.every()])


def _fill(reader: Reader, call: Call) -> Value:
    """Put data into a request that is sent later."""
    filled = call.owner.marked(*NO_MARKS.union(*map(everything, call.every())))
    _put_back(reader, call, filled)
    return filled


def _execute(reader: Reader, call: Call) -> Value | None:
    """Judge a text that is run as a command by its own method; a statement of a database is something else."""
    return _start(reader, call) if call.owner.text and not call.args else None


def _paste(_reader: Reader, call: Call) -> Value:
    """Return the text of several values, with the separator before them or after a list of them, as the row says."""
    parts, between = call.args, call.words["sep"].said if "sep" in call.words else call.row.gives
    if call.row.what == "first":
        parts, between = call.args[1:], call.arg(0).said
    elif call.row.what == "last":
        parts, between = call.args[:1], call.arg(1).said
    return concatenated(_flat(parts), between, pieced=False)


def _copy(reader: Reader, call: Call) -> Value:
    """Judge a file, a stream or an address that is copied to a file."""
    source, target = call.part(call.row.at), call.part(call.row.given)
    if source.text is not None and not URL.match(source.said):
        return files.copy_file(reader, call)
    reader.write(target, call.key(call.row.given), Value(marks=_read(reader, call).marks))
    return target


def _join_path(_reader: Reader, call: Call) -> Value:
    """Return the path of several parts."""
    return _path(_flat(call.every()))


def _below(_reader: Reader, call: Call) -> Value:
    """Return a path below the owner, or the text of a list."""
    if call.owner.items is not None or call.owner.text is None:
        return concatenated(call.owner.items or [call.owner], call.arg(0).said, pieced=False)
    return _path([call.owner, *call.every()])


def _path(parts: list[Value]) -> Value:
    found = concatenated(parts, "/", pieced=False)
    return found.but(const=_DETOUR.sub("/", found.said)) if found.text else found


_DETOUR = expression(r"(?<=.)//|/\./")


def _variable(reader: Reader, call: Call) -> Value:
    """Return an environment variable, or all of them if none is named."""
    if not call.args:
        return Value(name="process.env", marks=frozenset((ENVIRONMENT,)))
    found = reader.exported.get(call.arg(0).said) or variable(call.arg(0))
    default = call.arg(1)
    return default.marked(*found.marks) if found.text is None and default.text else found


def _property(_reader: Reader, call: Call) -> Value:
    """Return a property of the system, of which the home directory matters."""
    return Value("~") if call.arg(0).said == "user.home" else NOTHING


def _pop(_reader: Reader, call: Call) -> Value:
    """Unpack a text, which decodes it if the format says so."""
    text, form = (call.owner, call.arg(0)) if call.row.at == ("owner",) else (call.arg(1), call.arg(0))
    way = {"m": "base64.b64decode", "H": "binascii.unhexlify", "u": "base64.b64decode"}.get(form.said[:1])
    if way is None:
        return Value(marks=text.marks)
    call.row = call.row._replace(what=way)
    call.args = [text]
    return _decode(_reader, call)


def _decode(reader: Reader, call: Call) -> Value:
    """Decode the argument, or the owner of the method."""
    if not call.args:
        call.args = [call.owner]
    return decode(reader, call)


def _remove_tree(reader: Reader, call: Call) -> Value:
    """Judge directories that are removed with their content; a list names several."""
    flag = call.arg(1).const is True or "recurse" in call.words
    named = [call.words[word] for word in call.row.at if isinstance(word, str) and word in call.words]
    call.args = _flat(named or call.args or [call.owner])
    call.row = call.row._replace(at=(), grave=call.row.grave or flag)
    return files.remove(reader, call)


def _load(reader: Reader, call: Call) -> Value:
    """Judge a file or an address whose code is loaded."""
    place = call.part(call.row.at)
    reader.run_files(reader.above(call.key(call.row.at)))
    if place.items is not None:
        place = next((one for one in place.items if URL.match(one.said)), place)
    if place.text is None or (URL.match(place.said) and _PATH.search(place.said)):
        execute.evaluate(reader, _read(reader, call) if place.text else place, call.name)
    elif place.said[:1] in ("/", ".", "~"):
        return execute.start_file(reader, call)
    return Value(name=re.split(r"[./\\]", place.said)[-1])


def _assert(reader: Reader, call: Call) -> Value:
    """Judge a text that PHP runs as code where other languages check a condition."""
    if reader.lines[0].lstrip().startswith("<?"):
        execute.evaluate(reader, call.arg(0), call.name)
    return NOTHING


_PATH = expression(r"://[^/]{1,255}/.")


def _write(reader: Reader, call: Call) -> Value:
    """Judge writing a whole file, or appending to it if a flag says so."""
    flags = " ".join(one.name for one in call.every())
    if "APPEND" in flags.upper() and call.place(call.row.at) is not None:
        content = call.part(call.row.given)
        reader.write(call.part(call.row.at), call.key(call.row.at), content, appends=True)
        return NOTHING
    return files.write_file(reader, call)


def _list(reader: Reader, call: Call) -> Value:
    """Return the files that match a pattern, or lie in a directory."""
    if call.row.at[-1:] == ("owner",) and call.place(call.row.at) == "owner":
        call.row = call.row._replace(at=("owner",))  # the argument is a pattern
    found = files.list_directory(reader, call)
    path = call.part(call.row.at)
    return gathered([path]).marked(*found.marks) if "*" in path.said else found


SPECIAL: dict[str, Callable[[Reader, Call], Value | None]] = {
    "read any": _read, "open any": _open, "open into": _open_into, "list into": _list_into, "give to": _give,
    "start program": _start, "command": _command, "argument": _argument, "set arguments": _set_arguments,
    "hand over any": _hand_over, "execute": _execute, "load any": _load, "assert": _assert, "option": _option, "prepare any": _prepare,
    "perform": _perform, "fill": _fill, "fill argument": _fill_argument, "paste": _paste,
    "gather": _gather, "join path": _join_path, "below": _below, "variables": _variable, "property": _property,
    "unpack text": _pop, "decode any": _decode, "copy any": _copy, "remove tree": _remove_tree, "write any": _write,
    "list any": _list,
}  # fmt: skip
"""These functions by their names in the table."""
