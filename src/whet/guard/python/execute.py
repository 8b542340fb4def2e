"""Execution: code made from text, commands for a shell, programs started, and data that runs when it is read."""

from __future__ import annotations

import ast
import re
import shlex
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.places import places
from whet.guard.python.files import key_of
from whet.guard.python.tables import CODE, LOADERS, RUNNERS, SHELLS, SPAWNS
from whet.guard.taint.commands import LOUD, files_of, run_words
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark, comes_from, subject_of
from whet.guard.taint.network import host_at
from whet.guard.taint.value import NOTHING, UNKNOWN, Hidden, Value, known, strings, union

if TYPE_CHECKING:
    from whet.guard.python.calls import Call
    from whet.guard.python.reader import Reader

_LISTED = expression(r"os\.(?:exec|spawn)l")
_POWER = expression(
    r"\b(?:subprocess|socket|urllib|requests|httpx|os\.(?:system|popen|environ|exec)|ctypes|__import__|exec|eval|shutil)\b"
)
_SHELL_NAMES = expression(r"(?:^|[\\/])(?:ba|z|da|k)?sh$|(?:^|[\\/])(?:cmd|powershell|pwsh)(?:\.exe)?$", re.IGNORECASE)
_ESCAPE = expression(r"\b(?:chroot|nsenter)\b")
_FLAGS = expression(r"^-[a-z]{0,4}c$|^/c$|^-(?:command|encodedcommand|enc)$", re.IGNORECASE)


def execute(reader: Reader, this: Call) -> Value | None:
    """Judge a call that runs something."""
    name = this.name
    if name in CODE:
        return _code(reader, this)
    if name in SHELLS:
        command = this.arg(0, "cmd")
        return _command(reader, this, command, True)
    if name in RUNNERS or name in SPAWNS:
        return _program(reader, this)
    if name in LOADERS:
        return _loaded(reader, this)
    if name in ("subprocess.Popen.communicate", "subprocess.Popen.stdin.write"):
        reader.feed(this.owner.path, this.arg(0, "input"))
        return None
    if name in ("sys.path.insert", "sys.path.append"):
        reader.run_files(
            frozenset(mark for mark in reader.under(this.args[-1].said) if mark.kind == "fetched")
            if this.args
            else NO_MARKS,
        )
        return None
    if name.startswith("docker."):
        return container(reader, this)
    if name.endswith((".exec_module", ".load_module")):
        path = this.owner.path or this.owner.said
        reader.run_files(reader.files.get(path, NO_MARKS) | this.owner.marks)
        return NOTHING
    if name == "importlib.util.spec_from_file_location":
        location = this.arg(1, "location")
        node = this.node.args[1] if len(this.node.args) > 1 else None
        return Value(
            name="importlib.spec", path=key_of(location, node), marks=reader.files.get(key_of(location, node), NO_MARKS)
        )
    return None


def _code(reader: Reader, this: Call) -> Value | None:
    """exec, eval, compile and their like."""
    source = this.arg(0, "source")
    if this.name in ("compile", "types.FunctionType", "types.CodeType"):
        return Value(source.const, marks=union(this.args), hidden=source.hidden)
    reader.fact("execute", this.name)
    marks = source.marks
    if any(mark.kind == "file" and mark.what == "a picture or document" for mark in marks):
        reader.hit("self-extracting", None, "", "It runs text that is stored in a picture or document")
    if files_of(marks):
        reader.fact("assemble", "code from files", ", ".join(files_of(marks)))
    if comes_from(marks, "fetched"):
        reader.hit("exec-fetched", None, subject_of(marks, "fetched"), "It runs downloaded text")
    elif source.hidden or comes_from(marks, "decoded"):
        _decoded(reader, this, source)
    elif comes_from(marks, "served"):
        reader.hit("exec-received", "critical" if "listens everywhere" in reader.did else None)
    elif len(files_of(marks)) >= 2:
        reader.hit("assembled-command", None, "", "It runs text that it assembles from several files")
    elif isinstance(source.const, str) and known(source.const):
        _inside(reader, source.const)
    elif this.name != "eval" or marks:
        reader.hit("runs-dynamic-code")
    return NOTHING


def _decoded(reader: Reader, this: Call, source: Value) -> None:
    """Code that was decoded or put together: judged by what it turns out to be, where that can be seen."""
    text = source.said if known(source.const) else ""
    if text and HOLE not in text:
        bad = _inside(reader, text)
        harmless = not bad and not _POWER.search(text) and _is_code(text)
        reader.hit("exec-decoded", "warn" if harmless else None, "", "It decodes code before it runs it")
        return
    own = files_of(source.marks)
    if own and comes_from(source.marks, "decoded"):
        bytecode = all(mark.what.startswith("marshal.") for mark in source.marks if mark.kind == "decoded")
        reader.hit(
            "self-extracting",
            "warn" if bytecode else None,
            own[0],
            "It decodes a file and runs the result",
        )
    elif comes_from(source.marks, "decoded") or source.hidden == "decoded":
        given = source.const is UNKNOWN and not source.marks - {mark for mark in source.marks if mark.kind == "decoded"}
        reader.hit(
            "exec-decoded",
            "warn" if given and not source.hidden else None,
            "",
            "It decodes code before it runs it",
        )
    elif source.hidden and this.name == "exec":
        reader.hit("exec-decoded", "warn", "", "It assembles code from pieces and runs it")


def _is_code(text: str) -> bool:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text[:20_000])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _inside(reader: Reader, text: str) -> bool:
    """What constant code does when it is run; true when that is more than info."""
    return len(text) >= 4 and reader.look_inside(text)


def _program(reader: Reader, this: Call) -> Value | None:
    """A program with its arguments."""
    first = this.arg(0, "args")
    shell = this.words.get("shell")
    if this.name in SPAWNS:
        if this.name == "runpy.run_path":
            reader.fact("execute", "a file", first.said)
            reader.run_files(reader.above(key_of(first, this.node.args[0] if this.node.args else None)))
            return NOTHING
        offset = 1 if this.name.startswith("os.spawn") else 0
        if _LISTED.match(this.name):
            offset += 1
        hidden: Hidden = ""
        for value in this.args:
            hidden = hidden or value.hidden
        first = Value([value.const for value in this.args[offset:]], marks=union(this.args), hidden=hidden)
        if len(this.args) > offset + 1 and isinstance(this.args[offset + 1].const, list):
            first = Value(this.args[offset + 1].const, marks=first.marks)
    elif this.name == "asyncio.create_subprocess_exec":
        first = Value([value.const for value in this.args], marks=union(this.args))
    for word in ("stdin", "stdout", "stderr"):
        if word in this.words and this.words[word].name.startswith("socket."):
            reader.hit("shell-handed-over")
    if isinstance(first.const, str) or first.const is UNKNOWN:
        return _command(reader, this, first, shell is not None and shell.const is not False)
    parts = first.const if isinstance(first.const, (list, tuple)) else []
    texts = [part if isinstance(part, str) else HOLE for part in parts]
    if len(texts) > 2 and _SHELL_NAMES.search(texts[0]) and _FLAGS.match(texts[1]):
        command = Value(texts[2], marks=first.marks, hidden=first.hidden)
        return _command(reader, this, command, True)
    return _command(reader, this, Value(texts, marks=first.marks, hidden=first.hidden), False)


def _command(reader: Reader, this: Call, command: Value, shell: bool) -> Value:
    """A command, as text for a shell or as a list of words."""
    first = this.node.args[0] if this.node.args else None
    parts = getattr(first, "elts", None) or getattr(first, "values", None) or ()
    parts = [getattr(part, "value", part) if isinstance(part, ast.FormattedValue) else part for part in parts]
    words = [one if isinstance(one, str) else HOLE for one in command.const] if isinstance(command.const, list) else []
    run = [key_of(NOTHING, parts[index]) for index in run_words(words) if index < len(parts)]
    if command.const is UNKNOWN and first is not None:
        run = [key_of(NOTHING, first)]
    for key in run:
        reader.run_files(reader.files.get(key, NO_MARKS))
    given = this.words.get("input") or this.words.get("stdin") or NOTHING
    found = reader.run_command(command, in_shell=shell, given=given, keys=[key_of(NOTHING, part) for part in parts])
    if len(words) >= 3 and "python" in words[0].rpartition("/")[2] and words[1] == "-c" and HOLE not in words[2]:
        reader.look_inside(words[2])
    if this.name == "pty.spawn":
        reader.note("spawns")
    kept = found.path if this.name == "subprocess.Popen" or found.has("fetched") else ""
    return Value(name="" if found.has("env", "key") else f"{this.name}()", marks=found.marks, path=kept)


def unveiled(reader: Reader, const: object) -> None:
    """A constant that decodes to text with powerful words: judged as the code it may be."""
    text = const.decode("utf-8", "replace") if isinstance(const, bytes) else const
    if not isinstance(text, str) or len(text) < 16 or not (_POWER.search(text) or LOUD.search(text)):
        return
    bad = reader.look(text, True) if _POWER.search(text) and _is_code(text) else False
    if bad or (LOUD.search(text) and reader.look(text, False)):
        reader.hit("exec-decoded", None, "", "It keeps code in an encoded constant")


def container(reader: Reader, this: Call) -> Value | None:
    """A container that is started: its command, and how much of the machine it is given."""
    if this.verb not in ("run", "create") or ".containers." not in this.name:
        return None
    command = this.arg(1, "command")
    parts = command.const if isinstance(command.const, list) else [command.const]
    words = [part if isinstance(part, str) else HOLE for part in parts]
    text = shlex.join(words) if isinstance(command.const, list) else words[0]
    for script in [text, *(word for word in words[1:] if " " in word)]:
        reader.look(script, False)
    mounts = [text for word in ("volumes", "mounts") if word in this.words for text in strings(this.words[word].const)]
    whole = any(mount == "/" or mount.startswith("/:") for mount in mounts)
    socket = any("docker.sock" in mount for mount in mounts)
    powerful = this.words.get("privileged", Value()).const is True or this.words.get("pid_mode", Value()).said == "host"
    if whole or socket:
        secret = any(place.kind == "secret" and place.grave for place in places(text))
        grave = _ESCAPE.search(text) is not None or (whole and secret)
        reader.hit("takes-host", "critical" if grave else "warn" if powerful or whole else "info")
    return Value(marks=NO_MARKS, const=UNKNOWN)


def _loaded(reader: Reader, this: Call) -> Value | None:
    source = this.arg(0)
    marks = union(this.args)
    name = this.name
    unsafe = name.startswith("yaml.unsafe")
    if name == "yaml.load":
        loader = this.arg(1, "Loader")
        unsafe = "unsafe" in loader.name.lower()
        if (
            ("safe" in loader.name.lower() and not unsafe)
            or "Base" in loader.name
            or not (loader.name or len(this.args) + len(this.words) == 1)
        ):
            return None
    elif (name == "torch.load" and this.words.get("weights_only", NOTHING).const is True) or (
        name == "numpy.load" and this.words.get("allow_pickle", NOTHING).const is not True
    ):
        return None
    if name.startswith("marshal.") and (comes_from(marks, "decoded") or source.hidden):
        return Value(marks=marks | {Mark("decoded", name)}, hidden="decoded")
    if comes_from(marks, "fetched"):
        foreign = any(
            mark.kind == "fetched" and (mark.grave or host_at(mark.subject).kind in ("other", "free", "reserved"))
            for mark in marks
            if host_at(mark.subject).name
        )
        reader.hit(
            "loads-objects",
            "critical" if foreign or unsafe else "warn",
            subject_of(marks, "fetched"),
            "It loads objects from downloaded data",
        )
    else:
        reader.hit("loads-objects", "info")
    return Value(marks=marks | ({Mark("decoded", name)} if name.startswith("marshal.") else set()))
