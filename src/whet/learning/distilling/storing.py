"""Facts, and what a model made of them, as JSON and back: a distillation outlives the process that began it.

The types of the model say what is expected; whatever else is there is refused, because it may come from anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from whet.learning.facts.model import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whet.learning.distilling.refining import Refined


def facts_to_json(facts: Facts) -> dict[str, Any]:
    """The facts as every surface answers them."""
    plain: dict[str, Any] = _plain(facts)
    return plain


def facts_from_json(value: Any) -> Facts:
    """The facts that `facts_to_json` gave. Raises ValueError, which names the field."""
    facts: Facts = _read(Facts, value, "facts")
    return facts


def refined_to_json(refined: Refined) -> dict[str, Any]:
    """What a model made of the facts, for `refined_from_json`."""
    return {**_plain(refined), "proposed": plain_values(refined.proposed)}


def refined_from_json(value: Any, proposed: Callable[[Any], Mapping[str, Any]]) -> Refined:
    """What `refined_to_json` gave; `proposed` reads the answers in it. Raises ValueError, which names the field."""
    from whet.learning.distilling.refining import Refined

    if not isinstance(value, dict) or set(value) != set(Refined._fields):
        raise ValueError("refined does not have the fields it should have")
    return Refined(
        _read(Facts, value["facts"], "refined.facts"),
        proposed(value["proposed"]),
        texts_from_json(value["refused"], "refined.refused"),
        _read(int, value["tokens"], "refined.tokens"),
    )


def texts_from_json(value: Any, where: str) -> tuple[str, ...]:
    """A list of texts. Raises ValueError, which names the field."""
    texts: tuple[str, ...] = _read(tuple[str, ...], value, where)
    return texts


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Answers as JSON has them."""
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(inner) for name, inner in value._asdict().items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value


def _read(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is Literal:
        good = isinstance(value, str) and value in get_args(kind)
    elif get_origin(kind) is tuple:
        if isinstance(value, list):
            return tuple(_read(get_args(kind)[0], inner, where) for inner in value)
        good = False
    elif hasattr(kind, "_fields"):
        return _record(kind, value, where)
    elif kind is float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        good = type(value) is kind
    if not good:
        raise ValueError(f"{where} is not what it should be")
    return value


def _record(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict) or set(value) != set(kind._fields):
        raise ValueError(f"{where} does not have the fields it should have")
    hints = get_type_hints(kind)
    return kind(**{name: _read(hints[name], value[name], f"{where}.{name}") for name in kind._fields})
