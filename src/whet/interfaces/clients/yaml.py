"""Configurations in YAML, for the editor of YAML text in the skill room.

The value comes from PyYAML's safe loader; the places come from its events, which are read first because they are the
only part of the parser that a hostile file cannot make recurse or grow without bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from whet.interfaces.clients import editor
from whet.interfaces.clients.editor import Editor
from whet.skill import yaml_edit
from whet.skill.block import FORBIDDEN
from whet.skill.text_edit import Path, value_at, with_value

_FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""Exceptions of the loader's constructors for an invalid tagged or dated scalar."""


class _Document(NamedTuple):
    """A parsed text."""

    tree: yaml_edit.YamlText
    value: Any


def _parse(text: str) -> _Document:
    """Parse a text. Raises InvalidError with line and column."""
    import yaml

    editor.checked_size(text)
    begin = 1 if text.startswith(editor.BOM) else 0
    odd = FORBIDDEN.search(text)
    if odd:
        raise editor.broken(text, odd.start(), f"the character {odd.group()!r} is not allowed")
    try:
        tree = yaml_edit.read_nodes(text)
        value = _load(text[begin:])
    except yaml_edit.TooLarge as error:
        if error.at is not None:
            raise editor.too_deep(text, error.at) from None
        raise editor.too_large(f"The configuration {error}.") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = begin + mark.index if mark else begin
        raise editor.broken(text, at, error.problem or error.context or "this is not YAML") from None
    except yaml.YAMLError as error:
        raise editor.broken(text, begin, str(error).partition("\n")[0]) from None
    except RecursionError:
        raise editor.too_deep(text, begin) from None
    return _Document(tree, {} if value is None else value)


def _load(text: str) -> Any:
    """Return the value; a scalar that cannot be constructed is an error with a position."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # whichever of the two is there
        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except _FAULTS as error:
                raise yaml.constructor.ConstructorError(
                    None, None, f"this value is not valid ({error})", node.start_mark
                ) from None

    instance = Loader(text)
    try:
        return instance.get_single_data()
    finally:
        instance.dispose()


def _emptied(value: Any, path: Path) -> list[Any]:
    """Return the value with a null again for a table that was made by filling a null."""
    parent = path[:-1]
    return [] if not parent or value_at(value, parent) else [with_value(value, parent, None)]


EDITOR = Editor(
    parse=_parse,
    span=lambda document, path: yaml_edit.span(document.tree, path),
    replaced=lambda document, path, value: yaml_edit.replace(document.tree, path, value),
    inserted=lambda document, parent, key, value: yaml_edit.insert(
        document.tree, parent, (key,), value, mark_null=True
    ),
    appended=lambda document, path, value: yaml_edit.append(document.tree, path, value, mark_null=True),
    removed=lambda document, path: yaml_edit.remove(document.tree, path),
    written=lambda value: "\n".join(yaml_edit.spell_block(value)),
    emptied=_emptied,
    null_is_empty=True,
)
