"""A strict parser of command lines, so strict that a permission can rest on it.

Two independent parsers must agree, word for word: a small one that knows only literal words, quotes, `&&`, `||`,
`;`, `|` and redirections, and the grammar of bash, in whose tree only node types that stand for themselves may occur.
Anything that either of them does not know - expansions, substitutions, groups, keywords, line ends - is not guessed at: the
line is `unsure`, with the reason. The scanner's parser (`whet.guard.shell.commands`) has the opposite duty: it must see
something in every text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.syntax import parse_code

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST = 10_000
"""Longest command line in characters; a longer one is not read."""


class Word(NamedTuple):
    """One word as the program gets it."""

    text: str
    glob: bool = False
    """The shell replaces the word by the files it matches, all of which begin with the text before the first wildcard."""
    source: str = ""
    """The word as written."""


class Redirect(NamedTuple):
    """`2> file`; copies such as `2>&1` are not listed, because they touch no file."""

    writes: bool
    target: str


class Command(NamedTuple):
    """One simple command."""

    words: tuple[Word, ...]
    """The variables set for the command, if any, then the program and its arguments."""
    redirects: tuple[Redirect, ...] = ()
    first: int = 0
    """Index of the program."""


class Line(NamedTuple):
    """The commands of a line, or why they are uncertain."""

    commands: tuple[Command, ...] = ()
    unsure: str = ""


class UnsureError(Exception):
    """The text has a part that is not known to be harmless; the message names it."""


def read_line(text: str) -> Line:
    """Return the commands of a line if all are simple and every word is known; otherwise `unsure` is set."""
    try:
        commands = _Reader(_checked(text)).line()
        _compare(text.strip(" \t\n"), commands)
    except UnsureError as error:
        return Line(unsure=str(error))
    return Line(tuple(commands))


def read_rule(text: str) -> tuple[str, ...]:
    """Return the words of a permission rule, with its wildcards as written. Raises UnsureError."""
    commands = _Reader(_checked(text), rule=True).line()
    if len(commands) != 1 or commands[0].redirects:
        raise UnsureError("it names more than one command")
    return tuple(word.text for word in commands[0].words)


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise UnsureError(f"it has more than {LONGEST:,} characters")
    for letter in text:
        if letter < " " and letter not in "\t\n":
            raise UnsureError(f"it contains the control character U+{ord(letter):04X}")
        if letter > "~" and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"):
            raise UnsureError(f"it contains the invisible character U+{ord(letter):04X}")
    stripped = text.strip(" \t\n")
    if not stripped:
        raise UnsureError("it is empty")
    return stripped


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=+@%^~#-")
_ENDS = frozenset(" \t\n;&|<>()")
_ASSIGNMENT = expression(r"[A-Za-z_][A-Za-z0-9_]*=")
_BLANK = expression(r"[ \t]|(?<=[ \t])\\\n")
_COMMENT = expression(r"#(?![^\n]{0,400}[ \t]-)(?:[ \t][A-Za-z0-9_.,:/@%+ \t-]{0,400})?\Z")
_REFLOG = expression(r"@\{[A-Za-z0-9_/-]{1,100}(?:\.[A-Za-z0-9_/-]{1,100}){0,10}\}")
"""`stash@{0}`: braces that no shell expands."""
_FORBIDDEN = {
    "$": "an expansion ($)",
    "`": "a command substitution (`)",
    "(": "a parenthesis",
    ")": "a parenthesis",
    "{": "a brace",
    "}": "a brace",
    "!": "an exclamation mark outside quotes",
    "\n": "more than one line",
}
_KEYWORDS = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select"),
        *("function", "coproc", "[[", "]]", "{", "}", "!", "repeat", "foreach", "end", "always", "nocorrect", "noglob"),
    )
)
_SHORT_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
"""The escapes of `$'...'`. dash does not know such quotes and ends them at the first `'`, even after a backslash."""


class _Reader:
    """The first parser, from left to right."""

    def __init__(self, text: str, *, rule: bool = False) -> None:
        self.text = text
        self.at = 0
        self.rule = rule

    def line(self) -> list[Command]:
        commands = [self._command()]
        while self.at < len(self.text):
            self._operator()
            commands.append(self._command())
        return commands

    def _peek(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def _blanks(self) -> None:
        """Skip whitespace, including a backslash at the end of a line, and a comment that ends the text.

        Some shells do not treat `#` as a comment, so it may contain only text that would change nothing there.
        """
        while found := _BLANK.match(self.text, self.at):
            self.at = found.end()
        if not self.rule and self.at and self.text[self.at - 1] in " \t\n" and _COMMENT.match(self.text, self.at):
            self.at = len(self.text)

    def _operator(self) -> None:
        two = self._peek(2)
        if two in ("&&", "||"):
            self.at += 2
        elif two[:1] in (";", "|") and two not in (";;", ";&", "|&"):
            self.at += 1
        elif two[:1] == "&":
            raise UnsureError("it runs something in the background (&)")
        else:
            raise UnsureError(f"it has {_FORBIDDEN.get(two[:1], repr(two))}")

    def _command(self) -> Command:
        words: list[Word] = []
        redirects: list[Redirect] = []
        redirected = False
        while True:
            self._blanks()
            letter = self._peek()
            if not letter or letter in ";|" or (letter == "&" and self._peek(2) != "&>"):
                break
            if found := re.compile(r"&>>?|[0-9]{0,3}[<>]").match(self.text, self.at):
                redirected = True
                self._redirect(found[0], redirects)
                continue
            if redirected:
                raise UnsureError("it has words after a redirection")
            words.append(self._word())
        first = 0
        while not self.rule and first < len(words) and _ASSIGNMENT.match(words[first].source):
            first += 1
        if first == len(words):
            raise UnsureError("it sets variables or redirects without a command" if words else "a command is missing")
        program = words[first]
        if not self.rule and (program.glob or not program.text.isascii() or program.text.startswith(("~", "-", "%"))):
            raise UnsureError("the program is not a plain name")
        if not program.text or program.source in _KEYWORDS:
            raise UnsureError(f"it uses the shell keyword {program.source}" if program.text else "a name is empty")
        return Command(tuple(words), tuple(redirects), first)

    def _redirect(self, operator: str, redirects: list[Redirect]) -> None:
        self.at += len(operator)
        sign = operator[-1]
        descriptor = operator.rstrip("<>&") if operator[0] != "&" else ""
        if descriptor not in ("", "0", "1", "2"):
            raise UnsureError(f"it redirects descriptor {descriptor}")
        rest = self._peek()
        if sign == "<" and rest == "<":
            raise UnsureError("it has a here-document or here-string (<<)")
        if rest == "(":
            raise UnsureError("it has a process substitution")
        if rest == "&":
            if not (found := re.compile(r"&([12])(?=[\s;|&]|$)").match(self.text, self.at)) or operator[0] == "&":
                raise UnsureError("it has a redirection that is not known to be harmless")
            if sign == "<":
                raise UnsureError("it reads from a descriptor")
            self.at = found.end()
            return
        if rest == ">" and sign == ">" and operator[0] != "&":
            self.at += 1
            rest = self._peek()
        if rest in ("|", ">", "<", "!"):
            raise UnsureError("it has a redirection that is not known to be harmless")
        self._blanks()
        if not self._peek() or self._peek() in _ENDS:
            raise UnsureError("a redirection has no target")
        target = self._word()
        if target.glob or not target.text:
            raise UnsureError("the target of a redirection is not a plain name")
        redirects.append(Redirect(sign == ">", target.text))

    def _word(self) -> Word:
        start, parts, glob, wildcards = self.at, [], False, 0
        while self.at < len(self.text) and (letter := self.text[self.at]) not in _ENDS:
            if letter in "'\"\\" or self._peek(2) == "$'":
                parts.append(self._quoted(letter))
            elif letter in "*?[]":
                glob = glob or self._wildcard("".join(parts))
                wildcards += letter == "*"
                parts.append(letter)
                self.at += 1
            elif letter == "@" and (found := _REFLOG.match(self.text, self.at)):
                parts.append(found[0])
                self.at = found.end()
            elif self.rule and letter in "{}":
                parts.append(letter)
                self.at += 1
            elif letter == "#" and self.at == start:
                raise UnsureError("it has a comment")
            elif letter in _PLAIN:
                parts.append(letter)
                self.at += 1
            else:
                raise UnsureError(f"it has {_FORBIDDEN.get(letter) or f'{letter!r} outside quotes'}")
        if self.at == start:
            raise UnsureError(f"it has {_FORBIDDEN.get(self._peek()) or repr(self._peek())}")
        source = self.text[start : self.at]
        if self.rule and "".join(parts).count("*") != wildcards:
            raise UnsureError("it has a wildcard between quotes")
        if source.startswith("~") and source != "~" and not source.startswith("~/"):
            raise UnsureError(f"{source.partition('/')[0]} is an unknown directory")
        if source.startswith("=") and not self.rule:
            raise UnsureError("a word begins with =, which some shells expand")
        return Word("".join(parts), glob, source)

    def _wildcard(self, before: str) -> bool:
        """Return `True`; raise for a wildcard at the start of a word, which could become any file name, even `--an-option`."""
        if not self.rule and (not before or before.startswith("-")):
            raise UnsureError("a wildcard at the start of a word may become an option; quote it or write ./*")
        return True

    def _quoted(self, letter: str) -> str:
        return {"'": self._single, '"': self._double, "\\": self._backslash, "$": self._escaped}[letter]()

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise UnsureError("a quote is not closed")
        content = self.text[self.at + 1 : end]
        self.at = end + 1
        return content

    def _double(self) -> str:
        self.at += 1
        parts = []
        while (letter := self._peek()) != '"':
            if not letter:
                raise UnsureError("a quote is not closed")
            if letter in "$`":
                raise UnsureError(f"it has {_FORBIDDEN[letter]} between double quotes")
            if letter == "\\":
                following = self._peek(2)[1:]
                if following == "\n":
                    raise UnsureError("it continues a line with a backslash")
                parts.append(following if following in ('"', "\\", "$", "`") else "\\" + following)
                self.at += 2
            else:
                parts.append(letter)
                self.at += 1
        self.at += 1
        return "".join(parts)

    def _escaped(self) -> str:
        self.at += 2
        parts = []
        while (letter := self._peek()) != "'":
            if not letter:
                raise UnsureError("a quote is not closed")
            if letter != "\\":
                parts.append(letter)
                self.at += 1
                continue
            following = self._peek(2)[1:]
            if following in _SHORT_ESCAPES:
                parts.append(_SHORT_ESCAPES[following])
                self.at += 2
            elif found := re.compile(r"\\x([2-7][0-9A-Fa-f])(?![0-9A-Fa-f])").match(self.text, self.at):
                parts.append(chr(int(found[1], 16)))
                self.at = found.end()
            else:
                raise UnsureError(f"it has the escape \\{following}")
        self.at += 1
        return "".join(parts)

    def _backslash(self) -> str:
        following = self._peek(2)[1:]
        if not following or (not "!" <= following <= "~" and following != " "):
            raise UnsureError(
                "it continues a line with a backslash" if following == "\n" else "a backslash ends the command"
            )
        self.at += 2
        return following


_KINDS = frozenset(
    (
        *("program", "list", "pipeline", "redirected_statement", "command", "command_name", "file_redirect"),
        *("word", "number", "string", "string_content", "raw_string", "ansi_c_string", "concatenation"),
        *("variable_assignment", "variable_name", "file_descriptor", "comment"),
        *("&&", "||", ";", "|", '"', ">", ">>", "<", ">&", "&>", "&>>", "="),
    )
)


def _compare(text: str, commands: list[Command]) -> None:
    """Compare with the second parser, the grammar of bash. Raises UnsureError for any difference."""
    code = text.encode()
    root = parse_code("bash", code)
    if root.has_error:
        raise UnsureError("it is not valid bash")
    seen: list[tuple[str, ...]] = []
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if node.is_missing or node.type not in _KINDS:
            raise UnsureError(f"it has a {node.type.replace('_', ' ')}" if node.is_named else f"it has {node.type!r}")
        if node.type == "command":
            seen.append(tuple(code[child.start_byte : child.end_byte].decode() for child in node.children))
        stack.extend(reversed(node.children))
    if seen != [tuple(word.source for word in command.words) for command in commands]:
        raise UnsureError("it can be read in two ways")
