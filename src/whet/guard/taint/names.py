"""The values that names of a program stand for: the environment and its variables, known texts, and other names."""

from __future__ import annotations

from whet.guard.tables import load_toml
from whet.guard.taint.mark import ENVIRONMENT, NO_MARKS, Mark
from whet.guard.taint.secret import secret_key
from whet.guard.taint.value import NOTHING, UNKNOWN, Value

ENVIRONMENTS = frozenset(("os.environ", "process.env"))
"""The names of the environment in the languages that have one."""


def named(language: str, name: str, marks: frozenset[Mark] = NO_MARKS) -> Value:
    """Return the value of a dotted name; `marks` are those of its owner."""
    table = load_toml(f"{language}_api")
    name = table["synonyms"].get(name, name)
    if name in ENVIRONMENTS:
        return Value(name=name, marks=frozenset((ENVIRONMENT,)))
    if (store := table.get("stores", {}).get(name)) is not None:
        marks |= {Mark("captured", store, grave=True)}
    return Value(table["texts"].get(name, UNKNOWN), name, marks)


def variable(key: Value) -> Value:
    """Return the value of the environment variable that `key` names, or may name."""
    home = load_toml("keys")["homes"].get(key.said, UNKNOWN)
    marks = frozenset(mark for name in key.texts if (mark := secret_key(name)) is not None)
    return Value(home, marks=marks) if marks or home is not UNKNOWN else NOTHING
