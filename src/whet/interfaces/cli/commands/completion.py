"""`whet completion SHELL`: the script that makes a shell ask Whet what could come next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

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

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = 'For example, put `eval "$(whet completion bash)"` into ~/.bashrc.'
    parser.positional("shell", "SHELL", "Your shell.", choices=tuple(SCRIPTS))


def run(_context: Context, options: Namespace) -> Outcome:
    """Give the script."""
    return Outcome({"success": True, "shell": options.shell, "script": SCRIPTS[options.shell]})


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The script as it is."""
    screen.line(answer["script"].rstrip("\n"))
