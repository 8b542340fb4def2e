"""Cache files that are read at once and can be rebuilt: a head, and parts that are read together or one by one.

`cache.db` takes longer to open than a library of a thousand skills to list. So the data that every command reads first
is in separate files, in the directory `cache`: the skills found below each root (`whet.library.cache`) and the answers
of `state.db` (`whet.store.state`). Head and parts are plain values written by `marshal`, each after its checksum
(`pack`).

A file is replaced as a whole, and the last writer wins: readers check the data against what it was made from. A damaged
file, or one of another program or version, counts as missing.
"""

from __future__ import annotations

import marshal
import os
from zlib import crc32

from whet.store.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, BinaryIO, Self

DIRECTORY = "cache"
"""Directory of the files, in Whet's own directory."""
_MAGIC = b"whet-2\r\n"
_FORMAT = 4
"""Format of `marshal` that every supported Python reads and writes."""
_NUMBER = 4
"""Bytes of a length and of a checksum."""
_BUFFER = 1 << 20
_FORGET_AFTER = 90 * 24 * 3600
"""Seconds after which a file that was not replaced is removed."""
DAMAGE = (OSError, EOFError, StopIteration, TypeError, ValueError, LookupError)
"""Errors raised by reading a missing or damaged file."""


class PackedFile:
    """A file that is open for reading; `with` closes it. Every method raises one of `DAMAGE` for an unusable file."""

    def __init__(self, path: str) -> None:
        self._file: BinaryIO = open(path, "rb", buffering=_BUFFER, opener=open_regular)  # noqa: SIM115  see __exit__
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            self.head, self._sizes = self._first()
            self._start = self._file.tell()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def part(self, number: int) -> Any:
        """Return one part."""
        self._file.seek(self._start + sum(self._sizes[:number]))
        return self._value(self._sizes[number])

    def parts(self) -> Iterator[Any]:
        """Yield all parts in order."""
        self._file.seek(self._start)
        for size in self._sizes:
            yield self._value(size)

    def _first(self) -> Any:
        """Return the head and the sizes of the parts."""
        if self._file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("another version's file")
        return self._value(int.from_bytes(self._file.read(_NUMBER), "little"))

    def _value(self, size: int) -> Any:
        return unpack(self._file.read(size) if size <= self._size else b"")  # reading allocates memory first


def pack(value: Any) -> bytes:
    """Return a plain value after its checksum."""
    data = marshal.dumps(value, _FORMAT)
    return crc32(data).to_bytes(_NUMBER, "little") + data


def unpack(packed: bytes) -> Any:
    """Return the packed value. Raise one of `DAMAGE` if it was changed."""
    data = packed[_NUMBER:]
    if crc32(data) != int.from_bytes(packed[:_NUMBER], "little"):
        raise ValueError("a checksum is wrong")
    return marshal.loads(data)  # noqa: S302  checked to be what was written


def write_packed(path: str, head: Any, parts: Sequence[Any] = ()) -> None:
    """Replace the file, and remove old ones from its directory. Raises FailedError."""
    from whet.store.atomic import write_bytes
    from whet.store.directories import PRIVATE, make_directories

    packed = [*map(pack, parts)]
    first = pack((head, (*map(len, packed),)))
    size = len(first).to_bytes(_NUMBER, "little")
    if is_new := not os.path.exists(path):
        make_directories(os.path.dirname(path), durable=False, private=True)
    write_bytes(path, b"".join((_MAGIC, size, first, *packed)), mode=PRIVATE, durable=False)
    if is_new:
        _forget(path)


def _forget(path: str) -> None:
    """Remove files beside this one that were not replaced for long."""
    from contextlib import suppress

    with suppress(OSError), os.scandir(os.path.dirname(path)) as entries:
        oldest = os.stat(path).st_mtime - _FORGET_AFTER
        for entry in entries:
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)


def plain(value: object) -> Any:
    """Return a value for a part: named tuples as tuples, and unsupported types as text."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        return [*map(plain, value)]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return value if value is None or type(value) in (str, int, float, bool) else str(value)
