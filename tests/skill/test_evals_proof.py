"""What a publisher says of a skill's evals: bound to the content, signed by a key, refused where it does not fit."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from whet.errors import InvalidError
from whet.skill.evals_proof import (
    MOST_BYTES,
    EvalsFile,
    EvalsResults,
    OutputResults,
    TriggerResults,
    check_proof,
    make_proof,
    read_results,
    results_json,
)
from whet.skill.signature import public_key

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
DIGEST = f"sha256:{'d' * 64}"
FILES = {"SKILL.md": "a" * 64, "evals/triggers.json": "b" * 64}
RESULTS = EvalsResults(
    "whet 0.1.0",
    "2026-11-17T12:00:00Z",
    (EvalsFile("evals/triggers.json", "b" * 64),),
    TriggerResults(20, 12, 1.0, 0.95, 0.9, None),
    OutputResults("openai:gpt-5", "openai:gpt-5", 5, 3, 0.92, 0.4, None),
)


def test_a_proof_says_the_same_to_whoever_has_the_files() -> None:
    for key in (KEY, None):
        data = make_proof("review", DIGEST, RESULTS, key)
        assert len(data) < MOST_BYTES / 2
        proof = check_proof(data, DIGEST, FILES)
        assert (proof.results, proof.key) == (RESULTS, key and public_key(key))
        assert read_results(proof.to_json()) == RESULTS
    assert str(RESULTS) == (
        "triggers with precision 1.00, recall 0.95 (20 messages, 12 skills); "
        "pass rate 0.92, without 0.40 (5 evals, openai:gpt-5)"
    )
    old = RESULTS._replace(triggers=None, outputs=OutputResults("m", "m", 1, 1, None, None, 0.5))
    assert str(old) == "pass rate -, before 0.50 (1 evals, m)"


def changed(data: bytes, **fields: Any) -> bytes:
    """The same envelope with other fields."""
    return json.dumps({**json.loads(data), **fields}).encode()


def said(**fields: Any) -> bytes:
    """An envelope without a signature, whose statement says something else."""
    envelope = json.loads(make_proof("review", DIGEST, RESULTS, None))
    statement = {**json.loads(base64.b64decode(envelope["payload"])), **fields}
    return changed(json.dumps(envelope).encode(), payload=base64.b64encode(json.dumps(statement).encode()).decode())


def results(**fields: Any) -> bytes:
    return said(predicate={**results_json(RESULTS), **fields})


def test_what_does_not_fit_is_refused() -> None:
    good = make_proof("review", DIGEST, RESULTS, KEY)
    signature = json.loads(good)["signatures"][0]
    other = str(public_key(Ed25519PrivateKey.generate()))
    triggers = RESULTS.triggers._asdict() if RESULTS.triggers else {}
    wrong = {
        "no JSON": b"\xff{",
        "deep": b"[" * 4000,
        "another key": changed(good, signatures=[{**signature, "keyid": other}]),
        "no key": changed(good, signatures=[{**signature, "keyid": 7}]),
        "two signatures": changed(good, signatures=[signature, signature]),
        "another statement": changed(good, payload=json.loads(said(subject=[]))["payload"]),
        "no subject": said(subject=[]),
        "another type": said(predicateType="https://slsa.dev/provenance/v1"),
        "a field more": results(stars=5),
        "no file": results(files=[]),
        "many files": results(files=[{"path": "SKILL.md", "sha256": "a" * 64}] * 11),
        "another file": results(files=[{"path": "SKILL.md", "sha256": "b" * 64}]),
        "nothing run": said(
            predicate={k: v for k, v in results_json(RESULTS).items() if k not in ("triggers", "outputs")}
        ),
        "more than everything": results(triggers={**triggers, "recall": 1.01}),
        "no number": results(triggers={**triggers, "recall": "1"}),
        "no count": results(triggers={**triggers, "messages": True}),
        "a control character": results(tool="whet\x1b[2J"),
        "too large": results(tool="w" * MOST_BYTES),
    }
    for name, data in wrong.items():
        with pytest.raises(InvalidError) as found:
            check_proof(data, DIGEST, FILES)
        assert found.value.code == "bad-evals", name
    for digest, files in ((DIGEST.replace("d", "e"), FILES), (DIGEST, {"SKILL.md": "a" * 64})):
        with pytest.raises(InvalidError):
            check_proof(good, digest, files)
