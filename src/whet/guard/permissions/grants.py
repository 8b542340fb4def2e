"""The requests of a skill: `allowed-tools` in every spelling, as grants of one vocabulary.

    Bash(git add:*) Read             a string, separated by spaces or commas
    [Bash, "Read(./src/**)"]         a list
    {Bash: [git status], Read: true} a mapping of tools to rules
    [{tool: bash, command: git *}]   typed entries

Tools of other clients are known by their function (`run_command` is Bash). `curl:*` and `infsh *` are short forms of Bash
rules. A text that cannot be read becomes a grant with a `problem`; such a grant covers nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.expression import expression
from whet.guard.permissions.programs import program_tables
from whet.guard.permissions.shell import UnsureError, read_rule
from whet.skill.coerce import split_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Grant(NamedTuple):
    """One tool, or a part of its abilities."""

    tool: str
    """The name in our vocabulary: Bash, Read, WebFetch, mcp__server__tool, or a tool that only its client knows."""
    rule: str = ""
    """The permitted use; empty for any use."""
    text: str = ""
    """The grant as declared."""
    problem: str = ""
    """Why the grant could not be read; such a grant covers nothing."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a Bash rule; `*` as the last one stands for any more words."""
        return rule_words(self.rule)


SHELL = frozenset(("Bash",))
PATHS = frozenset(("Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "LS"))
WEB = frozenset(("WebFetch", "Browser"))
NAMED = frozenset(("Task", "Skill"))
PLAIN = frozenset(("WebSearch", "TodoWrite", "AskUserQuestion", "KillShell", "BashOutput"))
VOCABULARY = SHELL | PATHS | WEB | NAMED | PLAIN

_SHAPE = expression(r"(?s)([^\s()]+)\s*(?:\((.*)\))?")
_TOOL = expression(r"[A-Za-z][A-Za-z0-9_.:/-]{0,199}")
_MCP = expression(r"mcp__[A-Za-z0-9_.-]*[A-Za-z0-9.-](?:__(?:[A-Za-z0-9_.-]*\*?))?")
_HOST = expression(r"(?:\*\.)?[a-z0-9][a-z0-9.-]{0,252}(?::\d{1,5})?")
_DOMAIN_KEYS = ("domain", "domains", "host", "hosts")
_NAME_KEYS = ("tool", "name", "type")


@cache
def _names() -> dict[str, tuple[str, ...]]:
    return {**{tool.lower(): (tool,) for tool in VOCABULARY}, **program_tables().tools}


def tools_named(name: str) -> tuple[str, ...]:
    """Return the tools of our vocabulary that a name stands for; an unknown name stands for itself."""
    return _names().get(re.sub(r"[-_\s]", "", name).lower(), (name,)) if name.isascii() else (name,)


def read_grants(declared: Any) -> tuple[Grant, ...]:
    """Return the grants of an `allowed-tools` value of any shape. Never fails: see `Grant.problem`."""
    found: dict[Grant, None] = {}
    for grant in _entries(declared):
        found.setdefault(grant)
    return tuple(found)


def _entries(declared: Any) -> Iterator[Grant]:
    if declared is None:
        return
    if isinstance(declared, str):
        yield from _pieces(split_tools(declared))
    elif isinstance(declared, dict):
        yield from _mapping(declared)
    elif isinstance(declared, list | tuple):
        texts: list[str] = []
        for item in declared:
            if isinstance(item, str):
                texts.extend(_item(item))
            elif isinstance(item, dict):
                yield from _mapping(item)
            else:
                yield _unreadable(str(item), "a grant is text or a mapping")
        yield from _pieces(texts)
    else:
        yield _unreadable(str(declared), "grants are text, a list or a mapping")


def _item(item: str) -> Iterable[str]:
    """Split a list item into grants if it contains several; `infsh *` is one."""
    pieces = split_tools(item)
    several = len(pieces) > 1 and all("(" in piece or _known(piece) for piece in pieces)
    return pieces if several or len(pieces) == 1 else (item.strip(),)


def _known(piece: str) -> bool:
    return tools_named(piece)[0] in VOCABULARY or piece.startswith("mcp__")


def _pieces(pieces: Iterable[str]) -> Iterator[Grant]:
    """Yield the grants in a row; a lone `*` belongs to the unknown word before it, as in `infsh *`."""
    row = list(pieces)
    at = 0
    while at < len(row):
        piece = row[at]
        if at + 1 < len(row) and row[at + 1] == "*" and "(" not in piece and not _known(piece):
            yield _bash(f"{piece} *", f"{piece} *")
            at += 1
        else:
            yield from _grant(piece)
        at += 1


def _grant(text: str) -> Iterator[Grant]:
    found = _SHAPE.fullmatch(text)
    if text.strip("* ") == "":
        yield _unreadable(text, "it asks for every tool; name them")
    elif found is None or text.count("(") != text.count(")"):
        yield (
            _shorthand(text)
            if "(" not in text and ")" not in text
            else _unreadable(text, "its parentheses do not match")
        )
    elif found[2] is None and (text.endswith(":*") or re.search(r"[*]$", text)) and not text.startswith("mcp__"):
        yield _shorthand(text)
    else:
        yield from _ruled(found[1], found[2], text)


def _ruled(name: str, rule: str | None, text: str) -> Iterator[Grant]:
    if name.startswith("mcp__"):
        yield _mcp(name, rule, text)
        return
    if not _TOOL.fullmatch(name):
        yield _unreadable(text, "this is not the name of a tool")
        return
    for tool in tools_named(name):
        if rule is None:
            yield Grant(tool, "", text)
        elif not rule.strip():
            yield _unreadable(text, "its parentheses are empty")
        elif tool in SHELL:
            yield _bash(rule.strip(), text)
        elif tool in PATHS:
            yield _path(tool, rule.strip(), text)
        elif tool in WEB:
            yield _web(tool, rule.strip(), text)
        elif tool in NAMED and re.fullmatch(r"[\w.:/-]{1,200}\*?", rule.strip()):
            yield Grant(tool, rule.strip(), text)
        elif rule.strip() == "*":
            yield Grant(tool, "", text)
        else:
            yield _unreadable(text, f"rules for {tool} are not known")


def _shorthand(text: str) -> Grant:
    """Read `curl:*`, a Bash rule without its tool. Any shorter form would be a guess."""
    return _bash(text, text) if text.endswith("*") and text[0].isalnum() else _unreadable(text, "no tool is named")


def _bash(rule: str, text: str) -> Grant:
    if rule in ("*", ":*", "* *", "**"):
        return Grant("Bash", "", text)
    if ":*" in rule.removesuffix(":*"):
        return _unreadable(text, ":* counts only at the end")
    try:
        rule_words(rule)
    except UnsureError as error:
        return _unreadable(text, str(error))
    return Grant("Bash", rule, text)


def rule_words(rule: str) -> tuple[str, ...]:
    """Return the words of a Bash rule; `git add:*` and `git add *` both end with `*`, for any more words.

    `curl https://example.com/:*` covers every address below that one.
    """
    plain = rule.removesuffix(":*")
    words = read_rule(re.sub(r"\$(\{?)((?:CLAUDE|WHET)_SKILL_DIR)(\}?)", r"{\2}", plain))
    if plain == rule or words[-1] == "*":
        return words
    below = "://" in words[-1] and words[-1].endswith("/")
    return (*words[:-1], f"{words[-1]}*", "*") if below else (*words, "*")


def _path(tool: str, rule: str, text: str) -> Grant:
    if re.search(r"[\x00-\x1f\x7f]", rule) or len(rule) > 1000:
        return _unreadable(text, "this is not a path")
    if ".." in re.split(r"[/\\]", rule):
        return _unreadable(text, "a path in a rule must not contain `..`")
    if rule.startswith("~") and not rule.startswith("~/"):
        return _unreadable(text, "the home directory is unknown")
    return Grant(tool, rule.removesuffix(":*"), text)


def _web(tool: str, rule: str, text: str) -> Grant:
    if rule == "*":
        return Grant(tool, "", text)
    host = rule.removeprefix("domain:").strip().lower().rstrip(".")
    whole = "." in host.removeprefix("*.") or host.partition(":")[0] == "localhost"
    if rule.startswith("domain:") and whole and _HOST.fullmatch(host):
        return Grant(tool, f"domain:{host}", text)
    return _unreadable(text, "write domain:HOST, in ASCII")


def _mcp(name: str, rule: str | None, text: str) -> Grant:
    if rule is not None or not _MCP.fullmatch(name):
        return _unreadable(text, "write mcp__server, mcp__server__tool or mcp__server__*")
    return Grant(name.removesuffix("__*"), "", text)


def _mapping(entry: dict[Any, Any]) -> Iterator[Grant]:
    """Read a typed entry `{tool: .., command: ..}`, or tools with their rules `{Bash: [..], Read: true}`."""
    name = next((entry[key] for key in _NAME_KEYS if isinstance(entry.get(key), str)), None)
    if name is None:
        for tool, value in entry.items():
            yield from _typed(str(tool), value)
        return
    rules: list[Any] = []
    for key, value in entry.items():
        if key in _DOMAIN_KEYS:
            rules.extend(f"domain:{host}" for host in (value if isinstance(value, list) else [value]))
        elif key in program_tables().words["rule_keys"]:
            rules.extend(value if isinstance(value, list) else [value])
        elif key not in (*_NAME_KEYS, "description", "reason", "required"):
            yield _unreadable(f"{name}: {key}", f"{key} is not known in a grant")
            return
    yield from _typed(name, rules or True)


def _typed(tool: str, rules: Any) -> Iterator[Grant]:
    if rules is True or rules is None or rules == "*":
        yield from _ruled(tool, None, tool)
    elif isinstance(rules, dict) and rules:
        yield from _mapping({"tool": tool, **rules})
    elif isinstance(rules, str):
        yield from _ruled(tool, rules, f"{tool}({rules})")
    elif isinstance(rules, list) and rules and all(isinstance(rule, str) for rule in rules):
        for rule in rules:
            yield from _ruled(tool, rule, f"{tool}({rule})")
    elif rules is not False:
        yield _unreadable(f"{tool}: {rules}", "its rules are neither text nor a list of texts")


def _unreadable(text: str, problem: str) -> Grant:
    return Grant("", "", text, f"{text[:200]!r} grants nothing: {problem}.")
