"""What the functions of Node, Deno, Bun and the browser do with their arguments: a table of names, and what follows."""

from __future__ import annotations

import re
from functools import cmp_to_key, lru_cache
from itertools import compress
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import is_unsafe
from whet.guard.javascript.clients import (
    CLIENTS,
    PLAIN,
    VERBS,
    argument,
    beacon,
    client,
    datagrams,
    handed,
    image,
    lookup,
    mailer,
    on_object,
    prepared,
    request,
    server,
    service,
    socket,
    websocket,
    xhr,
)
from whet.guard.javascript.effects import PRIVATE, SHELLS, Effects
from whet.guard.javascript.values import (
    constant,
    decoded,
    either,
    everything,
    joined,
    list_call,
    literal,
    maybe,
    member,
    module,
    one_of,
    parts_of,
    regex_of,
    text_call,
    written,
)
from whet.guard.javascript.whole_file import hooks_keys, listening
from whet.guard.tables import api
from whet.guard.taint.formats import parsed
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.guard.javascript.expressions import Call
    from whet.guard.javascript.program import Program

_SENSITIVE = expression(
    r"^(?:child_process|eval|Function|exec|execSync|spawn|spawnSync|execFile|vm|net|require|process|fs|dns|https?)$"
)
_PASSING = api("javascript", "passing")
_NAMED_PASSING = expression(r"compress|encode|encrypt|stringif|serializ|tohex|base64|pack|zip", re.IGNORECASE)
_LISTENING = frozenset({"on", "once", "addEventListener", "addListener"})
_PARTS = frozenset({"match", "split", "exec", "find", "get", "substring", "slice", "matchAll", "getItem"})
"""Methods that give a part of a text."""
_PICKING = frozenset({"match", "exec", "matchAll", "find", "get", "getItem"})
"""Methods that look one thing up in what they are called on."""
_FILLING = api("javascript", "filling")
_BASES = api("javascript", "bases")
_TRACKING = api("javascript", "tracking")


class Meaning(Effects):
    """The calls of one file, understood."""

    @property
    def klasses(self) -> set[str]:
        """The names of the classes of the file."""
        return self.program.klasses if self.program is not None else set()

    def __call__(self, program: Program, call: Call) -> Value:
        """What a call gives; what it does is noted."""
        self.node = call.node
        self.program = program
        self.line = call.node.start_point[0] + 1
        if call.callee.hidden and _SENSITIVE.match(call.method.rpartition(".")[2]):
            self.hit("hidden-call", "warn")
        result = self._known(call)
        if call.callee.fn:
            result = either(program.bind(call.callee.fn, call.args), result)
        elif not call.name and call.method and (own := program.fields.get(call.method)) is not None:
            result = either(program.bind(own.fn, call.args), result)
        if call.args and call.method in _FILLING and not call.made:
            self._filled(program, call)
        return self._callbacks(program, call, result)

    def _filled(self, program: Program, call: Call) -> None:
        """An object is given something to keep."""
        owner = call.node.child_by_field_name("function")
        owner = owner.child_by_field_name("object") if owner is not None else None
        if owner is None:
            return
        if call.method == "push" and call.receiver.items is not None and len(call.receiver.items) < 2000:
            items = (*call.receiver.items, *call.args)
            program.extend(owner, call.receiver.but(items=items, marks=union((call.receiver, *call.args))))
        elif marks := union([Value(marks=everything(arg)) for arg in call.args]):
            program.taint(owner, marks)

    def _callbacks(self, program: Program, call: Call, result: Value) -> Value:
        functions = [arg.fn for arg in call.args if arg.fn]
        if not functions or call.callee.fn:
            return result
        if (worked := _worked_out(program, call)) is not None:
            return worked
        carry = Value(marks=union((result, call.receiver)))
        given = [carry] * 3
        if call.method in _LISTENING and (event := listening(call)) is not NOTHING:
            given[0] = event
        if call.receiver.name.startswith("(") and call.method in ("then", "on", "once"):
            given[0] = call.receiver
        if result.name == "(server)":
            given[0] = result.but(name="(socket)")
        if call.receiver.items and call.method in ("map", "forEach", "flatMap", "filter", "some", "every"):
            given[0] = one_of(call.receiver.items)
        outs = [program.bind(function, given) for function in functions]
        if call.method == "catch":
            return either(call.receiver, outs[0])
        return outs[0] if call.method in ("then", "map", "flatMap", "reduce") else result

    def _known(self, call: Call) -> Value:
        name = call.name
        if call.method in ("call", "apply") and call.receiver.name and len(call.args) > 1:
            given = call.args[1].items if call.method == "apply" else call.args[1:]
            own = call.receiver.name
            return self._known(call._replace(name=own, method=own, receiver=NOTHING, args=tuple(given or ())))
        if (
            call.method == "constructor"
            and call.args
            and (call.args[-1].hidden or call.args[-1].has("fetched", "decoded"))
        ):
            return _evaluate(self, call)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, call)
        head, _, tail = name.rpartition(".")
        if head in _FILES and (file := _FILE_CALLS.get(tail)) is not None:
            return file(self, call)
        if head in ("child_process", "shelljs", "execa") and (run := _RUNNERS.get(tail)) is not None:
            return run(self, call)
        if name in CLIENTS or (head in CLIENTS and tail in VERBS) or name in PLAIN:
            return request(self, call)
        if (
            tail in ("init", "configure")
            and (dsn := (argument(call, 0).props or {}).get("dsn")) is not None
            and dsn.text
        ):
            self.addresses[head] = dsn.text
        if tail in _TRACKING and head in self.addresses:
            self.send(self.addresses[head], call.args)
        if name.startswith("(client)."):
            return request(self, call)
        if call.made and (base := _base(call)) is not None:
            return service(self, call, base)
        if head in CLIENTS and tail in ("create", "extend", "defaults", "instance", "Client", "Pool"):
            return client(self, call)
        if call.receiver.name.startswith("(") or call.method.endswith("="):
            found = on_object(self, call)
            if found is not None:
                return found
        return _passed(self, call)


def _worked_out(program: Program, call: Call) -> Value | None:
    """A function given to `map`, `reduce`, `replace` and the like, worked out over constants in full."""
    receiver, method, function = call.receiver, call.method, call.args[0].fn
    if method == "from" and call.name.startswith(("Array.", "Uint8Array.", "Buffer.")) and len(call.args) > 1:
        receiver, method, function = call.args[0], "map", call.args[1].fn
    if method in ("replace", "replaceAll") and len(call.args) > 1:
        pattern, function = regex_of(call.args[0]), call.args[1].fn
        if pattern is None or not function or receiver.exact is None or len(receiver.exact) > 4000:
            return None
        put = pattern.sub(lambda found: program.apply(function, [Value(found[0])]).text or HOLE, receiver.exact)
        return Value(put, marks=receiver.marks | {Mark("decoded", "replacement")}, hidden="decoded")
    if method not in ("map", "reduce", "sort", "filter", "flatMap") or not function:
        return None
    parts = parts_of(receiver)
    if not parts or not all(part.const is not UNKNOWN or part.items or part.props for part in parts):
        return None
    if method == "reduce":
        total = call.args[1] if len(call.args) > 1 else parts[0]
        for at, part in enumerate(parts[len(call.args) < 2 :]):
            total = program.apply(function, [total, part, Value(at)])
        return total.but(marks=total.marks | receiver.marks) if total.const is not UNKNOWN else None
    if method == "sort":

        def order(one: Value, two: Value) -> int:
            sign = program.apply(function, [one, two]).const
            return sign if isinstance(sign, int) else 0

        return receiver.but(items=tuple(sorted(parts, key=cmp_to_key(order)))) if len(parts) < 200 else None
    if method == "filter":
        verdicts = [program.apply(function, [part, Value(at)]).const for at, part in enumerate(parts)]
        if not all(isinstance(verdict, (bool, int)) for verdict in verdicts):
            return None
        return receiver.but(const=UNKNOWN, items=tuple(compress(parts, verdicts)))
    found = [program.apply(function, [part, Value(at)]) for at, part in enumerate(parts[:3])]
    if not any(one.const is not UNKNOWN for one in found):
        return None
    found += [program.apply(function, [part, Value(at)]) for at, part in enumerate(parts[3:], 3)]
    return Value(marks=receiver.marks | union(found), items=tuple(found))


def _base(call: Call) -> Value | None:
    """The address that a client of a service is told to use instead of its own."""
    props = argument(call, 0).props or {}
    return next((props[key] for key in _BASES if key in props and (props[key].text or "").startswith("http")), None)


@lru_cache(maxsize=8192)
def _passes(method: str) -> bool:
    return method in _PASSING or _NAMED_PASSING.search(method) is not None


def _passed(effects: Meaning, call: Call) -> Value:
    receiver, method = call.receiver, call.method.rpartition(".")[2]
    if receiver is NOTHING and all(arg is NOTHING for arg in call.args) and not call.made:
        return NOTHING
    known = text_call(receiver, method, call.args) or list_call(receiver, method, call.args)
    if known is not None:
        return known
    if method == "pipe" and call.args and call.args[0].name == "(file)":
        effects.write((call.args[0].props or {}).get("path", NOTHING), receiver)
    if method == "pipe" and call.args and call.args[0].name in ("(request)", "(socket)", "(websocket)"):
        effects.send((call.args[0].props or {}).get("url", NOTHING).text, [receiver])
    if method == "bind" and receiver.name:
        return Value(name=receiver.name)
    if method == "keys" and receiver.name == "Object":
        whole = call.args and call.args[0].name == "process.env"
        return Value(marks=frozenset({Mark("names", "every variable")})) if whole else NOTHING
    if call.args:
        handed(effects, call, method)
    if method in _PARTS and receiver.has("captured"):
        return Value(marks=frozenset({Mark("captured", "part of what the page keeps")}))
    if method in ("querySelector", "querySelectorAll") and "type=" in (wanted := argument(call, 0).text or ""):
        return Value(marks=frozenset({Mark("captured", "a password")})) if "password" in wanted else NOTHING
    if _passes(method):
        marks = union((receiver, *call.args))
        if method in _PICKING:
            marks = frozenset(mark._replace(whole=False) if mark.kind == "secret" else mark for mark in marks)
        text = call.args[0].text if method in ("String", "text", "from", "encode") and call.args else None
        return Value(maybe(text), marks=marks) if marks or text else NOTHING
    if not call.made:
        return NOTHING
    if call.name in effects.klasses:
        return Value(name="this")
    return Value(name=call.name if hooks_keys(call.name) else "", marks=union(call.args))


def _require(effects: Meaning, call: Call) -> Value:
    wanted = argument(call, 0)
    text = wanted.exact
    if (wanted.text or "")[:5].lower() == "data:":
        effects.evaluate(data_url(wanted))
        return NOTHING
    if wanted.has("fetched", "decoded"):
        effects.evaluate(wanted)
    if text is None:
        return NOTHING
    if re.match(r"https?:", text, re.IGNORECASE):
        marks = effects.fetched(text)
        if call.name in ("import", "importScripts") and is_unsafe(text):
            effects.evaluate(Value(marks=marks))
        return NOTHING
    found = module(text)
    if wanted.hidden and _SENSITIVE.match(found.name):
        effects.hit("hidden-call", "warn")
    if text.startswith((".", "/", "~")):
        effects.started(text)
    return found


def _home(_effects: Meaning, _call: Call) -> Value:
    return constant("~")


def _temporary(_effects: Meaning, _call: Call) -> Value:
    return constant("/tmp")  # noqa: S108  a text of the scanned program, no file of ours


def _join(_effects: Meaning, call: Call) -> Value:
    parts = [arg for arg in call.args if arg.text != ""]
    if call.name.endswith("resolve") and parts and parts[0].text is None:
        parts = parts[1:] if any((part.text or "").startswith(("/", "~")) for part in parts[1:]) else parts
    return joined(parts, "/", pieced=False)


def _evaluate(effects: Meaning, call: Call) -> Value:
    code = call.args[-1] if call.name == "Function" and call.args else argument(call, 0)
    if call.args and (call.name not in ("setTimeout", "setInterval") or (code.text and not code.fn)):
        if code.exact in ("require", "process", "child_process"):
            return Value(name=code.exact)
        effects.evaluate(code)
    return NOTHING


def _read(effects: Meaning, call: Call) -> Value:
    return Value(marks=effects.read(argument(call, 0)))


def _list(effects: Meaning, call: Call) -> Value:
    return Value(marks=effects.listed(argument(call, 0)))


def _unlink(effects: Meaning, _call: Call) -> Value:
    effects.note("removes")
    return NOTHING


def _write(effects: Meaning, call: Call) -> Value:
    effects.write(argument(call, 0), argument(call, 1), appends="append" in call.method)
    return NOTHING


def _write_stream(_effects: Meaning, call: Call) -> Value:
    return Value(name="(file)", props={"path": argument(call, 0)})


def _moved(effects: Meaning, call: Call) -> Value:
    marks = effects.read(argument(call, 0))
    if secret := frozenset(mark for mark in marks if mark.kind in PRIVATE):
        for text in argument(call, 1).texts:
            effects.files[text] = effects.files.get(text, NO_MARKS) | secret
    source = (argument(call, 0).text or "").strip()
    if source in effects.files:
        effects.write(argument(call, 1), Value(marks=effects.files[source]))
    return NOTHING


def _remove(effects: Meaning, call: Call) -> Value:
    options = call.args[-1].props if call.args else None
    whole = (options or {}).get("recursive") is not None or call.method in ("remove", "removeSync", "emptyDir")
    effects.note("removes")
    if whole or call.name.startswith(("rimraf", "del", "trash")):
        effects.remove(argument(call, 0))
    return NOTHING


def _shell(effects: Meaning, call: Call) -> Value:
    given = (argument(call, 1).props or {}).get("input", NOTHING)
    return Value(name="(process)", marks=effects.shell(call.args[0], given) if call.args else frozenset())


def _program(effects: Meaning, call: Call) -> Value:
    first = argument(call, 0)
    args = argument(call, 1).items or ()
    if first.items is not None:
        args = first.items[1:]
        first = first.items[0] if first.items else NOTHING
    options = next((arg.props for arg in call.args[1:] if arg.props), None) or {}
    if options.get("args") is not None and not args:
        args = options["args"].items or ()
    in_shell = "shell" in options and not args
    given = options.get("input", NOTHING)
    marks = effects.shell(first, given) if in_shell else effects.program_started(first, args, given)
    shell = (first.text or "").rpartition("/")[2].removesuffix(".exe").lower() in SHELLS
    if "stdio" in options and options["stdio"].has("socket", "fetched"):
        effects.hit("shell-handed-over")
    return Value(name="(shell)" if shell else "(process)", marks=marks)


def _worker(effects: Meaning, call: Call) -> Value:
    """A worker that is given its code instead of a file."""
    if "eval" in (argument(call, 1).props or {}) or argument(call, 0).has("fetched", "decoded"):
        effects.evaluate(argument(call, 0))
    return NOTHING


def _paste(effects: Meaning, _call: Call) -> Value:
    return Value(marks=effects.paste())


def _copy(effects: Meaning, call: Call) -> Value:
    effects.copy(" ".join(argument(call, 0).texts))
    return NOTHING


def _screen(_effects: Meaning, _call: Call) -> Value:
    return Value(marks=frozenset({Mark("captured", "a screenshot")}))


def _environment(_effects: Meaning, _call: Call) -> Value:
    return Value(name="process.env", marks=frozenset({ENVIRONMENT}))


def _variable(_effects: Meaning, call: Call) -> Value:
    return member(Value(name="process.env"), argument(call, 0).exact or HOLE)


def _cipher(_effects: Meaning, _call: Call) -> Value:
    return Value(marks=frozenset({Mark("encrypted", "a cipher")}))


def _awaited(_effects: Meaning, call: Call) -> Value:
    """`await (...)` outside of an async function, which reads like a call; `new URL(...)`."""
    return argument(call, 0)


def _prototype(_effects: Meaning, call: Call) -> Value:
    return Value(name="(prototype)") if argument(call, 0).fn else NOTHING


def _assigned(_effects: Meaning, call: Call) -> Value:
    """`Object.assign`."""
    props: dict[str, Value] = {}
    for arg in call.args:
        props.update(arg.props or {})
    return Value(marks=union(call.args), props=props)


def _stringify(_effects: Meaning, call: Call) -> Value:
    first = argument(call, 0)
    if first.props and call.name != "JSON.stringify":
        pairs = [(Value(key), value) for key, value in first.props.items()]
        items = tuple(value if call.name == "Object.values" else Value(items=(key, value)) for key, value in pairs)
        return Value(marks=everything(first), items=items)
    text = written(first) if call.name == "JSON.stringify" and (first.props or first.items) else None
    return Value(maybe(text), marks=everything(first))


def _parse(_effects: Meaning, call: Call) -> Value:
    """`JSON.parse`."""
    first = argument(call, 0)
    const = parsed("json.loads", first.exact) if first.exact else UNKNOWN
    return literal(const, first.marks, first.hidden) if const is not UNKNOWN else Value(marks=first.marks)


def _table(*rows: tuple[Callable[[Meaning, Call], Value], str]) -> dict[str, Callable[[Meaning, Call], Value]]:
    return {name: meaning for meaning, names in rows for name in names.split()}


# --- undoing in thought what a script undoes at run time: character codes, base64, hex, escapes, compression ----------

_CODES = expression(r"%([0-9a-fA-F]{2})")


def first_of(call: Call) -> Value:
    """The first argument."""
    return call.args[0] if call.args else NOTHING


def characters(_effects: Effects, call: Call) -> Value:
    """`String.fromCharCode` and an array of bytes: the text they spell."""
    codes = [item for arg in call.args for item in (arg.items if arg.items is not None else (arg,))]
    out = []
    for code in codes:
        number = code.const
        if isinstance(number, str) and number.isdigit():
            number = int(number[:8])
        if not isinstance(number, int) or not 0 <= number <= 0x10FFFF:
            return Value(marks=union(codes) | {Mark("decoded", "character codes")})
        out.append(chr(number) if not 0xD800 <= number < 0xE000 else "\ufffd")
    marks = union(codes) | {Mark("decoded", "character codes")} if len(out) > 3 else union(codes)
    return Value("".join(out), marks=marks, hidden="decoded")


def base64(_effects: Effects, call: Call) -> Value:
    """`atob`."""
    value = _decode(first_of(call), "base64")
    return value.but(const=value.const.decode("latin-1")) if isinstance(value.const, bytes) else value


def _decode(value: Value, encoding: str) -> Value:
    const = decoded(value.exact, encoding) if value.exact is not None else UNKNOWN
    return Value(const, marks=value.marks | {Mark("decoded", encoding)}, hidden="decoded")


def buffer(effects: Effects, call: Call) -> Value:
    """`Buffer.from(text, encoding)`."""
    first, encoding = first_of(call), (call.args[1] if len(call.args) > 1 else NOTHING).exact
    if first.items and len(first.items) > 3:
        spelled = characters(effects, call._replace(args=(first,)))
        return spelled.but(const=spelled.const.encode("latin-1", "replace")) if spelled.exact else spelled
    if encoding in ("base64", "hex", "base64url"):
        for mark in first.has("file"):
            effects.fact("assemble", "decodes a file", mark.subject)
        return _decode(first, encoding)
    return Value(first.const, marks=first.marks, hidden=first.hidden)


def number(_effects: Effects, call: Call) -> Value:
    """`parseInt` and `Number`."""
    first, base = first_of(call), call.args[1].const if len(call.args) > 1 else 10
    try:
        return Value(int(first.said, base if isinstance(base, int) else 10), marks=first.marks)
    except ValueError:
        return Value(first.const if isinstance(first.const, int) else UNKNOWN, marks=first.marks)


_DATA = expression(r"data:[^,]{0,100}?(;base64)?,", re.IGNORECASE)


def data_url(value: Value) -> Value:
    """The code in a `data:` address."""
    found = _DATA.match(value.text or "")
    if found is None or value.exact is None:
        return Value(marks=value.marks)
    inner = value.exact[found.end() :]
    const = decoded(inner, "base64") if found[1] else _CODES.sub(lambda code: chr(int(code[1], 16)), inner)
    return Value(const, marks=value.marks | {Mark("decoded", "data address")}, hidden="decoded")


def unescape(_effects: Effects, call: Call) -> Value:
    """Percent escapes undone."""
    first = first_of(call)
    text = first.exact
    if text is None or text.count("%") < 3:
        return first
    return Value(_CODES.sub(lambda found: chr(int(found[1], 16)), text), marks=first.marks, hidden="decoded")


def unpacked(effects: Effects, call: Call) -> Value:
    """Decompressed or decrypted."""
    first = union(call.args)
    for mark in Value(marks=first).has("file"):
        effects.fact("assemble", "unpacks a file", mark.subject)
    return Value(marks=first | {Mark("decoded", "compression")})


def _spread(_effects: Effects, call: Call) -> Value:
    """`Array.from`."""
    first = first_of(call)
    return Value(marks=first.marks, items=parts_of(first))


_SPECIAL = _table(
    (_require, "require import importScripts module._load"),
    (_home, "os.homedir"),
    (_temporary, "os.tmpdir"),
    (_join, "path.join path.resolve path.normalize"),
    (characters, "String.fromCharCode String.fromCodePoint"),
    (base64, "atob Base64.decode"),
    (buffer, "Buffer.from Buffer"),
    (unescape, "unescape decodeURIComponent decodeURI querystring.unescape"),
    (_spread, "Array.from Uint8Array.from Uint8Array"),
    (number, "parseInt Number Number.parseInt"),
    (unpacked, "zlib.inflateSync zlib.gunzipSync zlib.unzipSync zlib.brotliDecompressSync zlib.inflateRawSync"),
    (unpacked, "zlib.inflate zlib.gunzip pako.inflate pako.ungzip crypto.createDecipheriv crypto.createDecipher"),
    (
        _evaluate,
        "eval Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script setTimeout setInterval",
    ),
    (_evaluate, "module._compile execScript vm.compileFunction vm.SourceTextModule"),
    (_read, "Deno.readTextFile Deno.readFile Deno.readTextFileSync Deno.readFileSync Bun.file bun.file"),
    (_write, "Deno.writeTextFile Deno.writeFile Deno.writeTextFileSync Deno.writeFileSync Bun.write"),
    (_remove, "rimraf rimraf.sync rimrafSync Deno.remove Deno.removeSync del del.sync"),
    (_shell, "execa.command execaCommand Bun.$ bun.$ zx.$ execa.$ dax.$ execaCommandSync execa.commandSync"),
    (_program, "execa execa.execa Deno.Command Deno.run Bun.spawn Bun.spawnSync child_process.spawn"),
    (_worker, "worker_threads.Worker Worker"),
    (beacon, "navigator.sendBeacon"),
    (client, "http2.connect undici.Client undici.Pool"),
    (websocket, "WebSocket WebSocket.WebSocket socket.io-client io"),
    (server, "net.createServer tls.createServer"),
    (socket, "net.connect net.createConnection net.Socket tls.connect Deno.connect"),
    (datagrams, "dgram.createSocket"),
    (lookup, "dns.lookup dns.resolve dns.resolve4 dns.resolve6 dns.resolveTxt dns.resolveAny dns.resolveCname"),
    (xhr, "XMLHttpRequest"),
    (mailer, "nodemailer.createTransport"),
    (prepared, "Request"),
    (_awaited, "URL"),
    (image, "Image"),
    (_paste, "navigator.clipboard.readText clipboardy.readSync clipboardy.read clipboard.readText copy-paste.paste"),
    (_paste, "electron.clipboard.readText"),
    (_copy, "navigator.clipboard.writeText clipboardy.writeSync clipboardy.write clipboard.writeText copy-paste.copy"),
    (_copy, "electron.clipboard.writeText"),
    (_screen, "screenshot-desktop desktopCapturer.getSources electron.desktopCapturer.getSources"),
    (_environment, "Deno.env.toObject"),
    (_variable, "Deno.env.get"),
    (_cipher, "crypto.createCipheriv crypto.createCipher"),
    (_prototype, "Object.getPrototypeOf Reflect.getPrototypeOf"),
    (_assigned, "Object.assign"),
    (_awaited, "await"),
    (_stringify, "JSON.stringify Object.entries Object.values"),
    (_parse, "JSON.parse"),
)
_FILES = frozenset({"fs", "fse", "fsp", "fsPromises"})
_FILE_CALLS = _table(
    (_read, "readFileSync readFile createReadStream readJson readJsonSync"),
    (_list, "readdirSync readdir opendir opendirSync"),
    (_unlink, "unlink unlinkSync"),
    (_write, "writeFileSync writeFile appendFileSync appendFile outputFile outputFileSync"),
    (_write_stream, "createWriteStream"),
    (_moved, "copyFileSync copyFile copy copySync renameSync rename"),
    (_remove, "rm rmSync rmdir rmdirSync remove removeSync emptyDir emptyDirSync"),
)
_RUNNERS = _table((_shell, "exec execSync command"), (_program, "spawn spawnSync execFile execFileSync fork"))
