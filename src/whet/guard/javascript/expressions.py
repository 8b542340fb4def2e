"""Evaluation of JavaScript expressions, by kind of node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard.javascript.calls import call_of, read_call
from whet.guard.javascript.values import GET, constant, either, member, unescaped
from whet.guard.taint.containers import any_item, concatenated, gathered, parts_of, spread
from whet.guard.taint.fold import binary, bounded
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.names import variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, union
from whet.guard.taint.value import either as one_of_two

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from whet.guard.javascript.reader import Reader

FUNCTIONS = frozenset(
    {"function_declaration", "function_expression", "generator_function_declaration", "generator_function",
     "arrow_function", "method_definition"}
)  # fmt: skip
MOST_PROPS = 500


def _string(reader: Reader, node: Node) -> Value:
    return constant(unescaped(reader.text(node)[1:-1]))


def _template(reader: Reader, node: Node) -> Value:
    parts = []
    for part in node.named_children:
        if part.type == "template_substitution":
            parts.append(_text(reader, reader.value(part.named_children[0])) if part.named_child_count else NOTHING)
        else:
            parts.append(constant(unescaped(reader.text(part))))
    return concatenated(parts, pieced=False) if parts else constant("")


_TEXTS = ("[Symbol.toPrimitive]", "toString", "valueOf")
"""Methods that make a text of an object."""


def _text(reader: Reader, value: Value) -> Value:
    """Return what an object is in a text."""
    own = value.props or (reader.fields if value.name == "this" else {})
    found = [reader.bind(own[name].fn, ()) for name in _TEXTS if name in own and own[name].fn]
    return Value(marks=union(found)) if found else value


def _identifier(reader: Reader, node: Node) -> Value:
    return reader.name(unescaped(reader.text(node)))


def _inner(reader: Reader, node: Node) -> Value:
    return reader.value(node.named_children[-1]) if node.named_child_count else NOTHING


def _binary(reader: Reader, node: Node) -> Value:
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
        values = [reader.value(part) for part in (left, *reversed(parts))]
        if all(isinstance(value.const, int) for value in values):
            return Value(bounded(sum(value.const for value in values)), marks=union(values))
        return concatenated([_text(reader, value) for value in values])
    if sign in ("||", "??"):
        return one_of_two(reader.value(right), reader.value(left))
    if sign == "&&":
        return reader.value(right)
    one_, two_ = reader.value(left), reader.value(right)
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


def _ternary(reader: Reader, node: Node) -> Value:
    return either(reader.part(node, "consequence"), reader.part(node, "alternative"))


def _array(reader: Reader, node: Node) -> Value:
    items = spread((reader.value(part), part.type == "spread_element") for part in node.named_children[:4000])
    return Value(items=tuple(items), marks=union(items))


def _object(reader: Reader, node: Node) -> Value:
    props: dict[str, Value] = {}
    spread = []
    for part in node.named_children[:MOST_PROPS]:
        match part.type:
            case "pair":
                key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
                if key is not None and value is not None:
                    computed = key.type == "computed_property_name" and key.named_child_count
                    name = reader.value(key.named_children[0]).text if computed else reader.text(key).strip("\"'")
                    props[name or HOLE] = reader.value(value)
            case "shorthand_property_identifier":
                props[reader.text(part)] = _identifier(reader, part)
            case "method_definition":
                name_ = part.child_by_field_name("name")
                if name_ is not None:
                    props[reader.text(name_)] = Value(fn=part.id)
            case "spread_element":
                value_ = _inner(reader, part)
                spread.append(value_)
                props.update(value_.props or {})
    return Value(props=props, marks=union((*props.values(), *spread)))


def _function_value(_program: Reader, node: Node) -> Value:
    return Value(fn=node.id)


def _this(_program: Reader, _node: Node) -> Value:
    return Value(name="this")


def _member(reader: Reader, node: Node) -> Value:
    owner = node.child_by_field_name("object")
    if owner is None:
        return NOTHING
    name = reader.property(node)
    if owner.type == "this" and name is not None:
        return reader.field(name)
    known = reader.value(owner)
    if known.name == "process.env":
        key = reader.part(node, "index") if node.type == "subscript_expression" else Value(name)
        unknown = name is None and key.has("env", "names")
        return known.but(name="") if unknown else reader.exported.get(name or "") or variable(key)
    if name is None:
        return any_item(known)
    if name in reader.fields and (known.name == "this" or known.name in reader.klasses):
        return reader.field(name)
    if name.isdigit() and len(name) < 7 and (parts := parts_of(known)) is not None:
        return parts[int(name)] if int(name) < len(parts) else NOTHING
    if known.props is not None and GET in known.props and name not in known.props:
        return reader.bind(known.props[GET].fn, (NOTHING, constant(name)))
    found = member(known, name)
    if found.name in reader.given:
        return reader.given[found.name]
    return found.but(hidden="split") if found.name and reader.part(node, "index").hidden else found


def _assigned(reader: Reader, node: Node) -> Value:
    return reader.part(node, "right")


def _number(reader: Reader, node: Node) -> Value:
    text = reader.text(node).replace("_", "").removesuffix("n")[:40]
    try:
        return Value(int(text, 0) if text[:1] != "0" or not text[1:].isdigit() else int(text))
    except ValueError:
        return constant(text)


def _regex(reader: Reader, node: Node) -> Value:
    return Value(name="(expression)", path=reader.text(node)[1:])


def _unary(reader: Reader, node: Node) -> Value:
    operator, value = node.child_by_field_name("operator"), reader.part(node, "argument")
    if not isinstance(value.const, int) or operator is None:
        return NOTHING
    return Value({"-": -value.const, "~": ~value.const, "+": value.const}.get(operator.type, UNKNOWN))


def _call(reader: Reader, node: Node) -> Value:
    made = node.type == "new_expression"
    called = node.child_by_field_name("constructor" if made else "function")
    given = node.child_by_field_name("arguments")
    if called is None:
        return NOTHING
    receiver, method = NOTHING, ""
    while called.type == "parenthesized_expression" and called.named_child_count == 1:
        called = called.named_children[0]
    if called.type in ("member_expression", "subscript_expression"):
        receiver, method = reader.part(called, "object"), reader.property(called) or ""
    if called.type == "import":  # text in another language may have more between the word and a bracket
        near = given is not None and not reader.source[called.end_byte : given.start_byte].strip()
        callee = Value(name="import") if near else NOTHING
    elif method and receiver is NOTHING:
        callee = NOTHING
    else:
        callee = reader.value(called)
    if given is None:
        args: tuple[Value, ...] = ()
    elif given.type == "template_string":
        values = [reader.value(part) for part in given.named_children if part.type == "template_substitution"]
        args = (gathered([]), *values) if callee.fn else (reader.value(given),)
    else:
        parts = [part for part in given.named_children[:50] if part.type != "comment"]
        args = tuple(spread((reader.value(part), part.type == "spread_element") for part in parts))
    if called.type == "subscript_expression" and not method and receiver.props:  # any of its functions may be called
        for one in receiver.props.values():
            reader.bind(one.fn, args)
    return read_call(reader, call_of(callee.name, method or callee.name, receiver, callee, args, node, made=made))


EXPRESSIONS: dict[str, Callable[[Reader, Node], Value]] = {
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
    "meta_property": lambda reader, node: Value(name=reader.text(node)),
    "template_substitution": _inner,
    "regex": _regex,
    "unary_expression": _unary,
    **dict.fromkeys(FUNCTIONS, _function_value),
}
"""The evaluation function for each kind of node."""
