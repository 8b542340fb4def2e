"""Walk over the syntax tree of a script: every command with its words, redirections, pipelines and surroundings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of
from whet.guard.options import codes, read_arguments
from whet.guard.shell.clients import programs
from whet.guard.shell.command import Command, Redirection, Scope
from whet.guard.shell.constant import printed
from whet.guard.shell.words import Resolver, Word, substitutions
from whet.guard.shell.wrappers import SHELLS, name_of, texts_of, unwrapped
from whet.guard.syntax import MASK, parse_code
from whet.guard.tables import shape, words
from whet.guard.taint.call import judged_programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from whet.guard.shell.words import Known

_MOST_NODES = 120_000
_MOST_COMMANDS = 8_000
_MOST_BROKEN = 300
_SHOWN = 400
_MOST_SPLICED = 60_000
_PRICE = 200
_MOST_FILES = 64
_MOST_CALLS = 40
_LONGEST_FILE = 16_384
_PARAMETER = expression(r"\$\{?[1-9@*]")
_ACTS = shape("shell_signs", "acts", 0)
_REMOVERS = frozenset(("rm", "rmdir", "shred", "srm", "unlink", "trash"))
"""Programs that do to all their operands at once what a loop does to one after the other."""
_WRITES = frozenset((">", ">>", ">|"))
_READERS = frozenset(("cat", "chmod", "echo", "printf", "eval", "source", ".", "test", "[", *SHELLS))
"""Programs that do not change the files they name."""
_READ = frozenset(("body", "config", "file", "form"))
"""Places of arguments that name files which are only read."""
_SEPARATOR = expression(r"[;&|\n]")
_LINE_END = expression(r"(?<!\\)\n")

_LABELS = {
    "subshell": "subshell",
    "compound_statement": "group",
    "function_definition": "function",
    "do_group": "loop",
    "while_statement": "loop",
    "c_style_for_statement": "loop",
    "if_statement": "condition",
    "elif_clause": "condition",
    "else_clause": "condition",
    "case_statement": "condition",
    "case_item": "condition",
    "command_substitution": "substitution",
    "process_substitution": "process",
}
_WORDS = words("shell_signs", "words")


_APART = frozenset(("subshell", "command_substitution", "process_substitution"))
"""What runs in a process of its own."""
_REPEATS = frozenset(("function_definition", "for_statement", "while_statement", "c_style_for_statement"))
"""What may run later, or several times."""
_BRANCHES = frozenset((*_APART, *_REPEATS, "if_statement", "elif_clause", "else_clause", "case_statement", "case_item"))
"""What may not run."""


class _End(NamedTuple):
    """The end of a branch."""

    start: int
    apart: bool


_DEEPEST = 30


def _may_not_run(node: Node) -> bool:
    """Return whether a command depends on the one before it: `a && b`, `a || b`."""
    parent = node.parent
    return parent is not None and parent.type == "list" and node.start_byte > parent.start_byte


class Walk:
    """One pass over the syntax trees of a script."""

    def __init__(self, known: Known, *, splice: bool = False) -> None:
        self.commands: list[Command] = []
        self.functions: set[str] = set()
        self.stopped = ""
        self._known = known
        self._nodes = 0
        self._pipelines = 0
        self._line = 1
        self._marked = 0
        self._broken_lines: set[int] = set()
        self._words = Resolver(b"", known)
        self._splices = _MOST_SPLICED if splice else 0
        """Characters of constant scripts (of `eval` and `sh -c`) and of called functions that may still be read as part of this
        script."""
        self._redirected_to: Redirection | None = None
        """The last redirection to a file; all commands of a group share it."""
        self._bodies: dict[str, tuple[str, int]] = {}
        """The functions that depend on their arguments, each with its line."""
        self._told: dict[str, set[str]] = {}
        """The hosts in the calls of each function, and a number for each call without any."""
        self._aliases: dict[str, list[Word]] = {}

    def read(self, text: bytes, line: int) -> set[int]:
        """Walk the tree of a text that begins at `line` of the script, and return the lines with syntax errors."""
        self._line = line
        self._words = Resolver(text, self._known)
        self._broken_lines = set()
        root = _parse(text)
        if self._splices > 0:
            self._note_functions(root)
        self._walk(root, Scope())
        return self._broken_lines

    def _note_functions(self, root: Node) -> None:
        """Remember the functions of a script, because other functions may call them before they are defined."""
        for node in root.named_children:
            if node.type == "function_definition" and len(node.named_children) > 1:
                body = self._words.source(node.named_children[-1])
                if _PARAMETER.search(body) and _ACTS.search(body):
                    name = self._words.source(node.named_children[0])
                    self._bodies[name] = body, self._at(node.named_children[-1])

    def _walk(self, root: Node, scope: Scope) -> None:
        branches = self._known.branches
        stack: list[tuple[Node | _End, Scope]] = [(root, scope)]
        while stack:
            if self._nodes >= _MOST_NODES or len(self.commands) >= _MOST_COMMANDS:
                self.stop(next((self._at(one) for one, _ in reversed(stack) if not isinstance(one, _End)), self._line))
                break
            node, scope = stack.pop()
            if isinstance(node, _End):
                branches.leave(node.start, apart=node.apart)
                continue
            self._nodes += 1
            if node.type in _BRANCHES or _may_not_run(node):
                start = branches.enter(self._known.variables, repeats=node.type in _REPEATS)
                stack.append((_End(start, node.type in _APART), scope))
                # All that depends on the first command of a list is one block: the lists in it begin where it does.
                listed = node.parent if _may_not_run(node) else None
                place = (node.start_byte, node.end_byte) if listed is None else (listed.start_byte, -1)
                scope = scope._replace(block=(*scope.block[:_DEEPEST], (self._line, *place)))
            stack.extend(reversed(list(self._enter(node, scope))))

    def stop(self, line: int) -> None:
        """Record that the rest of the script was not read."""
        self.stopped = f"the script is too long to be read whole; stopped at line {line}"

    def _enter(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        kind = node.type
        if kind == "command":
            return self._command(node, scope)
        if kind in ("variable_assignment", "variable_assignments", "declaration_command", "unset_command"):
            return self._declaration(node, scope)
        if kind == "pipeline":
            self._pipelines += 1
            return self._stages(node, self._titled(node, scope), self._pipelines)
        if kind == "redirected_statement":
            return self._redirected(node, self._titled(node, scope))
        if kind == "file_redirect":
            self.commands.append(self._made(node, self._titled(node, scope), redirections=[self._redirection(node)[0]]))
        if kind == "for_statement":
            return self._loop(node, scope)
        if kind == "ERROR":
            self._mark(node)
            return self._broken(node, scope.within("error"))
        if kind == "function_definition" and node.named_children:
            name = self._words.source(node.named_children[0])
            self.functions.add(name)
            scope = scope._replace(function=name)
        label = _LABELS.get(kind)
        return self._children(node, scope.within(label) if label else scope)

    def _children(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        children = node.children
        for child, after in zip(children, [*children[1:], None], strict=False):
            if not child.is_named or child.type == "comment":
                continue
            if child.type in _WORDS:
                for inside in substitutions(child):
                    yield inside, scope
            else:
                own = scope.bare() if node.type == "list" and child != children[-1] else scope
                yield child, own.within("background") if after is not None and after.type == "&" else own

    def _command(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        scope = self._titled(node, scope)
        groups = self._groups(node)
        for number, group in enumerate(groups):
            own = scope if number == len(groups) - 1 else scope.bare()
            yield from self._one(group, own if number == 0 else own._replace(pipes=()))

    def _groups(self, node: Node) -> list[list[Node]]:
        """Return the parts of a command: several commands if the grammar overlooked a separator."""
        children = node.children
        if node.start_point[0] == node.end_point[0] and not node.has_error:
            return [children]
        groups: list[list[Node]] = [[]]
        end = node.start_byte
        for child in children:
            if child.type == "ERROR":
                self._mark(child)
                parted = _SEPARATOR.search(self._words.source(child)) is not None
            else:
                parted = _LINE_END.search(self._words.between(end, child.start_byte)) is not None
            if parted and groups[-1]:
                groups.append([])
            if child.type != "ERROR":
                groups[-1].append(child)
            end = child.end_byte
        return [group for group in groups if group] or [[]]

    def _one(self, children: list[Node], scope: Scope) -> Iterator[tuple[Node, Scope]]:
        argv: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirections: list[Redirection] = []
        nested: list[tuple[Node, int]] = []
        for child in children:
            kind = child.type
            slot = -1
            if kind == "variable_assignment":
                assignments.append(self._assignment(child, remember=False))
            elif kind in ("file_redirect", "herestring_redirect"):
                redirection, more = self._redirection(child)
                redirections.append(redirection)
                argv.extend(more)
            elif kind not in ("comment", "$"):
                slot = len(argv)
                each = argv and argv[0].text in _REMOVERS
                argv.extend(self._words.each(child) if each else self._words.words(child))
            nested.extend((one, slot) for one in substitutions(child))
        if argv and "\n" in argv[0].text and children:
            self._mark(children[0])
        if argv and (alias := self._aliases.get(argv[0].text)) is not None:
            nested = [(one, slot + len(alias) - 1 if slot >= 0 else slot) for one, slot in nested]
            argv[:1] = alias
        elif argv and argv[0].text == "alias":
            self._note_aliases(argv[1:])
        at = len(self.commands)
        if texts_of(argv[:2]) == ("set", "--"):
            self._known.branches.put(self._known.lists, "@", tuple(argv[2:]))
        if children:
            called = argv[0].text if len(argv) > 1 else ""
            is_own = called != scope.function and called in self._bodies and self._tells(called, argv)
            function = called if is_own else ""
            body = self._bodies.pop(function) if function else (self._script(argv), self._at(children[0]))
            script = body[0]
            self._splices -= len(script) + _PRICE if script else 0
            made = self._made(children[0], scope, argv, assignments, redirections)
            self.commands.append(made._replace(spliced=bool(script) and self._splices > 0))
            if self.commands[-1].spliced:
                own = scope._replace(redirections=(*redirections, *scope.redirections), words=())
                if function:
                    self._call(function, body, argv[1:], own)
                else:
                    self._splice(*body, own)
        below = scope.below(at)
        yield from ((one, below._replace(slot=slot)) for one, slot in nested)

    def _note_aliases(self, given: Sequence[Word]) -> None:
        """Remember the aliases that a script defines, except for new meanings of the programs that are judged."""
        for name, _, text in (word.text.partition("=") for word in given):
            if text and name not in judged_programs():
                self._aliases[name] = [Word(one, "$" not in one, one) for one in text.split()]

    def _script(self, argv: Sequence[Word]) -> str:
        """Return the constant script that is passed to `eval` or `sh -c`."""
        if self._splices <= 0 or not any(
            word.text == "eval" or word.text.rpartition("/")[2] in SHELLS for word in argv[:8]
        ):
            return ""
        words = unwrapped(argv)
        name = name_of(words)
        given = words[1:] if name == "eval" else ()
        if name in SHELLS:
            given = tuple(words[one.at + 1] for one in codes(name, texts_of(words[1:])))
        elif len(given) == 1 and given[0].alone in self._known.lists:
            return "\n".join(word.text for word in self._known.lists[given[0].alone] if word.known)
        return " ".join(word.text for word in given) if all(word.known for word in given) else ""

    def _tells(self, name: str, argv: Sequence[Word]) -> bool:
        """Return whether a call of a function is one of the first, or names a host that these do not name."""
        hosts = {host_of(found[0]).name for word in argv for found in URL.finditer(word.text)}
        told = self._told.setdefault(name, set())
        is_new = len(told) < _MOST_CALLS or not hosts <= told
        told |= hosts or {str(len(told))}
        return is_new

    def _call(self, name: str, body: tuple[str, int], given: Sequence[Word], scope: Scope) -> None:
        """Read the body of a function with the arguments of a call; recursive calls are not followed."""
        lists = self._known.lists
        before = lists.get("@")
        lists["@"] = tuple(given)
        self._splice(*body, scope._replace(function=name))
        self._bodies[name] = body
        if before is None:
            del lists["@"]
        else:
            lists["@"] = before

    def _splice(self, script: str, line: int, scope: Scope) -> None:
        """Read a script as if its commands were written at the place that runs it."""
        outer = self._words, self._line, self._broken_lines
        text = script.encode("utf-8", "replace")
        self._words, self._line = Resolver(text, self._known), line
        self._walk(_parse(text), scope.within("eval"))
        self._words, self._line, self._broken_lines = outer

    def _declaration(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        scope = self._titled(node, scope)
        argv: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        children = [node] if node.type == "variable_assignment" else node.children
        for child in children:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, remember=True))
            elif child.is_named or node.type in ("declaration_command", "unset_command"):
                argv.extend(self._words.words(child))
        at = len(self.commands)
        self.commands.append(self._made(node, scope, argv, assignments))
        for inside in substitutions(node):
            yield inside, scope.below(at)

    def _stages(self, node: Node, scope: Scope, number: int) -> Iterator[tuple[Node, Scope]]:
        position = 0
        last = node.named_children[-1] if node.named_children else None
        for child in node.children:
            if child.type in ("|", "|&"):
                position += 1
            elif child.is_named and child.type != "comment":
                stage = scope._replace(pipes=(*scope.pipes[-15:], (number, position)))
                yield child, stage if child == last else stage.bare()

    def _redirected(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        redirections: list[Redirection] = []
        words: list[Word] = []
        body_scope = scope
        rest: list[tuple[Node, Scope]] = []
        inner_scope = scope.below(len(self.commands))
        pieces = list(node.children)
        while pieces:
            child = pieces.pop(0)
            if child.type in ("file_redirect", "herestring_redirect"):
                redirection, more = self._redirection(child)
                redirections.append(redirection)
                words += more
                rest += [(one, inner_scope) for one in substitutions(child)]
            elif child.type == "heredoc_redirect":
                pieces = [*child.children, *pieces]
            elif child.type == "heredoc_body":
                body_scope = body_scope._replace(heredoc=self._words.source(child))
                rest += [(one, inner_scope.within("heredoc")) for one in substitutions(child)]
            elif child.type == "pipeline" and child.children and child.children[0].type in ("|", "|&"):
                self._pipelines += 1
                body_scope = body_scope._replace(pipes=(*scope.pipes[-15:], (self._pipelines, 0)))
                rest += list(self._stages(child, scope, self._pipelines))
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end", "comment", "file_descriptor"):
                rest.append((child, scope))
        body = rest.pop(0) if node.children and rest and rest[0][0] == node.children[0] else None
        if body is not None:
            yield (
                body[0],
                body_scope._replace(
                    redirections=(*redirections, *scope.redirections)[:16], words=(*words, *scope.words)[:200]
                ),
            )
        elif redirections or body_scope.heredoc is not None:
            self.commands.append(self._made(node, body_scope, redirections=redirections))
        yield from rest

    def _loop(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        name = ""
        values: list[Word] = []
        bodies: list[Node] = []
        at = len(self.commands)
        for child in node.named_children:
            if child.type == "variable_name" and not name:
                name = self._words.source(child)
            elif child.type in _WORDS:
                values.append(self._words.word(child))
            else:
                bodies.append(child)
        known = all(word.known for word in values)
        names = tuple(one for word in values for one in word.names)
        word = Word(" ".join(word.text for word in values), known, "", names, any(w.substituted for w in values))
        self._words.assign(name, self._known.branches.pick(name, values) or word)
        self._known.branches.put(self._known.lists, name, tuple(values))
        titled = self._titled(node, scope)
        self.commands.append(self._made(node, titled, assignments=((name, word),)))
        for inside in (one for child in node.named_children if child.type in _WORDS for one in substitutions(child)):
            yield inside, titled.below(at)
        for body in bodies:
            yield body, scope.within("loop")

    def _broken(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
        """Walk a part with syntax errors: complete commands as usual, loose words in a row as one command."""
        argv: list[Word] = []
        loose: list[Node] = []
        for child in [*node.children, None]:
            if child is not None and child.type in _WORDS:
                argv.extend(self._words.words(child))
                loose.append(child)
                continue
            if child is not None and child.is_named:
                yield child, scope
            if argv and (child is None or child.is_named or child.type in (";", "&", "|", "&&", "||", "\n")):
                at = len(self.commands)
                titled = self._titled(node, scope)
                self.commands.append(self._made(loose[0], titled, argv))
                for one in loose:
                    yield from ((inside, titled.below(at)) for inside in substitutions(one))
                argv, loose = [], []

    def _made(
        self,
        node: Node,
        scope: Scope,
        argv: Sequence[Word] = (),
        assignments: Sequence[tuple[str, Word]] = (),
        redirections: Sequence[Redirection] = (),
    ) -> Command:
        made = Command(
            (*argv, *scope.words) if argv else (),
            tuple(assignments),
            (*redirections, *scope.redirections),
            scope.heredoc,
            self._at(node),
            scope.text,
            scope.pipes,
            scope.inside,
            scope.parent,
            scope.slot,
            scope.function,
            block=scope.block,
        )
        self._note_files(made)
        return made

    def _note_files(self, command: Command) -> None:
        """Remember the constant text that a command writes to a file, and forget files that it may change otherwise."""
        files, words = self._known.files, texts_of(command.argv)
        if files and words and name_of(command.argv) not in _READERS:
            name = name_of(command.argv)
            others = [one.text for one in read_arguments(name, words[1:]) if one.place not in _READ]
            named = "\n".join(others[-1:] if name in programs("movers") else others)
            for path in [path for path in files if path.rpartition("/")[2] in named] if named else ():
                del files[path]
        for one in command.redirections:
            if one.operator not in _WRITES or one.descriptor not in ("", "1") or not one.target.text:
                continue
            text = command.heredoc if words == ("cat",) else printed([words], files)
            path = one.target.text.removeprefix("./")
            before, again = files.pop(path, ""), one is self._redirected_to
            self._redirected_to = one
            if text is None or command.pipes or not all(word.known for word in command.argv):
                continue
            if len(files) < _MOST_FILES:
                files[path] = (before + text if again or one.operator == ">>" else text)[:_LONGEST_FILE]

    def _assignment(self, node: Node, *, remember: bool) -> tuple[str, Word]:
        children = node.children
        name = self._words.source(children[0]) if children else ""
        word = self._words.word(children[-1]) if len(children) > 2 else Word("")
        added = any(child.type == "+=" for child in children)
        if children and children[-1].type == "array":
            before = self._known.lists.get(name, ()) if added else ()
            self._known.branches.put(self._known.lists, name, (*before, *self._words.listed(children[-1])))
        if remember:
            self._words.assign(name, word, append=added)
        return name, word

    def _redirection(self, node: Node) -> tuple[Redirection, list[Word]]:
        """Return the redirection, and the arguments that the grammar took for more targets."""
        operator, descriptor = "<<<" if node.type == "herestring_redirect" else "", ""
        words: list[Word] = []
        for child in node.children:
            if child.type == "file_descriptor":
                descriptor = self._words.source(child)
            elif not child.is_named or child.type == "ERROR":
                operator = operator + self._words.source(child) if operator != "<<<" else operator
            else:
                words += [self._words.word(child)] if not words else self._words.words(child)
        return Redirection(operator, words[0] if words else Word(""), descriptor), words[1:]

    def _mark(self, node: Node) -> None:
        first = node.start_point[0]
        last = min(node.end_point[0], first + _MOST_BROKEN)
        if self._marked < _MOST_BROKEN:
            self._marked += last - first + 1
            self._broken_lines.update(range(first, last + 1))

    def _titled(self, node: Node, scope: Scope) -> Scope:
        return scope if scope.text else scope._replace(text=self._shown(node))

    def _shown(self, node: Node) -> str:
        text = self._words.source(node)
        return text if len(text) <= _SHOWN else text[:_SHOWN]

    def _at(self, node: Node) -> int:
        return self._line + node.start_point[0]


def _parse(text: bytes) -> Node:
    return parse_code("bash", _masked(text))


_HEREDOC = re.compile(rb"<<-?[ \t]{0,8}[\"'\\]?(\w{1,60})")
_LONE_DASH = re.compile(rb"(?<=[ \t])-(?=[ \t]{1,8}<<)")
_MOST_HEREDOCS = 200


def _masked(text: bytes) -> bytes:
    """Return the text for the grammar, with the same length.

    The grammar ends a here-document at a line that only begins with the end mark, and loses a `-` before a here-document.
    """
    masked = text.translate(MASK)
    if b"<<" not in masked:
        return masked
    masked = _LONE_DASH.sub(b"x", masked)
    out, after = bytearray(masked), 0
    for found in list(_HEREDOC.finditer(masked))[:_MOST_HEREDOCS]:
        end = re.compile(rb"\n\t{0,20}" + found[1] + rb"(?=\n|$)").search(masked, found.end())
        if found.start() < after or end is None:
            continue
        after = end.start()
        at = masked.find(b"\n" + found[1], found.end(), after)
        while at >= 0:
            out[at + 1] = ord("-")
            at = masked.find(b"\n" + found[1], at + 1, after)
    return bytes(out)
