"""PowerShell programs as the trees that `syntax` makes of other languages.

A pipeline is a chain of methods: `a | b c` is read like `a.b(c)`. Names are read without regard to case, aliases as the commands
that they stand for, and backslashes in paths as slashes. The statements of branches and loops follow each other. A text of any kind
has a tree, however wrong it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING

from whet.guard.code.syntax import Names, Node
from whet.guard.expression import expression
from whet.guard.tables import load_toml, words
from whet.guard.taint.call import find_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DEPTH = 50
"""Maximum depth of brackets that are read."""
_MOST_NUMBERS = 200
"""Maximum number of numbers in a range."""
_TYPE_NAME = r"[A-Za-z_][\w.+]{0,120}(?:`\d)?(?:\[[\w.,\[\] ]{0,120}\])?"
_GAP = expression(r"(?:[\s;,]|`\n|#[^\n]{0,20000})+")
_SPACE = expression(r"(?:[ \t\r\f\v\xa0]|`\n)+")
_COMMENT = expression(r"#[^\n]{0,20000}")
_KEYWORD = expression(
    r"(if|elseif|else|while|do|until|foreach|for|switch|function|filter|workflow|param|return|throw|exit|break|continue|try|catch"
    r"|finally|trap|class|enum|using|(?:begin|process|end|clean|dynamicparam|default)(?=\s{0,80}\{))(?![\w-])",
    re.IGNORECASE,
)
_FUNCTION = expression(r"\b(?:function|filter|workflow)\s{1,9}(?:\w{1,20}:)?([\w:-]{1,80})", re.IGNORECASE)
_FOREACH = expression(r"\s{0,20}\(\s{0,20}\$(?:\w{1,10}:)?(\w{1,80})\s{1,20}in\b", re.IGNORECASE)
_METHOD = expression(
    rf"(?:(?:static|hidden)\s{{1,9}}){{0,2}}(?:\[{_TYPE_NAME}\]\s{{0,9}})?([A-Za-z_]\w{{0,80}})\s{{0,9}}(?=\()",
    re.IGNORECASE,
)
_ASSIGNS = expression(r"(\+|-|\*|/|%|\?\?)?=(?!=)")
_BINARY = expression(
    r"-[ci]?(f|join|split|replace|match|like|notmatch|notlike|eq|ne|gt|ge|lt|le|contains|notcontains|in|notin|and|or|xor|band|bor|bxor|shl|shr|as"
    r"|is|isnot)(?![\w-])|(\.\.|\?\?(?!=)|[+*/%](?!=)|-(?![=A-Za-z-]))",
    re.IGNORECASE,
)
_UNARY = expression(r"!|-(?:not|bnot)(?![\w-])|\+\+|--|\+(?=[\w$('\"])|-(?=[$(\d])|,", re.IGNORECASE)
_GATHERS = expression(r"-(join|split)(?![\w-])", re.IGNORECASE)
_VARIABLE = expression(
    r"\$(?:\{([^}\n]{1,200})\}|((?:(?:script|global|local|private|using|env|variable|function):)?(?:[^\W\d]\w{0,80}|[$?^])|\d{1,2}))",
    re.IGNORECASE,
)
_TYPE = expression(rf"\[\s{{0,9}}({_TYPE_NAME})\s{{0,9}}\]")
_NUMBER = expression(r"(0x[0-9a-f]{1,16}|\d{1,20}(?:\.\d{1,20})?)(?:[lun]|[kmgt]b)?(?![\w])", re.IGNORECASE)
_STRING = expression(r"\"((?:[^\"`]|`[\s\S]|\"\"){0,40000})\"|'((?:[^']|''){0,40000})'")
_DOCUMENT = expression(r"@(\"|')[ \t]{0,40}(?=\n)")
_NAME = expression(r"(?:`.|[^\s|;&<>(){}\"'`$,@#])(?:`.|[^\s|;&<>(){}\"'`$,])*")
_FLAG = expression(r"-([^\W\d]\w{0,60}(?:-\w{1,60})*)(:?)(?=[\s:|;&)},\"'$(@]|\Z)")
_SPLAT = expression(r"@(?:\w{1,10}:)?([^\W\d]\w{0,80})")
_REDIRECT = expression(r"([*\d]?)>(>?)(&\d)?")
_WORD = expression(r"(?:`.|[^\s|;&<>(){}\"'`$,])+")
_MEMBER = expression(r"\??(\.|::)(?:([^\W\d]\w{0,100})|(?=[\"'$(]))")
_KEY = expression(r"[\w-]{1,120}(?=\s{0,40}=)")
_PLACE = expression(r"\{(\d{1,2})[^{}]{0,40}\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "`": "`"}
_REGISTRY = expression(r"(?:registry::)?hk(?:cu|lm|ey|u|cr)", re.IGNORECASE)
_VERB = expression(r"[a-z]{2,12}-[a-z]\w{0,60}$")
_WEB = frozenset(("uri", "body", "headers", "method", "outfile", "infile", "form", "usebasicparsing", "contenttype"))
"""Parameters of the commands for which PowerShell takes the names of curl and wget."""
_THROWN = "(thrown)"
"""The name of what is thrown and caught."""
_HEADS = frozenset(("if", "elseif", "while", "until", "switch", "catch", "trap", "for"))


def parse(text: str) -> tuple[Node, ...]:
    """Return the statements of a PowerShell program."""
    return _Parser(text, frozenset(found.lower() for found in _FUNCTION.findall(text))).statements("")


@cache
def _spellings() -> dict[str, str]:
    """Return how the table of calls spells the members and classes of .NET, by their lower-case names."""
    rows = load_toml("code_calls")["call"]
    names = (
        part for row in rows for name in (*row.get("names", ()), *row.get("verbs", ())) for part in name.split(".")
    )
    return {name.lower(): name for name in names if name[:1].isupper() and not name.isupper()}


def spelled(name: str) -> str:
    """Return a member or class as the table of calls spells it."""
    return _spellings().get(name.lower(), name)


def full_name(command: str) -> str:
    """Return the name of the command that an alias stands for."""
    return str(load_toml("powershell")["aliases"].get(command, command))


class _Parser:
    """The state of parsing one program, or one text with values in it."""

    def __init__(self, text: str, own: frozenset[str], line: int = 1, depth: int = 0) -> None:
        self.text = text
        self.own = own
        """The names of the functions of the program."""
        self.first = line
        self.ends = [found.start() for found in re.finditer("\n", text)]
        self.at = 0
        self.depth = depth
        self.pattern = False
        """Whether the operand is a pattern, whose backslashes are none of paths."""

    @property
    def line(self) -> int:
        """The number of the current line."""
        return self.first + bisect_left(self.ends, self.at)

    @property
    def sign(self) -> str:
        """The current character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def see(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of a pattern at the current position."""
        return pattern.match(self.text, self.at)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of a pattern at the current position, and step over it."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found is not None else self.at
        return found

    def gap(self) -> bool:
        """Step over white space, comments and the ends of statements; return whether there were any."""
        return self.skip(_GAP)

    def space(self) -> bool:
        """Step over white space within a line, and comments; return whether there was any."""
        return self.skip(_SPACE)

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Step over what a pattern matches, and over comments that have an end; return whether there was any."""
        before = self.at
        while self.take(pattern) is not None or self.text.startswith("<#", self.at):
            if self.text.startswith("<#", self.at):
                self.at = _end(self.text, "#>", self.at) + 2
        return self.at > before

    def step(self, sign: str) -> bool:
        """Step over a sign, and return whether it was there."""
        there = self.text.startswith(sign, self.at)
        self.at += len(sign) if there else 0
        return there

    def node(self, kind: str, text: str = "", *parts: Node, words: Sequence[tuple[str, Node]] = ()) -> Node:
        """Return a node at the current line."""
        return Node(kind, self.line, text, parts, tuple(words))

    # -- statements --------------------------------------------------------------------------------------------------

    def statements(self, end: str) -> tuple[Node, ...]:
        """Return the statements up to a closing bracket, or to the end of the text.

        What a statement of a block prints is a part of its result, so it is read like the value of a `return`.
        """
        found: list[Node] = []
        self.depth += 1
        while True:
            self.gap()
            if self.at >= len(self.text) or (end and self.step(end)):
                break
            before = self.at
            if self.depth > _DEPTH:
                found.append(self.node("cut"))
                self.at = len(self.text)
            for node in [self.pipeline()] if end == ")" and self.sign == "{" else self.statement():
                prints = end != ")" and node.kind not in ("set", "loop", "return", "function", "cut")
                found.append(Node("return", node.line, "", (node,)) if prints else node)
            self.at += self.at == before
        self.depth -= 1
        return tuple(found)

    def statement(self) -> list[Node]:
        """Return a statement, and those that belong to it."""
        found = self.see(_KEYWORD)
        word = found[1].lower() if found is not None else ""
        if found is None:
            return list(self.statements("}")) if self.step("{") else [self.pipeline()]
        self.at = found.end()
        if word in ("function", "filter", "workflow"):
            return [self.function()]
        if word == "param":
            defaults = self.parameters()[1]
            return [Node("set", value.line, "=", (value, Node("name", value.line, name))) for name, value in defaults]
        if word == "class":
            return self.members()
        if word in ("using", "enum"):
            self.at = _end(self.text, "\n", self.at)
            return []
        if word in ("return", "throw", "exit", "break", "continue"):
            self.space()
            value = () if self.sign in ("", "\n", ";", "}", "#") else (self.value(),)
            if word == "throw" and value:
                return [Node("set", value[0].line, "=", (*value, Node("name", value[0].line, _THROWN)))]
            return [self.node("return", "", *value)] if word == "return" else list(value)
        return self.branch(word)

    def branch(self, word: str) -> list[Node]:
        """Return the condition and the statements of a branch or loop."""
        found: list[Node] = []
        if word == "foreach" and (loop := self.take(_FOREACH)) is not None:
            line, around = self.line, self.statements(")")
            self.gap()
            body = self.statements("}") if self.step("{") else ()
            return [
                Node("loop", line, "", (*(around[-1:] or (self.node("nothing"),)), *body), params=(loop[1].lower(),))
            ]
        if word in _HEADS:
            while self.gap() or self.take(_FLAG) or self.take(_TYPE):
                pass
            head = self.statements(")") if self.step("(") else ()
            found += head
            if word == "switch" and head:
                found.append(Node("loop", head[-1].line, parts=head[-1:], params=("_", "matches")))
        if word in ("catch", "trap"):
            thrown = Node("name", self.line, _THROWN, params=("$",))
            found.append(Node("set", self.line, "=", (thrown, self.node("name", "_"))))
        self.gap()
        return [*found, *(self.statements("}") if self.step("{") else ())]

    def function(self) -> Node:
        """Return a function of the program."""
        self.space()
        line, name = self.line, self.take(_NAME)
        self.gap()
        names, defaults = self.parameters() if self.sign == "(" else ((), ())
        self.gap()
        body = self.block() if self.step("{") else self.node("block")
        own = name[0].lower().rpartition(":")[2] if name is not None else ""
        return Node("function", line, own, body.parts, (*defaults, *body.words), names or body.params)

    def members(self) -> list[Node]:
        """Return the methods of a class, and its fields with their values."""
        self.at = _end(self.text, "{", self.at) + 1
        found: list[Node] = []
        while self.at < len(self.text):
            self.gap()
            if self.step("}"):
                break
            before, line = self.at, self.line
            if (method := self.take(_METHOD)) is not None:
                names, defaults = self.parameters()
                self.gap()
                body = self.block() if self.step("{") else self.node("block")
                found.append(Node("function", line, spelled(method[1]), body.parts, defaults, names))
            else:
                found += self.statement()
            self.at += self.at == before
        return found

    def parameters(self) -> tuple[Names, tuple[tuple[str, Node], ...]]:
        """Return the names of parameters, and their values if they are left out."""
        names: list[str] = []
        defaults: list[tuple[str, Node]] = []
        self.gap()
        if not self.step("("):
            return (), ()
        while self.at < len(self.text):
            self.gap()
            if self.step(")"):
                break
            if self.sign == "[":
                self.skip_brackets()
            elif (found := self.take(_VARIABLE)) is not None:
                names.append((found[1] or found[2]).lower())
                self.gap()
                if self.step("="):
                    self.gap()
                    defaults.append((names[-1], self.expression(commas=False)))
            else:
                self.at += 1
        return tuple(names), tuple(defaults)

    def skip_brackets(self) -> None:
        """Step over square brackets with all that is in them."""
        depth = 0
        while self.at < len(self.text):
            text = self.take(_STRING)
            sign = "" if text else self.sign
            self.at += bool(sign)
            depth += (sign == "[") - (sign == "]")
            if not depth:
                return

    def block(self) -> Node:
        """Return a script block after its opening brace."""
        line = self.line
        self.gap()
        while self.sign == "[" and self.see(_TYPE) is None:
            self.skip_brackets()
            self.gap()
        found = self.see(_KEYWORD)
        names: Names = ()
        defaults: tuple[tuple[str, Node], ...] = ()
        if found is not None and found[1].lower() == "param":
            self.at = found.end()
            names, defaults = self.parameters()
        return Node("block", line, "", self.statements("}"), defaults, names)

    # -- pipelines ---------------------------------------------------------------------------------------------------

    def value(self) -> Node:
        """Return what is assigned or returned: a pipeline, or what a statement prints."""
        if (found := self.see(_KEYWORD)) is not None and found[1].lower() not in ("end", "process"):
            nodes = self.statement()
            while (more := self.other()) is not None:
                nodes += more
            return self.node("group", "", *nodes)
        return self.pipeline()

    def other(self) -> list[Node] | None:
        """Return the next branch of a statement; None if there is none."""
        before = self.at
        self.gap()
        found = self.see(_KEYWORD)
        if found is not None and found[1].lower() in ("else", "elseif", "catch", "finally"):
            return self.statement()
        self.at = before
        return None

    def pipeline(self) -> Node:
        """Return a pipeline, whose commands are methods of what comes before them."""
        node = self.element()
        while True:
            self.space()
            if self.text.startswith(("&&", "||"), self.at):
                self.at += 2
                self.gap()
                node = self.node("mixed", "", node, self.element())
            elif self.step("|"):
                self.gap()
                node = self.command(node)
            else:
                arrow = self.take(_REDIRECT) if self.sign == ">" else None
                if arrow is None:
                    self.step("&")
                    return node
                self.space()
                node = _written(node, self.argument(), append=bool(arrow[2]))

    def element(self) -> Node:
        """Return an expression, an assignment or a command."""
        self.space()
        if self.sign and (self.sign in "$\"'(@{[!+," or self.sign.isdigit() or self.see(_GATHERS) or self.see(_UNARY)):
            node = self.expression()
            self.space()
            found = self.take(_ASSIGNS)
            if found is None:
                return node
            self.gap()
            targets = node.parts if node.kind == "list" else (node,)
            return Node("set", node.line, "+=" if found[1] == "+" else "=", (self.value(), *targets))
        return self.command(None)

    def command(self, given: Node | None) -> Node:
        """Return a call of a command; `given` is its input."""
        line = self.line
        name: str | None = None
        target: Node | None = None
        if self.sign in ("&", ".") and (self.sign == "&" or self.text[self.at + 1 : self.at + 2] in (*" \t$\"'({",)):
            self.at += 1
            self.space()
            target = self.argument()
            name = _constant(target)
        elif (found := self.take(_NAME)) is not None:
            name = found[0].replace("`", "")
        else:
            return self.node("nothing")
        items, document = self.arguments()
        if target is not None and name is None:
            parts, named = _split(items)
            input_ = (("input", given),) if given is not None else ()
            node = Node("call", line, "", (Node("name", line, "(invoke)"), target, *parts), (*named, *input_))
        else:
            node = self.named(name or "", items, given, line)
        if document is None:
            return node
        return _written(node, document[0], append=document[1])

    def named(self, name: str, items: list[tuple[str, Node]], given: Node | None, line: int) -> Node:
        """Return a call of a command by its name: a function of the program, a command of PowerShell, or a program."""
        low = name.lower().rpartition("\\")[2] if "-" in name and "\\" in name else name.lower()
        client = low in ("curl", "wget") and not any(
            len(flag) > 3 and _parameter(flag[1:].lower()) in _WEB for flag, _ in items
        )
        verb = low if low in self.own or client else full_name(low)
        if verb not in self.own and find_row("code", f"*.{verb}") is None and not _is_cmdlet(verb):
            return self.program(name, items, given, line)
        if (verb == "foreach-object" or verb == "select-object") and given is not None:
            member = next(
                (node for flag, node in items if flag.lower() in ("", "-expandproperty", "-membername")), None
            )
            if member is not None and member.kind == "text" and member.text.isidentifier():
                return Node("member", line, spelled(member.text), (given,))
        parts, named = _split(items, own=verb in self.own or verb == "where-object")
        if verb == "new-object":
            return _made(line, parts, dict(named))
        owner = given if given is not None else Node("nothing", line)
        own = verb in self.own and given is None
        callee = Node("name", line, verb) if own else Node("member", line, verb, (owner,))
        return Node("call", line, "", (callee, *parts), tuple(named))

    def program(self, name: str, items: list[tuple[str, Node]], given: Node | None, line: int) -> Node:
        """Return a call of a program with its words."""
        bare = _path(name)
        bare = bare if "/" in bare else re.sub(r"\.exe$", "", bare, flags=re.IGNORECASE)
        parts = [Node("text", line, bare)]
        for _, node in items:
            if parts[-1].kind == "text" and parts[-1].text[:1] == "-" and parts[-1].text[-1:] == ":":  # `-s:file`
                parts[-1] = _joined(line, (parts[-1], node))
                continue
            between = Node("text", line, ",")
            listed = [one for part in node.parts for one in (between, part)][1:]
            parts.append(Node("joined", line, "", tuple(listed)) if node.kind == "list" else node)
        input_ = (("input", given),) if given is not None else ()
        return Node("call", line, "", (Node("name", line, "(program)"), *parts), input_)

    def arguments(self) -> tuple[list[tuple[str, Node]], tuple[Node, bool] | None]:
        """Return the arguments of a command, each with its name if it has one, and the file that its output goes to.

        A name without a value is an argument of the text that it is written as.
        """
        items: list[tuple[str, Node]] = []
        document: tuple[Node, bool] | None = None
        while True:
            blank = self.space()
            sign = self.sign
            if not sign or sign in "\n;|)}" or self.text.startswith("&&", self.at):
                return items, document
            before = self.at
            if sign == "#" and blank:
                self.take(_COMMENT)
            elif sign == "&":
                self.at += 1
            elif (arrow := self.take(_REDIRECT)) is not None:
                self.space()
                place = self.argument() if not arrow[3] else None
                if place is not None and place.kind != "nothing" and arrow[1] in ("", "1", "*"):
                    document = (place, bool(arrow[2]))
            elif (flag := self.take(_FLAG)) is not None:
                items.append((f"-{flag[1]}", self.node("text", flag[0])))
            elif sign == "@" and (splat := self.take(_SPLAT)) is not None:
                items.append((f"@{splat[1].lower()}", self.node("name", splat[1].lower())))
            else:
                items.append(("", self.argument()))
            self.at += self.at == before

    def argument(self) -> Node:
        """Return an argument of a command, which may be a list."""
        found = [self.word()]
        while True:
            before = self.at
            self.space()
            if not self.step(","):
                self.at = before
                return found[0] if len(found) == 1 else Node("list", found[0].line, "", tuple(found))
            self.gap()
            found.append(self.word())

    def word(self) -> Node:
        """Return a word of a command, which may be put together from texts and values."""
        line = self.line
        parts: list[Node] = []
        while self.sign and not self.sign.isspace() and self.sign not in "|;&<>),}" and len(parts) < 100:
            before = self.at
            if parts and parts[-1].kind == "text" and self.sign == "(":  # another argument, as in `New-Object Name(1)`
                break
            if self.sign in "$\"'({" or self.text.startswith(("@(", "@{", '@"', "@'"), self.at):
                parts.append(self.operand(bare=True))
            elif (found := self.take(_WORD)) is not None:
                parts.append(Node("text", line, _path(re.sub("`(.)", r"\1", found[0]))))
            self.at += self.at == before
        return _joined(line, parts)

    # -- expressions -------------------------------------------------------------------------------------------------

    def expression(self, *, commas: bool = True) -> Node:
        """Return operands and the operators between them as one expression."""
        found, signs = [self.operands(commas=commas)], list[str]()
        while len(found) < 400:
            before = self.at
            self.space()
            sign = self.take(_BINARY)
            if sign is None:
                if self.at > before and self.text.startswith("? ", self.at):  # one value or another
                    self.at += 1
                    one = self.expression(commas=False)
                    self.gap()
                    other = self.expression(commas=False) if self.step(":") else one
                    return self.node(
                        "group", "", Node("return", one.line, "", (one,)), Node("return", other.line, "", (other,))
                    )
                self.at = before
                break
            self.gap()
            signs.append((sign[1] or sign[2]).lower())
            self.pattern = signs[-1] in ("match", "notmatch", "replace", "split")
            found.append(self.operands(commas=commas))
            self.pattern = False
        return _folded(found, signs)

    def operands(self, *, commas: bool) -> Node:
        """Return an operand, or a list of them."""
        found = [self.operand()]
        while commas:
            before = self.at
            self.space()
            if not self.step(","):
                self.at = before
                break
            self.gap()
            found.append(self.operand())
        return found[0] if len(found) == 1 else Node("list", found[0].line, "", tuple(found))

    def operand(self, *, bare: bool = False) -> Node:
        """Return an operand with its members and items; a `bare` one is a part of a word."""
        self.depth += 1
        node = self.node("cut") if self.depth > _DEPTH else self.atom(bare=bare)
        node = self.after(node, bare=bare) if node.kind != "cut" else node
        self.depth -= 1
        return node

    def atom(self, *, bare: bool) -> Node:
        """Return an operand without what follows it."""
        if not bare:
            self.space()
            while self.take(_UNARY):
                self.space()
            if (gathers := self.take(_GATHERS)) is not None:
                return self.method(self.operands(commas=True), _JOINS[gathers[1].lower()], self.node("text", ""))
        sign = self.sign
        if (found := self.see(_DOCUMENT)) is not None and (end := self.text.find(f"\n{found[1]}@", found.end())) >= 0:
            self.at, text = end + 3, self.text[found.end() + 1 : end]
            return self.filled(text) if found[1] == '"' else self.node("text", text)
        if (found := self.take(_STRING)) is not None:
            if found[1] is None:
                text = found[2].replace("''", "'")
                return self.node("text", text if self.pattern else _path(text))
            return self.filled(found[1].replace('""', '"'))
        if sign == "$":
            return self.variable()
        if sign == "[" and not bare:
            return self.type_or_cast()
        for opening in ("@(", "@{", "(", "{"):
            if self.step(opening):
                return self.bracketed(opening)
        if (found := self.take(_NUMBER)) is not None:
            number = str(int(found[1], 16)) if found[1][:2].lower() == "0x" else found[1]
            negative = self.text[max(0, found.start() - 1) : found.start()] == "-" and not bare
            return self.node("number", f"-{number}" if negative else number)
        return self.node("nothing")

    def bracketed(self, opening: str) -> Node:
        """Return what is between brackets."""
        if opening == "{":
            return self.block()
        if opening == "@{":
            return self.map()
        line, parts = self.line, self.statements(")")
        if opening == "@(":
            if len(parts) == 1 and parts[0].kind not in ("text", "map", "number"):
                return Node("joined", line, "+", (Node("list", line), parts[0]))
            spread = (one for part in parts for one in (part.parts if part.kind == "list" else (part,)))
            return Node("list", line, "", tuple(spread))
        return parts[0] if len(parts) == 1 else Node("group", line, "", parts)

    def variable(self) -> Node:
        """Return a variable, or the value of statements in brackets."""
        if self.step("$("):
            parts = self.statements(")")
            return parts[0] if len(parts) == 1 else self.node("group", "", *parts)
        found = self.take(_VARIABLE)
        if found is None:
            self.at += 1
            return self.node("nothing")
        scope, _, name = (found[1] or found[2]).lower().rpartition(":")
        if scope == "env":
            return self.node("index", "", self.node("name", "process.env"), self.node("text", name.upper()))
        if name in ("null", "true", "false"):
            return self.node("nothing" if name == "null" else "name", name)
        return Node("name", self.line, name, params=("$",))

    def type_or_cast(self) -> Node:
        """Return a class, a static member of one, or the value that is converted to one."""
        found = self.take(_TYPE)
        if found is None:
            self.skip_brackets()
            return self.operand()
        name = class_name(found[1])
        if self.text.startswith("::", self.at):
            return self.node("name", name)
        before = self.at
        self.space()
        if self.sign and (self.sign in "$\"'(@[{" or self.sign.isdigit() or self.see(_GATHERS)):
            value = self.operand()
            if name.lower() == "char":
                return self.node("call", "", self.node("name", "chr"), value)
            several = name.lower() in ("list", "arraylist", "queue", "hashset")
            return self.node("joined", "+", self.node("list"), value) if several else value
        self.at = before
        return self.node("name", name)

    def map(self) -> Node:
        """Return a map after its opening brace; keys that are computed are among its parts, each before its value."""
        line = self.line
        entries: list[tuple[str, Node]] = []
        computed: list[Node] = []
        while self.at < len(self.text):
            self.gap()
            if self.step("}"):
                break
            before = self.at
            found = self.take(_KEY)
            key = self.node("text", found[0]) if found is not None else self.operand()
            name = _constant(key)
            self.gap()
            if self.step("="):
                self.gap()
                if name is not None:
                    entries.append((name, self.value()))
                else:
                    computed += (key, self.value())
            self.at += self.at == before
        return Node("map", line, "", tuple(computed), tuple(entries))

    def filled(self, text: str) -> Node:
        """Return a text with values in its places."""
        if "$" not in text and "`" not in text:
            return self.node("text", _path(text))
        inner = _Parser(text, self.own, self.line - text.count("\n"), self.depth)
        parts: list[Node] = []
        start = 0
        while (
            at := min(found for sign in "$`" if (found := text.find(sign, start)) >= 0)
            if {"$", "`"} & {*text[start:]}
            else -1
        ) >= 0:
            parts.append(Node("text", inner.first, text[start:at]))
            inner.at = at
            if text[at] == "`":
                parts.append(Node("text", inner.first, _ESCAPES.get(text[at + 1 : at + 2], text[at + 1 : at + 2])))
                start = at + 2
            elif inner.text.startswith("$(", at) or inner.see(_VARIABLE) is not None:
                parts.append(inner.variable())
                start = inner.at
            else:
                parts.append(Node("text", inner.first, "$"))
                start = at + 1
        parts.append(Node("text", inner.first, text[start:]))
        return _joined(self.line, parts, path="\n" not in text)

    def after(self, node: Node, *, bare: bool) -> Node:
        """Return an operand with its members, items and calls."""
        while True:
            found = self.see(_MEMBER) if node.kind != "number" else None
            if found is not None and not (bare and self.is_file_name(found)):
                self.at = found.end()
                key = self.node("text", found[2]) if found[2] else self.atom(bare=True)
                name = _constant(key) or ""
                name = _LISTERS.get(name.lower()) or spelled(name)
                made = found[1] == "::" and name.lower() == "new"
                kind = ("::",) if found[1] == "::" else ()
                if made:
                    member = Node("computed", self.line, "", (node,)) if node.params else node
                elif name:
                    member = Node("member", self.line, name, (node,), params=kind)
                else:
                    member = Node("computed", self.line, "", (node, key), params=kind)
                if self.step("("):
                    called = node if name.lower() == "invoke" and node.kind == "member" else member
                    node = Node("call", self.line, "", (called, *self.passed()))
                elif self.sign == "{" and not bare:
                    node = Node("call", self.line, "", (member, self.operand(bare=True)))
                else:
                    node = member
            elif self.sign == "[" and node.kind != "number" and (node.kind != "text" or not bare):
                self.at += 1
                key = self.expression()
                self.gap()
                self.step("]")
                node = Node("index", self.line, "", (node, key))
            elif bare or not (self.step("++") or self.step("--")):
                return node

    def is_file_name(self, found: re.Match[str]) -> bool:
        """Return whether what looks like a member is the end of a file name, as in `$name.ps1`."""
        return found[1] == "." and (found[2] or "").lower() in words("powershell", "suffixes")

    def passed(self) -> Iterator[Node]:
        """Yield the arguments of a method after its opening bracket."""
        while self.at < len(self.text):
            self.gap()
            if self.step(")"):
                return
            before = self.at
            yield self.expression(commas=False)
            self.at += self.at == before

    def method(self, owner: Node, name: str, *args: Node) -> Node:
        """Return a call of a method."""
        return Node("call", owner.line, "", (Node("member", owner.line, name, (owner,)), *args))


def _end(text: str, sign: str, start: int) -> int:
    """Return where a sign is next, or the end of the text."""
    at = text.find(sign, start)
    return at if at >= 0 else len(text)


def _path(text: str) -> str:
    """Return a text with slashes for backslashes, unless it is a key of the registry or has several lines."""
    return text if "\\" not in text or "\n" in text or _REGISTRY.match(text) else text.replace("\\", "/")


def _joined(line: int, parts: Sequence[Node], *, path: bool = True) -> Node:
    """Return parts of a text as one node."""
    found: list[Node] = []
    for part in parts:
        if part.kind == "text" and found and found[-1].kind == "text":
            found[-1] = found[-1]._replace(text=found[-1].text + part.text)
        elif part.kind != "text" or part.text:
            found.append(part)
    if path:
        found = [one._replace(text=_path(one.text)) if one.kind == "text" else one for one in found]
    return found[0] if len(found) == 1 else Node("joined" if found else "text", line, "", tuple(found))


def _constant(node: Node) -> str | None:
    """Return the text of a node without values; None for any other node."""
    if node.kind == "text":
        return node.text
    texts = [_constant(part) for part in node.parts] if node.kind == "joined" else [None]
    return None if None in texts else "".join(text or "" for text in texts)


def class_name(name: str, kind: str = "") -> str:
    """Return the name of a class as the table of calls spells it, without its namespace and what it holds."""
    if kind:
        return f"COM.{re.sub(r'[.][0-9.]+$', '', name).lower()}"
    return spelled(re.split(r"[\[`]", name)[0].rpartition(".")[2])


def _made(line: int, parts: Sequence[Node], named: dict[str, Node]) -> Node:
    """Return an object that a command makes by the name of its class."""
    of = named.get("comobject") or named.get("typename") or (parts[0] if parts else Node("nothing", line))
    given = named.get("argumentlist") or (parts[1] if len(parts) > 1 and not named else None)
    name = _constant(of)
    kind = "com" if "comobject" in named else ""
    made = Node("computed", line, kind, (of,)) if name is None else Node("name", line, class_name(name, kind))
    args = given.parts if given is not None and given.kind == "list" else (given,) if given is not None else ()
    return Node("call", line, "", (made, *args))


def _is_cmdlet(name: str) -> bool:
    return _VERB.match(name) is not None and name.partition("-")[0] in words("powershell", "verbs")


def _split(items: Sequence[tuple[str, Node]], *, own: bool = False) -> tuple[list[Node], list[tuple[str, Node]]]:
    """Return the arguments without a name, and those with one; a function of the program has its `own` names."""
    parts: list[Node] = []
    named: list[tuple[str, Node]] = []
    at = 0
    while at < len(items):
        flag, node = items[at]
        at += 1
        if not flag or flag[0] == "@":
            parts += (node,) if not flag else ()
            named += ((flag, node),) if flag else ()
            continue
        name = flag[1:].lower() if own else _parameter(flag[1:].lower())
        if name in words("powershell", "switches") or at >= len(items) or items[at][0]:
            named.append((name, Node("name", node.line, "true")))
        else:
            named.append((name, items[at][1]))
            at += 1
    return parts, named


def _parameter(name: str) -> str:
    """Return the full name of a parameter that may be abbreviated."""
    names = load_toml("powershell")["parameters"]
    switches = load_toml("powershell")["switches"]
    if name in names or name in switches:
        return name
    return next((one for one in (*names, *switches) if one.startswith(name)), name)


_LISTERS = {"foreach": "foreach-object", "where": "where-object"}
_JOINS = {"join": "-join", "split": "-split"}
_LOOSE = frozenset(
    ("and", "or", "xor", "band", "bor", "bxor", "shl", "shr", "as", "is", "isnot", "..", "??", "*", "/", "%", "-")
)


def _written(node: Node, place: Node, *, append: bool) -> Node:
    """Return the writing of what a command or expression prints to a file."""
    more = (("append", Node("name", node.line, "true")),) if append else ()
    return Node("call", node.line, "", (Node("member", node.line, "out-file", (node,)), place), more)


def _folded(found: list[Node], signs: list[str]) -> Node:
    """Return operands as one expression: what formats binds more tightly than what adds, and this more than what compares."""
    for level in (("f",), ("+",), None, _LOOSE):
        at = 0
        while at < len(signs):
            if (level is None and signs[at] not in _LOOSE) or (level is not None and signs[at] in level):
                found[at : at + 2] = [_operation(signs[at], found[at], found[at + 1])]
                del signs[at]
            else:
                at += 1
    return found[0]


def _operation(sign: str, left: Node, right: Node) -> Node:
    """Return the result of an operator."""
    line = left.line
    match sign:
        case "+" | "-" | "*" if left.kind == right.kind == "number" and (left.text + right.text).isdecimal():
            one, other = int(left.text), int(right.text)
            return Node(
                "number", line, str(one + other if sign == "+" else one - other if sign == "-" else one * other)
            )
        case "+":
            return Node("joined", line, "+", (left, right))
        case ".." if left.kind == right.kind == "number" and (left.text + right.text).replace("-", "").isdecimal():
            first, last = int(left.text), int(right.text)
            numbers = range(first, last + 1) if first <= last else range(first, last - 1, -1)
            return Node("list", line, "", tuple(Node("number", line, str(one)) for one in numbers[:_MOST_NUMBERS]))
        case "f":
            return _formatted(left, right.parts if right.kind == "list" else (right,))
        case "join" | "split":
            return Node("call", line, "", (Node("member", line, _JOINS[sign], (left,)), right))
        case "replace":
            return Node(
                "call",
                line,
                "",
                (Node("name", line, "(replace)"), left, *(right.parts if right.kind == "list" else (right,))),
            )
        case "match":
            return Node("set", line, "=", (left, Node("name", line, "matches")), (("pattern", right),))
        case _ if sign in _LOOSE:
            return Node("mixed", line, "", (left, right))
        case _:
            equal = "-like" if sign == "like" else "-eq" if sign in ("eq", "in", "contains") else "-ne"
            return Node("call", line, "", (Node("member", line, equal, (left,)), right))


def _formatted(template: Node, values: Sequence[Node]) -> Node:
    """Return a text with values in its numbered places."""
    text = _constant(template)
    if text is None:
        return Node("mixed", template.line, "", (template, *values))
    parts: list[Node] = []
    start = 0
    for place in _PLACE.finditer(text):
        parts.append(Node("text", template.line, text[start : place.start()]))
        start = place.end()
        if int(place[1]) < len(values):
            value = values[int(place[1])]
            parts.append(value._replace(kind="text") if value.kind == "number" else value)
        elif len(values) == 1:
            parts.append(Node("index", template.line, "", (values[0], Node("number", template.line, place[1]))))
    parts.append(Node("text", template.line, text[start:]))
    return _joined(template.line, parts)
