"""Merkle trees, checkpoints and proofs: right for every size, and nothing forged passes."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from whet.errors import InvalidError
from whet.sources.transparency import (
    EMPTY_ROOT,
    Checkpoint,
    LogKey,
    Proof,
    Tree,
    check_consistency,
    check_inclusion,
    completed_nodes,
    hash_leaf,
    hash_node,
    read_checkpoint,
    sign_checkpoint,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
PUBLIC = LogKey("log.example", KEY.public_key().public_bytes_raw())


def entry(number: int) -> bytes:
    return f"entry {number}".encode()


def grown(size: int) -> dict[tuple[int, int], bytes]:
    nodes: dict[tuple[int, int], bytes] = {}
    for number in range(size):
        for level, at, value in completed_nodes(number, hash_leaf(entry(number)), lambda *node: nodes[node]):
            nodes[level, at] = value
    return nodes


NODES = grown(80)


def tree(size: int) -> Tree:
    return Tree(size, lambda *node: NODES[node])


def naive_root(leaves: list[bytes]) -> bytes:
    """The root by the letter of RFC 6962."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return hash_node(naive_root(leaves[:half]), naive_root(leaves[half:]))


def test_the_root_is_that_of_the_rfc() -> None:
    leaves = [hash_leaf(entry(number)) for number in range(80)]
    assert [tree(size).root() for size in range(81)] == [naive_root(leaves[:size]) for size in range(81)]
    assert tree(0).root() == EMPTY_ROOT
    # the known roots of the test vectors that implementations share
    known = [b"", b"\0", b"\x10"]
    roots = [naive_root([hash_leaf(data) for data in known[:size]]).hex() for size in (1, 2, 3)]
    assert roots == [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    ]


@given(st.integers(1, 80), st.data())
def test_every_leaf_is_proved_and_nothing_else_is(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    path, root, leaf = tree(size).prove_inclusion(index), tree(size).root(), hash_leaf(entry(index))
    check_inclusion(leaf, index, size, path, root)
    wrong = [
        (hash_leaf(b"forged"), index, size, path, root),
        (leaf, index, size, [*path, root], root),
        (leaf, index, size, path, hash_node(root, root)),
        (leaf, size, size, path, root),
        (leaf, -1, size, path, root),
    ]
    if path:
        wrong += [(leaf, index, size, path[:-1], root), (leaf, index, size, [root, *path[1:]], root)]
    if size > 1:
        wrong.append((leaf, index ^ 1 if index ^ 1 < size else 0, size, path, root))
    for case in wrong:
        with pytest.raises(InvalidError) as caught:
            check_inclusion(*case)
        assert caught.value.code == "bad-proof"


@given(st.integers(0, 80), st.data())
def test_a_longer_log_is_proved_to_go_on(size: int, data: st.DataObject) -> None:
    old = data.draw(st.integers(0, size))
    path, before, after = tree(size).prove_consistency(old), tree(old).root(), tree(size).root()
    check_consistency(old, before, size, after, path)
    wrong = [(size + 1, before, size, after, path), (old, before, size, after, [*path, after])]
    if old > 0:
        wrong.append((old, hash_leaf(b"rewritten"), size, after, path))
    if 0 < old < size:
        wrong += [(old, before, size, hash_leaf(b"fork"), path), (old, before, size, after, path[:-1])]
    for case in wrong:
        with pytest.raises(InvalidError) as caught:
            check_consistency(*case)
        assert caught.value.code == "log-diverged"


def test_a_checkpoint_is_believed_only_from_its_own_key() -> None:
    checkpoint = Checkpoint("log.example", 80, tree(80).root())
    note = sign_checkpoint(checkpoint, KEY)
    assert note.startswith("log.example\n80\n") and "\n\n\u2014 log.example " in note
    assert read_checkpoint(note, PUBLIC) == checkpoint
    stranger = LogKey("log.example", OTHER.public_key().public_bytes_raw())
    elsewhere = LogKey("other.example", PUBLIC.key)
    cases = [
        (note, stranger, "log.example has not signed it"),
        (note, elsewhere, "other.example has not signed it"),
        (note.replace("\n80\n", "\n81\n"), PUBLIC, "log.example has not signed it"),
        (sign_checkpoint(checkpoint, OTHER), PUBLIC, "log.example has not signed it"),
        (note.replace("\n\n", "\n"), PUBLIC, "it is not a signed note"),
        (note[:-1], PUBLIC, "it is not a signed note"),
        ("", PUBLIC, "it is not a signed note"),
    ]
    for text, key, why in cases:
        with pytest.raises(InvalidError) as caught:
            read_checkpoint(text, key)
        assert (caught.value.code, caught.value.message) == ("bad-checkpoint", f"The checkpoint is not valid: {why}.")


def test_other_signatures_beside_ours_do_no_harm() -> None:
    checkpoint = Checkpoint("log.example", 3, tree(3).root())
    note = sign_checkpoint(checkpoint, KEY)
    text, _, ours = note.partition("\n\n")
    assert read_checkpoint(f"{text}\n\n\u2014 witness.example AAAAAAAA\n{ours}", PUBLIC) == checkpoint


def test_a_key_reads_as_it_is_written() -> None:
    assert LogKey.parse(str(PUBLIC)) == PUBLIC
    for text in ("", "log.example", f"other{str(PUBLIC)[3:]}", f"{str(PUBLIC)[:-4]}AAA=", "a b+00000000+AAAA"):
        with pytest.raises(InvalidError) as caught:
            LogKey.parse(text)
        assert caught.value.code == "bad-log-key"


def test_a_proof_is_checked_offline() -> None:
    checkpoint = sign_checkpoint(Checkpoint("log.example", 80, tree(80).root()), KEY)
    proof = Proof(42, tuple(tree(80).prove_inclusion(42)), checkpoint)
    assert Proof.parse(str(proof)) == proof
    assert proof.check(entry(42), PUBLIC) == Checkpoint("log.example", 80, tree(80).root())
    for wrong in (entry(41), b""):
        with pytest.raises(InvalidError):
            proof.check(wrong, PUBLIC)


@given(st.text())
def test_no_text_breaks_the_readers(text: str) -> None:
    for read in (Proof.parse, LogKey.parse, lambda note: read_checkpoint(note, PUBLIC)):
        with pytest.raises(InvalidError):
            read(text)
