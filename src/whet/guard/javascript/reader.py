"""A JavaScript file as a program of values: the value of each name, and every call with its known arguments.

One query over the tree finds the calls, assignments and functions. They are read in order, a few times, until no name
gets anything new: this carries a value through variables, callbacks, promises and functions of the file. Names live in
the function that declares them. `calls` judges each call.

The files of a package that load each other are read as one program, each with names and exports of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.javascript.calls import SPECIAL, call_of, read_call
from whet.guard.javascript.expressions import EXPRESSIONS, FUNCTIONS, MOST_PROPS
from whet.guard.javascript.values import GLOBALS, SET, either, find_module, member, module, unescaped
from whet.guard.tables import api
from whet.guard.taint.branches import Branches, replaces
from whet.guard.taint.containers import concatenated, gathered, one_of, plain
from whet.guard.taint.judges import Judges
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.names import named
from whet.guard.taint.network import judge_request
from whet.guard.taint.secret import secret_name
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, everything, known, perhaps, union
from whet.guard.taint.value import either as one_of_two

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tree_sitter import Node, Tree

    from whet.guard.finding import Seen
    from whet.guard.taint.call import Call

_QUERY = (
    "[(call_expression)(new_expression)(variable_declarator)(assignment_expression)(augmented_assignment_expression)"
    "(return_statement)(throw_statement)(catch_clause)(yield_expression)(import_statement)(for_in_statement)(field_definition)(class_declaration)"
    + "".join(f"({kind})" for kind in sorted(FUNCTIONS))
    + "] @n (export_statement) @e"
)
_DEPTH = 80
_MOST_APPLIED = 20_000
_WINDOW = 3000
_STRONG = re.compile(
    rb"\beval\b|child_process|\bFunction\(|fromCharCode|\batob\b|homedir|execSync|spawn|process\.env\b(?!\.)|\.ssh\b|sendBeacon"
)
_TELLING = api("javascript", "telling")
_SIDES = {
    "variable_declarator": ("name", "value"),
    **dict.fromkeys(
        ("assignment_expression", "augmented_assignment_expression", "for_in_statement"), ("left", "right")
    ),
}
"""The kinds of assignment, each with the fields of its target and its source."""
_THROWN = "thrown"
_ITERATORS = ("[Symbol.iterator]", "[Symbol.asyncIterator]")
_SAYS = expression(r"[^A-Z\s][^\n]{0,300}?[./:~\\ ]|[~/]|Library|AppData|[A-Z]:")
"""A text that is worth another pass, such as a path or a command."""


def _says(value: Value) -> bool:
    return any(_SAYS.match(text) or secret_name(text) for text in value.texts)


class Function:
    """A function of the file."""

    __slots__ = ("called", "node", "params", "returns", "scope", "uses_arguments")

    def __init__(self, node: Node, scope: Scope) -> None:
        self.node = node
        self.scope = scope
        self.returns = NOTHING
        self.called = False
        self.uses_arguments: bool | None = None
        """Whether it names its `arguments`; None if that is not known yet."""
        single = node.child_by_field_name("parameter")
        several = node.child_by_field_name("parameters")
        self.params: list[Node] = [single] if single else several.named_children if several else []


_TOOLS: tuple[Any, Any] | None = None


def _tools() -> tuple[Any, Any]:
    global _TOOLS  # noqa: PLW0603  the grammar is loaded once, at the first script
    if _TOOLS is None:
        import tree_sitter
        import tree_sitter_javascript

        language = tree_sitter.Language(tree_sitter_javascript.language())
        _TOOLS = (tree_sitter.Parser(language), tree_sitter.Query(language, _QUERY))
    return _TOOLS


def _parse(texts: list[str], *, typed: bool = True) -> tuple[bytes, list[int], list[Tree]]:
    """Return texts as one source, the first byte of each, and their trees; text that does not parse loses its types."""
    from tree_sitter import Range

    parser, _ = _tools()
    encoded = [text.encode("utf-8", "replace") for text in texts]
    source = b"\n".join(encoded)
    starts: list[int] = []
    trees: list[Tree] = []
    start = row = 0
    for one in encoded:
        end, last = start + len(one), row + one.count(b"\n")
        column = end - source.rfind(b"\n", 0, end) - 1
        parser.included_ranges = [Range((row, 0), (last, column), start, end)]
        trees.append(parser.parse(source))
        starts.append(start)
        start, row = end + 1, last + 1
    if typed and any(tree.root_node.has_error for tree in trees) and (plain := list(map(untyped, texts))) != texts:
        return _parse(plain, typed=False)
    return source, starts, trees


def _find_nodes(trees: list[Tree]) -> dict[str, list[Node]]:
    """Return the nodes that are read (`n`) and the export statements (`e`)."""
    from tree_sitter import QueryCursor

    found: dict[str, list[Node]] = {}
    for tree in trees:
        for name, nodes in QueryCursor(_tools()[1]).captures(tree.root_node).items():
            found.setdefault(name, []).extend(nodes)
    return found


def _near_danger(source: bytes, rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return the rows of a very large file that are close to suspicious words."""
    spots = [found.start() for found in _STRONG.finditer(source)]
    return [
        row
        for row in rows
        if (at := bisect_left(spots, row[0] - _WINDOW)) < len(spots) and spots[at] <= row[0] + _WINDOW
    ]


def _repeats(node: Node) -> bool:
    """Return whether a statement is inside a loop."""
    outer = node.parent
    for _ in range(6):
        if outer is None or outer.type in FUNCTIONS:
            break
        if outer.type in ("for_statement", "for_in_statement", "while_statement", "do_statement"):
            return True
        outer = outer.parent
    return False


def _items_of(pattern: Node, value: Value) -> Iterator[tuple[Node, Value]]:
    """Yield the parts of an array pattern with their values."""
    at = 0
    for part in pattern.children:
        if part.type == ",":
            at += 1
        elif part.is_named and part.type == "rest_pattern" and value.items is not None:
            yield part, gathered(value.items[at:])
        elif part.is_named:
            yield (
                part,
                value.items[at] if value.items is not None and at < len(value.items) else Value(marks=value.marks),
            )


def _in_branch(node: Node) -> bool:
    """Return whether a declared name is in a block inside a function or file."""
    outer = node.parent
    if outer is not None and outer.type == "function_declaration":
        outer = outer.parent
    while outer is not None and outer.type not in FUNCTIONS:
        block = outer.type == "statement_block" and outer.parent is not None and outer.parent.type not in FUNCTIONS
        if block or outer.type.startswith(("if_", "for_", "while_", "do_", "switch_")):
            return True
        outer = outer.parent
    return False


class Reader(Judges):
    """The state of reading one JavaScript file, or the files of a package that load each other."""

    language = "javascript"
    specials = SPECIAL
    lenient = True

    def __init__(
        self,
        files: Mapping[str, str],
        read_inner: Callable[[str, int], Seen],
        level: int = 0,
        branches: Branches | None = None,
        most: int = 12_000,
    ) -> None:
        super().__init__(level, read_inner)
        self.branches = branches or Branches()
        self.source, self.starts, trees = _parse(list(files.values()))
        found = _find_nodes(trees)
        nodes = found.get("n", [])
        rows = sorted(((node.start_byte, -node.end_byte, number) for number, node in enumerate(nodes)))
        self.partial = len(rows) > most
        """Whether the text is so large that only the code around suspicious words is read."""
        if self.partial:
            rows = _near_danger(self.source, rows)[:most]
        self.nodes = [nodes[number] for _, _, number in rows]
        self.node: Node | None = None
        """The node of the current call."""
        self.functions: dict[int, Function] = {}
        self.fields: dict[str, Value] = {}
        """The fields of all classes, by name."""
        self.klasses: set[str] = set()
        self.passed: dict[str, Value] = {}
        """Data that threads and processes of the program pass each other, at the start and in messages."""
        self.listeners: dict[str, list[int]] = {}
        """The functions that are called for an event, by its name."""
        self.replaced: dict[str, int] = {}
        """The functions that the program puts in the place of those of others."""
        self.getters: set[int] = set()
        self.setters: dict[str, int] = {}
        self.constructors: dict[str, int] = {}
        """The constructor of each class, by class name."""
        self.modules = {path: Scope() for path in files}
        """The names of each file."""
        self.exports: dict[str, list[Node]] = {}
        """The `export` statements of each file."""
        for node in sorted(found.get("e", []), key=lambda node: node.start_byte):
            self.exports.setdefault(self._path(node), []).append(node)
        self.loaded: dict[str, Value] = {}
        """The exports of each file that was loaded in this pass."""
        for scope in self.modules.values():
            exports = Value(props={})
            scope.names.update(exports=exports, module=Value(name="module", props={"exports": exports}))
        self.scope = next(iter(self.modules.values()))
        self.changed = False
        self.depth = 0
        self.applied = 0
        self.working = False
        """Whether `work_out` is running."""
        self.memo: dict[int, Value] = {}
        self.asked: set[str] = set()
        """The names that were read in this pass: another pass is needed only if one of them changes later."""
        self.learned: set[tuple[int, str, str]] = set()

    def evidence(self) -> str:
        """Return the source of the current call."""
        return "" if self.node is None else self.text(self.node)[:400]

    def name_arguments(self, call: Call) -> None:
        """Set `call.names` to the names that the program uses for the arguments."""
        given = call.node.child_by_field_name("arguments")
        for number, node in enumerate(given.named_children if given is not None else ()):
            if node.type == "identifier":
                call.names[number] = f"${self.text(node)}"

    def call_back(self, function: Value, args: Sequence[Value]) -> Value:
        """Call a function of the program that was passed as an argument."""
        return self.bind(function.fn, args) if function.fn else NOTHING

    def name_global(self, text: Value) -> Value | None:
        """Return the global that a text names, such as `require`; None for any other text."""
        return Value(name=text.exact) if text.exact in ("require", "process", "child_process") else None

    def handed(self, payload: Sequence[Value]) -> None:
        """Judge data that is passed to the client of a service whose address is unknown."""
        marks = frozenset[Mark]().union(*map(everything, payload))
        self.report(judge_request("", frozenset(mark for mark in marks if mark.kind == "secret" and mark.grave)))

    def run(self) -> None:
        """Read the program repeatedly until no name gets anything new."""
        self._hoist()
        for _ in range(6 if len(self.nodes) < 1000 else 3 if len(self.nodes) < 4000 else 2):
            self.changed = False
            self.memo, self.loaded = {}, {}
            self.asked = set()
            self._pass()
            if not self.changed:
                return

    def _scopes(self) -> list[tuple[int, Scope]]:
        """Return the end and the names of each file, the last file first."""
        ends = [*self.starts[1:], len(self.source) + 1]
        return list(zip(ends, self.modules.values(), strict=True))[::-1]

    def _hoist(self) -> None:
        """Create the scope of every function and declare its name before anything is read."""
        open_ = self._scopes()
        for node in self.nodes:
            if node.type not in FUNCTIONS:
                continue
            while node.start_byte >= open_[-1][0]:
                open_.pop()
            scope = open_[-1][1]
            function = self.functions[node.id] = Function(node, Scope(scope))
            open_.append((node.end_byte, function.scope))
            name = node.child_by_field_name("name")
            if name is None:
                continue
            if node.type == "method_definition":
                if any(part.type == "set" for part in node.children):
                    self.setters[self.text(name)] = node.id
                    continue
                self.fields.setdefault(self.text(name), Value(fn=node.id))
                if any(part.type == "get" for part in node.children):
                    self.getters.add(node.id)
                if self.text(name) == "constructor" and (owner := node.parent and node.parent.parent) is not None:
                    called = owner.child_by_field_name("name")
                    self.constructors[self.text(called) if called is not None else ""] = node.id
            elif self._counts(name, Value(fn=node.id), scope):
                scope.names.setdefault(self.text(name), Value(fn=node.id))

    def _pass(self) -> None:
        open_: list[tuple[int, Scope, Function | None]] = [(end, scope, None) for end, scope in self._scopes()]
        for node in self.nodes:
            start = node.start_byte
            while start >= open_[-1][0]:
                open_.pop()
            self.scope = open_[-1][1]
            kind = node.type
            if kind in FUNCTIONS:
                function = self._function(node)
                open_.append((node.end_byte, function.scope, function))
            elif kind in ("return_statement", "yield_expression"):
                if (function_ := open_[-1][2]) is not None and node.named_child_count:
                    given = self.value(node.named_children[0])
                    given = given if kind == "return_statement" else Value(items=(given,), marks=everything(given))
                    self._returns(function_, given)
            else:
                self._statement(node, kind)

    def _statement(self, node: Node, kind: str) -> None:
        if kind in ("call_expression", "new_expression"):
            self.value(node)
        elif kind in _SIDES:
            target, source = map(node.child_by_field_name, _SIDES[kind])
            if target is None or source is None:
                return
            value = self.value(source)
            if kind == "augmented_assignment_expression":
                value = concatenated((self.value(target), value))
                if _repeats(node) and isinstance(value.const, str):
                    value = value.but(const=f"{value.const[:2000].rstrip(HOLE)}{HOLE}")
            elif kind == "for_in_statement":
                value = self._iterated(value)
                inner = one_of(value.items) if value.items else NOTHING
                value = inner.but(marks=inner.marks | value.marks)
            declares = kind in ("variable_declarator", "for_in_statement")
            self.assign(target, value, self.scope if declares else None)
        elif kind == "import_statement":
            self._import(node)
        elif kind == "throw_statement":
            self.pass_on(_THROWN, self.value(node.named_children[0]) if node.named_child_count else NOTHING)
        elif kind == "catch_clause":
            caught = node.child_by_field_name("parameter")
            if caught is not None and _THROWN in self.passed:
                self.assign(caught, self.passed[_THROWN], self.scope, joining=True)
        else:
            self._class(node)

    def _iterated(self, value: Value) -> Value:
        """Return what an object with an iterator of its own gives."""
        own = value.props or (self.fields if value.name == "this" else {})
        way = next((own[name] for name in _ITERATORS if name in own), NOTHING)
        return self.bind(way.fn, ()) if way.fn else value

    def _class(self, node: Node) -> None:
        """Read a class declaration or a field definition."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            self.klasses.add(self.text(name))
        elif value is not None and (field := node.child_by_field_name("property")) is not None:
            self.fields[self.text(field)] = self.value(value)

    def _function(self, node: Node) -> Function:
        function = self.functions[node.id]
        body = node.child_by_field_name("body")
        outer, self.scope = self.scope, function.scope
        for param in function.params:
            default = param.child_by_field_name("right") if param.type == "assignment_pattern" else None
            left = param.child_by_field_name("left")
            if default is not None and left is not None:
                self.assign(left, self.value(default), function.scope, joining=True)
        self.scope = outer
        if node.type == "arrow_function" and body is not None and body.type != "statement_block":
            outer, self.scope = self.scope, function.scope
            self._returns(function, self.value(body))
            self.scope = outer
        return function

    def _returns(self, function: Function, value: Value) -> None:
        if value is not NOTHING:
            if function.called and (
                value.marks - function.returns.marks or (not function.returns.texts and _says(value))
            ):
                self.changed = True
            function.returns = either(function.returns, value)

    def _import(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        if source is None:
            return
        where = unescaped(self.text(source)[1:-1])
        found = read_call(self, call_of("import", "import", NOTHING, Value(name="import"), (Value(where),), node))
        found = module(where) if found is NOTHING else found
        for clause in node.named_children:
            if clause.type != "import_clause":
                continue
            for part in clause.named_children:
                if part.type == "named_imports":
                    for name, alias in self._specifiers(part):
                        self.assign(alias, member(found, self.text(name).strip("\"'")), self.scope)
                elif part.type == "identifier":
                    self.assign(part, (found.props or {}).get("default", found), self.scope)
                else:
                    self.assign(part.named_children[-1], found, self.scope)

    def _specifiers(self, clause: Node) -> Iterator[tuple[Node, Node]]:
        """Yield the name and the new name of each part of an import or export clause."""
        for part in clause.named_children:
            name = part.child_by_field_name("name")
            if name is not None:
                yield name, part.child_by_field_name("alias") or name

    def load(self, name: str, node: Node) -> Value | None:
        """Return the exports of the file that a module name leads to from a node; None if it leads to none."""
        path = find_module(self._path(node), name, self.modules) if len(self.modules) > 1 else None
        if path is None:
            return None
        if path not in self.loaded:
            outer, self.scope = self.scope, self.modules[path]
            exports = self.loaded[path] = member(self.scope.names["module"], "exports")
            for one in self.exports.get(path, ()):
                self._export(one, {} if exports.props is None else exports.props)
            self.scope = outer
        return self.loaded[path]

    def _path(self, node: Node) -> str:
        """Return the path of the file that a node is in."""
        return list(self.modules)[bisect_right(self.starts, node.start_byte) - 1]

    def _export(self, node: Node, exports: dict[str, Value]) -> None:
        """Add what an `export` statement names to the exports of its file."""
        source = node.child_by_field_name("source")
        found = (self.load(unescaped(self.text(source)[1:-1]), source) or NOTHING) if source is not None else None
        if found is not None and any(part.type == "*" for part in node.children):
            exports.update(found.props or {})
        for part in node.named_children:
            if part.type == "export_clause":
                for name, alias in self._specifiers(part):
                    own = self.name(self.text(name)) if found is None else member(found, self.text(name))
                    exports[self.text(alias)] = own
            elif part.type == "namespace_export" and found is not None:
                exports[self.text(part.named_children[-1])] = found
            elif any(one.type == "default" for one in node.children):
                exports["default"] = Value(fn=part.id) if part.id in self.functions else self.value(part)
            else:
                for one in part.named_children if part.type.endswith("_declaration") else ():
                    declared = one.child_by_field_name("name") or one
                    if declared.type == "identifier":
                        exports[self.text(declared)] = self.name(self.text(declared))

    def text(self, node: Node) -> str:
        """Return the source of a node."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def bind(self, number: int, args: Sequence[Value]) -> Value:
        """Bind arguments to the parameters of a function of the file, and return its result."""
        function = self.functions.get(number)
        if function is None:
            return NOTHING
        function.called = True
        if args and function.uses_arguments is None:
            body = self.source[function.node.start_byte : function.node.end_byte]
            function.uses_arguments = b"arguments" in body and function.node.type != "arrow_function"
        if args and function.uses_arguments:
            self._set("arguments", gathered(args), function.scope, joining=True)
        for at, (param, one) in enumerate(zip(function.params, args, strict=False)):
            value = gathered(args[at:]) if param.type == "rest_pattern" else one
            if value is not NOTHING and param.type != "ERROR":
                self.assign(param, value, function.scope, joining=True)
        return function.returns

    def pass_on(self, how: str, value: Value) -> None:
        """Record a value that is passed to another thread or process of the program."""
        old = self.passed.get(how, NOTHING)
        self.changed = self.changed or (old is NOTHING and value is not NOTHING) or bool(value.marks - old.marks)
        self.passed[how] = either(old, value)

    def listen(self, name: str, function: int) -> None:
        """Record a function that is called for an event."""
        known = self.listeners.setdefault(name, [])
        if function not in known:
            known.append(function)
            self.changed = True

    def put(self, name: str, marks: frozenset[Mark]) -> None:
        """Add marks to a field of the classes of the file."""
        old = self.fields.get(name, NOTHING)
        self.changed = self.changed or bool(marks - old.marks)
        self.fields[name] = old.marked(*marks)

    def field(self, name: str) -> Value:
        """Return the value of a field of the classes of the file; a getter is called."""
        found = self.fields.get(name, NOTHING)
        return self.bind(found.fn, ()) if found.fn in self.getters else found

    def work_out(self, number: int, args: Sequence[Value]) -> Value:
        """Return the result of a function for constant arguments, or lists of constants."""
        if self.working or not args or number not in self.functions or not all(known(plain(one)) for one in args):
            return NOTHING
        self.working = True
        found = self.apply(number, args)
        self.working = False
        return found if found.const is not UNKNOWN else NOTHING

    def apply(self, number: int, args: Sequence[Value]) -> Value:
        """Return the result of a short function for these arguments: its expression, or its statements in order."""
        function = self.functions.get(number)
        body = function.node.child_by_field_name("body") if function is not None else None
        if function is None or body is None or self.applied >= _MOST_APPLIED:
            return NOTHING
        self.applied += 1
        kept = self.scope, self.memo, self.changed
        self.scope, self.memo = Scope(function.scope.outer), {}
        for at, (param, value) in enumerate(zip(function.params, args, strict=False)):
            if param.type != "ERROR":
                given = gathered(args[at:]) if param.type == "rest_pattern" else value
                self.assign(param, given, self.scope)
        result = NOTHING
        for node in body.named_children[:12] if body.type == "statement_block" else (body,):
            if node.type in ("lexical_declaration", "variable_declaration"):
                for declared in node.named_children:
                    self._statement(declared, declared.type)
            elif node.type == "return_statement" or node is body:
                result = self.value(node.named_children[0] if node is not body and node.named_child_count else node)
                break
            elif node.type != "comment":
                break
        self.scope, self.memo, self.changed = kept
        return result

    def assign(self, target: Node, value: Value, scope: Scope | None, *, joining: bool = False, depth: int = 0) -> None:
        """Assign a value to a name or a pattern of names; without `scope`, where the name is already known."""
        kind = target.type
        if depth > 12:
            return
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            if joining or self._counts(target, value, scope):
                self._set(self.text(target), value, scope, joining=joining)
        elif kind in ("object_pattern", "array_pattern"):
            members = self._members(target, value) if kind == "object_pattern" else _items_of(target, value)
            for part, got in members:
                self.assign(part, got, scope, joining=joining, depth=depth + 1)
        elif kind == "rest_pattern" and target.named_child_count:
            self.assign(target.named_children[0], value, scope, joining=joining, depth=depth + 1)
        elif kind == "assignment_pattern":
            left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
            if left is not None and right is not None:
                self.assign(left, either(value, self.value(right)), scope, joining=joining, depth=depth + 1)
        elif kind in ("member_expression", "subscript_expression"):
            self._set_member(target, value)

    def _members(self, pattern: Node, value: Value) -> Iterator[tuple[Node, Value]]:
        """Yield the parts of an object pattern with their values."""
        for part in pattern.named_children:
            key, inner, default = part, part, None
            if part.type == "pair_pattern":
                key, inner = part.child_by_field_name("key") or part, part.child_by_field_name("value") or part
            elif part.type == "object_assignment_pattern":
                key = inner = part.child_by_field_name("left") or part
                default = part.child_by_field_name("right")
            got = value if part.type == "rest_pattern" else member(value, self.text(key).strip("\"'"))
            yield inner, got if default is None else one_of_two(self.value(default), got)

    def _counts(self, target: Node, value: Value, scope: Scope | None) -> bool:
        """Return whether an assignment, or a declaration in a branch, counts in this reading."""
        name = self.text(target)
        old = (scope or self.scope).find(name) or named("javascript", name)
        if not replaces(old, value, "javascript") or (scope is not None and not _in_branch(target)):
            return True
        return self.branches.takes(name, target.id)

    def _set(self, name: str, value: Value, scope: Scope | None, *, joining: bool) -> None:
        if scope is None:
            scope = self.scope
            while name not in scope.names and scope.outer is not None:
                scope = scope.outer
        old = scope.names.get(name)
        value = self.passed.get(value.name, value)
        if old is not None:
            if joining:
                value = either(old, value)
            elif old.marks - value.marks:
                value = value.but(marks=union((old, value)))
            value = perhaps(old, value)
        if not self.changed and name in self.asked:
            if value.marks and (old is None or value.marks - old.marks):
                self.changed = any(mark.kind != "file" for mark in value.marks)
            elif (joining and value.text is not None and (old is None or not old.texts)) or (
                old is not None and value.choices and not {*old.texts}.issuperset(value.texts)
            ):
                self.changed = _says(value)
            if value.name or value.fn:
                self._learn(id(scope), name, value)
        scope.names[name] = value

    def _learn(self, where: int, name: str, value: Value) -> None:
        """Record that a name stands for a function or module, which requires another pass the first time."""
        what = (where, name, value.name or str(value.fn))
        if what not in self.learned:
            self.learned.add(what)
            telling = value.name.startswith("(") or value.name.partition(".")[0] in _TELLING
            self.changed = self.changed or telling

    def fill(self, owner: Node, value: Value, depth: int = 0) -> None:
        """Replace the value of an object or list that got a new member or item."""
        if owner.type == "identifier":
            self._set(self.text(owner), value, None, joining=False)
        elif owner.type in ("member_expression", "subscript_expression"):
            self._set_member(owner, value, depth + 1)

    def taint(self, target: Node, marks: frozenset[Mark]) -> None:
        """Add marks to the name or field at the root of an object into which a value was put."""
        for _ in range(12):
            if target.type in ("member_expression", "subscript_expression"):
                owner = target.child_by_field_name("object")
                if owner is None:
                    return
                if owner.type == "this" and (name := self.property(target)):
                    self.put(name, marks)
                    return
                target = owner
            elif target.type == "identifier":
                known = self.name(self.text(target))
                if marks - known.marks and (not known.name or known.name.startswith("(")):
                    put = known.but(marks=union((known, Value(marks=marks))))
                    self._set(self.text(target), put, None, joining=False)
                return
            else:
                return

    def _set_member(self, target: Node, value: Value, depth: int = 0) -> None:
        owner, name = target.child_by_field_name("object"), self.property(target) or HOLE
        if owner is None:
            return
        if value.marks and self.value(owner).name == "process.env":
            self.changed = self.changed or name not in self.exported
            self.exported[name] = value
        known = self.value(owner)
        if known.name in GLOBALS:
            scope = self.scope
            while scope.outer is not None:
                scope = scope.outer
            self._set(name, value, scope, joining=True)
        if known.name and value.fn and known.name != "this":
            self.replaced[f"{known.name}.{name}"] = value.fn
        if owner.type == "this" or known.name == "this" or known.name in self.klasses:
            if name in self.setters:
                self.bind(self.setters[name], (value,))
            old = self.fields.get(name)
            self.fields[name] = value if old is None else either(value, old)
            self.changed = self.changed or bool(value.marks if old is None else value.marks - old.marks)
            self._learn(0, name, value)
            return
        if known.props is not None and SET in known.props:
            self.bind(known.props[SET].fn, (NOTHING, Value(name), value))
        if known.props is not None and len(known.props) < MOST_PROPS:
            old = known.props.get(name, NOTHING)
            if not replaces(old, value, "javascript") or self.branches.takes(name, target.id):
                known.props[name] = perhaps(old, value)
        elif known.props is None and not known.name and not known.fn and value is not NOTHING and depth < 6:
            self.fill(owner, known.but(props={name: value}), depth)
        if value.marks - known.marks and not known.name:
            self.taint(owner, value.marks)
        read_call(self, call_of(f"{known.name}.{name}=", f"{name}=", known, NOTHING, (value,), target))

    def property(self, node: Node) -> str | None:
        """Return the property name of a member expression; None if it is unknown."""
        if node.type == "member_expression":
            found = node.child_by_field_name("property")
            return None if found is None else unescaped(self.text(found))
        index = node.child_by_field_name("index")
        if index is None:
            return None
        known = self.value(index)
        return str(known.const) if isinstance(known.const, int) else known.exact

    def value(self, node: Node) -> Value:
        """Return the value of an expression as far as it is known."""
        key = node.id
        known = self.memo.get(key)
        if known is not None:
            return known
        read = EXPRESSIONS.get(node.type)
        if read is None or self.depth > _DEPTH:
            return NOTHING
        self.depth += 1
        found = self.memo[key] = read(self, node)
        self.depth -= 1
        return found

    def part(self, node: Node, field: str) -> Value:
        """Return the value of a field of an expression; `NOTHING` if the field is missing."""
        found = node.child_by_field_name(field)
        return NOTHING if found is None else self.value(found)

    def name(self, name: str) -> Value:
        """Return the value of a name in the current scope."""
        self.asked.add(name)
        if (known := self.scope.find(name)) is not None:
            return known
        return named("javascript", name)


# --- removing TypeScript types: annotations become blanks, lines and columns stay -------------------------------------

_NAME = r"(?:string|number|boolean|any|unknown|void|never|object|undefined|null|[A-Z]\w{0,60}(?:\.[A-Z]\w{0,60}){0,3})"
_GENERIC = r"(?:<[^<>()=;]{0,120}(?:<[^<>()=;]{0,80}>[^<>()=;]{0,40}){0,3}>)?"
_TYPE = rf"{_NAME}{_GENERIC}(?:\[\]){{0,3}}"
_UNION = rf"{_TYPE}(?:\s{{0,4}}[|&]\s{{0,4}}{_TYPE}){{0,8}}"
_DECLARED = expression(r"(\b(?:const|let|var)\s{1,9}[\w$]{1,80})(\s{0,4}:[^=;\n]{1,200}?)(?=\s{0,4}=[^=>])")
_PARAMETER = expression(rf"([(,]\s{{0,40}}(?:\.\.\.)?[\w$]{{1,80}})(\??\s{{0,4}}:\s{{0,4}}{_UNION})(?=\s{{0,4}}[,)=])")
_RESULT = expression(rf"(\))(\s{{0,4}}:\s{{0,4}}{_UNION})(?=\s{{0,4}}(?:=>|\{{))")
_CAST = expression(rf"()(\s(?:as|satisfies)\s{{1,4}}(?:const\b|{_UNION}))")
_APPLIED = expression(rf"(\w)(<{_UNION}>)(?=\()")
_MODIFIER = expression(
    r"([\s(,;{}])((?:public|private|protected|readonly|override|abstract|declare)\s{1,4}"
    r"(?:(?:static|readonly|async)\s{1,4})?)(?=[\w$#]{1,80}\s{0,4}[(?!:=;,)<])"
)
_FIELD = expression(
    rf"(^[ \t]{{2,20}}(?:static\s{{1,4}})?[\w$#]{{1,80}})([?!]?\s{{0,4}}:\s{{0,4}}{_UNION})(?=\s{{0,4}}(?:;|=[^>]))",
    re.MULTILINE,
)


_ENUM = expression(r"((?:\bconst[ \t]{1,9})?\b)enum([ \t]{1,9}\w{1,60})[ \t]\{([^{}]{0,4000})\}")
_VALUE = expression(r"(?<=\w)\s?=", re.DOTALL)


def untyped(text: str) -> str:
    """Replace the types that break a JavaScript parser by blanks; lines and columns stay."""
    text = _ENUM.sub(lambda found: f"{' ' * len(found[1])}let {found[2]}={{{_VALUE.sub(':', found[3])}}}", text)
    for shape in (_MODIFIER, _MODIFIER, _FIELD, _APPLIED, _CAST, _DECLARED, _PARAMETER, _PARAMETER, _RESULT):
        text = shape.sub(_blank, text)
    return text


def _blank(found: re.Match[str]) -> str:
    return found[1] + re.sub(r"[^\n]", " ", found[2])
