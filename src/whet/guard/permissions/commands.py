"""Permissions of shell commands: every command of a line must be granted by a rule that names what gives it power.

A rule matches word by word, on the words that the shell would pass on. Wrappers that change nothing (`timeout 5`)
and harmless variables (`LC_ALL=C`) may precede a command. See `whet.guard.permissions.powers` for the words that a wildcard
in a rule never covers: under such a rule the answer is `deny`, or `ask` if the rule is for everything (`Bash`) or for a
program whose purpose is to run things (`Bash(python3:*)`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.permissions.globs import name_matches, row_matches
from whet.guard.permissions.paths import BadPathError, allowed_path, control_file, covers, normalised
from whet.guard.permissions.powers import Power, is_harmless_variable, powers, program_of, stripped
from whet.guard.permissions.programs import program_tables
from whet.guard.permissions.shell import read_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.permissions.grants import Grant
    from whet.guard.permissions.paths import Where
    from whet.guard.permissions.shell import Command, Word

_NOWHERE = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_SHOWN = 80


class Variant(NamedTuple):
    """A command as a rule may name it: whole, or without harmless words in front."""

    words: tuple[Word, ...]
    first: int

    @property
    def texts(self) -> list[str]:
        """The words as plain text."""
        return [word.text for word in self.words]


def allowed_command(text: str, grants: Sequence[Grant], where: Where) -> tuple[str, str]:
    """Return `allow`, `ask` or `deny`, and the reason, for a command line."""
    line = read_line(text)
    if line.unsure:
        return "deny", f"nobody can be sure what this runs: {line.unsure}"
    worst = ("allow", "")
    for number, command in enumerate(line.commands):
        decision, reason = _allowed(command, [grant for grant in grants if grant.tool == "Bash"], where)
        if decision == "allow" and where.at and _means_another_file(command):
            decision, reason = "ask", f"`{_shown(command)}` runs other files after cd than before it"
        if decision == "allow":
            decision, reason = _redirects(command, grants, where, reason)
        if decision == "deny":
            return decision, reason
        if decision == "ask" or not worst[1]:
            worst = decision, reason
        if program_of(command.words[command.first].text) in ("cd", "chdir") and len(line.commands) > 1:
            if number or (moved := _moved(command, where)) is None:
                return (
                    "deny",
                    "the directory in which this runs is not certain: cd leads out of the project, or is in the middle of a line",
                )
            where = where._replace(at=moved)
    return worst


def touches(rule: Grant, text: str) -> bool:
    """Return whether a rule that denies or asks applies to any command in this line. An unreadable line may be anything."""
    line = read_line(text)
    if not rule.rule or line.unsure:
        return True
    return any(_mentions(rule.words, command) for command in line.commands)


def _mentions(words: Sequence[str], command: Command) -> bool:
    """Return whether the command contains the program of the rule, followed by the other words of the rule in order."""
    texts = [word.text for word in command.words]
    wanted = [word for word in words if word != "*"]
    for at, text in enumerate(texts):
        if name_matches(wanted[0].casefold(), text.casefold()) or name_matches(wanted[0].casefold(), program_of(text)):
            rest = iter(texts[at + 1 :])
            if all(any(name_matches(word, other) for other in rest) for word in wanted[1:]):
                return True
    return False


def names_path(rule: str, text: str, where: Where) -> bool:
    """Return whether any word or redirection of a line names a path that a rule covers."""
    line = read_line(text)
    for command in line.commands:
        texts = [word.text for word in command.words[command.first + 1 :]]
        for word in (*texts, *(redirect.target for redirect in command.redirects)):
            try:
                path = normalised(word.rpartition("=")[2] if word.startswith("-") else word, where)
            except BadPathError:
                continue
            if covers(rule, path, fold=True):
                return True
    return bool(line.unsure)


def _allowed(command: Command, grants: Sequence[Grant], where: Where) -> tuple[str, str]:
    best = ("deny", f"no grant covers `{_shown(command)}`")
    for variant in _variants(command):
        texts = variant.texts
        needed = [*powers(texts, variant.first), *_touched(texts, where)]
        for grant in grants:
            named = _named(grant, variant, where)
            if named is None:
                continue
            lacking = [power for power in needed if not _covered(power, grant, texts, named)]
            if not lacking:
                return "allow", f"{grant.text} covers `{_shown(command)}`"
            wide = not grant.rule or "*" in grant.words[0]
            if wide or all(power.kind == "runs" for power in lacking):
                best = ("ask", f"{lacking[0].reason}, and {grant.text} does not name it")
            elif best[0] == "deny":
                best = ("deny", f"{lacking[0].reason}, and {grant.text} does not name it")
    return best


def _covered(power: Power, grant: Grant, texts: Sequence[str], named: int) -> bool:
    """Return whether a rule spells out the words of a power. A rule that names no addresses covers all of them."""
    if power.kind != "address":
        return power.upto < named
    places = [word.partition("*")[0] for word in grant.words if "://" in word] if grant.rule else []
    return not places or any(
        texts[power.upto] == place or (place.count("/") > 2 and texts[power.upto].startswith(place)) for place in places
    )


def _touched(texts: Sequence[str], where: Where) -> Iterator[Power]:
    """Yield a power for each control file of agents, git or start-up, if a program that writes is involved."""
    if any(program_of(text) in program_tables().words["writers"] for text in texts):
        for at, text in enumerate(texts):
            try:
                path = normalised(text.rpartition("=")[2], where)
            except BadPathError:
                continue
            if what := control_file(path):
                yield Power(at, "option", f"{text} belongs to {what}")


def _variants(command: Command) -> Iterator[Variant]:
    """Yield the command, and the same without harmless variables and wrappers."""
    yield Variant(command.words, command.first)
    words, first = command.words, command.first
    if all(is_harmless_variable(word.text) for word in words[:first]):
        words = words[first:]
        if first:
            yield Variant(words, 0)
        while count := stripped([word.text for word in words]):
            if any(word.glob for word in words[: count + 1]):
                return
            words = words[count:]
            yield Variant(words, 0)


def _named(grant: Grant, variant: Variant, where: Where) -> int | None:
    """Return how many words at the start a matching rule spells out; `None` if the rule does not match."""
    if not grant.rule:
        return 0
    skill_dir = where.skill_dir if "*" not in where.skill_dir and where.skill_dir else "\0"
    rule = [re.sub(r"\{(?:CLAUDE|WHET)_SKILL_DIR\}", lambda _: skill_dir, word) for word in grant.words]
    spans = "*" in rule[-1] and rule[-1] != "*" and rule[-1].endswith("*") and "/" not in rule[-1]
    seen = [_seen(word, rule) for word in variant.words]
    if not row_matches([_plain(word) for word in rule] + ["*"] * spans, seen, "*"):
        return None
    if "*" in rule[0] and rule[0] != "*" and "/" in seen[0] and "/" not in rule[0]:
        return None
    literal = next((at for at, word in enumerate(rule) if "*" in word), len(rule))
    return min(literal, len(variant.words))


def _plain(word: str) -> str:
    """Drop a leading `./`: `./scripts/run.sh` and `scripts/run.sh` are the same file, but `./git` is not `git`."""
    return word[2:] if word.startswith("./") and "/" in word[2:] else word


def _seen(word: Word, rule: Sequence[str]) -> str:
    """Return a word as rules see it: globs that the shell expands, and paths with `..`, match only a wildcard."""
    text = _plain(word.text)
    if word.glob or (".." in text.split("/") and any("*" in part and "/" in part for part in rule)):
        return "\0"
    return text


def _redirects(command: Command, grants: Sequence[Grant], where: Where, reason: str) -> tuple[str, str]:
    """Check that the grants for reading or writing files cover each redirection."""
    for redirect in command.redirects:
        if redirect.target in _NOWHERE:
            continue
        tool = "Write" if redirect.writes else "Read"
        try:
            path = normalised(redirect.target, where)
        except BadPathError as error:
            return "deny", f"the redirection leads nowhere sure: {error}"
        decision, why = allowed_path(tool, path, grants, where)
        if decision == "deny" and any(grant.tool == "Bash" and not grant.rule for grant in grants):
            decision = "ask"
        if decision != "allow":
            return decision, f"the redirection is not granted: {why}"
    return "allow", reason


def _means_another_file(command: Command) -> bool:
    """Return whether a command runs a file found from the working directory: a script, or what a project defines."""
    texts = [word.text for word in command.words]
    return "/" in texts[command.first] or any(power.kind == "runs" for power in powers(texts, command.first))


def _moved(command: Command, where: Where) -> str | None:
    """Return the directory that `cd` leads to, if it is below the working directory."""
    target = [word.text for word in command.words[command.first + 1 :]]
    if len(target) != 1 or command.words[-1].glob or target[0].startswith(("-", "/", "~")) or "\\" in target[0]:
        return None
    if any(name.startswith(".") and name != "." for name in target[0].split("/")):
        return None
    return f"{where.at or where.cwd}/{target[0]}"


def _shown(command: Command) -> str:
    text = " ".join(word.source for word in command.words)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
