"""The words of a command that give it power beyond its program, so that a rule must name them.

`git -c core.pager=x log` is not what `Bash(git:*)` means, and `python3 run.py` is run.py rather than python3. Each
power has the number of the last word that a rule must spell out; a wildcard does not count. Everything here reads the
tables in `whet.guard.permissions.programs`.
"""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.guard.expression import expression
from whet.guard.options import codes, command_start, known_programs, read_arguments
from whet.guard.permissions.programs import Options, is_wrapper, program_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_DEEPEST = 6
_VALUE = expression(r"[A-Za-z0-9_.@:+/-]{0,60}")
_VARIABLE = expression(r"([A-Za-z_][A-Za-z0-9_]*)\s*[:?+!]{0,3}=")
_PLAIN_SED = expression(
    r"(?:\d{1,9}|\$)?(?:,(?:\d{1,9}|\$))?[pdq=]|/[^/\\\n]{1,200}/[pd]"
    r"|s([/|#,:])(?:(?!\1)[^\\\n]|\\[^\n]){0,400}\1(?:(?!\1)[^\\\n]|\\[^\n]){0,400}\1[gpiI0-9]{0,4}"
)
_PLAIN_AWK = expression(r"(?!.*(?:system|getline|close|ENVIRON|PROCINFO|fflush))[^|>@]{1,1000}", re.DOTALL)
_RUN = ("code", "program", "operand")
"""Places of arguments that an interpreter runs."""
_STDIN = expression(r"-|/dev/(?:stdin|fd/.*)|/proc/.*")


class Power(NamedTuple):
    """A reason why a rule must name the words up to number `upto`; no rule can name a number after the last word."""

    upto: int
    kind: Literal["runs", "option", "address"]
    """`runs`: the purpose of the program is to run other things; `option`: a word changes what it does; `address`: a word that
    says where to fetch from, which a rule must name if it names any address."""
    reason: str


def program_of(word: str) -> str:
    """Return the program that a word names, without its directory, its version and the extensions of Windows."""
    name = os.path.basename(word.replace("\\", "/")).lower()
    for end in (".exe", ".cmd", ".bat", ".ps1"):
        name = name.removesuffix(end)
    return re.sub(r"(?<=[a-z])[-.]?\d[\d.]*$", "", name) or name


def is_harmless_variable(word: str) -> bool:
    """Return whether an assignment only changes how a program writes."""
    name, _, value = word.partition("=")
    return name in program_tables().words["harmless_variables"] and _VALUE.fullmatch(value) is not None


def stripped(argv: Sequence[str]) -> int:
    """Return how many words at the start are a wrapper that changes nothing; 0 if there is none, or in doubt."""
    name = argv[0] if argv else ""
    harmless = program_tables().harmless.get(name)
    if harmless is None:
        return 0
    wrapper, at = known_programs()[name], 1
    while at < len(argv) and argv[at].startswith("-"):
        joined = f"{argv[at]}{'=' if argv[at].startswith('--') else ''}{argv[at + 1] if at + 1 < len(argv) else ''}"
        if re.fullmatch(harmless, argv[at]):
            at += 1
        elif wrapper.places.get(argv[at]) == "value" and re.fullmatch(harmless, joined):
            at += 2
        else:
            return 0
    for _ in range(wrapper.runs):
        if at >= len(argv) or not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?[smhd]?", argv[at]):
            return 0
        at += 1
    return at if at < len(argv) and "=" not in argv[at] and not argv[at].startswith("-") else 0


def powers(words: Sequence[str], first: int = 0, depth: int = 0) -> list[Power]:
    """Return every power of a command; `first` is the index of its program, after the variables that are set for it."""
    found = [
        Power(at, "option", f"{words[at].partition('=')[0]} set for the command can change what it runs")
        for at in range(first)
        if not is_harmless_variable(words[at])
    ]
    argv = words[first:]
    if not argv:
        return found
    name = program_of(argv[0])
    for power in (*_by_program(name, argv, depth), *_by_options(name, argv), *_by_places(argv)):
        found.append(power._replace(upto=power.upto + first))
    return found


def _by_program(name: str, argv: Sequence[str], depth: int) -> Iterator[Power]:
    last, tables = len(argv) - 1, program_tables()
    if {name, argv[0]} & tables.words["shell_state"]:
        yield Power(last + 1, "option", f"{name} changes the shell itself or reads text as commands")
    elif len(argv) == 2 and argv[1] in tables.words["version_flags"] and not is_wrapper(name):
        return
    elif name == "git":
        for at, reason in git_powers(argv):
            yield Power(at, "option", reason)
    elif name in tables.words["interpreters"]:
        yield from _interpreter(name, argv)
    elif name in tables.words["opaque"]:
        if not (name == "crontab" and argv[1:] == ["-l"]):
            yield Power(last, "runs", f"{name} can run anything")
    elif is_wrapper(name):
        yield from _wrapper(name, argv, depth)
    elif name in tables.runners:
        yield from _runner(name, argv)


def _interpreter(name: str, argv: Sequence[str]) -> Iterator[Power]:
    reason = f"{name} runs any code it is given, so it covers everything"
    words = tuple(argv[1:])
    found = [one for one in (*codes(name, words), *read_arguments(name, words)) if one.place in _RUN]
    given = [one.at + 1 for one in found if one.text[:1] not in ("", "+")]
    at = given[0] if given else len(argv)
    awk = name.endswith("awk")
    if at >= len(argv) or _STDIN.fullmatch(argv[at]):
        yield Power(len(argv), "runs", f"{reason}; here it reads the code from its input")
    elif not awk:
        yield Power(at, "runs", reason)
    elif not _PLAIN_AWK.fullmatch(argv[at]):
        yield Power(at, "option", "this awk program is not known to leave files and programs alone")


def _wrapper(name: str, argv: Sequence[str], depth: int) -> Iterator[Power]:
    if name == "command" and argv[1:2] in (["-v"], ["-V"]):
        return
    at = 1 + command_start(name, tuple(argv[1:]))[0]
    reason = f"{name} runs the command after it"
    if at >= len(argv):
        if len(argv) > 1 or name not in ("env", "time"):
            yield Power(len(argv) - 1, "runs", reason)
    elif depth >= _DEEPEST:
        yield Power(len(argv), "option", "the command is wrapped too often")
    else:
        yield Power(at, "runs", reason)
        if name == "xargs" and program_tables().is_known(inner := program_of(argv[at])):
            yield Power(len(argv), "option", f"xargs gives {inner} words that nobody sees")
        for power in powers(argv[at:], 0, depth + 1):
            yield power._replace(upto=power.upto + at)


def _runner(name: str, argv: Sequence[str]) -> Iterator[Power]:
    runner = program_tables().runners[name]
    valued, start = program_tables().options.get(name, Options()).values, 1
    while start + 1 < len(argv) and re.fullmatch(r"-\w", argv[start]) and argv[start][1] in valued:
        start += 2
    operands = [at for at in range(start, len(argv)) if not argv[at].startswith("-")]
    command = argv[operands[0]] if operands else ""
    sure = bool(operands) and operands[0] == start
    if not operands or (sure and command in runner.harmless.split()):
        return
    reason = f"{name} {command} runs what others define"
    if not sure and runner.harmless:
        yield Power(len(argv) - 1, "runs", f"{name} has options in front of its command")
    elif command in runner.whole.split():
        yield Power(len(argv) - 1, "runs", f"{name} {command} can run anything")
    elif command in runner.deep.split():
        yield Power(operands[1] if len(operands) > 1 else operands[0], "runs", reason)
    else:
        yield Power(operands[0], "runs", reason)


def _by_options(name: str, argv: Sequence[str]) -> Iterator[Power]:
    options = program_tables().options.get(name, Options())
    for at in range(1, len(argv)):
        word = argv[at]
        if options.includes(word, old_style=at == 1 and name.endswith("tar")):
            if name == "wget" and (re.fullmatch(r"-[qSnNLrH]{0,6}O-", word) or argv[at : at + 2] == ["-O", "-"]):
                continue
            end = min(at + ("=" not in word), len(argv) - 1)
            yield Power(end, "option", f"{name} {word.partition('=')[0]} can run a program or write or send a file")
    if options.fetches:
        yield from _addresses(name, options, argv)
    if name in _SPECIAL:
        yield from _SPECIAL[name](argv)


def _addresses(name: str, options: Options, argv: Sequence[str]) -> Iterator[Power]:
    """Yield the words that are neither options nor their values: each is an address to fetch from."""
    is_value = False
    for at in range(1, len(argv)):
        word, was_value = argv[at], is_value
        valued = next((number for number, letter in enumerate(word) if number and letter in options.values), 0)
        is_value = not was_value and (
            word in options.fetches.split() or (re.match("-[^-]", word) is not None and valued == len(word) - 1)
        )
        if not was_value and (not word.startswith("-") or "://" in word):
            yield Power(at, "address", f"{name} fetches from another place, {word}")


def _make(argv: Sequence[str]) -> Iterator[Power]:
    for at in range(1, len(argv)):
        if _VARIABLE.match(argv[at]):
            yield Power(at, "option", f"{argv[at].partition('=')[0]} given to make can change what it runs")


def _second_file(argv: Sequence[str]) -> Iterator[Power]:
    for at in [at for at in range(1, len(argv)) if not argv[at].startswith("-")][1:]:
        yield Power(at, "option", f"{argv[0]} writes its second file")


def _rm(argv: Sequence[str]) -> Iterator[Power]:
    for word in argv[1:]:
        if re.fullmatch(r"(?:/|~|\.|\.\.)/*(?:\*/*)?", word):
            yield Power(len(argv), "option", f"rm {word} removes everything there is")


def _curl(argv: Sequence[str]) -> Iterator[Power]:
    for at in range(1, len(argv)):
        word, before = argv[at], argv[at - 1]
        if before in ("--data-urlencode", "--url-query") and "@" in word:
            yield Power(at, "option", "curl may send a file here")
        elif (before in ("-b", "--cookie") and "=" not in word) or re.match(r"-[a-zA-Z]{0,20}b[^=]{1,4000}$", word):
            yield Power(at, "option", "curl sends cookies from a file here")
        elif re.match(r"(?:-[A-Za-z]{0,20}[dFHw])?@", word) or "=@" in word or "=<" in word or "%output" in word:
            yield Power(at, "option", "curl sends or writes a file here")
        elif re.match(r"(?!https?:)[a-z]{2,9}:", word, re.IGNORECASE) and "//" in word[:12]:
            yield Power(at, "option", "curl does more than fetch a web page here")


def _sed(argv: Sequence[str]) -> Iterator[Power]:
    """Yield the sed scripts that may run programs or write files (`e`, `w`); only those of a simple form certainly do not."""
    scripts = [at + 1 for at in range(1, len(argv) - 1) if re.fullmatch(r"-[A-Za-z]*e|--e[a-z]*", argv[at])]
    if not scripts:
        scripts = [at for at in range(1, len(argv)) if not argv[at].startswith("-")][:1]
    attached = [at for at in range(1, len(argv)) if re.match(r"--e[a-z]*=|-[nErsuz]*e.", argv[at])]
    for at in [*scripts, *attached]:
        if not _PLAIN_SED.fullmatch(argv[at]):
            yield Power(at, "option", "this sed script is not known to leave files and programs alone")


_SPECIAL: dict[str, Callable[[Sequence[str]], Iterator[Power]]] = {
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("uniq", "xxd"), _second_file),
    "rm": _rm,
    "curl": _curl,
}
"""Programs whose other words matter too."""


def _by_places(argv: Sequence[str]) -> Iterator[Power]:
    """Yield the words that name places of grave secrets."""
    from whet.guard.places import places

    for at in range(1, len(argv)):
        for place in places(argv[at]):
            if place.kind == "secret" and place.grave:
                yield Power(at, "option", f"{place.text} is where {place.what} are kept")


# --- git: words that run another program or write somewhere ----------------------------------------------------------

_GLOBAL = expression(
    r"-c|-C|-p|--paginate|--config-env|--exec-path|--git-dir|--work-tree|--namespace|--super-prefix|--attr-source|--bare"
)
_GLOBAL_VALUES = frozenset(("-c", "-C", "--config-env", "--git-dir", "--work-tree", "--namespace", "--attr-source"))
_HELPER = expression(r"[A-Za-z0-9-]{1,40}::|(?:fd|file):", re.IGNORECASE)


def git_powers(argv: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the words of a git command that a rule must name, each with its effect."""
    git, at = program_tables().git, 1
    while at < len(argv) and argv[at].startswith("-"):
        name = argv[at].partition("=")[0]
        if _GLOBAL.fullmatch(name) or argv[at].startswith(("-c", "-C")):
            yield min(at + 1, len(argv) - 1), f"git {name} can make git run another program or work elsewhere"
            at += 1 if argv[at] in _GLOBAL_VALUES else 0
        at += 1
    if at >= len(argv):
        return
    command, rest = argv[at], range(at + 1, len(argv))
    if command not in git.commands:
        yield at, f"git {command} is not a command of git itself; it may be an alias for anything"
        return
    asked = [word for word in argv[at + 1 :] if word not in ("--global", "--local", "--system", "--worktree")]
    if command == "config" and not git.reads_config & set(asked[:1]):
        key = argv.index(asked[0], at) if asked and "." in asked[0] and asked[0][0] != "-" else len(argv) - 1
        yield key, "git config can make git run other programs"
    if command in git.opens_others:
        yield at, f"git {command} opens other programs"
    options = git.options.get(command, Options())
    for number in rest:
        word = argv[number]
        if word in options.words.split():
            yield number, f"git {command} {word} runs other programs or fetches from elsewhere"
        if options.includes(word) or git.options[""].includes(word):
            yield (
                min(number + ("=" not in word), len(argv) - 1),
                f"git {command} {word.partition('=')[0]} can run another program, open an editor or write a file",
            )
        elif command in git.fetching and _HELPER.match(word):
            yield number, f"{word.partition(':')[0]}: addresses can run another program"
