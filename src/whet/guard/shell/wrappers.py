"""Which program a command really runs, and the scripts it carries in its arguments.

`sudo -u app env A=1 timeout 5 curl ..` runs curl, and `ssh host 'rm -rf /'` carries a script: both are looked through
before anything is judged. Options are read by a small table for each wrapper; an unknown option is skipped alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.guard.expression import expression
from whet.guard.tables import load_toml

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.guard.shell.command import Command
    from whet.guard.shell.words import Word

Language = Literal["shell", "python", "javascript", "perl", "ruby", "php", "powershell", "applescript"]


class Inner(NamedTuple):
    """A script inside a command."""

    language: Language
    text: str
    known: bool
    """All of it is there; `False` where a part is only known when it runs."""
    line: int


_TABLE = load_toml("shell_wrappers")
_LANGUAGES: dict[Language, dict[str, list[str]]] = _TABLE["interpreters"]
SHELLS = frozenset((*_LANGUAGES["shell"]["programs"], "busybox"))
INTERPRETERS: dict[str, Language] = {name: language for language, row in _LANGUAGES.items() for name in row["programs"]}
"""Programs that run what they are given, with the language they speak."""
_ASSIGNMENT = expression(r"^[A-Za-z_]\w*\+?=")
_VERSIONED = expression(r"^(python|pypy|ruby|php|perl)(\d?)[\d.]*$")
_DEPTH = 8


def name_of(argv: Sequence[Word]) -> str:
    """The program's bare name: `/usr/bin/bash` is `bash`, `python3.12` is `python3`."""
    return program(argv[0].text) if argv else ""


@lru_cache(maxsize=4096)
def program(path: str) -> str:
    """The bare name of a program by its path."""
    name = path.rpartition("/")[2].rpartition("\\")[2].lower().removesuffix(".exe")
    return _VERSIONED.sub(r"\1\2", name) if name[-1:].isdigit() else name


def unwrapped(argv: Sequence[Word]) -> tuple[Word, ...]:
    """The command that is run in the end, without `sudo`, `env`, `timeout`, `xargs` and the like."""
    words = tuple(argv)
    for _ in range(_DEPTH):
        inner = _peeled(words)
        if inner is None:
            return words
        words = inner
    return words


def _peeled(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    name = name_of(words)
    if name == "find":
        return _find_exec(words)
    runners = _TABLE["runners"]
    if len(words) > 2 and f"{name} {words[1].text}" in runners["words"]:
        return _after_options(words[2:], runners["values"], 0)
    wrapper = _TABLE["wrappers"].get(name)
    if wrapper is None or (name == "command" and len(words) > 1 and words[1].text in ("-v", "-V")):
        return None
    return _after_options(words[1:], wrapper["values"], wrapper["skip"])


def _after_options(words: tuple[Word, ...], values: Collection[str], skip: int) -> tuple[Word, ...] | None:
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1:
            at += 2 if text in values else 1
        elif _ASSIGNMENT.match(text):
            at += 1
        else:
            break
    rest = words[at + skip :]
    while rest and _ASSIGNMENT.match(rest[0].text):
        rest = rest[1:]
    return rest or None


def _find_exec(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    for at, word in enumerate(words):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = words[at + 1 :]
            end = next((n for n, one in enumerate(rest) if one.text in (";", "+")), len(rest))
            return rest[:end] or None
    return None


def inner(command: Command) -> tuple[Inner, ...]:
    """The scripts in a command: `bash -c`, `eval`, `ssh host`, `python -c`, a here-document to an interpreter."""
    argv = unwrapped(command.argv)
    name = name_of(argv)
    if name not in _CARRIERS and name_of(command.argv) not in _CARRIERS:
        return ()
    found: list[Inner] = []
    words = argv[1:]
    if name in INTERPRETERS:
        found += _interpreted(command, name, words)
    elif name == "eval" and words:
        found.append(_joined("shell", words, command.line))
    elif name == "ssh":
        at = _positional(words, set("bcDEeFIiJLlmOoPpQRSWw"))
        if len(at) > 1:
            found.append(_joined("shell", words[at[1] :], command.line))
        elif command.heredoc is not None:
            found.append(Inner("shell", command.heredoc, True, command.line + 1))
    elif name in _CONTAINERS:
        after = next((at for at, word in enumerate(words[:-1]) if program(word.text) in SHELLS), len(words))
        found += _option(words[after + 1 :], ("-c", "-lc", "-ec", "-xc"), "shell", command.line)
    elif name in ("su", "script", "flock"):
        found += _option(words, ("-c", "--command", "--session-command"), "shell", command.line)
    elif name in ("trap", "watch") and words:
        found.append(Inner("shell", words[0].text, words[0].known, command.line))
    elif name == "alias":
        found += [
            Inner("shell", word.text.partition("=")[2], word.known, command.line) for word in words if "=" in word.text
        ]
    if not found and len(command.argv) > 1 and name_of(command.argv) in ("watch", "env", "script", "flock"):
        found += _option(command.argv[1:], ("-c", "-S", "--split-string"), "shell", command.line)
    return tuple(found)


_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "lxc", "nsenter", "chroot", "vagrant"))
_CARRIERS = frozenset(
    (*INTERPRETERS, *_CONTAINERS, "eval", "ssh", "su", "script", "flock", "trap", "watch", "alias", "env")
)
"""Programs that take a script among their arguments."""


def _interpreted(command: Command, name: str, words: tuple[Word, ...]) -> list[Inner]:
    language = INTERPRETERS[name]
    options = _LANGUAGES[language]["options"]
    found: list[Inner] = []
    for at, word in enumerate(words[:-1]):
        code = word.text in options or (
            language in ("shell", "python", "perl") and re.fullmatch(r"-[a-zA-Z]{1,6}", word.text) is not None
            and word.text[-1] in ("c" if language != "perl" else "eE")
        )  # fmt: skip
        if code:
            found.append(Inner(language, words[at + 1].text, words[at + 1].known, command.line))
            if language != "applescript":
                return found
        elif not word.text.startswith("-"):
            break
    if found:
        return found
    if command.heredoc is not None and not any(not word.text.startswith("-") for word in words[:1]):
        found.append(Inner(language, command.heredoc, True, command.line + 1))
    found += [
        Inner(language, one.target.text, one.target.known, command.line)
        for one in command.redirections
        if one.operator == "<<<"
    ]
    return found


def _joined(language: Language, words: Sequence[Word], line: int) -> Inner:
    return Inner(language, " ".join(word.text for word in words), all(word.known for word in words), line)


def _option(words: Sequence[Word], names: tuple[str, ...], language: Language, line: int) -> list[Inner]:
    return [
        Inner(language, words[at + 1].text, words[at + 1].known, line)
        for at, word in enumerate(words[:-1])
        if word.text in names
    ]


def _positional(words: Sequence[Word], values: set[str]) -> list[int]:
    found = []
    at = 0
    while at < len(words):
        text = words[at].text
        if text.startswith("-") and len(text) > 1:
            at += 2 if len(text) == 2 and text[1] in values else 1
        else:
            found.append(at)
            if len(found) > 1:
                break
            at += 1
    return found


_PROMPT = expression(
    r"^[ \t]{0,12}(?:\([\w.@/ -]{1,40}\)[ \t]?)?"
    r"(?:(?:\[?[\w.-]{1,40}@[\w.-]{1,60}[^$#%>\n]{0,80}|[~/][\w./~-]{0,80}[ \t]?|(?:bash|sh|zsh)-?[\d.]{0,6})?[$%❯➜λ]"
    r"|\[?[\w.-]{1,40}@[\w.-]{1,60}[^$#%>\n]{0,80}[#>])[ \t]+(?=\S)",
    re.MULTILINE,
)
"""The prompt before a command in a transcript; a bare `#` begins a comment, not a command of root."""


def from_console(text: str) -> str:
    """The commands of a transcript, each on the line where it stood; nothing for a text without prompts."""
    if not any(sign in text for sign in "$%❯➜λ@") or not _PROMPT.search(text):
        return ""
    lines: list[str] = []
    continued = False
    for line in text.split("\n"):
        found = _PROMPT.match(line)
        if found and found[0].strip():
            lines.append(line[found.end() :])
            continued = line.endswith("\\")
        elif continued:
            lines.append(line.removeprefix("> "))
            continued = line.endswith("\\")
        else:
            lines.append("")
    return "\n".join(lines)
