"""The program that a command runs in the end, and the scripts in its arguments.

`sudo -u app env A=1 timeout 5 curl ..` runs curl, and `ssh host 'rm -rf /'` carries a script: wrappers are removed before
anything is judged.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from shlex import quote
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.guard.expression import expression
from whet.guard.options import codes, command_start, known_programs, read_arguments
from whet.guard.shell.constant import unescape
from whet.guard.tables import load_toml, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.shell.command import Command
    from whet.guard.shell.words import Word

Language = Literal["shell", "python", "javascript", "perl", "ruby", "php", "powershell", "applescript"]


class Inner(NamedTuple):
    """A script inside a command."""

    language: Language
    text: str
    known: bool
    """The text is complete; `False` if a part is only known at run time."""
    line: int


_LANGUAGES: dict[Language, list[str]] = load_toml("shell_clients")["interpreters"]
SHELLS = frozenset((*_LANGUAGES["shell"], "busybox"))
INTERPRETERS: dict[str, Language] = {name: language for language, names in _LANGUAGES.items() for name in names}
"""Programs that run code, each with its language."""
_VERSIONED = expression(r"^(python|pypy|ruby|php|perl)(\d?)[\d.]*$")
_DEPTH = 8


def name_of(argv: Sequence[Word]) -> str:
    """Return the bare name of the program: `/usr/bin/bash` is `bash`, `python3.12` is `python3`."""
    return program(argv[0].text) if argv else ""


@lru_cache(maxsize=4096)
def program(path: str) -> str:
    """Return the bare name of a program from its path; a variable that names the user's shell counts as `sh`."""
    if path[:1] == "$" and path.strip("${}") in ("SHELL", "BASH"):
        return "sh"
    name = path.rpartition("/")[2].rpartition("\\")[2].lower().removesuffix(".exe")
    return _VERSIONED.sub(r"\1\2", name) if name[-1:].isdigit() else name


def unwrapped(argv: Sequence[Word]) -> tuple[Word, ...]:
    """Return the command that is run in the end, without `sudo`, `env`, `timeout`, `xargs` and the like."""
    return peel(argv)[0]


def peel(argv: Sequence[Word]) -> tuple[tuple[Word, ...], list[tuple[str, Word]]]:
    """Return the command that is run in the end, and the variables that `env` and other wrappers set for it."""
    words = tuple(argv)
    variables: list[tuple[str, Word]] = []
    for _ in range(_DEPTH):
        inner = _peeled(words, variables)
        if inner is None:
            break
        words = inner
    return words, variables


def _peeled(words: tuple[Word, ...], variables: list[tuple[str, Word]]) -> tuple[Word, ...] | None:
    name = name_of(words)
    if name in FINDERS:
        return _find_exec(words, FINDERS[name])
    rest = words[1:]
    if (
        INTERPRETERS.get(name) == "python"
        and len(rest) > 2
        and rest[0].text == "-m"
        and rest[1].text in known_programs()
    ):
        return rest[1:]
    if rest and (two := f"{name} {rest[0].text}") in known_programs():
        name, rest = two, rest[1:]
    wrapper = known_programs().get(name)
    if wrapper is None or wrapper.runs < 0 or (name == "command" and rest and rest[0].text in ("-v", "-V")):
        return None
    start, places = command_start(name, texts_of(rest))
    for at in places:
        variable, _, value = rest[at].text.partition("=")
        variables.append((variable, rest[at]._replace(text=value)))
    return rest[start:] or None


def texts_of(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the words as plain text."""
    return tuple(word.text for word in words)


FINDERS = {
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    **dict.fromkeys(("fd", "fdfind"), ("-x", "-X", "--exec", "--exec-batch")),
}
"""Programs that search for files, with their options that introduce a command to run for each file."""


def _find_exec(words: tuple[Word, ...], options: tuple[str, ...]) -> tuple[Word, ...] | None:
    for at, word in enumerate(words):
        if word.text in options:
            rest = words[at + 1 :]
            end = next((n for n, one in enumerate(rest) if one.text in (";", "+")), len(rest))
            return rest[:end] or None
    return None


def inner(command: Command) -> tuple[Inner, ...]:
    """Return the scripts in a command: `bash -c`, `eval`, `ssh host`, `python -c`, a here-document for an interpreter."""
    argv = unwrapped(command.argv)
    name, outer = name_of(argv), name_of(command.argv)
    if name not in _carriers() and outer not in _carriers():
        return ()
    found: list[Inner] = []
    words = argv[1:]
    if name in INTERPRETERS:
        found += _interpreted(command, argv)
    elif name == "eval" and words:
        found.append(_joined(words, command.line))
    elif name == "ssh":
        at = [one.at for one in read_arguments(name, texts_of(words)) if not one.option]
        if len(at) > 1:
            found.append(_joined(words[at[1] :], command.line))
        found += _given(argv, command.line)
    elif name in _CONTAINERS:
        found += _contained(name, words, command.line)
    elif name in ("trap", "watch") and words:
        found.append(Inner("shell", words[0].text, words[0].known, command.line))
    elif name in _AWKS or name in SEDS:
        texts = sed_commands(texts_of(words)) if name in SEDS else [awk_commands(texts_of(words))]
        found += [Inner("shell", text, True, command.line) for text in texts if text]
    elif name == "alias":
        found += [
            Inner("shell", word.text.partition("=")[2], word.known, command.line) for word in words if "=" in word.text
        ]
    elif name != "find":
        found += _given(argv, command.line)
    if not found and name != outer != "find":
        found += _given(command.argv, command.line)
    return tuple(found)


_AWKS = frozenset(("awk", "gawk", "mawk", "nawk"))
_AWK_RUNS = expression(r"\bsystem\s{0,2}\(|\bgetline\b|\|\s{0,4}\"")
_AWK_TOKEN = expression(r"\"(?:[^\"\\]|\\.){0,2000}\"|ENVIRON\[[^\]\n]{0,80}\]|[A-Za-z_]\w{0,60}|[^\s\w]|\d+")
_AWK_WORDS = words("shell_signs", "awk_words")


def awk_commands(words: tuple[str, ...]) -> str:
    """Return the commands that an awk program passes to a shell, and the variables between them, as a script."""
    code = next((one.text for one in read_arguments("awk", words) if not one.option), "")
    return "; ".join(filter(None, _awk_commands(code))) if _AWK_RUNS.search(code) else ""


def _awk_commands(code: str) -> Iterator[str]:
    parts = _AWK_TOKEN.findall(code[:20_000])
    terms: list[str] = []
    fed, variable, runs = "", "", False
    for at, part in enumerate((*parts, ";")):
        if part[0] == '"':
            terms.append(unescape(part[1:-1]).replace("'", '"'))
        elif part.startswith("ENVIRON["):
            terms.append(f"${{{part[9:-2]}}}" if part[8:9] == '"' else "$(env)")
        elif part[0].isalpha() and part not in _AWK_WORDS:
            terms.append(f"${{{part}}}")
        elif part == "=" and len(terms) == 1 and parts[at + 1 : at + 2] != ["="]:
            variable, terms = terms[0][2:-1], []
        elif part == "|" and parts[at + 1 : at + 2] == ["getline"]:
            yield f"{''.join(parts[at + 2 : at + 3]) or 'line'}=$({''.join(terms)})"
            terms = []
        elif part == "|":
            fed, terms = "".join(terms), []
        elif part in ";{})":
            text = "".join(terms)
            yield f"echo {fed} | {text}" if fed else f'{variable}="{text}"' if variable else text if runs else ""
            terms, fed, variable, runs = [], "", "", False
        elif part in _AWK_WORDS or part == "(":
            terms, runs = [], runs or part == "system"


SEDS = frozenset(("sed", "gsed"))
_SED_RUNS = expression(
    r"(?:^|[;{}\n])[ \t]{0,12}(?:\d{1,8}|\$|/(?:[^/\\\n]|\\.){0,200}/)?(?:,\S{1,40})?[ \t]{0,12}"
    r"(?:e[ \t]{0,12}(?:\n|$|;|\}|(?<=[ \t])([^\s;}][^\n]{0,2000}))|s([^\w\s\\])(?:(?!\2)[^\\\n]|\\.){0,400}\2((?:(?!\2)[^\\]|\\.){0,2000})\2[\dgpiImM]{0,6}e(?=[\dgpiImM]{0,6}(?:[\s;}]|$)))"
)
"""The command `e` of sed, and substitutions with the flag `e`."""
_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "lxc", "nsenter", "chroot", "vagrant"))


def sed_commands(words: tuple[str, ...]) -> list[str]:
    """Return the commands that sed scripts run, with an empty text for a command taken from the input."""
    arguments = read_arguments("sed", words)
    scripts = [one.text for one in arguments if one.option in ("-e", "--expression")]
    scripts = scripts or [one.text for one in arguments if one.text and not one.option][:1]
    found = [match for script in scripts for match in _SED_RUNS.finditer(script)]
    texts = [match[1] or re.sub(r"\\(\W)", r"\1", match[3] or "") for match in found]
    return ["" if re.search(r"&|\\\d", match[3] or "") else text for match, text in zip(found, texts, strict=True)]


@cache
def _carriers() -> frozenset[str]:
    """Return the programs that take a script among their arguments."""
    given = (name for name, row in known_programs().items() if not {"code", "setting"}.isdisjoint(row.places.values()))
    return frozenset((*INTERPRETERS, *_CONTAINERS, *_AWKS, *SEDS, *given, "eval", "ssh", "trap", "watch", "alias"))


_SETTING = expression(r"[^=!]{0,200}[=!]{1,2}\s{0,4}(.{1,2000})", re.DOTALL)
"""`NAME=COMMAND`, or an editor command that runs a shell command: `:silent !COMMAND`."""


def _given(argv: Sequence[Word], line: int) -> list[Inner]:
    name = name_of(argv)
    found = codes(name, texts_of(argv[1:])) if argv else []
    language = INTERPRETERS.get(name, "shell")
    for one in read_arguments(name, texts_of(argv[1:])):
        if (one.place == "setting" or one.text[:1] == "+") and (command := _SETTING.match(one.text)):
            found.append(one._replace(text=command[1]))
    if name == "env" and found:  # the following words are arguments of the program in the text
        rest = argv[found[0].at + 2 :]
        text = " ".join((found[0].text, *map(quote, texts_of(rest))))
        return [Inner(language, text, all(word.known for word in argv), line)]
    return [Inner(language, one.text, argv[one.at + 1].known, line) for one in found]


def _contained(name: str, words: Sequence[Word], line: int) -> list[Inner]:
    """Return the script that a container runs, with host paths in place of their mount points."""
    after = next((at for at, word in enumerate(words[:-1]) if program(word.text) in SHELLS), len(words))
    found = _given(words[after:], line)
    arguments = read_arguments(name, texts_of(words))
    given = [one.text for one in arguments if not one.option]
    if not found and given[:1] == ["run"] and len(given) > 2:
        found.append(Inner("shell", " ".join((program(given[1].partition(":")[0]), *given[2:])), True, line))
    for one in arguments:
        source, _, target = one.text.partition(":")
        if one.place == "url" and found and target.startswith("/"):
            mounted = target.partition(":")[0].rstrip("/")
            found = [script._replace(text=script.text.replace(f"{mounted}/", f"{source}/")) for script in found]
    return found


def _interpreted(command: Command, argv: Sequence[Word]) -> list[Inner]:
    language = INTERPRETERS[name_of(argv)]
    if found := _given(argv, command.line):
        return found
    if command.heredoc is not None and not any(not word.text.startswith("-") for word in argv[1:2]):
        found.append(Inner(language, command.heredoc, True, command.line + 1))
    found += [
        Inner(language, one.target.text, one.target.known, command.line)
        for one in command.redirections
        if one.operator == "<<<"
    ]
    return found


def _joined(words: Sequence[Word], line: int) -> Inner:
    return Inner("shell", " ".join(word.text for word in words), all(word.known for word in words), line)


_PROMPT = expression(
    r"^[ \t]{0,12}(?:\([\w.@/ -]{1,40}\)[ \t]?)?"
    r"(?:(?:\[?[\w.-]{1,40}@[\w.-]{1,60}[^$#%>\n]{0,80}|[~/][\w./~-]{0,80}[ \t]?|(?:bash|sh|zsh)-?[\d.]{0,6})?[$%❯➜λ]"
    r"|\[?[\w.-]{1,40}@[\w.-]{1,60}[^$#%>\n]{0,80}[#>])[ \t]+(?=\S)",
    re.MULTILINE,
)
"""The prompt before a command in a transcript; a bare `#` begins a comment, not a command of root."""


def from_console(text: str) -> str:
    """Return the commands of a transcript, each on its original line; an empty text if there are no prompts."""
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
