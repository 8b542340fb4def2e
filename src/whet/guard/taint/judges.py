"""What the calls of one file come to: each is judged by what its row in the tables says that it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.guard.taint import capture, execute, files, harm, network
from whet.guard.taint.call import find_row
from whet.guard.taint.commands import LOUD, Commands
from whet.guard.taint.fold import computed, decoded
from whet.guard.taint.mark import Mark
from whet.guard.taint.value import UNKNOWN, Value, hidden_in, known, union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.guard.taint.call import Call
    from whet.guard.taint.shipped import Shipped


def _give(_reader: Judges, call: Call) -> Value:
    """A place that is the same wherever the program runs; alone in a list when the row says so."""
    return Value([call.row.gives]) if call.row.what == "list" else Value(call.row.gives, call.row.what)


def _keep(_reader: Judges, call: Call) -> Value:
    """The same value in another spelling."""
    return call.arg(0) if call.args else call.owner


def _compute(_reader: Judges, call: Call) -> Value | None:
    """What a function makes of constants; `grave` when it also gives on marks where they are not known."""
    words = {word: value.const for word, value in call.words.items()}
    const = computed(call.row.what or call.name, [value.const for value in call.args], words)
    if const is UNKNOWN:
        return Value(marks=union(call.args)) if call.row.grave else None
    return Value(const, marks=union(call.args), hidden="decoded" if call.row.gives else hidden_in(call.args))


def _decode(reader: Judges, call: Call) -> Value:
    """Something is decoded: worked out where it is constant, and looked at."""
    source, name = call.arg(0, "s"), call.row.what or call.name
    const = decoded(name, [source.const, *(value.const for value in call.args[1:2])])
    if const is not UNKNOWN:
        reader.unveil(const)
    return Value(const, marks=source.marks | {Mark("decoded", name)}, hidden="decoded")


def _unescape(reader: Judges, call: Call) -> Value | None:
    """What honest programs call on texts of others all the time: it hides something only in constants."""
    return _decode(reader, call) if call.args and known(call.args[0].const) else None


JUDGES: dict[str, Callable[[Judges, Call], Value | None]] = {
    **network.JUDGES, **files.JUDGES, **capture.JUDGES, **execute.JUDGES, **harm.JUDGES,
    "give": _give, "keep": _keep, "compute": _compute, "decode": _decode, "unescape": _unescape,
}  # fmt: skip
"""Every judge by what it is called in the tables."""


class Judges(Commands):
    """The calls of one file, and what is known of the files that they read and write."""

    language = ""
    specials: Mapping[str, Callable[[Any, Call], Value | None]] = {}
    """What the reader of a language knows to read by itself, by what it is called in the tables."""

    shipped: Shipped | None = None
    """The data of the package, when it is at hand."""

    def judge(self, call: Call) -> Value | None:
        """Judge a call by its row; what it gives, or nothing when that is not known."""
        row = find_row(self.language, call.name)
        if row is None:
            return None
        call.row = row
        self.name_arguments(call)
        judge = self.specials.get(row.does) or JUDGES[row.does]
        return judge(self, call)

    def name_arguments(self, call: Call) -> None:
        """Say what the arguments of a call are called in the program."""

    def name_words(self, call: Call) -> list[str]:  # noqa: ARG002  for readers that can tell
        """Say what the words of a command are called in the program."""
        return []

    def name_global(self, text: Value) -> Value | None:  # noqa: ARG002  for languages that have such names
        """What a text is that is only the name of something everybody knows."""
        return None

    def is_harmless(self, text: str) -> bool:  # noqa: ARG002  for readers that can tell
        """Is decoded code without anything that reaches beyond itself?"""
        return False

    def unveil(self, const: object) -> None:
        """Judge a constant that decodes to text with powerful words as the commands it may be."""
        text = const.decode("utf-8", "replace") if isinstance(const, bytes) else const
        if (
            isinstance(text, str)
            and len(text) >= 16
            and (self.is_bad_code(text) or (LOUD.search(text) and self.look(text, False)))
        ):
            self.hit("exec-decoded", None, "", "It keeps code in an encoded constant")

    def is_bad_code(self, text: str) -> bool:  # noqa: ARG002  for readers that can tell
        """Is a text code of the program's own language that does something bad? What it does is noted."""
        return False

    def call_back(self, function: Value, args: Sequence[Value]) -> Value:
        """Call a function of the program that was handed over."""
        raise NotImplementedError

    def data(self, path: Value) -> Any:
        """What stands in a file that is shipped with this one, when that is known."""
        if self.shipped is None or not isinstance(path.const, str):
            return UNKNOWN
        return self.shipped.text(path.const)

    def list_shipped(self, folder: str, suffix: str) -> list[str]:
        """The files in a folder that is shipped with this file, when they are known."""
        return self.shipped.listing(folder, suffix) if self.shipped is not None else []

    def read(self, path: Value, key: str) -> frozenset[Mark]:
        """The marks of what is in a file; `key` is what it is told apart by where its path is not known."""
        return files.read(self, path, key)

    def write(self, path: Value, key: str, content: Value, *, appends: bool = False) -> None:
        """Note what is written where, and judge the place."""
        files.write(self, path, key, content, appends=appends)
