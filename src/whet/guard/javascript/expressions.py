"""Evaluation of JavaScript expressions, by kind of node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.javascript.values import constant, either, joined, member, parts_of, unescaped, variable
from whet.guard.taint.call import Call
from whet.guard.taint.fold import binary, bounded
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, union
from whet.guard.taint.value import either as one_of_two

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from whet.guard.javascript.program import Program

FUNCTIONS = frozenset(
    {"function_declaration", "function_expression", "generator_function_declaration", "generator_function",
     "arrow_function", "method_definition"}
)  # fmt: skip
MOST_PROPS = 500


def call_of(
    name: str, verb: str, owner: Value, callee: Value, args: Sequence[Value], node: Node, *, made: bool = False
) -> Call:
    """Return the `Call` for a call, `new`, tagged template or member assignment; object arguments become options."""
    words = {key: value for arg in args if arg.props for key, value in arg.props.items()}
    return Call(name.replace("()", ""), callee, owner, args, words, node, verb=verb.rpartition(".")[2], made=made)


def _string(program: Program, node: Node) -> Value:
    return constant(unescaped(program.text(node)[1:-1]))


def _template(program: Program, node: Node) -> Value:
    parts = []
    for part in node.named_children:
        if part.type == "template_substitution":
            parts.append(program.value(part.named_children[0]) if part.named_child_count else NOTHING)
        else:
            parts.append(constant(unescaped(program.text(part))))
    return joined(parts, pieced=False) if parts else constant("")


def _identifier(program: Program, node: Node) -> Value:
    return program.name(unescaped(program.text(node)))


def _inner(program: Program, node: Node) -> Value:
    return program.value(node.named_children[-1]) if node.named_child_count else NOTHING


def _binary(program: Program, node: Node) -> Value:
    operator = node.child_by_field_name("operator")
    sign = operator.type if operator is not None else ""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return NOTHING
    if sign == "+":
        parts = [right]
        while left.type == "binary_expression" and (inner := left.child_by_field_name("operator")) is not None:
            one, two = left.child_by_field_name("left"), left.child_by_field_name("right")
            if inner.type != "+" or one is None or two is None:
                break
            parts.append(two)
            left = one
        values = [program.value(part) for part in (left, *reversed(parts))]
        if all(isinstance(value.const, int) for value in values):
            return Value(bounded(sum(value.const for value in values)), marks=union(values))
        return joined(values)
    if sign in ("||", "??"):
        return one_of_two(program.value(right), program.value(left))
    if sign == "&&":
        return program.value(right)
    one_, two_ = program.value(left), program.value(right)
    if sign in _COMPARES and one_.const is not UNKNOWN and two_.const is not UNKNOWN:
        return Value((one_.const == two_.const) == (sign[0] == "="))
    operation = _OPERATORS.get(sign)
    if operation is None:
        return NOTHING
    const = binary(operation, one_.const, two_.const)
    if sign == "^":
        return Value(const, marks=union((one_, two_)) | _MIXED, hidden="decoded")
    return Value(const, marks=union((one_, two_)))


_MIXED = frozenset({Mark("decoded", "exclusive or")})
_COMPARES = frozenset({"==", "===", "!=", "!=="})
_OPERATORS = {
    "^": "BitXor", "-": "Sub", "*": "Mult", "%": "Mod", "&": "BitAnd", "|": "BitOr", "<<": "LShift", ">>": "RShift",
    ">>>": "RShift",
}  # fmt: skip


def _ternary(program: Program, node: Node) -> Value:
    return either(program.part(node, "consequence"), program.part(node, "alternative"))


def _array(program: Program, node: Node) -> Value:
    items: list[Value] = []
    for part in node.named_children[:4000]:
        value = program.value(part)
        spread = parts_of(value) if part.type == "spread_element" else None
        items.extend((value,) if spread is None else spread)
    return Value(items=tuple(items), marks=union(items))


def _object(program: Program, node: Node) -> Value:
    props: dict[str, Value] = {}
    spread = []
    for part in node.named_children[:MOST_PROPS]:
        match part.type:
            case "pair":
                key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
                if key is not None and value is not None:
                    computed = key.type == "computed_property_name" and key.named_child_count
                    name = program.value(key.named_children[0]).text if computed else program.text(key).strip("\"'")
                    props[name or HOLE] = program.value(value)
            case "shorthand_property_identifier":
                props[program.text(part)] = _identifier(program, part)
            case "method_definition":
                name_ = part.child_by_field_name("name")
                if name_ is not None:
                    props[program.text(name_)] = Value(fn=part.id)
            case "spread_element":
                value_ = _inner(program, part)
                spread.append(value_)
                props.update(value_.props or {})
    return Value(props=props, marks=union((*props.values(), *spread)))


def _function_value(_program: Program, node: Node) -> Value:
    return Value(fn=node.id)


def _this(_program: Program, _node: Node) -> Value:
    return Value(name="this")


def _member(program: Program, node: Node) -> Value:
    owner = node.child_by_field_name("object")
    if owner is None:
        return NOTHING
    name = program.property(node)
    if owner.type == "this" and name is not None:
        return program.field(name)
    known = program.value(owner)
    if known.name == "process.env" and name in program.exported:
        return program.exported[name]
    if name in program.fields and (known.name == "this" or known.name in program.klasses):
        return program.field(name)
    if name is None or (known.name == "process.env" and node.type == "subscript_expression"):
        return _indexed(program, node, known) if name is None else _variable(program, node, known, name)
    if name.isdigit() and len(name) < 7 and (parts := parts_of(known)) is not None:
        return parts[int(name)] if int(name) < len(parts) else NOTHING
    found = member(known, name)
    return found.but(hidden="split") if found.name and program.part(node, "index").hidden else found


def _variable(program: Program, node: Node, owner: Value, name: str) -> Value:
    """Return `process.env[key]` for a key that may have several values."""
    found = member(owner, name)
    return found.but(marks=found.marks | variable(*program.part(node, "index").choices))


def _indexed(program: Program, node: Node, owner: Value) -> Value:
    """Return `owner[key]` for an unknown key: the marks of any item."""
    key = program.part(node, "index")
    named = owner.name == "process.env" and not key.has("env", "names")
    return Value(marks=variable(*key.choices) if named else owner.marks)


def _assigned(program: Program, node: Node) -> Value:
    return program.part(node, "right")


def _number(program: Program, node: Node) -> Value:
    text = program.text(node).replace("_", "").removesuffix("n")[:40]
    try:
        return Value(int(text, 0) if text[:1] != "0" or not text[1:].isdigit() else int(text))
    except ValueError:
        return constant(text)


def _arguments(program: Program, given: Node) -> tuple[Value, ...]:
    values: list[Value] = []
    for arg in given.named_children[:50]:
        if arg.type == "comment":
            continue
        value = program.value(arg)
        spread = parts_of(value) if arg.type == "spread_element" else None
        values.extend((value,) if spread is None else spread)
    return tuple(values)


def _regex(program: Program, node: Node) -> Value:
    return Value(name="(expression)", path=program.text(node)[1:])


def _unary(program: Program, node: Node) -> Value:
    operator, value = node.child_by_field_name("operator"), program.part(node, "argument")
    if not isinstance(value.const, int) or operator is None:
        return NOTHING
    return Value({"-": -value.const, "~": ~value.const, "+": value.const}.get(operator.type, UNKNOWN))


def _call(program: Program, node: Node) -> Value:
    made = node.type == "new_expression"
    called = node.child_by_field_name("constructor" if made else "function")
    given = node.child_by_field_name("arguments")
    if called is None:
        return NOTHING
    receiver, method = NOTHING, ""
    while called.type == "parenthesized_expression" and called.named_child_count == 1:
        called = called.named_children[0]
    if called.type in ("member_expression", "subscript_expression"):
        receiver, method = program.part(called, "object"), program.property(called) or ""
    if called.type == "import":  # text in another language may have more between the word and a bracket
        near = given is not None and not program.source[called.end_byte : given.start_byte].strip()
        callee = Value(name="import") if near else NOTHING
    elif method and receiver is NOTHING:
        callee = NOTHING
    else:
        callee = program.value(called)
    if given is None:
        args: tuple[Value, ...] = ()
    elif given.type == "template_string":
        args = (program.value(given),)
    else:
        args = _arguments(program, given)
    return program.meaning(call_of(callee.name, method or callee.name, receiver, callee, args, node, made=made))


EXPRESSIONS: dict[str, Callable[[Program, Node], Value]] = {
    "string": _string,
    "template_string": _template,
    "identifier": _identifier,
    "parenthesized_expression": _inner,
    "sequence_expression": _inner,
    "await_expression": _inner,
    "yield_expression": _inner,
    "spread_element": _inner,
    "binary_expression": _binary,
    "ternary_expression": _ternary,
    "array": _array,
    "object": _object,
    "member_expression": _member,
    "subscript_expression": _member,
    "assignment_expression": _assigned,
    "number": _number,
    "call_expression": _call,
    "new_expression": _call,
    "this": _this,
    "regex": _regex,
    "unary_expression": _unary,
    **dict.fromkeys(FUNCTIONS, _function_value),
}
"""The evaluation function for each kind of node."""
