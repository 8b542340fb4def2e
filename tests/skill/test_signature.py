"""Signatures of skills: what was signed is what is there, whatever is changed."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import InvalidError, UsageError
from whet.skill.signature import NAME, PublicKey, Signature, check_signature, is_signer, public_key, sign
from whet.skill.tree import Item

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
TREE = {"SKILL.md": Item(b"---\nname: a\n---\nDo it.\n"), "scripts/x.sh": Item(b"#!/bin/sh\n", executable=True)}


def signed(tree: dict[str, Item] = TREE, key: Ed25519PrivateKey = KEY) -> dict[str, Item]:
    return {**tree, NAME: Item(sign("a", tree, key))}


def bundle(tree: dict[str, Item]) -> Any:
    return json.loads(tree[NAME].data)


def refused(tree: dict[str, Item]) -> str:
    with pytest.raises(InvalidError) as caught:
        check_signature(tree)
    assert caught.value.code == "bad-signature"
    return caught.value.message


def test_a_signature_names_its_key_and_covers_every_file() -> None:
    assert check_signature(TREE) is None
    assert check_signature(signed()) == Signature(public_key(KEY))
    statement = json.loads(base64.b64decode(bundle(signed())["dsseEnvelope"]["payload"]))
    files = {path: hashlib.sha256(item.data).hexdigest() for path, item in TREE.items()}
    assert {row["name"]: row["digest"] for row in statement["predicate"]["resources"]} == files
    assert statement["predicateType"] == "https://model_signing/signature/v1.0"
    assert sign("a", signed(), KEY) == sign("a", TREE, KEY)  # signing again covers the same files


def test_what_is_changed_added_removed_or_linked_is_seen() -> None:
    whole = signed()
    assert "was changed" in refused({**whole, "SKILL.md": Item(b"---\nname: a\n---\nDo more.\n")})
    assert "does not cover" in refused({**whole, "more.md": Item(b"More.")})
    assert "is missing" in refused({path: item for path, item in whole.items() if path != "scripts/x.sh"})
    assert "was changed" in refused({**whole, "SKILL.md": Item(TREE["SKILL.md"].data, link=True)})
    with pytest.raises(InvalidError, match="is a link"):
        sign("a", {**TREE, "link": Item(b"SKILL.md", link=True)}, KEY)


def test_another_key_cannot_be_named_afterwards() -> None:
    forged = bundle(signed(key=OTHER))
    forged["verificationMaterial"]["publicKey"]["hint"] = str(public_key(KEY))
    assert "did not sign it" in refused({**TREE, NAME: Item(json.dumps(forged).encode())})


def test_a_signature_of_another_tool_counts_for_whoever_has_its_key() -> None:
    for curve, algorithm in ((ec.SECP256R1(), hashes.SHA256()), (ec.SECP384R1(), hashes.SHA384())):
        key = ec.generate_private_key(curve)
        made = bundle(signed())
        statement = base64.b64decode(made["dsseEnvelope"]["payload"])
        data = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(statement), statement)
        made["dsseEnvelope"]["signatures"][0]["sig"] = base64.b64encode(key.sign(data, ec.ECDSA(algorithm))).decode()
        made["verificationMaterial"]["publicKey"]["hint"] = "abc"
        tree = {**TREE, NAME: Item(json.dumps(made).encode())}
        public = PublicKey("ecdsa:", key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
        assert check_signature(tree) == Signature(None)
        assert check_signature(tree, [str(public_key(KEY)), str(public)]) == Signature(public)
        with pytest.raises(InvalidError):
            check_signature({**tree, "more.md": Item(b"")}, [str(public)])


@given(st.binary(max_size=400) | st.sampled_from([b"{}", b"[]", b'{"dsseEnvelope": 1, "verificationMaterial": 2}']))
@settings(max_examples=80, deadline=None)
def test_whatever_stands_in_the_file_is_an_error_with_a_code(data: bytes) -> None:
    refused({**TREE, NAME: Item(data)})


@given(st.integers(0, 2_000), st.integers(0, 255))
@settings(max_examples=120, deadline=None)
def test_a_changed_byte_never_becomes_another_signature(at: int, value: int) -> None:
    whole = signed()
    data = bytearray(whole[NAME].data)
    data[at % len(data)] = value
    try:
        found = check_signature({**whole, NAME: Item(bytes(data))})
    except InvalidError:
        return
    assert found in (Signature(public_key(KEY)), Signature(None))


def test_keys_are_read_as_they_are_written() -> None:
    assert PublicKey.parse(str(public_key(KEY))) == public_key(KEY)
    for text in ("", "ed25519:", "ed25519:AAAA", "rsa:AAAA", "ed25519:ÄÖ", "ecdsa:"):
        assert not is_signer(text)
        with pytest.raises(UsageError):
            PublicKey.parse(text)
