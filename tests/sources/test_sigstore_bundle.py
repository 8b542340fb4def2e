"""Signatures with certificates of Sigstore, checked by the real library against authorities that were made here."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sources.sigstore_world import IDENTITY, ISSUER, Sigstore
from whet.errors import InvalidError, UsageError
from whet.skill import signature
from whet.skill.signature import (
    NAME,
    PAYLOAD,
    Signature,
    check_signature,
    is_same_signer,
    matches_signer,
    parse_signer,
)
from whet.skill.tree import Item

if TYPE_CHECKING:
    from pathlib import Path

    from whet.skill.tree import Tree

SIGNER = f"sigstore:{ISSUER}#{IDENTITY}"
FILES: Tree = {"SKILL.md": Item(b"---\nname: review\n---\nReview it.\n"), "notes.md": Item(b"Notes.\n")}


def test_identities_are_named_compared_and_trusted() -> None:
    assert parse_signer(SIGNER) == SIGNER
    for wrong in ("sigstore:", "sigstore:ada", "sigstore:http://issuer.example#ada", f"{SIGNER} and more"):
        with pytest.raises(UsageError):
            parse_signer(wrong)
    later = SIGNER.replace("v1.0.0", "v1.1.0")
    other = SIGNER.replace("acme", "evil")
    assert (is_same_signer(SIGNER, later), is_same_signer(SIGNER, other)) == (True, False)
    every = SIGNER.replace("v1.0.0", "*")
    assert [matches_signer(signer, every) for signer in (SIGNER, later, other)] == [True, True, False]
    assert [matches_signer(signer, SIGNER) for signer in (SIGNER, later, "")] == [True, False, False]
    assert not matches_signer("ed25519:AAAA", "ed25519:*")  # only identities have ends


def sign(sigstore: Sigstore, tree: Tree, **who: str) -> Tree:
    """The tree with its signature."""
    statement = json.dumps(signature.make_statement("review", tree)).encode()
    return {**tree, NAME: Item(sigstore.sign(statement, PAYLOAD, **who))}


def test_the_real_library_confirms_who_signed_and_refuses_everything_else(tmp_path: Path) -> None:
    pytest.importorskip("sigstore")
    sigstore, other = Sigstore(), Sigstore()
    root = tmp_path / "root.json"
    root.write_text(sigstore.trusted_root())
    signed = sign(sigstore, FILES)
    assert check_signature(signed, root=str(root)) == Signature(None, SIGNER)
    person = sign(sigstore, FILES, identity="ada@acme.example", issuer="https://login.example")
    assert str(check_signature(person, root=str(root))) == "sigstore:https://login.example#ada@acme.example"

    bundle = json.loads(signed[NAME].data)

    def change(*path: str, value: Any) -> Tree:
        made = json.loads(json.dumps(bundle))
        at: Any = made
        for name in path[:-1]:
            at = at[int(name)] if name.isdecimal() else at[name]
        at[path[-1]] = value
        return {**FILES, NAME: Item(json.dumps(made).encode())}

    entry = ("verificationMaterial", "tlogEntries", "0")
    certificate = bundle["verificationMaterial"]["certificate"]["rawBytes"]
    foreign = json.loads(sign(sigstore, FILES)[NAME].data)["verificationMaterial"]
    nothing = base64.b64encode(b"\x30\x00").decode()
    wrong = {
        "another file": {**signed, "notes.md": Item(b"Other notes.\n")},
        "a file more": {**signed, "more.md": Item(b"")},
        "another authority": sign(other, FILES),
        "another statement": change("dsseEnvelope", "payload", value=base64.b64encode(b"{}").decode()),
        "another signature": change("dsseEnvelope", "signatures", value=[{"sig": nothing}]),
        "no entry": change("verificationMaterial", "tlogEntries", value=[]),
        "the entry of another": change("verificationMaterial", "tlogEntries", value=foreign["tlogEntries"]),
        "the certificate of another": change("verificationMaterial", "certificate", value=foreign["certificate"]),
        "no certificate": change("verificationMaterial", "certificate", value={"rawBytes": nothing}),
        "another time": change(*entry, "integratedTime", value="1"),
        "another index": change(*entry, "inclusionProof", "logIndex", value="1"),
        "another root": change(*entry, "inclusionProof", "rootHash", value=certificate[:44]),
        "another checkpoint": change(*entry, "inclusionProof", "checkpoint", value={"envelope": "log.example\n0\n"}),
        "no promise": change(*entry, "inclusionPromise", value=None),
    }
    for name, tree in wrong.items():
        with pytest.raises(InvalidError) as found:
            check_signature(tree, root=str(root))
        assert found.value.code == "bad-signature", name
    with pytest.raises(InvalidError):  # the public authorities do not know ours
        check_signature(signed)
    root.write_text("{}")
    with pytest.raises(InvalidError) as found:
        check_signature(signed, root=str(root))
    assert "authorities" in found.value.message


def test_a_certificate_that_had_expired_when_it_signed_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("sigstore")
    sigstore = Sigstore()
    (tmp_path / "root.json").write_text(sigstore.trusted_root())
    sigstore.logged += timedelta(hours=1)
    with pytest.raises(InvalidError):
        check_signature(sign(sigstore, FILES), root=str(tmp_path / "root.json"))
