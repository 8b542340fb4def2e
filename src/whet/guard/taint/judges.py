"""Judge the calls of one file by their rows in the tables."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from whet.guard.tables import load_toml
from whet.guard.taint import capture, execute, files, harm, network
from whet.guard.taint.call import find_row
from whet.guard.taint.commands import LOUD, Commands
from whet.guard.taint.containers import literal, plain
from whet.guard.taint.fold import computed, decoded
from whet.guard.taint.mark import Mark
from whet.guard.taint.names import variable
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, hidden_in, known, union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.guard.finding import Seen
    from whet.guard.taint.call import Call
    from whet.guard.taint.commands import Given
    from whet.guard.taint.shipped import Shipped


def _give(_reader: Judges, call: Call) -> Value:
    """Return a path that is the same on every machine, in a list if the row says so."""
    return literal([call.row.gives]) if call.row.what == "list" else Value(call.row.gives, call.row.what)


def _keep(_reader: Judges, call: Call) -> Value:
    """Return the argument or owner unchanged."""
    return call.arg(0) if call.args else call.owner


def _compute(_reader: Judges, call: Call) -> Value | None:
    """Return the result of a function of constants; `grave` passes on the marks of unknown arguments."""
    words = {word: plain(value) for word, value in call.words.items()}
    const = computed(call.row.what or call.name, [plain(value) for value in call.args], words)
    if const is UNKNOWN:
        return Value(marks=union(call.args)) if call.row.grave else None
    return literal(const, union(call.args), "decoded" if call.row.gives else hidden_in(call.args))


def decode(reader: Judges, call: Call) -> Value:
    """Decode the argument if it is constant, and check the result."""
    source, name = call.arg(0, "s"), call.row.what or call.name
    const = decoded(name, [source.const, *(value.const for value in call.args[1:2])])
    if const is not UNKNOWN:
        reader.unveil(const)
    return Value(const, marks=source.marks | {Mark("decoded", name)}, hidden="decoded")


def _unescape(reader: Judges, call: Call) -> Value | None:
    """Decode constant text only: honest programs unescape the texts of others all the time."""
    found = decode(reader, call) if call.args and known(call.args[0].const) else None
    return call.args[0] if found is not None and found.const == call.args[0].const else found


def _take_variable(reader: Judges, call: Call) -> Value:
    """Return an environment variable."""
    key = call.arg(0, "key")
    return reader.exported.get(key.said) or variable(key)


JUDGES: dict[str, Callable[[Judges, Call], Value | None]] = {
    **network.JUDGES, **files.JUDGES, **capture.JUDGES, **execute.JUDGES, **harm.JUDGES,
    "give": _give, "keep": _keep, "compute": _compute, "decode": decode, "unescape": _unescape,
    "variable": _take_variable,
}  # fmt: skip
"""All judges by their names in the tables."""


_PURE = frozenset(("give", "keep", "compute", "decode", "unescape", "variable", "stay", "gather", "paste"))
"""Judges that only compute a value, with all its possible texts."""
_MOST_ALTERNATIVES = 4


class Judges(Commands):
    """The calls of one file, and the files that they read and write."""

    language = ""
    specials: Mapping[str, Callable[[Any, Call], Value | None]] = {}
    """Functions that the reader of a language handles itself, by their names in the tables."""

    def __init__(self, level: int, read_inner: Callable[[str, int], Seen]) -> None:
        super().__init__(level, read_inner)
        self.exported: dict[str, Value] = {}
        """Environment variables that the program sets itself, or is given."""
        self.shipped: Shipped | None = None
        """The data files of the package, if available."""
        self.given: dict[str, Value] = {}
        """The arguments and the input of the program, by the names under which it finds them."""

    def take(self, given: Given) -> None:
        """Take the data that the program running this one passes to it."""
        self.files.update(given.files)
        self.shipped = given.shipped
        self.exported.update((name, Value(marks=marks)) for name, marks in given.variables.items())
        marks = union(given.arguments)
        for name, way in load_toml(f"{self.language}_api")["passed"].items() if marks or given.fed else ():
            items = [*repeat(NOTHING, way), *given.arguments] if isinstance(way, int) else None
            self.given[name] = Value(marks=given.fed if way == "input" else marks, items=items)

    def judge(self, call: Call) -> Value | None:
        """Judge a call by its row, and return its result; None if that is unknown."""
        row = find_row(self.language, call.name)
        if row is None:
            return None
        call.row = row
        call.folder = self.folder
        self.name_arguments(call)
        judge = self.specials.get(row.does) or JUDGES[row.does]
        others = list(call.alternatives(_MOST_ALTERNATIVES)) if row.does not in _PURE else []
        found = judge(self, call)
        for other in others:
            more = judge(self, other)
            if found is not None and more is not None and more.marks - found.marks:
                found = found.marked(*more.marks)
        return found

    def name_arguments(self, call: Call) -> None:
        """Set `call.names` to the names that the program uses for the arguments."""

    def name_words(self, call: Call) -> list[str]:  # noqa: ARG002  used by some readers
        """Return the names that the program uses for the words of a command."""
        return []

    def name_global(self, text: Value) -> Value | None:  # noqa: ARG002  used by some languages
        """Return the global that a text names; None for any other text."""
        return None

    def is_harmless(self, text: str) -> bool:  # noqa: ARG002  used by some readers
        """Return whether decoded code uses nothing powerful."""
        return False

    def unveil(self, const: object) -> None:
        """Report a decoded constant that contains bad code or commands."""
        text = const.decode("utf-8", "replace") if isinstance(const, bytes) else const
        if (
            isinstance(text, str)
            and len(text) >= 16
            and (self.is_bad_code(text) or (LOUD.search(text) and self.look(text, False)))
        ):
            self.hit("exec-decoded", None, "", "It keeps code in an encoded constant")

    def is_bad_code(self, text: str) -> bool:  # noqa: ARG002  used by some readers
        """Return whether a text is code in the program's own language that does something bad; report what it does."""
        return False

    def call_back(self, function: Value, args: Sequence[Value]) -> Value:
        """Call a function of the program that was passed as an argument."""
        raise NotImplementedError

    def data(self, path: Value) -> Any:
        """Return the text of a data file of the package; `UNKNOWN` if it is not known."""
        if self.shipped is None or not isinstance(path.const, str):
            return UNKNOWN
        return self.shipped.text(path.const)

    def list_shipped(self, folder: str, suffix: str) -> list[str]:
        """Return the data files in a directory of the package."""
        return self.shipped.listing(folder, suffix) if self.shipped is not None else []

    def read(self, path: Value, key: str) -> frozenset[Mark]:
        """Return the marks of the content of a file; `key` identifies it if its path is unknown."""
        return files.read(self, path, key)

    def write(self, path: Value, key: str, content: Value, *, appends: bool = False) -> None:
        """Record the marks of a written file, and judge its path."""
        files.write(self, path, key, content, appends=appends)
