"""Programs in languages without a grammar here, as trees of statements and expressions.

Ruby, Perl, PHP, Lua, Go, Rust, Java, Kotlin, Swift, C#, R, AppleScript and others write texts, calls, assignments and
functions in similar ways, and this parser knows only these. Everything else (types, operators, control flow) is read over:
the statements of branches and loops follow each other. A text of any kind has a tree, however wrong it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.code.tokens import END, Token, tokens
from whet.guard.expression import expression
from whet.guard.tables import api
from whet.guard.taint.call import find_row

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Names = tuple[str, ...]


class Node(NamedTuple):
    """A statement or an expression."""

    kind: str
    """`text`, `put` (a place in a text), `command`, `raw` (a command or a text), `name`, `number`, `member`, `call`, `index`, `list`, `map`, `block`, `joined`
    or `mixed`; for statements `set`, `function`, `loop` or `return`; `cut` for what is too deep to be read."""
    line: int
    text: str = ""
    """The content of a text, the name of a name, member or function, or the sign of an assignment."""
    parts: tuple[Node, ...] = ()
    """The parts in their order: the callee before the arguments, the value before the targets."""
    words: tuple[tuple[str, Node], ...] = ()
    """The arguments by name, and the entries of a map."""
    params: Names = ()
    """The parameters of a function or block, and the names of a loop; the sign of a name or member that has one, such as `@`."""


_DEPTH = 60
_FAR = 400
"""Maximum number of tokens to look ahead."""
_NEAR = 80
"""Maximum number of tokens before the sign of an assignment or a loop."""
_TYPED = 30
"""Maximum number of tokens in the type and the name of a method."""
_ASSIGNS = frozenset(("=", ":=", "+=", ".=", "<-", "<<-", "||=", "??=", "//=", "|="))
_JOINS = frozenset(("+", ".", "..", "<>", "&", "++", "~"))
_MEMBERS = frozenset((".", "->", "::", "?.", "&."))
_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = frozenset(_OPEN.values())
_FUNCTIONS = api("code", "functions")
_SKIPPED = api("code", "skipped")
_HEADS = api("code", "heads")
_DECLARES = api("code", "declares")
_TYPES = api("code", "types")
_WRITERS = api("code", "writers")
_LISTERS = api("code", "listers")
_BETWEEN = api("code", "between")
_ENDS = frozenset(("end", "then", "do", "else", "begin"))
_CLASSES = frozenset(("class", "record", "struct", "object"))
_LOOPS = frozenset(("for", "foreach", "each", "repeat"))
_LOOP_SIGNS = frozenset(("in", "of", ":", ":=", "as", "=", "<-"))
_TYPE_SIGNS = frozenset(("(", ")", "[", "]", ":", "::", ">>", "->", "<", ">", ",", "*", ".", "?", "&", "'"))
_METHOD_SIGNS = _TYPE_SIGNS - {"(", ")"}
_PREFIXES = frozenset("!-*&%\\~^#?$@+<")
_TEXTS = frozenset(("text", "long", "quoted", "symbol"))
_QUOTED = frozenset(("text", "quoted", "command"))

_GENERIC = expression(r"::<[^;(){}]{0,80}?>{1,3}(?=[(.:])|(?<=\w)<(?:\w{1,60}(?:<\w{1,60}>)?,? ?){0,3}>(?=\()")
_PHRASE = expression(
    r"\b(?:quoted|POSIX|first|last|text) {1,4}(?:form|path|item|item \d|returned) {1,4}of\b|\bin {1,4}background\b"
)
_OR = expression(r" //=? ")
"""An operator of Perl, which is a comment elsewhere."""
_ATOM = expression(r"(?<![\w:?\])]):(?=[a-z_]\w{1,40}\.[a-z])")
"""The colon before the name of an Erlang module."""
_CLIPBOARD = expression(r"\bthe {1,4}clipboard\b")
_SCRIPT = expression(r"\b(do|run) {1,4}(shell {1,4})?script\b")
_SHARP = expression(
    r"^[ \t]{0,9}using [A-Z][\w.]{0,80};|\bnamespace [A-Z]|\bConsole\.Write|\bpublic (?:static|class|record|async|sealed)\b",
    re.MULTILINE,
)
"""C#, where an arrow after a name begins a function."""
_GO = expression(r"^package[ \t]{1,9}\w{1,60}[ \t]{0,9}$", re.MULTILINE)
"""Where backquotes hold a text and no command."""


def parse(text: str) -> list[tuple[Node, ...]]:
    """Return the statements of a program, and once more without texts of several lines if there are any.

    A quotation mark that is none would hide what follows. What tells one language from another is looked for in the tokens,
    among which are no comments, or read both ways.
    """
    text = _SCRIPT.sub(lambda found: f"{found[1]}_{'shell_' if found[2] else ''}script", text)
    text = _CLIPBOARD.sub("the_clipboard()", _GENERIC.sub("", _PHRASE.sub("", _ATOM.sub("", text))))
    several = any(one.kind in _QUOTED and "\n" in one.text for one in tokens(text))
    return [_statements(text, lines=lines) for lines in ((False, True) if several else (False,))]


def _statements(text: str, *, lines: bool) -> tuple[Node, ...]:
    given = tokens(text, lines=lines)
    php = any(
        (one.text, two.text, three.text) == ("<", "?", "php")
        for one, two, three in zip(given, given[1:], given[2:], strict=False)
    )
    sigils = any(one.kind == "name" and one.text[0] == "$" and not one.text[1:2].isdigit() for one in given)
    if sigils and not php and " // " in text:
        given = tokens(_OR.sub(" || ", text), lines=lines)
    parser = _Parser(given)
    parser.lambdas = not sigils and _SHARP.search(text) is not None
    parser.raw = _GO.search(text) is not None
    parser.members = _MEMBERS - {"."} if php else _MEMBERS
    return parser.statements()


class _Parser:
    """The position in the tokens of a program."""

    def __init__(self, given: Sequence[Token]) -> None:
        self.tokens = given
        self.at = 0
        self.depth = 0
        self.members: Collection[str] = _MEMBERS
        self.lambdas = False
        """An arrow after a name may begin a function."""
        self.raw = False
        """Backquotes may hold a text and no command."""
        self.head = False
        """A brace here begins the block of a statement."""
        self.literal = False
        """A brace here begins a list or map."""
        self.asked = False
        """A colon here separates the two results of a question."""

    # -- tokens ------------------------------------------------------------------------------------------------------

    def peek(self, steps: int = 1) -> Token:
        """Return a later token."""
        return self.token_at(self.at + steps)

    def token_at(self, at: int) -> Token:
        """Return the token at a position."""
        return self.tokens[at] if 0 <= at < len(self.tokens) else END

    @property
    def token(self) -> Token:
        """The next token."""
        return self.peek(0)

    @property
    def more(self) -> bool:
        """Whether there is a next token."""
        return self.at < len(self.tokens)

    def take(self, *texts: str) -> bool:
        """Step over the next token if it is one of these."""
        found = self.more and self.token.text in texts
        self.at += found
        return found

    def skip_lines(self, *ends: str) -> None:
        """Step over the ends of lines."""
        while self.more and self.token.kind == "line" and (not ends or self.token.text in ends):
            self.at += 1

    def find(self, texts: Collection[str], stop: Collection[str] = ()) -> int:
        """Return the position of the first of some tokens in this statement, outside brackets; -1 if there is none."""
        depth = 0
        for at in range(self.at, min(len(self.tokens), self.at + _NEAR)):
            token = self.tokens[at]
            if depth == 0 and token.text in texts:
                return at
            if depth == 0 and (token.kind == "line" or token.text in stop or (token.text == "{" and token.spaced)):
                return -1
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if depth < 0:
                return -1
        return -1

    def closing(self, steps: int = 0) -> int:
        """Return the position after the bracket that closes the one here; 0 if it is never closed."""
        depth = 0
        for at in range(self.at + steps, min(len(self.tokens), self.at + _FAR)):
            depth += (self.tokens[at].text in _OPEN) - (self.tokens[at].text in _CLOSE)
            if depth <= 0:
                return at + 1
        return 0

    def begins_operand(self) -> bool:
        """Return whether an operand follows this token on the same line."""
        following = self.peek()
        return following.spaced and (
            following.kind not in ("sign", "line") or following.text in ("(", "[", "{", *_PREFIXES)
        )

    def is_skipped(self) -> bool:
        """Return whether the token is a keyword that says nothing about values, and no variable of that name."""
        text = self.token.text.rstrip("!?")
        return self.token.kind == "name" and (text in _ENDS or (text in _SKIPPED and self.begins_operand()))

    # -- statements --------------------------------------------------------------------------------------------------

    def statements(self, end: str = "", start: Token = END) -> tuple[Node, ...]:
        """Return the statements up to a closing brace, or up to the `end` of what began with the token `start`."""
        found: list[Node] = []
        self.depth += 1
        while self.more:
            self.skip_lines()
            token, at = self.token, self.at
            ends = (
                start is not END and token.text == "end" and (token.indent <= start.indent or token.line == start.line)
            )
            if ends or (end and token.text == end):
                self.at += 1
                break
            if self.take("{"):
                found += self.statements("}") if self.depth < _DEPTH else (Node("cut", token.line),)
            elif (one := self.statement()) is not None:
                found.append(one)
            self.at += self.at == at
        self.depth -= 1
        return tuple(found)

    def statement(self) -> Node | None:
        """Return the next statement; None for what says nothing about values."""
        self.head = self.literal = False
        while self.more:
            token = self.token
            if token.text in _LOOPS and (loop := self.loop()) is not None:
                return loop
            if token.text in _FUNCTIONS and (function := self.function()) is not None:
                return function
            if token.text in _CLASSES and self.peek().kind == "name" and self.peek(2).text == "(":
                self.at += 1
                return self.record()
            if token.text == "return":
                self.at += 1
                return Node("return", token.line, parts=self.entries("")[0])
            if token.text == "set" and (assignment := self.assignment(("to",))) is not None:
                return assignment
            heads = token.text in _HEADS and (self.begins_operand() or self.peek().text == "(")
            if not heads and not self.is_skipped():
                break
            self.head |= heads
            self.at += 1
        if self.token.text == "{":
            return None
        if not self.head:
            return self.method() or self.assignment() or self.expression()
        found = _some(self.assignment() or self.expression())
        while self.take(";"):  # `if x := f(); x > 0 {`
            self.head = True
            found += _some(self.assignment() or self.expression())
        return found[0] if len(found) == 1 else Node("list", self.token.line, parts=found)

    def assignment(self, signs: Collection[str] = _ASSIGNS, *, one: bool = False) -> Node | None:
        """Return an assignment, if one is here; `one` if it is an entry between brackets."""
        sign = self.find(signs, stop=(",",) if one else ())
        if (
            sign < 0
            and not one
            and (arrow := self.find(("=>", "by"))) > self.at + 1
            and self.token_at(arrow - 1).kind == "name"
        ):
            sign = arrow  # a property of C#, or a delegated one of Kotlin
        targets = _targets(self.tokens[self.at : sign]) if sign > self.at else ()
        if not targets:
            return None
        grouped = any(
            one.text == "(" and self.tokens[at - 1].text in _DECLARES
            for at, one in enumerate(self.tokens[self.at : sign], self.at)
        )
        line, text, self.at = self.token.line, self.tokens[sign].text, sign + 1
        self.skip_lines("\n")
        values = _some(self.expression()) if one else self.entries("")[0]
        value = values[0] if len(values) == 1 else Node("list", line, parts=values)
        return Node("set", line, text, (value, *targets), params=("(",) if grouped else ())

    def loop(self) -> Node | None:
        """Return the names of a loop with what it goes through; None if it only counts."""
        line, start = self.token.line, self.at
        self.at += 1
        self.take("each", "with")
        self.take(*_DECLARES)
        outer = self.peek(self.closing() - self.at).text not in _LOOP_SIGNS and self.take("(")
        at = self.find(_LOOP_SIGNS if outer or self.token.text == "(" else {*_LOOP_SIGNS, "("}, stop=("do",))
        if at < 0 or self.tokens[at].text == "=":
            self.at = start + (outer and at > 0)
            return None
        before = self.tokens[self.at : at]
        self.head = True
        if self.tokens[at].text == "as":
            value, self.at = self.expression(), at + 1
            before = self._until(")", "{")
        else:
            self.at = at + (self.tokens[at].text != "(")
            self.take("range")
            value = self.expression()
        if outer:
            self.take(")")
        self.take("do", ":")
        names = tuple(_bare(one.text) for one in before if one.kind == "name" and one.text not in _DECLARES)
        return Node("loop", line, parts=() if value is None else (value,), params=names)

    def _until(self, *texts: str) -> list[Token]:
        """Step over the tokens of the line up to one of these, and return them."""
        start = self.at
        while self.more and self.token.text not in texts and self.token.kind != "line":
            self.at += 1
        return list(self.tokens[start : self.at])

    def function(self) -> Node | None:
        """Return a function that begins with a keyword."""
        keyword = self.token
        if keyword.text == "def" and self.peek(2).text == "=":
            self.at += 1
            return self.assignment()
        self.at += 1
        if (
            keyword.text == "func"
            and self.token.text == "("
            and (closing := self.closing())
            and self.token_at(closing).kind == "name"
        ):
            self.at = closing  # after the receiver of a method
        name = ""
        while (
            self.more
            and (self.token.kind == "name" or self.token.text in (":", *_MEMBERS))
            and self.token.text not in _ENDS
        ):
            name = _bare(self.token.text) if self.token.kind == "name" else name
            self.at += 1
        return self.body(Node("function", keyword.line, name), keyword)

    def record(self) -> Node:
        """Return the constructor of a class whose head names its fields."""
        name = self.token
        self.at += 1
        closing = self.closing()
        inner, self.at = self.tokens[self.at + 1 : closing - 1], max(closing, self.at + 1)
        return Node("function", name.line, _bare(name.text), words=_defaults(inner), params=_parameters(inner))

    def method(self) -> Node | None:
        """Return a function that begins with its type, as in Java and C#."""
        if self.peek().kind != "name" and self.peek().text not in ("<", "[", ".", "?"):
            return None
        start = self.at
        while self.at < start + _TYPED and (self.token.kind == "name" or self.token.text in _METHOD_SIGNS):
            before = self.peek(-1)
            typed = before.text in ("]", ">") or (
                before.kind == "name" and before.text not in ("new", "await", "return")
            )
            if self.peek().text == "(" and self.at > start and typed:
                at = self.closing(1)
                while self.token_at(at).kind == "name" or self.token_at(at).text in (",", "."):
                    at += 1
                at += self.token_at(at).kind == "line" and self.token_at(at + 1).text == "{"
                if at and self.token_at(at).text in ("{", "=>"):
                    token = self.token
                    self.at += 1
                    return self.body(Node("function", token.line, _bare(token.text)), token)
                break
            self.at += 1
        self.at = start
        return None

    def body(self, node: Node, start: Token) -> Node:
        """Return a function with the parameters and the body that follow."""
        params: Names = ()
        if self.token.text == "(" and (closing := self.closing()):
            inner, self.at = self.tokens[self.at + 1 : closing - 1], closing
            params, node = _parameters(inner), node._replace(words=_defaults(inner))
        elif self.token.kind == "name":
            params = (_bare(self.token.text),)
        at = self.at
        while self.token_at(at).kind == "name" or self.token_at(at).text in _TYPE_SIGNS:
            at += 1
        at += self.token_at(at).kind == "line" and self.token_at(at + 1).text == "{"
        if self.token_at(at).text == "{":
            self.at = at + 1
            return node._replace(params=params, parts=self.statements("}"))
        while self.more and (self.token.text in ("->", ":", "?") or self.peek(-1).text in ("->", ":")):
            self.at += 1
        ends = any(one.text == "end" for one in self.tokens[self.at : self.at + _FAR])
        if self.take("=>", "=") or (node.kind == "block" and not ends):
            self.skip_lines()
            return node._replace(params=params, parts=_some(self.expression()))
        self.take("do")
        return node._replace(params=params, parts=self.statements("", start))

    # -- expressions -------------------------------------------------------------------------------------------------

    def entries(self, end: str, *, group: bool = False) -> tuple[tuple[Node, ...], tuple[tuple[str, Node], ...]]:
        """Return the expressions between commas up to a closing bracket or the end of the statement, and those with names.

        A `group` between round brackets is no call, so that what looks like a name of an argument is an assignment.
        """
        parts: list[Node] = []
        words: list[tuple[str, Node]] = []
        while self.more:
            if end:
                self.skip_lines()
                if self.take(end):
                    break
            at = self.at
            self.literal = end == "}"
            function = self.lambdas and self.token.kind == "name" and self.peek().text == "=>"
            name = "" if group and self.peek().text == "=" else self.key()
            value = (self.assignment(one=True) if end == ")" and not name else None) or self.expression()
            if value is not None and value.kind == "member" and value.params[1:]:
                value = _method_function(value, _it(value.line))
            if value is not None and function:
                body = value.parts if value.kind == "block" else (value,)
                parts.append(Node("block", value.line, parts=body, params=(name,)))
            if value is not None and name:
                words.append((name, value))
            elif value is not None:
                parts.append(value)
            if end:
                self.skip_lines()
            if self.take(","):
                self.skip_lines()
            elif not end:
                break
            self.at += self.at == at
        return tuple(parts), tuple(words)

    def key(self) -> str:
        """Step over the name of an argument or entry, and return it; return an empty text if it has none."""
        token, sign = self.token, self.peek()
        named = sign.text == "=" and token.kind == "name"
        colon = sign.text == ":" and not sign.spaced and (self.peek(2).spaced or token.kind != "name")
        if token.kind in ("name", "text", "symbol", "number") and (sign.text == "=>" or named or colon):
            self.at += 2
        elif token.text == "[" and self.peek(2).text == "]" and self.peek(3).text == "=":
            token = sign
            self.at += 4
        else:
            return ""
        self.skip_lines()
        return _bare(token.text) if token.kind == "name" else token.text.strip("'\":")

    def expression(self) -> Node | None:
        """Return the next expression; None if there is none."""
        if self.depth > _DEPTH:
            return Node("cut", self.token.line)
        self.depth += 1
        found: list[Node] = []
        signs: list[str] = []
        asked, self.asked = self.asked, False
        while (one := self.operand()) is not None:
            found.append(one)
            if self.token.text == "\n" and self.peek().text in ("+", ".", "..", "<>", "++", "|>"):
                self.skip_lines("\n")
            sign = self.token
            if sign.kind != "sign" or sign.text in (",", "=>", "{", "|", *_CLOSE, *_ASSIGNS):
                break
            if sign.text == ":" and not sign.spaced:
                break
            self.asked |= sign.text == "?"
            signs.append(sign.text)
            self.at += 1
            self.skip_lines("\n")
        self.asked = asked
        self.depth -= 1
        return _combined(found, signs)

    def operand(self) -> Node | None:
        """Return the next operand with everything that is called on it or taken from it."""
        while self.more:
            token, sign = self.token, self.peek()
            if token.text in _FUNCTIONS and sign.text in ("(", "{", "|"):
                self.at += 1
                return self.body(Node("block", token.line), token)
            if token.text in _HEADS and self.begins_operand():
                return None
            if token.kind == "name" and token.text[0] not in "$@" and sign.text == "->" and sign.spaced:
                return self.arrow((_bare(token.text),))
            if token.text == "->" and sign.text in ("(", "{"):
                self.at += 1
                return self.body(Node("block", token.line), token)
            if token.text == "|" and (params := self.bars()) is not None:
                return self.short_function(params)
            if token.text == "&" and sign.kind == "symbol":
                self.at += 2
                return _method_function(Node("member", sign.line, sign.text[1:], (_it(sign.line),)))
            prefix = token.kind == "sign" and (token.text in _PREFIXES or token.text in ("...", "**", "&&", "|", "->"))
            if not prefix and token.kind != "pattern" and not self.is_skipped():
                break
            self.at += 1
        return self.postfix(self.atom())

    def bars(self) -> Names | None:
        """Return the parameters between bars, and step over them; None if there are none."""
        closing = next((at for at in range(self.at + 1, self.at + 16) if self.token_at(at).text == "|"), 0)
        if self.token.text != "|" or not closing:
            return None
        params, self.at = _parameters(self.tokens[self.at + 1 : closing]), closing + 1
        return params

    def arrow(self, params: Names) -> Node:
        """Return a function that is written with an arrow after its parameters."""
        self.at += self.token.kind == "name"
        self.at += 1
        self.skip_lines()
        return self.short_function(params)

    def short_function(self, params: Names) -> Node:
        """Return a function without a name, whose body is a block or an expression."""
        line = self.token.line
        return (
            self.block(params) if self.take("{") else Node("block", line, parts=_some(self.expression()), params=params)
        )

    def block(self, params: Names = ()) -> Node:
        """Return the statements up to a closing brace."""
        return Node("block", self.token.line, parts=self.statements("}"), params=params)

    def atom(self) -> Node | None:
        """Return the next literal, name or bracket."""
        token, line = self.token, self.token.line
        if token.kind == "line" or token.text in _CLOSE or token.text in (",", "=>", ":"):
            return None
        self.at += 1
        if token.kind in _TEXTS:
            return _text(token)
        if token.kind == "command":
            return _text(token)._replace(kind="raw" if self.raw and token.text[0] == "`" else "command")
        if token.kind == "name":
            return Node("name", line, _bare(token.text), params=(token.text[0],) if token.text[0] in "$@" else ())
        if token.text == "(":
            parts, words = self.entries(")", group=True)
            if self.token.text == "=>":
                return self.arrow(tuple(one.text for one in parts if one.kind == "name"))
            return parts[0] if len(parts) == 1 and not words else _collection(line, parts, words)
        if token.text == "[":
            if self.token.text == "]" and self.peek().kind == "name" and not self.peek().spaced:  # a type of Go
                self.at += 1
                self._until("{", "(", ",", ")", "]")
                if not self.take("{", "("):
                    return Node("list", line)
            return _collection(line, *self.entries(_OPEN[self.peek(-1).text]))
        if token.text == "{":
            return _collection(line, *self.entries("}")) if self.literal else self.braces()
        return Node("number", line, token.text)

    def braces(self, *, trailing: bool = False) -> Node:
        """Return what is between braces: the entries of a map, or statements with their parameters.

        A block is `trailing` if it stands after a call.
        """
        start, line = self.at, self.token.line
        self.skip_lines()
        listed = self.token.text in ("}", "{", "%") or (self.token.kind in ("text", "name") and self.peek().text == ",")
        listed = listed or (self.token.kind == "text" and self.peek().text == "}" and not trailing)
        if listed or self.key():
            self.at = start
            return _collection(line, *self.entries("}"))
        self.at = start
        params = self.bars()
        if params is None and self.token.text == "[" and self.find(("in",)) > 0:
            self.at = self.closing()  # after what a closure of Swift captures
        if params is None and (sign := self.find(("->", "in", "=>"))) > 0 and sign - self.at < 12:
            named = self.tokens[self.at : sign]
            if all(one.kind == "name" or one.text in (",", "(", ")", ":") for one in named):
                params, self.at = _parameters(named), sign + 1
        return self.block(params or ())

    def postfix(self, node: Node | None) -> Node | None:
        """Return an operand with the calls, members and items that follow it."""
        while node is not None and self.more:
            token = self.token
            called = node.kind in ("name", "member", "call")
            if token.text in ("!", "?") and not token.spaced and (self.peek().kind != "name" or self.peek().spaced):
                self.at += 1
            elif token.text == "(" and (not token.spaced or node.kind == "member") and node.kind != "number":
                self.at += 1
                parts, words = self.entries(")")
                node = Node("call", token.line, parts=(node, *parts), words=words)
            elif token.text == "[" and not token.spaced and node.kind != "number":
                self.at += 1
                node = Node("index", token.line, parts=(node, *self.entries("]")[0][:1]))
            elif node.kind == "index" and token.kind == "name" and not token.spaced:
                self._until("{", "(", ",", ")")  # the rest of a type of Go
            elif token.text == "{" and (node.kind in ("index", "list") or (called and not token.spaced)):
                self.at += 1
                node = self.braced(node)
            elif token.text == "{" and called and not self.head:
                self.at += 1
                node = self.with_block(node)
            elif token.text == "do" and called and not self.head and self.peek().text == "|":
                self.at += 1
                return Node("loop", token.line, parts=(node,), params=self.bars() or ())
            elif self.begins_argument(node):
                node = self.bare_call(node)
            else:
                found = self.member(node)
                if found is None:
                    return node
                node = found
        return node

    def member(self, node: Node) -> Node | None:
        """Return a member of an operand; None if no name of one follows."""
        token, following = self.token, self.peek()
        if (
            token.text == "\n"
            and following.text in (".", "->", "?.", "&.")
            and following.text in self.members
            and not self.head
        ):
            self.at += 1
            return node
        colon = token.text == ":" and not token.spaced and not self.asked and self.peek(2).text in ("(", "{")
        if token.text not in self.members and not colon:
            return None
        if token.text == "." and self.joins(node):
            return None
        if token.text == "->" and following.text in ("{", "["):
            self.at += 1
            return node
        if following.text == "(":  # a call of what is here
            self.at += 1
            return node
        if following.kind not in ("name", "symbol") or (token.text == "." and token.spaced and following.spaced):
            return None
        self.at += 2
        refers = token.text == "::" and self.token.text in (",", ")") and following.text[0].islower()
        signs = ("::", "refers") if refers else ("::",) if token.text == "::" else ()
        return Node("member", following.line, _bare(following.text), (node,), params=signs)

    def joins(self, node: Node) -> bool:
        """Return whether a dot joins texts, as in PHP and Perl: beside texts and variables with a sigil, or a function."""
        following = self.peek()
        if following.kind in _TEXTS or following.text[0] in "$@" or (self.token.spaced and following.spaced):
            return True
        name = _bare(following.text)
        own = node.kind == "text" or node.params == ("$",)
        return (
            own
            and self.peek(2).text == "("
            and find_row("code", name) is not None
            and find_row("code", f"*.{name}") is None
        )

    def braced(self, node: Node) -> Node:
        """Return an item of a Perl hash, a call with a table of Lua, or a literal of a named type."""
        line = self.token.line
        if node.kind == "name" and (node.text == "eval" or node.text in _LISTERS):
            return self.with_block(node)
        if self.peek().text == "}" and self.token.kind in ("name", "text"):
            word = self.token.text
            self.at += 2
            index = Node("name", line, _bare(word)) if word[0] in "$@" else Node("text", line, word.strip("'\""))
            return Node("index", line, parts=(node, index))
        parts, words = self.entries("}")
        root = node
        while root.kind == "index":
            root = root.parts[0]
        if root.kind == "name" and root.params:  # an item in a Perl hash
            return Node("index", line, parts=(node, *parts[:1]))
        if node.kind in ("name", "member") and node.text[:1].islower():
            return Node("call", line, parts=(node, *parts), words=words)
        if node.kind == "index" or words or len(parts) != 1:
            return _collection(line, parts, words)
        return Node("index", line, parts=(node, *parts))

    def with_block(self, node: Node) -> Node:
        """Return a call with a block as its last argument; functions of Perl take a list after it."""
        block = self.braces(trailing=True)
        if node.kind == "name" and node.text in _WRITERS:  # `print {$handle} ...`
            return Node("call", node.line, parts=(node, *block.parts[:1], *self.entries("")[0]))
        parts = (*(node.parts if node.kind == "call" else (node,)), block)
        if node.kind == "name" and node.text in _LISTERS:
            parts = (*parts, *self.entries("")[0])
        return Node("call", node.line, parts=parts, words=node.words)

    def begins_argument(self, node: Node) -> bool:
        """Return whether the next token is the first argument of a call without brackets."""
        token, following = self.token, self.peek()
        if node.kind not in ("name", "member") or not token.spaced:
            return False
        if token.kind in _TEXTS or token.kind in ("command", "number"):
            return True
        if token.kind == "name":
            return token.text not in _ENDS and token.text not in _HEADS and token.text not in _BETWEEN
        if token.text == "%":
            return following.kind == "name" and not following.spaced
        return (
            token.text in ("(", "[", "<")
            and not following.spaced
            and not self.head
            and (token.text == "(" or node.kind == "name")
        )

    def bare_call(self, node: Node) -> Node:
        """Return a call without brackets; what writes may name a handle before what it writes."""
        line = self.token.line
        handle: tuple[Node, ...] = ()
        following = self.peek()
        if (
            node.text in _WRITERS
            and self.token.kind == "name"
            and following.spaced
            and following.kind in ("name", *_TEXTS)
        ):
            handle = _some(self.atom())
        parts, words = self.entries("")
        return Node("call", line, parts=(node, *handle, *parts), words=words)


def _it(line: int) -> Node:
    return Node("name", line, "it")


def _method_function(method: Node, *args: Node) -> Node:
    """Return a method that is passed as a function: a block that calls it."""
    return Node("block", method.line, parts=(Node("call", method.line, parts=(method, *args)),), params=("it",))


def _some(node: Node | None) -> tuple[Node, ...]:
    return () if node is None else (node,)


def _collection(line: int, parts: tuple[Node, ...], words: tuple[tuple[str, Node], ...]) -> Node:
    return Node("map" if words else "list", line, parts=parts, words=words)


def _bare(name: str) -> str:
    return name.lstrip("$@").rstrip("!?")


def _combined(found: list[Node], signs: list[str]) -> Node | None:
    """Combine operands into one expression; concatenation binds most tightly."""
    if len(found) < 2:
        return found[0] if found else None
    groups: list[list[Node]] = [[found[0]]]
    for sign, one in zip(signs, found[1:], strict=False):
        if sign in _JOINS:
            groups[-1].append(one)
        elif sign == "|>" and one.kind == "call":
            groups[-1] = [one._replace(parts=(one.parts[0], _joined(groups[-1]), *one.parts[1:]))]
        elif sign == "<<":
            groups[-1] = [Node("call", one.line, parts=(Node("member", one.line, "<<", (_joined(groups[-1]),)), one))]
        else:
            groups.append([one])
    parts = tuple(map(_joined, groups))
    return parts[0] if len(parts) == 1 else Node("mixed", parts[0].line, parts=parts)


def _joined(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Node("joined", parts[0].line, parts=tuple(parts))


def _targets(left: Sequence[Token]) -> tuple[Node, ...]:
    """Return the names, members or items on the left side of an assignment, without their types."""
    declared = left[0].text in _DECLARES
    found: list[Node] = []
    for segment in _segments([one for one in left if one.text not in _DECLARES]):
        typed = next((at for at, one in enumerate(segment) if one.text == ":" and at), 0)
        some = segment[:typed] if typed else segment
        if declared and len(some) > 1 and some[0].kind == some[1].kind == "name":
            some = some[:1]  # the type stands after the name
        names = [
            at
            for at, one in enumerate(some)
            if one.kind == "name"
            and (not at or some[at - 1].kind == "name" or some[at - 1].text in (">", "]", "*", "%", "&"))
        ]
        node = _Parser(some[names[-1] :]).expression() if names else None
        if node is not None and node.kind == "call":  # a pattern, `Some(x)`
            found += [one for one in node.parts[1:] if one.kind == "name"]
        elif node is not None and node.kind in ("name", "member", "index"):
            found.append(node)
    return tuple(found)


def _segments(given: Sequence[Token]) -> list[list[Token]]:
    """Return tokens split at the commas outside brackets, without brackets around all of them."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in given[1:-1] if given and given[0].text == "(" else given:
        depth += (
            (token.text in _OPEN)
            - (token.text in _CLOSE)
            + (token.text == "<" and not token.spaced)
            - (token.text == ">")
        )
        if token.text == "," and depth <= 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _parameters(given: Sequence[Token]) -> Names:
    """Return the names of parameters, whose types stand before them or after them."""
    found: list[str] = []
    for segment in _segments(given):
        if segment and segment[0].text == "(":
            found += _parameters(segment)
            continue
        end = next((at for at, one in enumerate(segment) if one.text in (":", "=")), len(segment))
        names = [
            one.text for one in segment[:end] if one.kind == "name" and one.text not in (*_DECLARES, "vararg", "params")
        ]
        if names:
            sigil = next((name for name in names if name[0] in "$@"), "")
            labelled = end < len(segment) and segment[end].text == ":"
            typed = len(names) > 1 and (labelled or names[0][0].isupper() or names[0] in _TYPES)
            rest = any(one.text in ("...", "*", "vararg", "params") for one in segment[:end]) and segment[0].text != "&"
            found.append(f"{'*' if rest else ''}{_bare(sigil or names[-1 if typed else 0])}")
    return tuple(found)


def _defaults(given: Sequence[Token]) -> tuple[tuple[str, Node], ...]:
    """Return the values of the parameters that have one, by name."""
    found: list[tuple[str, Node]] = []
    for segment in _segments(given):
        sign = next((at for at, one in enumerate(segment) if one.text == "="), 0)
        if not sign and len(segment) > 2 and segment[1].text == ":" and segment[2].kind in ("text", "number"):
            sign = 1  # a keyword argument of Ruby
        value = _Parser(segment[sign + 1 :]).expression() if sign else None
        if value is not None:
            found += [(name, value) for name in _parameters(segment[:sign])]
    return tuple(found)


# --- texts --------------------------------------------------------------------------------------------------------------

_PLACE = expression(
    r"(\$System\.env\.\w{1,60}|#\{[^{}\n]{1,300}\}|\$\{[^{}\n]{1,300}\}"
    r"|\$\{?[A-Za-z_]\w{0,60}\}?(?:->\w{1,60}|\{\w{1,60}\}|\[[\"']?\w{1,60}[\"']?\])?|@\{[^{}\n]{1,100}\}"
    r"|\\\((?:[^()\n]|\([^()\n]{0,100}\)){1,200}\)|\{[$\w.]{0,60}(?::[^{}\n]{0,20})?\}|%[-+]?\d{0,3}[svqd@])"
)
"""A place in a text where a program puts a value."""
_ESCAPED = expression(r"\\(?:([nt0re])|([\"'$`\\#@]))")
_ESCAPES = {"n": "\n", "t": "\t"}


def _text(token: Token) -> Node:
    """Return a text with the places where a program puts values into it."""
    text, line = token.text, token.line
    if token.kind == "symbol":
        return Node("text", line, text[1:])
    if token.kind == "quoted" and text[0] == "r":
        return Node("text", line, text[text.index('"') + 1 : text.rindex('"')])
    if token.kind == "quoted" and text[:2] in ("%w", "%W", "qw"):
        return Node("list", line, parts=tuple(Node("text", line, word) for word in text[3:-1].split()))
    begin = 2 if token.kind == "long" else next((at for at, sign in enumerate(text[:6]) if sign in "\"'`([{/"), 0)
    inner = text[begin + 1 : -1 - begin if token.kind == "long" else -1]
    if text[begin] == "'" and token.kind != "long":
        return Node("text", line, inner.replace("\\'", "'"))
    parts: list[Node] = []
    for number, piece in enumerate(_PLACE.split(inner)):
        if number % 2:
            parts.append(Node("put", line, piece, _some(_placed(piece))))
        elif piece:
            parts.append(Node("text", line, _unescaped(piece)))
    return parts[0] if len(parts) == 1 and parts[0].kind == "text" else Node("text", line, parts=tuple(parts))


def _placed(piece: str) -> Node | None:
    """Return the expression in a place of a text; None for a place that a function fills."""
    if piece[0] == "%":
        return None
    code = (
        piece[1:].removeprefix("{").removesuffix("}" if piece[1] == "{" else "")
        if piece[0] == "$"
        else piece.lstrip("#\\@")
    )
    code = code[1:-1] if piece[0] in "#\\{@" else code
    return _Parser(tokens(code)).expression() if code else None


def _unescaped(text: str) -> str:
    return (
        _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], "") if found[1] else found[2], text) if "\\" in text else text
    )
