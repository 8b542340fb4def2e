"""A program in a language without a grammar here: the value of each name, and every call with its known arguments.

Statements are read in their order, twice, because a loop may carry a value back; functions of the program are read with the
values that they are called with. What a function of a library does is a row in `data/code_calls.toml`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.code.calls import SPECIAL
from whet.guard.code.dotnet import DOTNET
from whet.guard.code.reflection import REFLECTION
from whet.guard.code.syntax import Node
from whet.guard.expression import expression
from whet.guard.hosts import distrust
from whet.guard.tables import api
from whet.guard.taint import execute, network
from whet.guard.taint.call import Call, find_row
from whet.guard.taint.containers import concatenated, gathered, item, literal, one_of, taken
from whet.guard.taint.harm import conclude
from whet.guard.taint.judges import Judges
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.names import ENVIRONMENTS, named, variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Scope, Value, either, everything, joined, perhaps, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from whet.guard.finding import Seen

_DEPTH, _MOST = 60, 60_000
"""Maximum depth of an expression, and maximum number of expressions, that are read."""
_CALLS = 8
"""Maximum depth of calls, and maximum number of functions with the same name, that are read."""
_MOST_ITEMS = 12
"""Maximum number of items of a list for which a block is read."""
_COUNTS = api("code", "counts")
_FILLS = api("code", "fills")
_FORMATS = api("code", "formats")
_KEEPS = api("code", "keeps")
_CHAINS = api("code", "chains")
_REQUESTS = api("code", "requests")
_THIS = frozenset(("this", "self", "Me", "my"))
_CONSTRUCTORS = frozenset(("initialize", "__construct", "init", "constructor", "new"))
_IMPLICIT = ("it", "_", "_1", "0")
"""Names of the parameter of a block that names none."""


class Reader(Judges):
    """The state of reading one program."""

    language = "code"
    specials: Mapping[str, Callable[[Any, Call], Value | None]] = {**SPECIAL, **DOTNET, **REFLECTION}

    def __init__(
        self, text: str, program: Sequence[Node], read_inner: Callable[[str, int], Seen], level: int = 0
    ) -> None:
        super().__init__(level, read_inner)
        self.lines = text.split("\n")
        self.program = program
        self.functions: dict[str, list[Node]] = {}
        """The functions of each name: classes may have methods of the same one."""
        for one in _functions(self.program):
            if one.kind == "function" and one.text:
                self.functions.setdefault(one.text, []).append(one)
        self.scope = Scope()
        """The names outside all functions, and those of objects."""
        self.elsewhere: dict[str, Value] = {}
        """The names of all functions, for those that another one uses without declaring them."""
        self.around: dict[str, list[str]] = {}
        """The names of the streams and images that another one writes to, by its name."""
        self.called: set[int] = set()
        self.after: list[Value] = []
        """The parameters of the function that was read last, after it."""
        self.memo: dict[object, tuple[Value, Sequence[Value]]] = {}
        """The results of functions and blocks, with the arguments, which keep the identities in the keys from being reused."""
        self.depth = self.inside = self.steps = 0

    def run(self) -> None:
        """Read the program, and then the functions and blocks that nothing in it calls."""
        for _ in range(2):
            self.memo = {}
            self.body(self.program, self.scope)
            for function in _functions(self.program):
                if id(function) not in self.called:
                    self.invoke(function, [], self.scope)
        self.check_together()
        if self.steps > _MOST:
            self.hit("code-partly-analysed", None, "", "It is too complex to be read in full")
        conclude(self, "\n".join(self.lines), lambda: enumerate(self.lines, 1))

    def evidence(self) -> str:
        """Return the source of the current line."""
        return self.lines[self.line - 1].strip()[:400] if 0 < self.line <= len(self.lines) else ""

    def name_arguments(self, call: Call) -> None:
        """Set `call.names` to the names that the program uses for the arguments."""
        for place, node in (*enumerate(call.node.parts[1:]), *call.node.words):
            if node.kind == "name":
                call.names[place] = f"${node.text}"

    def name_words(self, call: Call) -> list[str]:
        """Return the names that the program uses for the words of a command."""
        return [f"${node.text}" if node.kind == "name" else "" for node in call.node.parts[1:]]

    # -- statements --------------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[Node], scope: Scope) -> Value:
        """Read statements in their order, and return the value of the last one."""
        last = NOTHING
        for node in statements:
            match node.kind:
                case "set":
                    last = self.assignment(node, scope)
                case "loop":
                    last = self.loop(node, scope)
                case "return":
                    values = self.values(node.parts, scope)
                    last = gathered(values) if len(values) > 1 else next(iter(values), NOTHING)
                    scope.returned = either(scope.returned, last)
                case "function":
                    if not node.text:
                        last = Value(fn=(node, scope))
                case _:
                    last = self.value(node, scope)
        return last

    def loop(self, node: Node, scope: Scope) -> Value:
        """Name the item of a loop, and read the statements in it for each item, if they are known."""
        around = self.value(node.parts[0], scope) if node.parts else NOTHING
        body, last = node.parts[1:], NOTHING
        for one in (
            _some(around.items) if body and around.items else [around if around.name in _KEPT else _element(around)]
        ):
            scope.names.update(dict.fromkeys(node.params, one))
            last = either(last, self.body(body, scope)) if body else last
        return last

    def assignment(self, node: Node, scope: Scope) -> Value:
        source, *targets = node.parts
        value = self.value(source, scope)
        if source.kind == "call" and targets[0].kind == "name" and _WRAPS.search(source.parts[0].text):
            self.around[targets[0].text] = [one.text for one in source.parts[1:] if one.kind == "name"]
        if source.kind == "block" and not source.params:
            value = value.marked(*everything(self.invoke(source, [], scope)))
        if node.text in ("+=", ".="):
            value = _added((self.value(targets[0], scope), value))
        for number, target in enumerate(targets):
            part = value
            if (len(targets) > 1 or node.params) and value.items is not None and number < len(value.items):
                part = taken(value, value.items[number])
            elif number and target.text in ("err", "ok", "_", "error"):
                part = NOTHING
            self.assign(target, part, scope, grows=node.text != "=")
        return value

    def assign(self, target: Node, value: Value, scope: Scope, *, grows: bool = False) -> None:
        """Store a value under a name, or in a member or an item."""
        self.line = target.line
        if target.kind == "name":
            if target.params == ("@",):  # a field of an object
                self.scope.names[target.text] = value
            home = scope.home(target.text)
            old = home.names.get(target.text)
            home.names[target.text] = self.elsewhere[target.text] = (
                value if old is None or grows else joined(old, value)
            )
            if grows:
                self.spill(target, scope, value.marks)
        elif target.kind in ("member", "index"):
            owner = self.value(target.parts[0], scope)
            name = target.text
            if target.kind == "index":
                name = self.value(target.parts[1], scope).said if len(target.parts) > 1 else ""
            if owner.name in ENVIRONMENTS:
                self.exported[name] = joined(variable(Value(name)), value)
                return
            if owner.name in _KEPT and _HEADER.search(name):
                network.carry(self, owner.path, NO_MARKS, [value])
                return
            if target.kind == "member":
                if target.parts[0].text in _THIS:
                    self.scope.names[name] = value
                made = self.made(Node("call", target.line, parts=(target,)), [value], scope, "", owner)
                made.verb = f"{name}="
                self.outside(made, _names_of(owner, made.verb))
            self.fill(target.parts[0], owner, scope, value, name)

    def fill(self, target: Node, owner: Value, scope: Scope, value: Value, name: str = "") -> None:
        """Put a value into an object or list that a name or member holds."""
        if self.depth > _DEPTH:
            return
        new = owner.marked(*everything(value))
        if name:
            props = owner.props or {}
            new = new.but(props={**props, name: perhaps(props.get(name, NOTHING), value)})
        elif owner.items is not None and len(owner.items) < 200:
            new = new.but(items=[*owner.items, value])
        elif owner.marks and not owner.name and owner.text is None and owner.props is None:
            new = new.but(items=[Value(marks=owner.marks), value])
        self.depth += 1
        if target.kind == "name":
            scope.home(target.text).names[target.text] = new
            self.spill(target, scope, value.marks)
        elif target.kind in ("member", "index") and (value.marks or name or owner.items is not None):
            self.assign(target, new, scope, grows=True)
        elif target.kind == "call" and value.marks and target.parts[0].kind == "member":  # what it returns is its owner
            inner = target.parts[0].parts[0]
            if _FLUENT.match(target.parts[0].text):
                self.fill(inner, self.value(inner, scope), scope, Value(marks=value.marks))
        self.depth -= 1

    def spill(self, target: Node, scope: Scope, marks: frozenset[Mark]) -> None:
        """Mark the streams and images that an object writes to, when something is put into it."""
        for inner in self.around.get(target.text, ()) if marks else ():
            if (held := scope.find(inner)) is not None and not marks <= held.marks:
                self.fill(target._replace(text=inner), held, scope, Value(marks=marks))

    # -- expressions -------------------------------------------------------------------------------------------------

    def values(self, nodes: Sequence[Node], scope: Scope) -> list[Value]:
        """Return the values of expressions."""
        return [self.value(node, scope) for node in nodes]

    def value(self, node: Node, scope: Scope) -> Value:
        """Return the value of an expression as far as it is known."""
        self.steps += 1
        if node.kind == "cut":
            self.line = node.line
            self.hit("code-partly-analysed", None, "", "It is nested too deep to be read")
        if self.depth > _DEPTH or self.steps > _MOST:
            return NOTHING
        self.depth += 1
        try:
            return self.read_node(node, scope)
        finally:
            self.depth -= 1

    def read_node(self, node: Node, scope: Scope) -> Value:
        """Return the value of an expression; the depth is counted by `value`."""
        match node.kind:
            case "text":
                return self.filled(node, scope) if node.parts else Value(node.text)
            case "number":
                return _number(node.text)
            case "name":
                return self.name(node.text, scope)
            case "command" | "raw":
                said = self.filled(node, scope)
                printed = execute.run_shell(self, self.made(node, [said], scope))
                return printed if node.kind == "command" else said
            case "member" | "call":
                return self.call(node, scope)
            case "index":
                owner, *key = self.values(node.parts, scope)
                if owner.name == "Dir":
                    return self.outside(self.made(node, key, scope, owner=owner), ("Dir.glob",))
                return self.item(owner, key[0] if key else NOTHING)
            case "set":
                return self.assignment(node, scope)
            case "list" | "map" | "joined":
                return self.composed(node, self.values(node.parts, scope), scope)
            case "mixed":
                return self.mixed(self.values(node.parts, scope))
            case "block" | "function":
                return Value(fn=(node, scope))
            case "group":
                inner = Scope(scope)
                last = self.body(node.parts, inner)
                return last if inner.returned is NOTHING else inner.returned
            case _:
                return NOTHING

    def composed(self, node: Node, values: list[Value], scope: Scope) -> Value:
        """Return a list, a map or a text of several values."""
        if node.kind == "map":
            props = {word: self.value(one, scope) for word, one in node.words}
            return Value(props=props, marks=union((*props.values(), *values)))
        if node.kind == "list":
            return gathered(values)
        return _added(values) if node.text == "+" else concatenated(values, pieced=False)

    def mixed(self, values: Sequence[Value]) -> Value:
        """Return the value of operands that are compared, or of which one is taken."""
        first = next((one for one in values if _is_known(one) or one.name in _KEPT), NOTHING)
        return first.but(marks=union(values))

    def name(self, text: str, scope: Scope) -> Value:
        """Return the value of a name."""
        if (known := scope.find(text)) is not None:
            return known
        if text.lower() in ("true", "false"):
            return Value(text.lower() == "true")
        if text in ("shift", "_") and (given := scope.find("_")) is not None:
            return _element(given) if text == "shift" else given
        if text in _REQUESTS:
            return Value(marks=frozenset((Mark("fetched", "a request", "", True, whole=True),)))
        if text in self.functions:  # called without brackets, or passed as a value
            found = self.invoke_all(text, [], scope)
            called = found.marks and not self.functions[text][0].params
            return found if called else found.but(fn=(self.functions[text][0], self.scope))
        row = find_row("code", text)
        if row is not None and row.does == "give":
            return Value(row.gives)
        return self.elsewhere.get(text) or named("code", text)

    def item(self, owner: Value, key: Value) -> Value:
        """Return an item of a list, map or environment."""
        if owner.name in ENVIRONMENTS:
            return self.exported.get(key.said) or variable(key)
        if owner.text == "~":
            return owner
        if key.choices and owner.props:
            return one_of([self.item(owner, Value(text)) for text in key.texts])
        if key.items is not None:
            return gathered([self.item(owner, one) for one in key.items[:_MOST_ITEMS]])
        if (found := item(owner, key.const)) is not None:
            return found
        return Value(marks=owner.marks) if owner.items is None and not owner.props else _element(owner)

    def filled(self, node: Node, scope: Scope, values: Sequence[Value] = ()) -> Value:
        """Return a text with values in its places: those of the program, or those that a function inserts."""
        if not node.parts:
            return Value(node.text, marks=union(values))
        left = list(values)
        parts: list[Value] = []
        for part in node.parts:
            if part.kind == "text":
                parts.append(Value(part.text))
                continue
            known = self.value(part.parts[0], scope) if part.parts else NOTHING
            positional = part.text[0] in "%{" and not part.parts
            if positional and left:
                parts.append(left.pop(0))
            elif known is NOTHING or (known.name and known.text is None and not known.marks and not known.fn):
                raw = part.text[0] in "$%{@" and not (positional and values)
                parts.append(Value(part.text) if raw else Value(HOLE))
            else:
                parts.append(known)
        found = concatenated(parts, pieced=False)
        return found.marked(*union(left)) if left else found

    # -- calls -------------------------------------------------------------------------------------------------------

    def made(self, node: Node, args: Sequence[Value], scope: Scope, name: str = "", owner: Value = NOTHING) -> Call:
        """Return a call that has been put together."""
        self.line = node.line
        return Call(name, NOTHING, owner, args, {}, node, scope=scope)

    def call(self, node: Node, scope: Scope) -> Value:
        """Return the result of a call, or of a member, which may be a call without arguments."""
        callee = node.parts[0] if node.kind == "call" else node
        owner = self.owner(callee, scope) if callee.kind == "member" else NOTHING
        self.line = node.line
        if node.kind == "member" and (part := self.member(node, owner)) is not None:
            return part
        formatted = self.formatted(node, callee, scope)
        args = (
            [formatted] if formatted is not None else self.values(node.parts[1:] if node.kind == "call" else (), scope)
        )
        words = self.words(node, scope)
        self.line = node.line
        if callee.kind == "member" and callee.text in _CALLS_ITSELF and owner.fn:
            return self.invoke(owner.fn[0], args, owner.fn[1])
        verb = callee.text if callee.kind in ("name", "member") else ""
        held = scope.find(verb) if callee.kind == "name" else None
        if held is not None and held.fn and verb not in self.functions:
            return self.invoke(held.fn[0], args, held.fn[1])
        plain = callee.kind != "member" or callee.parts[0].text in _THIS or find_row("code", f"*.{verb}") is None
        own = self.call_own(node, verb, args, words, scope, owner) if plain and verb in self.functions else None
        meant = self.meanings(verb) if own is not None else ()
        if own is not None and not meant:
            return own
        if verb == "new" and callee.kind == "member":
            self.construct([*args, *words.values()], scope)
        options = {word: part for one in args for word, part in (one.props or {}).items()}
        call = Call("", NOTHING, owner, args, {**options, **words}, node, verb=verb, scope=scope)
        if callee.kind == "member":
            names = _names_of(owner, verb)
        elif callee.kind == "name" and (held is None or held.name):
            names = meant or (verb if held is None else held.name,)
        else:
            names, call.owner = (), held or self.value(callee, scope)
        found = self.with_blocks(call, self.outside(call, names))
        return found if own is None else either(own, found)

    def meanings(self, verb: str) -> tuple[str, ...]:
        """Return what else the name of a function of the program stands for, if that runs something."""
        row = find_row("code", verb)
        return (verb,) if row is not None and row.does in _RUN else ()

    def words(self, node: Node, scope: Scope) -> dict[str, Value]:
        """Return the arguments of a call by name; those of a map that is spread have the names of its entries."""
        words: dict[str, Value] = {}
        for word, one in node.words:
            value = self.value(one, scope)
            if word[0] == "@" and value.props is not None:
                words.update((name.lower(), part) for name, part in value.props.items())
            else:
                words[word] = value
        return words

    def owner(self, callee: Node, scope: Scope) -> Value:
        """Return the value that a member belongs to; before `::` stands no variable."""
        root = callee.parts[0]
        if callee.text and callee.params == ("::",) and root.kind == "name" and root.text not in _THIS:
            return named("code", root.text)
        return self.value(root, scope)

    def member(self, node: Node, owner: Value) -> Value | None:
        """Return the value of a member that is known not to be a call; None for any other."""
        if owner.props is not None and node.text in owner.props:
            return taken(owner, owner.props[node.text])
        if owner.props is not None and node.text == "Keys":
            return literal(list(owner.props), owner.marks)
        if node.parts[0].text in _THIS and (kept := self.scope.find(node.text)) is not None:
            return kept
        if owner.name in ENVIRONMENTS and node.text.isupper():
            return variable(Value(node.text))
        if node.text[:1].isupper() and owner.name and not owner.marks:
            found = named("code", f"{owner.name}.{node.text}")
            return found.but(path=owner.path) if owner.path else found
        return None

    def call_own(
        self, node: Node, name: str, args: Sequence[Value], words: dict[str, Value], scope: Scope, owner: Value
    ) -> Value:
        """Return the result of a function of the program, and mark the objects that it changes."""
        found = self.invoke_all(name, args, scope, owner, words)
        for one, before, after in zip(node.parts[1:], args, self.after, strict=False):
            if one.kind == "name" and after.marks - before.marks:
                self.fill(one, before, scope, Value(marks=after.marks))
        return found

    def formatted(self, node: Node, callee: Node, scope: Scope) -> Value | None:
        """Return the text that a function such as `sprintf` makes; None if the call is another one."""
        if node.kind != "call" or callee.text not in _FORMATS or len(node.parts) < 2 or node.parts[1].kind != "text":
            return None
        return self.filled(node.parts[1], scope, self.values(node.parts[2:], scope))

    def outside(self, call: Call, names: Sequence[str]) -> Value:
        """Return the result of a function that the program does not define."""
        for name in names:
            if find_row("code", name) is not None:
                call.name = name
                if (found := self.judge(call)) is not None:
                    if found.name == "(socket)":
                        self.note("connects")
                    return found
        call.name = names[0] if names else ""
        return self.passed_on(call)

    def passed_on(self, call: Call) -> Value:
        """Return the result of an unknown call: what goes in, unless it only counts or compares."""
        if call.verb.lower() in _COUNTS:
            return NOTHING
        owner, given = call.owner, call.every()
        marks = union((owner, *given))
        callee = call.node.parts[0] if call.node.kind == "call" else call.node
        fills = call.verb in _FILLS or (marks - owner.marks and not owner.name and call.verb[-1:] != "=")
        if given and callee.kind == "member" and fills:
            self.fill(callee.parts[0], owner, call.scope, given[-1].marked(*marks))
            return owner.marked(*marks)
        if call.verb.lower() == "split" and owner.exact and call.arg(0).exact:
            return literal(owner.exact.split(call.arg(0).exact)[:_MOST_ITEMS], marks)
        if call.verb in _CHAINS and (owner.items is not None or owner.text):
            return gathered([part for one in (owner, *given) for part in (one.items or [one])])
        if owner.text is not None or owner.items is not None or owner.props is not None:
            return owner.but(marks=marks) if not given or call.verb in _KEEPS else Value(marks=marks)
        if not owner.marks and (wrapped := next(filter(_is_known, given), None)) is not None and call.args:
            return wrapped.but(marks=marks)
        if call.words and owner is NOTHING:
            return Value(props=call.words, marks=marks)
        name = call.name or call.verb
        found = named("code", f"{name}()" if call.node.kind == "call" else name, marks)
        return found.but(path=owner.path) if owner.path else found

    def with_blocks(self, call: Call, found: Value) -> Value:
        """Run the blocks and functions that a call is given, and return its result with theirs."""
        for value in call.every() if call.node.kind == "call" else ():
            if value.fn is None and find_row("code", value.name) is None:
                continue
            over = next((one for one in (found, call.owner) if _holds(one)), Value(marks=union(call.every())))
            if ENVIRONMENT in over.marks and value.fn is not None and (names := _listed_names(value.fn[0])):
                return gathered([variable(Value(name)) for name in names])  # only some variables of the environment
            results = self.each(value, over, call)
            marks = found.marks.union(*map(everything, results))
            if call.verb not in _KEEPS and any(one.marks or one.text is not None or one.items for one in results):
                found = Value(marks=marks, items=results) if over.items else results[0].but(marks=marks)
        return found

    def each(self, function: Value, over: Value, call: Call) -> list[Value]:
        """Return the results of a block or function for the items of a value."""
        several = _some(over.items) if over.items else [over if over.name in _KEPT else _element(over)]
        return [self.apply(function, one, call) for one in several]

    def apply(self, function: Value, given: Value, call: Call) -> Value:
        """Return the result of a block or function for an item."""
        if function.fn is None:
            return self.outside(self.made(call.node, [given], call.scope), (function.name,))
        node, scope = function.fn
        return self.invoke(node, given.items if given.items and len(node.params) > 1 else [given, given], scope)

    def construct(self, args: Sequence[Value], scope: Scope) -> None:
        """Read the constructors of the classes of the program."""
        for name in ("initialize", "new"):
            if name in self.functions:
                self.invoke_all(name, args, scope)

    def invoke_all(
        self,
        name: str,
        args: Sequence[Value],
        scope: Scope,
        owner: Value = NOTHING,
        words: dict[str, Value] | None = None,
    ) -> Value:
        """Read all functions of a name with arguments, and return either of their results."""
        found = NOTHING
        for function in self.functions[name][:_CALLS]:
            result = self.invoke(function, _arranged(function, args, words or {}), scope, owner)
            found = result if found is NOTHING else either(found, result)
        if name[:1].isupper() and args:  # a constructor: what it is given is in the object
            found = found.marked(*union(args))
        return found

    def invoke(self, node: Node, args: Sequence[Value], scope: Scope, owner: Value = NOTHING) -> Value:
        """Read a function or block of the program with arguments, and return its result."""
        self.called.add(id(node))
        given = tuple((one.text, one.marks, one.path, id(one.items), id(one.fn)) for one in (*args, owner))
        key = (id(node), scope if node.kind == "block" else None, given)
        if key in self.memo or self.inside > _CALLS:
            return self.memo[key][0] if key in self.memo else NOTHING
        self.memo[key] = (NOTHING, (*args, owner))
        inner = Scope(scope if node.kind == "block" else self.scope)
        self.bind(node, args, inner, owner)
        line = self.line
        self.inside += 1
        last = self.body(node.parts, inner)
        self.inside -= 1
        self.line = line
        self.after = [inner.names.get(name, NOTHING) for name in node.params]
        found = last if inner.returned is NOTHING else either(inner.returned, last)
        self.memo[key] = (found, (*args, owner))
        return found

    def bind(self, node: Node, args: Sequence[Value], inner: Scope, owner: Value) -> None:
        """Name the arguments of a function or block; those of a constructor are fields of its object, too."""
        given = {name for name, one in zip(node.params, args, strict=False) if one is not NOTHING}
        inner.names.update({name: self.value(one, inner) for name, one in node.words if name not in given})
        for number, name in enumerate(node.params[: len(args) or 1]):
            if name[0] == "*":
                inner.names[name[1:]] = gathered(list(args[number:]))
            elif number < len(args) and (args[number] is not NOTHING or name not in inner.names):
                inner.names[name] = args[number]
        if node.kind == "block":
            inner.names.update(dict.fromkeys(() if node.params else _IMPLICIT, args[0] if args else NOTHING))
            return
        if node.text in _CONSTRUCTORS or node.text[:1].isupper():
            for name, value in inner.names.items():
                self.scope.names[name] = joined(self.scope.names.get(name, NOTHING), value)
        inner.names["_"] = gathered([*([owner] if owner is not NOTHING else []), *args])
        if owner is not NOTHING and (owner.marks or owner.props or not owner.name):
            inner.names.update(dict.fromkeys(_THIS, owner))

    def call_back(self, function: Value, args: Sequence[Value]) -> Value:
        """Call a function of the program that was passed as an argument."""
        return self.invoke(function.fn[0], args, function.fn[1]) if function.fn else NOTHING


_KEPT = frozenset(("(names)", "(client)", "(connection)", "(socket)", "(made)", "(curl)", "open", "open.append"))
"""Names of objects that are used later."""
_WRAPS = expression(r"Stream$|Writer$|^FromImage$|Archive$", re.IGNORECASE)
"""The name of a constructor whose object writes to what it is given."""
_RUN = ("start program", "program", "evaluate")
"""Judges of functions that run a text, which keep their meaning when a program defines functions of their names."""
_CALLS_ITSELF = frozenset(("call", "yield", "invoke", "Invoke", "accept", "apply"))
"""Methods of a function that call it."""
_FLUENT = expression(r"append|insert|with|set|add", re.IGNORECASE)
"""The beginning of the name of a method that returns its owner."""
_HEADER = expression(r"-|^(?:authorization|cookie)$", re.IGNORECASE)
"""A name of a header of a request."""


def _number(text: str) -> Value:
    digits = text.removeprefix("-")
    return Value(int(text)) if digits.isdecimal() and digits.isascii() else NOTHING


def _added(values: Sequence[Value]) -> Value:
    """Return texts as one text, lists and items as one list, or maps as one map."""
    if values and all(one.props is not None for one in values):
        props = {name: part for one in values for name, part in (one.props or {}).items()}
        return Value(props=props, marks=union(values))
    if not any(one.items is not None for one in values):
        return concatenated(values, pieced=False)
    return gathered([part for one in values for part in (one.items if one.items is not None else [one])])


def _arranged(node: Node, args: Sequence[Value], words: dict[str, Value]) -> list[Value]:
    """Return the arguments of a function in the order of its parameters."""
    if words.keys().isdisjoint(node.params):
        return [*args, *words.values()]
    left = list(args)
    found = [words[name] if name in words else left.pop(0) if left else NOTHING for name in node.params]
    return [*found, *left]


def _is_known(value: Value) -> bool:
    """Return whether something besides marks is known of a value that is no function."""
    return value.fn is None and bool(value.text is not None or value.items is not None or value.props or value.path)


def _some(items: Sequence[Value]) -> Sequence[Value]:
    """Return a few items, of many those that can be trusted least."""
    if len(items) <= _MOST_ITEMS:
        return items
    return sorted(items, key=lambda one: max(map(distrust, one.texts), default=0), reverse=True)[:_MOST_ITEMS]


def _holds(value: Value) -> bool:
    return bool(value.marks or value.items or value.name in _KEPT) or _is_known(value)


def _functions(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield all functions and blocks in some statements."""
    left = list(nodes)
    while left:
        node = left.pop()
        if node.kind in ("function", "block"):
            yield node
        left += (*node.parts, *(one for _, one in node.words))


def _listed_names(block: Node) -> list[str]:
    """Return the texts of the first list in a block, such as the names that it lets through."""
    left = list(block.parts)
    while left:
        node = left.pop(0)
        if node.kind == "list" and len(node.parts) > 1 and all(one.kind == "text" and one.text for one in node.parts):
            return [one.text for one in node.parts]
        left += node.parts
    return []


def _names_of(owner: Value, verb: str) -> tuple[str, ...]:
    """Return the names under which a method may be in the table: with all of its path, with less of it, and alone."""
    parts = f"{owner.name}.{verb}".split(".") if owner.name else [verb]
    return (*(".".join(parts[at:]) for at in range(max(len(parts) - 1, 0))), f"*.{verb}")


def _element(value: Value) -> Value:
    """Return an item of what a loop goes through; of lists, each part is any of theirs."""
    if value.items and all(one.items for one in value.items):
        rows = [one.items or () for one in value.items]
        columns = ([row[at] for row in rows if at < len(row)] for at in range(max(map(len, rows))))
        return gathered(list(map(one_of, columns))).marked(*value.marks)
    if value.items:
        return taken(value, one_of(value.items))
    if value.props:
        return one_of(list(value.props.values())).marked(*value.marks)
    return Value(value.const if value.items is None and value.text is not None else UNKNOWN, marks=value.marks)
