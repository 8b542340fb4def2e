"""Transparency logs of hubs: Merkle trees, signed checkpoints and proofs.

The tree is that of RFC 6962 over SHA-256. A checkpoint is a note signed with Ed25519 that names the log, its size and
its root; a proof is a text with the index of an entry, its path to the root, and the checkpoint. Both use the formats
of C2SP (tlog-checkpoint, signed-note, tlog-proof), so that other tools can read them. Everything here is a plain
function on bytes: the key of a log is enough to check a proof offline.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING

from whet.errors import InvalidError
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

HASH = 32
"""Bytes of a hash."""
EMPTY_ROOT = hashlib.sha256(b"").digest()
_ED25519 = b"\x01"
_PROOF_HEADER = "c2sp.org/tlog-proof@v1"
_DASH = "\u2014"
_MOST_PATH = 64
"""Largest number of hashes in a proof: a log has less than 2 ** 64 entries."""


def hash_leaf(entry: bytes) -> bytes:
    """Return the hash of an entry as a leaf of the tree."""
    return hashlib.sha256(b"\x00" + entry).digest()


def hash_node(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node above two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def write_entry(act: Mapping[str, object]) -> str:
    """Return an act as a line of the log; the hash covers exactly this text."""
    return json.dumps(act, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


# the tree


class Tree:
    """The tree over the first `size` leaves. `node(level, n)` is the n-th node of a level; leaves are level 0."""

    def __init__(self, size: int, node: Callable[[int, int], bytes]) -> None:
        self.size = size
        self._node = node

    def at(self, size: int) -> Tree:
        """Return the tree as it was with `size` leaves."""
        if not 0 <= size <= self.size:
            raise ValueError(f"a tree of {self.size} leaves never had {size}")
        return Tree(size, self._node)

    def leaf(self, number: int) -> bytes:
        """Return the hash of an entry."""
        return self._node(0, number)

    def root(self) -> bytes:
        """Return the hash of the whole tree."""
        return self._hash(0, self.size) if self.size else EMPTY_ROOT

    def prove_inclusion(self, index: int) -> list[bytes]:
        """Return the path from a leaf to the root."""
        if not 0 <= index < self.size:
            raise ValueError(f"no leaf {index} in a tree of {self.size}")
        return self._path(index, 0, self.size)

    def prove_consistency(self, size: int) -> list[bytes]:
        """Return the proof that the tree of the first `size` leaves is a prefix of this one."""
        if not 0 <= size <= self.size:
            raise ValueError(f"a tree of {size} leaves is not the beginning of one of {self.size}")
        return self._grown(size, 0, self.size, whole=True) if 0 < size < self.size else []

    def _hash(self, start: int, end: int) -> bytes:
        count = end - start
        if count & (count - 1) == 0:
            level = count.bit_length() - 1
            return self._node(level, start >> level)
        middle = start + _split(count)
        return hash_node(self._hash(start, middle), self._hash(middle, end))

    def _path(self, index: int, start: int, end: int) -> list[bytes]:
        if end - start == 1:
            return []
        middle = start + _split(end - start)
        if index < middle:
            return [*self._path(index, start, middle), self._hash(middle, end)]
        return [*self._path(index, middle, end), self._hash(start, middle)]

    def _grown(self, size: int, start: int, end: int, *, whole: bool) -> list[bytes]:
        if size == end - start:
            return [] if whole else [self._hash(start, end)]
        middle = start + _split(end - start)
        if size <= middle - start:
            return [*self._grown(size, start, middle, whole=whole), self._hash(middle, end)]
        below = self._grown(size - (middle - start), middle, end, whole=False)
        return [*below, self._hash(start, middle)]


def completed_nodes(index: int, leaf: bytes, node: Callable[[int, int], bytes]) -> list[tuple[int, int, bytes]]:
    """Return the nodes that a leaf appended at `index` completes: (level, number, hash), the leaf first."""
    nodes = [(0, index, leaf)]
    level, number, value = 0, index, leaf
    while number & 1:
        value = hash_node(node(level, number - 1), value)
        level, number = level + 1, number >> 1
        nodes.append((level, number, value))
    return nodes


def _split(count: int) -> int:
    """Return the largest power of two below `count`."""
    return 1 << (count - 1).bit_length() - 1


# checks


def check_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Raise InvalidError `bad-proof` unless the path leads from the leaf at `index` to the root."""
    if not 0 <= index < size:
        raise _bad_proof(f"it names entry {index} of a log with {size}")
    number, last, value = index, size - 1, leaf
    for other in path:
        if last == 0:
            raise _bad_proof("its path is too long")
        if number & 1 or number == last:
            value = hash_node(other, value)
            while number and not number & 1:
                number, last = number >> 1, last >> 1
        else:
            value = hash_node(value, other)
        number, last = number >> 1, last >> 1
    if last:
        raise _bad_proof("its path is too short")
    if value != root:
        raise _bad_proof("its path leads to another root")


def check_consistency(old_size: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> None:
    """Raise InvalidError `log-diverged` unless the smaller tree is a prefix of the larger one."""
    if not 0 <= old_size <= size:
        raise diverged(f"it had {old_size} entries and has {size} now")
    if old_size == size or old_size == 0:
        if path or (old_size == size and old_root != root):
            raise diverged(f"it shows two roots for {size} entries")
        return
    values = list(path)
    if old_size & (old_size - 1) == 0:
        values.insert(0, old_root)
    if not values:
        raise diverged("the proof is too short")
    number, last = old_size - 1, size - 1
    while number & 1:
        number, last = number >> 1, last >> 1
    before = after = values[0]
    for other in values[1:]:
        if last == 0:
            raise diverged("the proof is too long")
        if number & 1 or number == last:
            before, after = hash_node(other, before), hash_node(other, after)
            while number and not number & 1:
                number, last = number >> 1, last >> 1
        else:
            after = hash_node(after, other)
        number, last = number >> 1, last >> 1
    if last or before != old_root or after != root:
        raise diverged(f"the first {old_size} of its {size} entries are no longer the same")


# keys and signed notes


class LogKey(NamedTuple):
    """The public key of a log and the name it signs with."""

    name: str
    key: bytes

    @property
    def id(self) -> bytes:
        """The key id in its signatures."""
        return hashlib.sha256(f"{self.name}\n".encode() + _ED25519 + self.key).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{_encode(_ED25519 + self.key)}"

    @classmethod
    def parse(cls, text: str) -> LogKey:
        """Parse the result of `str()`. Raise InvalidError `bad-log-key`."""
        name, mark, key = (*text.split("+", 2), "", "")[:3]  # the key may contain a plus sign, the name cannot
        try:
            data = _decode(key)
        except binascii.Error:
            data = b""
        found = cls(name, data[1:])
        if not is_origin(name) or len(data) != HASH + 1 or data[:1] != _ED25519 or found.id.hex() != mark:
            hint = "It looks like NAME+0123abcd+BASE64, and `GET /api/v1` of the hub shows it."
            raise InvalidError("bad-log-key", "This is not the key of a log.", hint=hint)
        return found


def is_origin(name: str) -> bool:
    """Return whether this is a valid name of a log."""
    return bool(name) and name.isascii() and name.isprintable() and not {" ", "+"} & {*name}


class Checkpoint(NamedTuple):
    """The size and root of a log at one moment."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The signed text."""
        return f"{self.origin}\n{self.size}\n{_encode(self.root)}\n"


def sign_checkpoint(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> str:
    """Return the checkpoint as a note with one signature."""
    public = LogKey(checkpoint.origin, key.public_key().public_bytes_raw())
    signature = _encode(public.id + key.sign(checkpoint.text.encode()))
    return f"{checkpoint.text}\n{_DASH} {checkpoint.origin} {signature}\n"


def read_checkpoint(note: str, key: LogKey) -> Checkpoint:
    """Read the checkpoint from a note that this key signed. Raise InvalidError `bad-checkpoint`."""
    text, gap, signatures = note.partition("\n\n")
    lines = text.split("\n")
    if not gap or len(lines) < 3 or not signatures.endswith("\n"):
        raise _bad_checkpoint("it is not a signed note")
    body = f"{text}\n".encode()
    if not any(_signed(line, body, key) for line in signatures[:-1].split("\n")[:16]):
        raise _bad_checkpoint(f"{key.name} has not signed it")
    origin, size, root = lines[:3]
    if origin != key.name:
        raise _bad_checkpoint(f"it is one of {origin[:80]!r}, not of {key.name}")
    try:
        value = _decode(root)
    except binascii.Error:
        value = b""
    if not (size.isascii() and size.isdecimal() and len(size) < 20) or len(value) != HASH or str(int(size)) != size:
        raise _bad_checkpoint("its size or its root cannot be read")
    return Checkpoint(origin, int(size), value)


def _signed(line: str, body: bytes, key: LogKey) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    dash, _, rest = line.partition(" ")
    name, _, signature = rest.partition(" ")
    if dash != _DASH or name != key.name:
        return False
    try:
        data = _decode(signature)
        if data[:4] == key.id:
            Ed25519PublicKey.from_public_bytes(key.key).verify(data[4:], body)
            return True
    except (binascii.Error, InvalidSignature, ValueError):
        pass
    return False


# proofs


class Proof(NamedTuple):
    """Proof that an entry is in a log."""

    number: int
    path: tuple[bytes, ...]
    checkpoint: str
    """Signed note."""

    def __str__(self) -> str:
        hashes = "".join(f"{_encode(value)}\n" for value in self.path)
        return f"{_PROOF_HEADER}\nindex {self.number}\n{hashes}\n{self.checkpoint}"

    @classmethod
    def parse(cls, text: str) -> Proof:
        """Parse the result of `str()`. Raise InvalidError `bad-proof`."""
        head, gap, note = text.partition("\n\n")
        header, index, *hashes = (*head.split("\n"), "")[: _MOST_PATH + 3]
        number = index.removeprefix("index ")
        if header != _PROOF_HEADER or not gap or not (number.isascii() and number.isdecimal() and len(number) < 20):
            raise _bad_proof("it is not a proof of a transparency log")
        try:
            path = tuple(map(_decode, hashes[:-1]))
        except binascii.Error:
            path = (b"",)
        if any(len(value) != HASH for value in path):
            raise _bad_proof("its hashes cannot be read")
        return cls(int(number), path, note)

    def check(self, entry: bytes, key: LogKey) -> Checkpoint:
        """Check the proof of an entry and return its checkpoint. Raises InvalidError."""
        checkpoint = read_checkpoint(self.checkpoint, key)
        check_inclusion(hash_leaf(entry), self.number, checkpoint.size, self.path, checkpoint.root)
        return checkpoint


def diverged(why: str) -> InvalidError:
    """Return the error for a log that shows different content to different users or at different times."""
    hint = "Do not install from this hub until its operator has explained it; keep your lock as evidence."
    return InvalidError("log-diverged", f"The hub's log contradicts what it said before: {why}.", hint=hint)


def _bad_proof(why: str) -> InvalidError:
    hint = "The hub or something in between changed it. Ask the hub's operator."
    return InvalidError("bad-proof", f"The proof is not valid: {why}.", hint=hint)


def _bad_checkpoint(why: str) -> InvalidError:
    hint = "If the hub has a new key, its operator announces it; then pin that key."
    return InvalidError("bad-checkpoint", f"The checkpoint is not valid: {why}.", hint=hint)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decode(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii", "replace"), validate=True)
