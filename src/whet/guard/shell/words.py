"""The words of a shell command as the shell sees them.

Quotes, backslashes, `$'..'`, concatenations, `${IFS}` and braces are undone, variables with a constant value are replaced
and `$(echo ..)` is evaluated, so that a word reads the same however it is spelled. Parts that cannot be known stay as
written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.shell.branches import Branches
from whet.guard.shell.constant import printed, read_file, unescape
from whet.guard.taint.mark import HOLE

if TYPE_CHECKING:
    from tree_sitter import Node

_DEPTH = 12
_LONGEST = 16_384
_CUT = "\x1f"
"""Marks where an unquoted expansion splits a word."""
_BACKSLASH = expression(r"\\(\n|.)", re.DOTALL)
_IN_QUOTES = expression(r"\\([$`\"\\\n])")
_GLOB = expression(r"(?<!\\)[*?\[]")
_BRACES = expression(r"\{([^{}\s]{0,400},[^{}\s]{0,400})\}")
_RANGE = expression(r"^\s*(-?\d{1,4})(?:\s*:\s*(-?\d{1,4}))?\s*$")
_SPECIAL = frozenset(f"\\{{}}{HOLE}")
"""Characters that give a bare word another meaning than its spelling."""
_WHOLE_ARRAY = expression(r"^\"?\$(?:\{(\w{1,60})\[[@*]\]\}|[@*]|\{[@*]\})\"?$")
_ELEMENT = expression(r"^\$\{\w{1,60}\[(\d{1,3})\]\}$")
_MOST_LISTED = 100
_MOST_TURNS = 20
_SYMBOLS = frozenset(("HOME", "USER", "PWD", "TMPDIR", "XDG_CONFIG_HOME"))
"""Variables whose names say what they hold."""
_SAME = expression(r"\$\w+|\$\{\w+(?::?[-=?][^}]{0,200}|%/)?\}")
"""A plain variable, optionally with a default for an empty one."""
_PARTLY = expression(r"https?://[^$`<]{4}|[~/][\w./-]{2}")
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_EXPANDED = frozenset((*_SUBSTITUTIONS, "simple_expansion", "expansion"))
_BLANKS = " \t\n"


class Word(NamedTuple):
    """One word of a command."""

    text: str
    """The text, resolved as far as possible."""
    known: bool = True
    """Nothing in `text` remains to be expanded, except globs and the tilde."""
    source: str = ""
    """The word as written."""
    names: tuple[str, ...] = ()
    """The variables in the word; `!name` if the variable `name` holds the name of the variable; `HOLE` for text
    inserted by the program that runs the command."""
    substituted: bool = False
    """The word contains a command or process substitution."""

    @property
    def alone(self) -> str:
        """The variable that is all of the word; empty if the word is anything else."""
        bare = self.source.strip('"')
        return next((name for name in self.names if bare in (f"${name}", f"${{{name}}}")), "")


class _Parts:
    """A word under construction."""

    __slots__ = ("braces", "known", "names", "substituted", "text")

    def __init__(self) -> None:
        self.text = ""
        self.known = True
        self.substituted = False
        self.braces = False
        self.names: list[str] = []


class Known(NamedTuple):
    """The constants that a script has defined so far."""

    variables: dict[str, str]
    """Constant values of variables."""
    files: dict[str, str]
    """Constant texts of files that the script wrote or that are in the package."""
    lists: dict[str, tuple[Word, ...]]
    """The words of arrays, and those that a loop iterates over."""
    partly: dict[str, str]
    """Addresses and paths that are known in part."""
    branches: Branches
    """Which of its assignments count."""

    @classmethod
    def within(cls, outer: Known | None = None, branches: Branches | None = None) -> Known:
        """Return the initial state for a script inside another."""
        known = (dict(outer.variables), dict(outer.files)) if outer is not None else ({}, {})
        return cls(*known, {}, {}, branches or Branches())


class Resolver:
    """Resolves the words of one text with the constants known so far."""

    __slots__ = ("_bytes", "_known")

    def __init__(self, text: bytes, known: Known) -> None:
        self._bytes = text
        self._known = known

    def source(self, node: Node) -> str:
        """Return the source text of a node."""
        return self._bytes[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def between(self, start: int, end: int) -> str:
        """Return the source text between two byte offsets."""
        return self._bytes[start:end].decode("utf-8", "replace")

    def words(self, node: Node) -> list[Word]:
        """Return the words that a node becomes: usually one, several if an expansion splits it or an array is inserted."""
        source = self.source(node)
        if node.type == "word" and _SPECIAL.isdisjoint(source):
            return [Word(source, True, source)]
        if self._known.lists and (found := _WHOLE_ARRAY.match(source)):
            name = found[1] or "@"
            if name in self._known.lists:
                return list(self._known.lists[name])
        parts = _Parts()
        self._add(node, parts, _DEPTH, quoted=False)
        text = parts.text[:_LONGEST]
        texts = [piece for piece in text.split(_CUT) if piece] if _CUT in text else [text]
        if parts.braces:
            texts = [expanded for piece in texts for expanded in _unbraced(piece)]
        names = (*parts.names, HOLE) if HOLE in text else tuple(parts.names)
        return [Word(piece, parts.known, source, names, parts.substituted) for piece in texts or [""]]

    def each(self, node: Node) -> list[Word]:
        """Return the words that a node becomes, one after the other, in a loop over constants."""
        words = self.words(node)
        variables, lists = self._known.variables, self._known.lists
        turns = [name for word in words[:1] for name in word.names if 1 < len(lists.get(name, ())) <= _MOST_TURNS]
        if len(turns) != 1 or turns[0] not in variables:
            return words
        before = variables[turns[0]]
        found = []
        for one in lists[turns[0]]:
            variables[turns[0]] = one.text
            found += self.words(node)
        variables[turns[0]] = before
        return found

    def word(self, node: Node) -> Word:
        """Return a node as one word, its pieces joined by spaces."""
        words = self.words(node)
        return words[0] if len(words) == 1 else words[0]._replace(text=" ".join(word.text for word in words))

    def listed(self, node: Node) -> tuple[Word, ...]:
        """Return the words of an array."""
        return tuple(word for child in node.named_children[:_MOST_LISTED] for word in self.words(child))

    def assign(self, name: str, word: Word, *, append: bool = False) -> None:
        """Remember the value of a variable if it is constant, otherwise forget the old value."""
        variables, branches = self._known.variables, self._known.branches
        if word.known and len(word.text) <= _LONGEST // 4:
            before = variables.get(name, "") if append else ""
            branches.put(variables, name, (before + word.text)[: _LONGEST // 4])
        elif not append:
            branches.put(variables, name, None)
            if _PARTLY.match(word.text) and len(word.text) < _LONGEST // 16:
                self._known.partly[name] = word.text

    def _add(self, node: Node, parts: _Parts, depth: int, *, quoted: bool) -> None:
        if depth <= 0 or len(parts.text) > _LONGEST:
            parts.known = False
            return
        match node.type:
            case "word" | "number" | "test_operator" | "variable_name" | "special_variable_name":
                self._bare(self.source(node), parts)
            case "raw_string":
                parts.text += self.source(node)[1:-1]
            case "string" | "translated_string":
                self._string(node, parts, depth)
            case "string_content" | "heredoc_content":
                parts.text += _IN_QUOTES.sub(lambda found: found[1].strip("\n"), self.source(node))
            case "ansi_c_string":
                parts.text += unescape(self.source(node)[2:-1])
            case "concatenation" | "command_name" | "array":
                self._several(node, parts, depth, quoted=quoted)
            case "simple_expansion" | "expansion":
                self._expansion(node, parts, depth, quoted=quoted)
            case "command_substitution" | "process_substitution":
                self._substitution(node, parts, depth)
            case _:
                parts.text += self.source(node)

    def _bare(self, source: str, parts: _Parts) -> None:
        if ("{" in source or "}" in source) and source != "{}":
            parts.braces = True
        parts.text += _BACKSLASH.sub(lambda found: found[1].strip("\n"), source) if "\\" in source else source

    def _string(self, node: Node, parts: _Parts, depth: int) -> None:
        end = node.start_byte
        for child in node.children:
            if child.start_byte > end:
                parts.text += self._bytes[end : child.start_byte].decode("utf-8", "replace")
            end = child.end_byte
            if child.is_named:
                if child.type in _EXPANDED:  # the grammar includes preceding whitespace in the node
                    source = self.source(child)
                    parts.text += source[: len(source) - len(source.lstrip(_BLANKS))]
                self._add(child, parts, depth - 1, quoted=True)
            elif child.type not in ('"', '$"') and not (child.type == "$" and node.type == "translated_string"):
                parts.text += self.source(child)

    def _several(self, node: Node, parts: _Parts, depth: int, *, quoted: bool) -> None:
        is_array = node.type == "array"
        for child in node.children:
            if is_array:
                if not child.is_named:
                    continue
                parts.text += " " if parts.text else ""
            self._add(child, parts, depth - 1, quoted=quoted)

    def _expansion(self, node: Node, parts: _Parts, depth: int, *, quoted: bool) -> None:
        source = self.source(node).lstrip(_BLANKS)
        held = [
            one
            for child in node.named_children
            for one in (child.named_children if child.type == "subscript" else [child])
        ]
        named = [child for child in held if child.type in ("variable_name", "special_variable_name")]
        name = self.source(named[0]) if named else ""
        if name.isdigit() and source in (f"${name}", f"${{{name}}}") and (word := self._parameter(int(name))):
            parts.text += word.text
            parts.known = parts.known and word.known
            parts.names += word.names
            return
        if name:
            parts.names.append(name)
            if source.startswith("${!"):
                parts.names += (
                    re.findall(r"[A-Za-z_]\w{0,60}", self._known.variables[name])[:20]
                    if name in self._known.variables
                    else [f"!{name}"]
                )
        if name == "IFS" and source in ("$IFS", "${IFS}"):
            parts.text += " " if quoted else _CUT
            return
        value = self._value(node, name, source, depth)
        if name in _SYMBOLS and name not in self._known.variables and _SAME.fullmatch(source):
            parts.text += f"${name}"
        elif value is None and name in self._known.partly and source in (f"${name}", f"${{{name}}}"):
            parts.known = False
            parts.text += self._known.partly[name]
        elif value is None:
            parts.known = False
            parts.substituted = parts.substituted or "$(" in source or "`" in source
            parts.text += source
        elif quoted or not any(map(str.isspace, value)):
            parts.text += value
        else:
            parts.text += _CUT.join(value.split())

    def _parameter(self, number: int) -> Word | None:
        """Return argument `number` of the call that is being read; substitutions are judged where they are written."""
        given = self._known.lists.get("@", ())
        return given[number - 1] if 0 < number <= len(given) and not given[number - 1].substituted else None

    def _value(self, node: Node, name: str, source: str, depth: int) -> str | None:
        value = self._known.variables.get(name)
        if source in ("$" + name, "${" + name + "}"):
            return value
        listed = self._known.lists.get(name, ()) if "[" in source else ()
        if (found := _ELEMENT.search(source)) and int(found[1]) < len(listed):
            return listed[int(found[1])].text if listed[int(found[1])].known else None
        if listed and found is None and (one := self._known.branches.pick(name, listed)) is not None:
            return one.text if one.known else None
        kinds = [child.type for child in node.children]
        if "!" in kinds or "#" in kinds:
            return None
        if ":-" in kinds or "-" in kinds or ":=" in kinds or "=" in kinds:
            return value or self._default(node, depth)
        if value is None or "?" in kinds or ":?" in kinds:
            return value
        rest = source[2 + len(name) : -1]
        if rest.startswith(":") and (found := _RANGE.match(rest[1:])):
            start = int(found[1])
            return value[start:] if found[2] is None else value[start:][: int(found[2])]
        if rest in ("^^", ",,"):
            return value.upper() if rest == "^^" else value.lower()
        if rest.startswith("/") and rest.count("/") in (2, 3) and not _GLOB.search(rest):
            everywhere = rest.startswith("//")
            old, _, new = rest.lstrip("/").partition("/")
            return value.replace(old, new, -1 if everywhere else 1) if old else value
        return None

    def _default(self, node: Node, depth: int) -> str | None:
        parts = _Parts()
        for child in node.named_children[1:]:
            self._add(child, parts, depth - 1, quoted=True)
        return parts.text if parts.known and node.named_child_count > 1 else None

    def _substitution(self, node: Node, parts: _Parts, depth: int) -> None:
        parts.substituted = True
        value = self._printed(node, depth) if node.type == "command_substitution" else None
        if value is None:
            parts.known = False
            parts.text += self.source(node).lstrip(_BLANKS)
        else:
            parts.text += value.rstrip("\n")

    def _printed(self, node: Node, depth: int) -> str | None:
        inner = node.named_children
        if len(inner) != 1 or inner[0].type not in ("command", "pipeline", "file_redirect"):
            return None
        if inner[0].type == "file_redirect":
            parts = _Parts()
            self._add(inner[0].named_children[-1], parts, depth - 1, quoted=False)
            return read_file(parts.text, self._known.files)
        commands = [inner[0]] if inner[0].type == "command" else inner[0].named_children
        stages: list[list[str]] = []
        for command in commands[:6]:
            stage: list[str] = []
            for child in command.named_children:
                if command.type != "command" or child.type in ("file_redirect", "variable_assignment"):
                    return None
                parts = _Parts()
                self._add(child, parts, depth - 1, quoted=False)
                if not (parts.known or (stage[:1] == ["cat"] and self._known.files)):
                    return None
                stage.append(parts.text.replace(_CUT, " "))
            stages.append(stage)
        return printed(stages, self._known.files)


def substitutions(node: Node) -> list[Node]:
    """Return the outermost substitutions in a word, in order."""
    if node.child_count == 0:
        return []
    found: list[Node] = []
    stack = [node]
    while stack:
        at = stack.pop()
        if at.type in _SUBSTITUTIONS:
            found.append(at)
        elif at.child_count:
            stack.extend(reversed(at.named_children))
    return found


def _unbraced(text: str) -> list[str]:
    """Expand `a{b,c}` into two words as the shell does, one brace at a time."""
    words = [text]
    for _ in range(4):
        grown: list[str] = []
        for word in words:
            found = _BRACES.search(word)
            if found is None:
                grown.append(word)
            else:
                grown += [word[: found.start()] + choice + word[found.end() :] for choice in found[1].split(",")]
        if len(grown) == len(words) or len(grown) > 64:
            break
        words = grown
    return words
