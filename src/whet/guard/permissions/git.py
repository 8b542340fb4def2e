"""Where git stops being git: options, sub-commands and addresses that run another program or write somewhere else.

Aliases are the reason for the list of known sub-commands: `git zap` may be anything that a repository's configuration
says, so a rule has to name it. What hooks and filters of the repository itself do cannot be seen from here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COMMANDS = frozenset(
    (
        *("add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-attr"),
        *("check-ignore", "checkout", "cherry", "cherry-pick", "clean", "clone", "commit", "commit-tree", "config"),
        *("count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree", "difftool", "fetch"),
        *("for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "help", "index-pack", "init", "log"),
        *("ls-files", "ls-remote", "ls-tree", "merge", "merge-base", "merge-file", "merge-tree", "mv", "name-rev"),
        *("notes", "pack-refs", "prune", "pull", "push", "range-diff", "read-tree", "rebase", "reflog", "remote"),
        *("repack", "replace", "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog"),
        *("show", "show-branch", "show-ref", "sparse-checkout", "stash", "status", "submodule", "switch"),
        *("symbolic-ref", "tag", "update-index", "update-ref", "var", "verify-commit", "verify-tag", "version"),
        *("whatchanged", "worktree", "write-tree"),
    )
)
_GLOBAL = re.compile(
    r"-c|-C|-p|--paginate|--config-env|--exec-path|--git-dir|--work-tree|--namespace|--super-prefix|--attr-source|--bare"
)
_GLOBAL_VALUES = frozenset(("-c", "-C", "--config-env", "--git-dir", "--work-tree", "--namespace", "--attr-source"))
_EVERYWHERE = ("--upload-pack", "--receive-pack", "--ext-diff", "--output", "--output-directory", "--exec-path")
_OPTIONS: dict[str, tuple[str, str]] = {
    "grep": ("--open-files-in-pager", "O"),
    "rebase": ("--exec --interactive --edit-todo", "xi"),
    "clone": ("--config --template --exec --separate-git-dir --reference", "cu"),
    "init": ("--template --separate-git-dir", ""),
    "fetch": ("--exec", ""),
    "pull": ("--exec", ""),
    "push": ("--exec", ""),
    "ls-remote": ("--exec", ""),
    "archive": ("--remote --exec", "o"),
    "format-patch": ("", "o"),
    "difftool": ("--extcmd --tool --gui", "xtg"),
    "blame": ("--contents", ""),
    "add": ("--interactive --edit", "ie"),
    "commit": ("--edit", "e"),
}
"""Options of sub-commands that run something, open an editor or write elsewhere: long ones, and letters."""
_SHORT_VALUES = {"commit": "mFCcStu", "grep": "efmABC", "clone": "bjo", "rebase": "sXC", "format-patch": "v"}
_WORDS: dict[str, frozenset[str]] = {
    "bisect": frozenset(("run", "visualize", "view")),
    "submodule": frozenset(("foreach", "update", "add", "init", "sync", "set-url")),
    "remote": frozenset(("add", "set-url")),
}
_OTHERS = frozenset(("difftool", "help"))
_READS_CONFIG = frozenset(("--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list", "--get-urlmatch"))
_FETCHING = frozenset(("clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule", "archive"))
_HELPER = re.compile(r"[A-Za-z0-9-]{1,40}::|(?:fd|file):", re.IGNORECASE)


def git_powers(argv: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The words of a git command that a rule has to name, with what they can do."""
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        name = argv[at].partition("=")[0]
        if _GLOBAL.fullmatch(name) or argv[at].startswith(("-c", "-C")):
            yield min(at + 1, len(argv) - 1), f"git {name} can make git run another program or work elsewhere"
            at += 1 if argv[at] in _GLOBAL_VALUES else 0
        at += 1
    if at >= len(argv):
        return
    command, rest = argv[at], range(at + 1, len(argv))
    if command not in _COMMANDS:
        yield at, f"git {command} is no command of git itself, it may be an alias for anything"
        return
    asked = [word for word in argv[at + 1 :] if word not in ("--global", "--local", "--system", "--worktree")]
    if command == "config" and not _READS_CONFIG & set(asked[:1]):
        key = argv.index(asked[0], at) if asked and "." in asked[0] and asked[0][0] != "-" else len(argv) - 1
        yield key, "git config can make git run other programs"
    if command in _OTHERS:
        yield at, f"git {command} opens other programs"
    words = _WORDS.get(command, frozenset())
    for number in rest:
        word = argv[number]
        if word in words:
            yield number, f"git {command} {word} runs other programs or fetches from elsewhere"
        if _dangerous(command, word):
            yield (
                min(number + ("=" not in word), len(argv) - 1),
                f"git {command} {word.partition('=')[0]} can run another program, open an editor or write a file",
            )
        elif command in _FETCHING and _HELPER.match(word):
            yield number, f"{word.partition(':')[0]}: addresses can run another program"


def _dangerous(command: str, word: str) -> bool:
    long, short = _OPTIONS.get(command, ("", ""))
    if word.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 3 and any(option.startswith(name) for option in (*_EVERYWHERE, *long.split()))
    if not word.startswith("-"):
        return False
    for letter in word[1:]:
        if letter in short:
            return True
        if letter in _SHORT_VALUES.get(command, ""):
            return False
    return False
