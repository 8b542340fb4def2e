"""What flows through a script: where each command's input comes from, and what is in it.

Every command becomes a `Step` that knows what reaches it, by pipe, substitution, variable or file: secrets that were
read, content that was fetched, text that was decoded. Rules then ask a step instead of looking at its neighbours.
Steps are visited once, those in substitutions before the command whose words they make.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.finding import Fact, Hit
from whet.guard.hosts import Host, host_of
from whet.guard.patterns import shorten
from whet.guard.places import places
from whet.guard.shell.commands import inner, name_of, parse, unwrapped
from whet.guard.shell.constant import decodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whet.guard.finding import Severity
    from whet.guard.shell.commands import Command, Script, Word

FETCHERS = frozenset(
    {"curl", "wget", "fetch", "aria2c", "axel", "http", "https", "xh", "lynx", "iwr", "wget2", "lwp-request"}
)
READERS = frozenset(
    {
        *("cat", "head", "tail", "tac", "nl", "less", "more", "bat", "base64", "base32", "xxd", "od", "hexdump"),
        *("strings", "tar", "zip", "7z", "7za", "gzip", "bzip2", "xz", "zstd", "cp", "mv", "rsync", "grep", "egrep"),
        *("rg", "awk", "gawk", "sed", "cut", "sort", "dd", "openssl", "gpg", "sqlite3", "jq", "yq", "pbcopy", "xclip"),
        *("scp", "install", "fold", "split", "paste", "tr", "ditto"),
    }
)
"""Commands that read the files they are given."""
_STOPPERS = frozenset(
    {"wc", "sha256sum", "sha1sum", "md5sum", "shasum", "md5", "cksum", "ssh-keygen", "test", "[", "stat"}
)
_BARE = re.compile(
    r"^(?:[\w-]{1,63}\.){1,6}[a-z]{2,24}(?::\d{2,5})?(?:/\S*)?$|^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:/\S*)?$",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]{1,10}://", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,60})")


class Fetch(NamedTuple):
    """Content from elsewhere."""

    url: str
    host: Host
    insecure: bool
    """Certificates are not checked."""
    known: bool
    """The host is written there, not in a variable."""


class Step:
    """One command with everything that reaches it."""

    __slots__ = (
        "args",
        "argv",
        "before",
        "below",
        "command",
        "decoded",
        "fetched",
        "name",
        "number",
        "own",
        "secrets",
        "words",
    )

    def __init__(self, number: int, command: Command) -> None:
        self.number = number
        self.command = command
        self.argv = unwrapped(command.argv)
        self.name = name_of(self.argv)
        self.words: tuple[Word, ...] = self.argv[1:]
        self.args = [word.text for word in self.words]
        self.before: list[Step] = []
        """What is piped into it."""
        self.below: list[Step] = []
        """The commands in its own words."""
        self.secrets: dict[str, bool] = {}
        """What secret things are in what it reads, each with whether it is grave."""
        self.own: dict[str, bool] = {}
        """Those of them that it reads by itself."""
        self.fetched: Fetch | None = None
        """Content from elsewhere that passes through it."""
        self.decoded = False
        """Text that was encoded passes through it."""

    def has(self, *options: str) -> bool:
        """Is one of these words among its arguments?"""
        return any(option in self.args for option in options)

    def value(self, *options: str) -> str | None:
        """The value of an option, also where it is glued to it."""
        for at, word in enumerate(self.args):
            for option in options:
                if word == option and at + 1 < len(self.args):
                    return self.args[at + 1]
                if option.startswith("--") and word.startswith(option + "="):
                    return word[len(option) + 1 :]
                if len(option) == 2 and option != word and word.startswith(option) and not word.startswith("--"):
                    return word[2:].removeprefix("=")
        return None

    def targets(self) -> Iterator[tuple[str, bool]]:
        """The files it writes, each with whether it is appended to."""
        for one in self.command.redirections:
            if ">" in one.operator and not one.operator.startswith("<") and one.target.text not in ("1", "2", "-"):
                yield one.target.text, ">>" in one.operator
        if self.name in ("tee", "sponge"):
            for word in self.args:
                if not word.startswith("-"):
                    yield word, self.has("-a", "--append")
        elif self.name in ("cp", "mv", "install", "ln", "ditto", "rsync") and len(self.args) > 1:
            yield self.args[-1], False
        elif self.name == "dd":
            yield from ((word[3:], False) for word in self.args if word.startswith("of="))


class Scene:
    """A script being judged: its steps, and what is found."""

    __slots__ = ("facts", "files", "hits", "line", "script", "steps", "variables")

    def __init__(self, text: str, line: int, variables: Mapping[str, str]) -> None:
        self.script: Script = parse(text, variables)
        self.line = line
        self.hits: list[Hit] = []
        self.facts: list[Fact] = []
        self.variables: dict[str, Step] = {}
        """The step whose output each variable holds."""
        self.files: dict[str, Step] = {}
        """The step that wrote each file."""
        self.steps = [Step(number, command) for number, command in enumerate(self.script.commands)]
        self._connect()
        for step in self._ordered():
            self._visit(step)

    def hit(
        self, rule: str, step: Step, severity: Severity | None = None, *, subject: str = "", message: str = ""
    ) -> None:
        """A rule matched at a step."""
        line = self.line + step.command.line - 1
        self.hits.append(Hit(rule, line, shorten(step.command.text), severity, subject, message))

    def fact(self, kind: str, what: str, step: Step, subject: str = "", *, grave: bool = False) -> None:
        """Something that matters together with other files."""
        line = self.line + step.command.line - 1
        self.facts.append(Fact(kind, what, line, shorten(step.command.text), subject, grave))  # type: ignore[arg-type]  # the kinds are spelled out at every call

    def content(self, step: Step) -> str:
        """The text that a step writes, as far as it stands in the script: a here-document, or what `echo` is given."""
        parts = [step.command.heredoc or ""]
        for one in (step, *step.before):
            if one.name in ("echo", "printf"):
                parts.append(" ".join(one.args))
            if one is not step and one.command.heredoc:
                parts.append(one.command.heredoc)
            parts += [two.target.text for two in one.command.redirections if two.operator == "<<<"]
        return "\n".join(part for part in parts if part)

    def _connect(self) -> None:
        stages: dict[int, list[tuple[int, Step]]] = {}
        for step in self.steps:
            command = step.command
            if 0 <= command.parent < len(self.steps) and command.parent != step.number:
                self.steps[command.parent].below.append(step)
            for number, position in command.pipes:
                stages.setdefault(number, []).append((position, step))
        for members in stages.values():
            for position, step in members[:_WIDEST]:
                step.before += [other for before, other in members[:_WIDEST] if before < position]

    def _ordered(self) -> Iterator[Step]:
        done = [False] * len(self.steps)
        for first in self.steps:
            stack = [first]
            while stack:
                step = stack[-1]
                waiting = [one for one in step.below if not done[one.number]]
                if waiting and not done[step.number] and len(stack) < _DEEPEST:
                    stack.append(waiting[0])
                    continue
                stack.pop()
                if not done[step.number]:
                    done[step.number] = True
                    yield step

    def _visit(self, step: Step) -> None:
        for origin in self._origins(step):
            if origin.name not in _STOPPERS and not (origin.name in FETCHERS and sends(origin)):
                step.secrets.update(origin.secrets)
            step.fetched = step.fetched or origin.fetched
            step.decoded = step.decoded or origin.decoded
        if step.name in FETCHERS:
            step.fetched = fetch_of(step) or step.fetched
        if step.argv and (decodes([step.name, *step.args]) or _decodes_in_code(step)):
            step.decoded = True
        self._read(step)
        for name, _ in step.command.assignments:
            if not step.argv or step.name in ("export", "declare", "local", "readonly", "typeset"):
                self.variables[name] = step
        if step.name in ("read", "mapfile", "readarray"):
            for word in step.args:
                if not word.startswith("-"):
                    self.variables[word] = step
        for target, _ in self._written(step):
            if target and target[0] != "-" and target != "/dev/null":
                self.files[target] = step

    def _origins(self, step: Step) -> Iterator[Step]:
        yield from step.before
        yield from step.below
        words = (*step.argv, *(word for _, word in step.command.assignments))
        for word in (*words, *(one.target for one in step.command.redirections)):
            for name in word.names:
                if (origin := self.variables.get(name)) is not None and origin is not step:
                    yield origin
        if step.command.heredoc and "$" in step.command.heredoc:
            for found in _VARIABLE.finditer(step.command.heredoc[:20_000]):
                if (origin := self.variables.get(found[1])) is not None:
                    yield origin
        if self.files:
            for text in (*step.args, step.argv[0].text if step.argv else ""):
                name = re.sub(r"^[^@]{0,60}@|;.*$", "", text) if "@" in text else text
                name = name.removeprefix("if=")
                origin = self.files.get(name) or self.files.get(name.removeprefix("./"))
                if origin is not None and origin is not step:
                    yield origin
            for one in step.command.redirections:
                if one.operator.startswith("<") and one.target.text in self.files:
                    yield self.files[one.target.text]

    def _read(self, step: Step) -> None:
        """Secrets that the step reads by itself."""
        name = step.name
        texts: list[str] = [
            one.target.text for one in step.command.redirections if one.operator == "<" or "<" in one.operator[:1]
        ]
        if name in READERS:
            texts += step.args[:-1] if name in ("cp", "mv", "install", "scp", "rsync", "ditto") else step.args
        elif name in FETCHERS or name in ("http", "aws", "gsutil", "rclone", "gh", "mail", "mutt", "sftp", "az"):
            texts += [word.partition("@")[2] for word in step.args if "@" in word]
            texts += [value for option in _FILE_OPTIONS if (value := step.value(option))]
            texts += step.args if name in ("aws", "gsutil", "rclone", "gh", "mutt", "az") else []
        elif not step.argv:
            texts += [word.text[2:-1].lstrip("< ") for _, word in step.command.assignments if "$(<" in word.text]
        for text in texts:
            if len(text) < _LONGEST_PATH and not text.endswith(".pub"):
                for place in places(text):
                    if place.kind == "secret" and (place.grave or name not in _PICKERS):
                        picked = name in _PICKERS and place.what in _SETTINGS
                        step.own[place.what] = (place.grave and not picked) or step.own.get(place.what, False)
        if (dumped := _dump(step)) is not None:
            step.own[dumped[0]] = dumped[1]
        for what, grave in step.own.items():
            step.secrets[what] = grave or step.secrets.get(what, False)

    def _written(self, step: Step) -> Iterator[tuple[str, bool]]:
        yield from step.targets()
        output = (
            step.value("-o", "--output", "--output-document", "-out") if step.name in FETCHERS | {"openssl"} else None
        )
        if step.name in ("wget", "aria2c") and (named := step.value("-O", "-o")):
            output = named
        if output and output != "-":
            yield output, False
        elif step.fetched is not None and step.name in FETCHERS and (step.name == "wget" or _remote_name(step)):
            yield step.fetched.url.partition("?")[0].rstrip("/").rpartition("/")[2], False
        if step.name in ("tar", "zip", "7z", "7za") and (archive := _archive(step)):
            yield archive, False


_PICKERS = frozenset({"grep", "egrep", "rg", "awk", "gawk", "sed", "cut", "jq", "yq"})
"""Commands that take one setting out of a file."""
_SETTINGS = frozenset({"the agent's own keys", "Docker credentials", "Kubernetes credentials", "git credentials"})
_WIDEST = 60
_DEEPEST = 200
_LONGEST_PATH = 2_000
_FILE_OPTIONS = ("-T", "--upload-file", "--post-file", "--body-file")
_DATA_OPTIONS = (
    *("-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--data-ascii", "-F", "--form", "--json"),
    *("-T", "--upload-file", "--post-file", "--post-data", "--body-file", "--body-data"),
)


_DECODING = re.compile(r"b64decode|base64|unhexlify|fromhex|decompress|unpack\(|decode64|rot_?13", re.IGNORECASE)


def _decodes_in_code(step: Step) -> bool:
    """Does a line of Python, Perl or the like print something decoded?"""
    return any(one.language != "shell" and _DECODING.search(one.text) is not None for one in inner(step.command))


def sends(step: Step) -> bool:
    """Does a fetching command also send a body?"""
    return any(
        word in _DATA_OPTIONS
        or word.startswith(("--data", "--form", "--post-", "--json", "--upload-file", "--body-"))
        or (re.match(r"-[a-zA-Z]{0,6}[dFT]", word) is not None and step.name == "curl" and not word.startswith("--"))
        for word in step.args
    ) or (step.name in ("http", "https", "xh") and any(word.upper() in ("POST", "PUT") for word in step.args[:2]))


def fetch_of(step: Step) -> Fetch | None:
    """Where a fetching command goes."""
    insecure = any(
        word in ("--insecure", "--no-check-certificate", "--check-certificate=false")
        or (step.name == "curl" and re.fullmatch(r"-[a-jl-zA-Z]{0,8}k[a-zA-Z]{0,8}", word) is not None)
        for word in step.args
    )
    unknown = None
    skip = False
    for word in step.words:
        text = word.text.strip("<>\"'")
        if skip or (text.startswith("-") and not text.startswith("--url=")):
            skip = not skip and text in _VALUED and step.name == "curl"
            continue
        text = text.removeprefix("--url=")
        if _SCHEME.match(text) or _BARE.match(text):
            host = host_of(text)
            if "$" in host.name or "{" in host.name or "<" in host.name or "`" in host.name:
                unknown = Fetch(text, host, insecure, False)
                continue
            return Fetch(text, host, insecure, True)
        if text.startswith(("$", "`")):
            unknown = unknown or Fetch(text, Host("", "other"), insecure, False)
    return unknown


_VALUED = frozenset(
    {
        *(
            "-H",
            "--header",
            "-o",
            "--output",
            "-X",
            "--request",
            "-A",
            "--user-agent",
            "-u",
            "--user",
            "-e",
            "-b",
            "-c",
        ),
        *("-m", "--max-time", "--connect-timeout", "--retry", "-w", "--write-out", "-x", "--proxy", "--cacert", "-E"),
        *(option for option in _DATA_OPTIONS if option != "-T"),
    }
)


def _remote_name(step: Step) -> bool:
    return any(re.fullmatch(r"-[a-zA-Z]{0,8}O[a-zA-Z]{0,8}|--remote-name(?:-all)?", word) for word in step.args)


def _archive(step: Step) -> str | None:
    if step.name == "tar":
        for at, word in enumerate(step.args):
            if re.fullmatch(r"-?[a-zA-Z]{0,8}c[a-zA-Z]{0,8}f", word) or (at and word in ("-f", "--file")):
                return step.args[at + 1] if at + 1 < len(step.args) else None
        return None
    return next((word for word in step.args if not word.startswith("-") and "." in word), None)


def _dump(step: Step) -> tuple[str, bool] | None:
    """A command that prints secrets by itself."""
    name, args = step.name, step.args
    plain = [word for word in args if not word.startswith("-")]
    if name in ("env", "printenv") and not plain:
        return "the whole environment", True
    if name in ("export", "declare", "typeset") and args in (["-p"], ["-x"], ["-xp"], ["-px"]):
        return "the whole environment", True
    if name == "set" and not args and step.command.argv:
        return "the whole environment", True
    if name in ("cat", "strings", "xargs", "tr") and any("/proc/" in word and "/environ" in word for word in args):
        return "the whole environment", True
    if name == "history" and (not args or args[0].isdigit()):
        return "shell history", True
    if name == "security" and args and args[0] in ("dump-keychain", "find-generic-password", "find-internet-password"):
        return "the keychain", args[0] == "dump-keychain"
    if name == "secretsdump.py" or (name == "reg" and "save" in args):
        return "password hashes", True
    if name in ("pbpaste", "xclip", "xsel", "wl-paste") and (name != "xclip" or step.has("-o")):
        return "the clipboard", False
    return None
