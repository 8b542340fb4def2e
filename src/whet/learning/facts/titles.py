"""What a step is called: what it is for, as far as anybody said so, and otherwise what the command does.

Said so has: the description that was handed over with the call, the sentence before it, the thought before it, the
first comment of a script. A command that speaks for itself (an installation, a test run) is called by that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.shell.commands import INTERPRETERS
from whet.learning.facts.asking import starts_with_verb
from whet.learning.facts.criteria import TESTING
from whet.learning.facts.shell import main_program, programs, shape
from whet.learning.facts.wording import bare, capital, shorten, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.learning.facts.acts import Act

LONGEST = 160
_SAYS_NOTHING = re.compile(
    r"(?i)\A(?:here|this|that|there|it|the|all|everything|done|i|you|both|these|no|yes|my|we|try|retry|do|go|see|proceed"
    r"|continue|use (?:the )?\w+ tool)\b|\b(?:skills?|todo|tool ?search|load the tools?)\b"
)
_INSTALLS = re.compile(
    r"\b(?:(?:pip3?|pipx|uv|poetry|conda|mamba|npm|pnpm|yarn|bun|apt|apt-get|dnf|yum|brew|gem|cargo|go|snap|apk)"
    r"(?: pip)? (?:install|add|i)|pip install)\s([^\n|;&<>]{1,300})"
)
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//|--)[ \t]*([A-Za-z][^\n]{8,120})$")
_DOCSTRING = re.compile(r"\A\s*(?:\"\"\"|''')\s*([A-Za-z][^\n\"]{8,120})")
_INLINE = re.compile(r"<<-?\s*['\"]?\w+|\s-[ce]\s")
_LISTS = re.compile(r"(?:\s--?(?:list|check|verify|dry-run|status)\b|\s-l\s)")
_IN_PLACE = re.compile(r"\b(?:sed|perl|gawk|yq)\b[^|;&\n]{0,80}\s(?:-[a-zA-Z]*i\b|--in-place)")
_CHECKOUT = re.compile(
    r"\bgit (?:-C \S+ )?checkout (?:(?P<new>-[bB]\b)"
    r"|(?P<file>--\s|(?:HEAD\S* )?(?:-- )?[\w./-]*\w\.[A-Za-z]\w{0,8}(?=\s|\Z)))"
)
_CHECKOUTS = {"new": "Start a branch", "file": "Restore the file"}
_PARTS = 4
"""Parts of a command that its title names."""
_PLAIN = {
    "git commit": "Commit the changes",
    "git push": "Push the commits",
    "git tag": "Set the tag",
    "git clone": "Clone the repository",
    "git add": "Stage the changes",
    "git merge": "Merge the branch",
    "git rebase": "Rebase the branch",
    "git revert": "Revert the commit",
    "git apply": "Apply the patch",
    "git checkout": "Switch to the branch or file",
    "git mv": "Move the files",
    "git switch": "Switch to the branch",
    "git fetch": "Fetch from the remote",
    "git pull": "Pull from the remote",
    "gh pr create": "Open the pull request",
    "docker build": "Build the image",
    "docker push": "Push the image",
}
"""Sub-commands that everybody calls the same."""


def intent(said: str) -> str:
    """What the assistant said it would do next, as an imperative; empty when it only reported."""
    sentences = list(spoken(said[-1_500:]))
    for sentence in reversed(sentences[-4:]):
        text = bare(sentence)
        announced = text != sentence
        if announced and 3 <= len(text.split()) <= 30 and not _SAYS_NOTHING.search(text) and "?" not in text:
            return shorten(capital(text.rstrip(" .:!…")), LONGEST)
    return ""


def purpose(act: Act) -> str:
    """What a call is for, as far as anybody said so."""
    described = shorten(act.text("description"), LONGEST)
    return described if len(described.split()) > 1 else intent(act.said) or intent(act.thought)


def command_title(act: Act, command: str) -> str:
    """What a command is called when it speaks for itself or somebody said what it is for; empty otherwise."""
    if found := _INSTALLS.search(command):
        wanted = [word.strip("\"'") for word in found[1].split() if not word.startswith("-")]
        if wanted and all(re.match(r"[\w@./\[\]=<>~{}-]+\Z", word) for word in wanted):
            return shorten("Install " + ", ".join(f"`{word}`" for word in wanted[:5]), LONGEST)
        return f"Install what is needed with `{found[0].partition(' ')[0]}`"
    return purpose(act) or next(_told(command), "")


def _told(command: str) -> Iterator[str]:
    """What the comments of a script say that it does."""
    start = _INLINE.search(command)
    if "\n" in command and start:
        script = command[start.end() :]
        for found in (*_DOCSTRING.finditer(script), *_COMMENT.finditer(script)):
            if starts_with_verb(found[1]) and not re.search(r"[=;{}]", found[1]):
                yield shorten(capital(found[1].rstrip(" .:")), LONGEST)


def fallback(command: str) -> str:
    """What a command is called when nobody said anything."""
    main, does = main_program(command), shape(command)
    if TESTING.search(command):
        return f"Run the tests with `{main}`"
    if len(does) > 1 and any(one in _PLAIN for one in does):
        named = [one for one in does if one != "git add" or "git commit" not in does]
        return _listed([_called(one, command) for one in named[:_PARTS]])
    if main in _PLAIN and not _LISTS.search(command):
        return _called(main, command)
    if _LISTS.search(command) and len(does) == 1 and not _IN_PLACE.search(command) and main not in INTERPRETERS:
        return f"Check with `{main}`"
    if main in INTERPRETERS:
        script = re.search(r"([\w-]{1,60}\.(?:py|sh|js|mjs|ts|rb|pl|php|R|jl))\b", command)
        return f"Run `{script[1]}`" if script and "<<" not in command else f"Run this {main.rstrip('3')} script"
    if _IN_PLACE.search(command):
        return f"Change the files with `{main}`"
    return f"Run `{main}`" if any(one.label for one in programs(command)) else "Set the shell up"


def _called(label: str, command: str) -> str:
    """What everybody calls a program's work."""
    if label == "git checkout":
        kind = _CHECKOUT.search(command)
        return _CHECKOUTS[kind.lastgroup or ""] if kind else _PLAIN[label]
    return _PLAIN.get(label, f"Run `{label}`")


def _listed(titles: list[str]) -> str:
    """Several in a sentence."""
    told = list(dict.fromkeys(titles))
    rest = [f"{one[:1].lower()}{one[1:]}" for one in told[1:]]
    return " and ".join(filter(None, (", ".join((told[0], *rest[:-1])), *rest[-1:])))


def says_little(title: str) -> bool:
    """Is it one of the titles that nobody gave?"""
    plain = {one.lower() for one in (*_PLAIN.values(), *_CHECKOUTS.values())}
    return title.startswith(("Run ", "Check with `", "Set the shell up", "Change the files with `")) or all(
        part.lower() in plain or part.startswith("run `") for part in re.split(r", | and ", title)
    )
