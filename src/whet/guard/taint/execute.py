"""The judge of execution: code and commands from elsewhere, files made from them, and loaded objects."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import host_of, is_installer, is_placeholder, odd_top
from whet.guard.options import codes, read_arguments
from whet.guard.tables import shape
from whet.guard.taint.containers import plain
from whet.guard.taint.harm import judge_container
from whet.guard.taint.mark import HOLE, NO_MARKS, UNCHECKED, Mark, comes_from, subject_of
from whet.guard.taint.network import Judgement, host_at
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, hidden_in, known, strings, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whet.guard.finding import Severity
    from whet.guard.hosts import Host
    from whet.guard.taint.call import Call
    from whet.guard.taint.findings import Findings
    from whet.guard.taint.judges import Judges

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "cmd", "powershell", "pwsh"))
_FLAGS = expression(r"^-[a-z]{0,4}c$|^/[ck]$|^-(?:command|encodedcommand|enc)$", re.IGNORECASE)
_INTERPRETERS = shape("taint", "interpreters", re.IGNORECASE, frame=r"(?:{})(?:\.exe)?$")
_INNER = shape("taint", "inner", 0, frame="\\s{0,9}(?:{})\\s{1,9}[\"']?$")
_SCHEME = expression(r"[a-z]{2,6}://", re.IGNORECASE)


def files_of(marks: frozenset[Mark]) -> list[str]:
    """Return the files that a value was assembled from."""
    named = {mark.subject for mark in marks if mark.kind == "file" and mark.subject}
    return sorted(name for name in named if not name.startswith("$") or " and more" in name)


def run_words(words: Sequence[str]) -> list[int]:
    """Return the indexes of the words that are run: the program, and the script that an interpreter is given."""
    if not words:
        return []
    if not _INTERPRETERS.match(words[0].rpartition("/")[2]):
        return [0]
    given = read_arguments(_program_name(words[0]), tuple(words[1:]))
    later = next((one.at + 1 for one in given if one.place in ("operand", "program")), 0)
    return [0, later] if later else [0]


def judge_started(mark: Mark) -> Judgement:
    """Judge the run of a file whose content was fetched or decoded."""
    if mark.kind == "decoded":
        return Judgement("self-extracting", None, "", "It decodes a file, writes it out and runs it")
    url = mark.subject.replace(HOLE, "x")
    host = host_at(mark.subject)
    if is_installer(url):
        return Judgement("runs-download", "info", url)
    if url[:5].lower() == "http:" or host.shady or (host.kind in ("reserved", "other", "free") and host.name):
        message = f"It downloads a file from {host_of(url).name} and runs it"
        return Judgement("runs-download", "critical", url, message)
    return Judgement("runs-download", "info" if host.kind == "known" else "warn", url)


_KINDS = {
    "address": "a raw IP address",
    "paste": "a paste site",
    "drop": "a host that collects data",
    "tunnel": "a tunnel",
    "shortener": "a shortened link",
}


def judge_piped(marks: frozenset[Mark], how: str) -> Iterator[Judgement]:
    """Judge fetched or decoded text that a command line runs. People install programs so, if they know from where."""
    if comes_from(marks, "decoded"):
        yield Judgement("decode-to-shell", None, "", f"the decoded text is {how}")
        return
    for fetch in sorted(mark for mark in marks if mark.kind == "fetched"):
        host = host_of(fetch.subject if fetch.subject[:1] not in ("$", "`") else "")
        rule, severity, reason = _weigh_origin(fetch, host)
        lowered = not fetch.whole and how in ("saved and run", "run")
        yield Judgement(rule, "info" if lowered else severity, host.name, f"it is {how} and {reason}")


def _weigh_origin(fetch: Mark, host: Host) -> tuple[str, Severity, str]:
    """Return the rule, the severity and the reason for running what was fetched from a host."""
    url = fetch.subject.lower()
    if not fetch.whole:
        return "pipe-to-shell", "warn", "comes from an address that is only known at run time"
    if host.near or is_placeholder(host.name):
        return "pipe-known", "info", "comes from this machine, its network or a placeholder address"
    if host.shady:
        return "pipe-shady", "critical", f"comes from {_KINDS[host.kind]}"
    if not is_installer(url) and url.startswith(("http://", "ftp://")):
        return "pipe-to-shell", "critical", "comes over plain HTTP, where anyone on the network path can change it"
    if fetch.what == UNCHECKED:
        return "pipe-to-shell", "warn", f"comes from {UNCHECKED}"
    if is_installer(url):
        return "pipe-known", "info", "comes from a well-known installer"
    if host.kind == "free" or host.name == "gist.githubusercontent.com" or odd_top(host.name):
        return "pipe-to-shell", "warn", "comes from a site where anyone can publish a file"
    return "pipe-known", "info", f"comes from {host.name} over HTTPS"


def _is_near(marks: Iterable[Mark]) -> bool:
    """Return whether all marks are from this machine or its own network."""
    return all(
        host_of(mark.subject).near if _SCHEME.match(mark.subject) else mark.subject.startswith(("/", "./", "../"))
        for mark in marks
    )


def judge_received(reader: Findings, code: Value, text: str, *, whole: bool) -> Judgement | None:
    """Judge text that is run and was received over a connection; `whole` if the text is all of the code.

    A page loads scripts of its own server, by addresses that it is given, so this weighs less in languages of pages.
    """
    start = (text or HOLE).lstrip()
    if socket := code.has("socket"):
        alone = start.startswith(HOLE) and not _is_near(socket)
        return Judgement("shell-handed-over") if alone else None
    fetched = code.has("fetched")
    if reader.lenient:
        fetched = [mark for mark in fetched if not _is_near((mark,))]
        whole = start.startswith((HOLE, "("))
    if not fetched or not whole:
        return None
    subject = fetched[0].subject
    unknown = not _SCHEME.match(subject) or subject.partition("://")[2].startswith(HOLE)
    weak = reader.lenient and (unknown or start.startswith("("))
    return Judgement("exec-fetched", "warn" if weak else None, subject, "It runs downloaded text")


def judge_origin(reader: Findings, command: Value, text: str, *, shell: bool) -> Judgement | None:
    """Judge a command by the origin of its words."""
    marks = command.marks
    whole = command.const is UNKNOWN or text.replace(HOLE, "").strip() == ""
    sole = command.const is UNKNOWN and not comes_from(marks, "file")
    if one := judge_received(reader, command, text, whole=sole or (shell and (whole or text.startswith(HOLE)))):
        return one
    if shell and comes_from(marks, "fetched", "socket") and _INNER.match(text.partition(HOLE)[0]):
        return Judgement("exec-fetched", None, subject_of(marks, "fetched"), "It passes downloaded text to a shell")
    if shell and whole and any(mark.kind == "served" and mark.what == "a socket" for mark in marks):
        severity: Severity = "critical" if "listens everywhere" in reader.did else "warn"
        return Judgement("shell-handed-over", severity, "", "The code passes what it receives on a port to a shell")
    if whole and comes_from(marks, "decoded") and comes_from(marks, "file"):
        return Judgement("assembled-command", None, "", "It decodes a file and runs the result as a command")
    if comes_from(marks, "decoded") and (
        (shell and whole) or (reader.lenient and (HOLE in text or len(text) > _SHORT))
    ):
        return Judgement("exec-decoded", None, "", "It passes decoded text to a shell")
    if shell and len(files_of(marks)) >= 2 and not comes_from(marks, "fetched"):
        message = "It assembles a command from several files and passes it to a shell"
        return Judgement("assembled-command", None, "", message)
    return None


_SHORT = 15


def evaluate(reader: Judges, code: Value, name: str) -> None:
    """Judge text that is run as code in the program's own language."""
    marks, text = code.marks, code.exact if known(code.const) else None
    reader.fact("execute", name)
    for mark in code.has("file"):
        if mark.what == "a picture or document":
            reader.hit("self-extracting", None, "", "It runs text that is stored in a picture or document")
        if mark.subject:
            reader.fact("execute", "code read from a file", mark.subject)
    short = reader.lenient and text is not None and len(text) <= _SHORT
    hidden = comes_from(marks, "decoded") or (code.hidden and not reader.lenient)
    if one := judge_received(reader, code, code.said, whole=True):
        reader.report([one])
    elif hidden and not short:
        _judge_decoded(reader, code, text, name)
    elif comes_from(marks, "served"):
        reader.hit("exec-received", "critical" if "listens everywhere" in reader.did else None)
    elif len(files_of(marks)) >= 2:
        reader.hit("assembled-command", None, "", "It runs text that it assembles from several files")
    elif text is not None:
        _look_inside(reader, text)
    elif name != "eval" or marks or reader.lenient:
        reader.hit("runs-dynamic-code")


def _look_inside(reader: Judges, text: str) -> bool:
    return len(text) >= 4 and reader.look_inside(text)


def _judge_decoded(reader: Judges, code: Value, text: str | None, name: str) -> None:
    """Judge code that was decoded or assembled, by its content if that is known."""
    own = files_of(code.marks)
    message = "It decodes code before it runs it"
    if text:
        harmless = not _look_inside(reader, text) and reader.is_harmless(text)
        reader.hit("exec-decoded", "warn" if harmless else None, "", message)
    elif own and comes_from(code.marks, "decoded"):
        bytecode = all(mark.what.startswith("marshal.") for mark in code.marks if mark.kind == "decoded")
        reader.hit("self-extracting", "warn" if bytecode else None, own[0], "It decodes a file and runs the result")
    elif comes_from(code.marks, "decoded") or code.hidden == "decoded":
        given = code.const is UNKNOWN and not code.hidden and all(mark.kind == "decoded" for mark in code.marks)
        reader.hit("exec-decoded", "warn" if given else None, "", message)
    elif code.hidden and name == "exec":
        reader.hit("exec-decoded", "warn", "", "It assembles code from pieces and runs it")


# --- the calls that run something ---------------------------------------------------------------------------------------


def evaluate_code(reader: Judges, call: Call) -> Value:
    """Judge `exec`, `eval`, `new Function` and similar calls."""
    code = call.args[-1] if call.row.what == "last" and call.args else call.part(call.row.at)
    if not call.args or (call.row.what == "text" and (not code.text or code.fn)):
        return NOTHING
    if (named := reader.name_global(code)) is not None:
        return named
    evaluate(reader, code, call.name)
    return NOTHING


def compile_code(_reader: Judges, call: Call) -> Value:
    """Return code that is compiled to run later."""
    source = call.part(call.row.at)
    return Value(source.const, marks=union(call.args), hidden=source.hidden)


def run_shell(reader: Judges, call: Call) -> Value:
    """Judge text that is passed to a shell."""
    return _run(reader, call, call.part(call.row.at), in_shell=True) if call.every() else NOTHING


def run_program(reader: Judges, call: Call) -> Value:
    """Judge a program that is started with its arguments, or the script of a shell that is started."""
    first = call.part(call.row.at)
    if any(call.words[word].name.startswith("socket.") for word in ("stdin", "stdout", "stderr") if word in call.words):
        reader.hit("shell-handed-over")
    if call.words.get("stdio", NOTHING).has("socket", "fetched"):
        reader.hit("shell-handed-over")
    parts = _parts(call, first)
    if parts is None or not parts:
        option = call.words.get("shell", Value(const=False))
        return _run(reader, call, first, in_shell=option.const is not False)
    texts = [part.said if part.text is not None else HOLE for part in parts]
    name = _program_name(texts[0])
    if parts[0].text is None and reader.lenient:
        if one := judge_received(reader, parts[0], "", whole=True):
            reader.report([one])
        return NOTHING
    for given in codes(name, tuple(texts[1:])):
        code = parts[given.at + 1]
        if (said := judge_received(reader, code, code.said, whole=True)) is not None:
            reader.report([said])
    marks = union((first, *parts))
    hidden = hidden_in((first, *parts))
    at = next((at for at, text in enumerate(texts) if at and _FLAGS.match(text)), 0) if name in SHELLS else 0
    if 0 < at < len(parts) - 1:
        script = parts[at + 1].but(marks=parts[at + 1].marks | first.marks, hidden=parts[at + 1].hidden or first.hidden)
        result = _run(reader, call, script, in_shell=True)
        if name not in ("powershell", "pwsh", "cmd"):
            return result
    return _run(reader, call, Value(texts, marks=marks, hidden=hidden), in_shell=False)


def _program_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _parts(call: Call, first: Value) -> list[Value] | None:
    """Return the words of a program and its arguments; None for a single text."""
    if call.row.what == "rest":
        start = call.row.at[0]
        return call.args[start:] if isinstance(start, int) else []
    if first.items is not None:
        return list(first.items)
    more = call.words.get("args", call.arg(1)).items
    return None if more is None else [first, *more]


def _run(reader: Judges, call: Call, command: Value, *, in_shell: bool) -> Value:
    """Judge a command, given as text for a shell or as a list of words, and return its result."""
    names = reader.name_words(call)
    words = [one if isinstance(one, str) else HOLE for one in command.const] if isinstance(command.const, list) else []
    keys = [names[index] for index in run_words(words) if index < len(names)]
    if command.const is UNKNOWN:
        keys = [call.names.get(0, "")]
    for key in keys:
        reader.run_files(reader.files.get(key, NO_MARKS))
    given = call.words.get("input") or call.words.get("stdin") or NOTHING
    folder = call.words.get("cwd", NOTHING).said
    variables = {**reader.exported, **(call.words.get("env", NOTHING).props or {})}
    found = reader.run_command(command, in_shell=in_shell, given=given, keys=names, folder=folder, variables=variables)
    if call.row.grave:
        reader.note("spawns")
    if call.row.gives:
        bare = not in_shell and _program_name("".join((words or command.said.split())[:1])) in SHELLS
        return Value(name="(shell)" if bare else call.row.gives, marks=found.marks, path=found.path)
    kept = found.path if call.verb == "Popen" or found.has("fetched") else ""
    return Value(name="" if found.has("env", "key") else f"{call.name}()", marks=found.marks, path=kept)


def feed(reader: Judges, call: Call) -> None:
    """Judge the input of a program that was started."""
    reader.feed(call.owner.path, call.arg(0, "input"))


def start_file(reader: Judges, call: Call) -> Value:
    """Judge a file that is run or loaded as a module."""
    key = call.key(call.row.at)
    reader.fact("execute", "a file", key)
    reader.run_files(reader.above(key) | call.owner.marks)
    return NOTHING


def name_module(reader: Judges, call: Call) -> Value:
    """Return a module specification: a file that is loaded as a module later."""
    key = call.key(call.row.at)
    return Value(name=call.row.gives, path=key, marks=reader.files.get(key, NO_MARKS))


def search_modules(reader: Judges, call: Call) -> None:
    """Judge a directory that is added to the module search path."""
    kept = reader.under(call.args[-1].said) if call.args else NO_MARKS
    reader.run_files(frozenset(mark for mark in kept if mark.kind == "fetched"))


def start_container(reader: Judges, call: Call) -> Value | None:
    """Judge the start of a container: its command, and its access to the machine."""
    if ".containers." not in call.name:
        return None
    command = call.arg(1, "command")
    words = [part.text or HOLE for part in (command.items or [command])]
    text = shlex.join(words) if command.items else words[0]
    for script in [text, *(word for word in words[1:] if " " in word)]:
        reader.look(script, False)
    mounts = [text for word in ("volumes", "mounts") if word in call.words for text in strings(plain(call.words[word]))]
    powerful = call.words.get("privileged", Value()).const is True or call.words.get("pid_mode", Value()).said == "host"
    reader.report(judge_container(mounts, text, powerful=powerful))
    return NOTHING


_SAFE_OPTIONS = {"torch.load": ("weights_only", True, False), "numpy.load": ("allow_pickle", True, True)}
"""Loaders with an option: its name, its value, and whether only that value loads objects."""


def load_objects(reader: Judges, call: Call) -> Value | None:
    """Judge loaders of data that can run code while it is loaded."""
    name, marks, loader = call.name, union(call.args), call.arg(1, "Loader").name
    unsafe = name.startswith("yaml.unsafe") or (name == "yaml.load" and "unsafe" in loader.lower())
    if name == "yaml.load" and not unsafe:
        plain = not loader and len(call.args) + len(call.words) > 1
        if plain or "safe" in loader.lower() or "Base" in loader:
            return None
    if name in _SAFE_OPTIONS:
        word, value, needed = _SAFE_OPTIONS[name]
        if (call.words.get(word, NOTHING).const is value) is not needed:
            return None
    byte_code = frozenset((Mark("decoded", name),)) if name.startswith("marshal.") else NO_MARKS
    if byte_code and (comes_from(marks, "decoded") or call.arg(0).hidden):
        return Value(marks=marks | byte_code, hidden="decoded")
    severity: Severity = "info"
    if fetched := [mark for mark in marks if mark.kind == "fetched"]:
        hosts = [(mark, host_at(mark.subject)) for mark in fetched]
        foreign = any(host.name and (mark.grave or host.kind in ("other", "free", "reserved")) for mark, host in hosts)
        severity = "critical" if foreign or unsafe else "warn"
    message = "It loads objects from downloaded data" if fetched else ""
    reader.hit("loads-objects", severity, subject_of(marks, "fetched"), message)
    return Value(marks=marks | byte_code)


JUDGES: dict[str, Callable[[Judges, Call], Value | None]] = {
    "evaluate": evaluate_code, "compile": compile_code, "shell": run_shell, "program": run_program, "feed": feed,
    "start": start_file, "module": name_module, "search": search_modules, "container": start_container, "load": load_objects,
}  # fmt: skip
"""The judges of execution by their names in the tables."""
