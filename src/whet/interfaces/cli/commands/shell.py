"""`whet completion SHELL`: the script that lets a shell ask Whet for completions."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError, WhetError
from whet.interfaces.cli.context import Answer, Command, Context
from whet.interfaces.cli.parser import GLOBAL_OPTIONS, Namespace
from whet.interfaces.cli.verbs import COMMANDS as NAMED
from whet.interfaces.cli.verbs import GROUPS, VERBS, parser_of, read_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.api import Library
    from whet.interfaces.cli.parser import Option, Parser


_BASH = """\
# Completion of whet for bash. Load it with: eval "$(whet completion bash)"
_whet() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" words current before
    # Bash splits words at a colon too, which is a part of names such as user:deploy.
    read -r -d '' -a words < <(tr -s ' \\t' '\\n' <<< "$line")
    while [[ ${#words[@]} -gt 1 && "${words[0]}" != "${COMP_WORDS[0]}" ]]; do words=("${words[@]:1}"); done
    [[ "$line" == *[[:blank:]] ]] && words+=("")
    COMPREPLY=($("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null))
    current="${words[${#words[@]}-1]}"
    if [[ "$current" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
        before="${current%"${current##*:}"}"
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
}
complete -o default -F _whet whet
"""
_ZSH = """\
#compdef whet
# Completion of whet for zsh. Load it with: source <(whet completion zsh)
_whet() {
    local -a found
    found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -a found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _whet ]]; then
    _whet "$@"
else
    compdef _whet whet
fi
"""
_FISH = """\
# Completion of whet for fish. Load it with: whet completion fish | source
function __whet_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete -- $words[2..] 2>/dev/null
end
complete -c whet -a '(__whet_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class Completion(NamedTuple):
    """The completion script of a shell."""

    shell: str
    script: str


def configure_completion(parser: Parser) -> None:
    parser.details = 'For example, add `eval "$(whet completion bash)"` to ~/.bashrc.'
    parser.positional("shell", "SHELL", "Your shell.", choices=tuple(_SCRIPTS))


def run_completion(_context: Context, options: Namespace) -> Answer:
    return Answer(Completion(options.shell, _SCRIPTS[options.shell]), lambda c, s, _: s.line(c.script.rstrip("\n")))


_KINDS: dict[str, tuple[str, ...]] = {
    "new": (),
    "prompt render": ("skills", "bundles"),
    "prompt bundle": (),
    "prompt bundle show": ("bundles",),
    "prompt bundle delete": ("bundles",),
    "restore": ("deleted",),
    "proposals list": ("proposals",),
    "proposals show": ("proposals",),
    "proposals approve": ("proposals",),
    "proposals reject": ("proposals",),
    "undo": ("entries", "skills", "deleted"),
    "guard rules": ("rules",),
    "learn eval": ("triggers", "skills"),
    "learn eval triggers": ("skills",),
    "sources add": (),
    "sources remove": ("taps",),
}
"""Kinds of names that complete a NAME or an ID, by command and first argument, if it is not the name of a skill."""
_LAST = 20
"""Number of history entries that are offered."""


def candidates(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Return the words that can complete the last one of `words`."""
    before, current = list(words[:-1]), words[-1] if words else ""
    try:
        name, rest, _ = read_command(before)
    except UsageError:
        return []
    if name not in VERBS:
        return _words_of(name, before, current)
    verbs = _verbs_of(before[-1]) if all(word.startswith("-") for word in rest) else ()
    return [*_beginning_with(current, verbs), *_arguments_of(name, rest, current, env)]


def _words_of(group: str, before: list[str], current: str) -> list[str]:
    """Return the commands of a group, or all one-word commands and the groups."""
    if before and before[-1] in ("--root", "--project"):
        return []
    if current.startswith("-"):
        return _beginning_with(current, _flags(GLOBAL_OPTIONS))
    return _beginning_with(
        current, _verbs_of(group) if group else dict.fromkeys((*(name for name in NAMED if " " not in name), *GROUPS))
    )


def _verbs_of(group: str) -> list[str]:
    return [name.partition(" ")[2] for name in NAMED if name.startswith(f"{group} ")]


def _arguments_of(name: str, rest: list[str], current: str, env: Mapping[str, str]) -> list[str]:
    parser, _ = parser_of(name)
    if parser.behind and "--" in rest:
        return []
    options = (*parser.options, *GLOBAL_OPTIONS)
    awaiting = next((option for option in options if rest and option.metavar and rest[-1] in option.flags), None)
    if awaiting is not None:
        return _beginning_with(current, awaiting.choices)
    if current.startswith("-"):
        return _beginning_with(current, _flags(options))
    given = _words_given(rest, options)
    if not parser.positionals:
        return []
    at = parser.positionals[min(len(given), len(parser.positionals) - 1)]
    if len(given) >= len(parser.positionals) and not at.many:
        return []
    if at.choices:
        return _beginning_with(current, at.choices)
    kinds = _KINDS.get(" ".join((name, *given[:1])), _KINDS.get(name, ("skills",)))
    return (
        _beginning_with(current, _names_of(kinds, rest, parser, env))
        if "NAME" in at.metavar or "ID" in at.metavar
        else []
    )


def _words_given(words: list[str], options: Sequence[Option]) -> list[str]:
    """Return the words that are neither options nor their values."""
    valued = {flag for option in options if option.metavar for flag in option.flags}
    found, skip = [], False
    for word in words:
        if not skip and not word.startswith("-"):
            found.append(word)
        skip = word in valued
    return found


def _names_of(kinds: Iterable[str], words: list[str], parser: Parser, env: Mapping[str, str]) -> list[str]:
    """Return the names of these kinds; empty if the library cannot be read."""
    try:
        known, _ = parser.read_options(words)
        with closing(Context(Namespace(root=known.root, project=known.project), env)) as context:
            return [name for kind in kinds for name in _NAMES_BY_KIND[kind](context.library)]
    except (WhetError, OSError):
        return []


def _deleted(library: Library) -> list[str]:
    last = {entry.path: entry for entry in library.edit.history.entries().entries}
    return sorted({entry.skill for entry in last.values() if not entry.after})


def _rules(_library: Library) -> list[str]:
    from whet.guard import rules

    return list(rules.every())


_NAMES_BY_KIND: dict[str, Callable[[Library], list[str]]] = {
    "skills": lambda library: [*dict.fromkeys(card.full_name for card in library.skills(include_hidden=True))],
    "bundles": lambda library: [bundle.slug for bundle in library.settings.bundles()],
    "taps": lambda library: [tap.name for tap in library.sources.list_taps()],
    "deleted": _deleted,
    "proposals": lambda library: [str(proposal.id) for proposal in library.edit.proposals.pending()],
    "entries": lambda library: [str(entry.id) for entry in reversed(library.edit.history.entries(last=_LAST).entries)],
    "rules": _rules,
    "triggers": lambda _: ["triggers"],
}


def _flags(options: Sequence[Option]) -> list[str]:
    return [option.flags[-1] for option in options]


def _beginning_with(current: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(current) and word.isprintable() and " " not in word]


COMMANDS = {"completion": Command(configure_completion, run_completion)}
