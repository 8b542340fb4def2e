"""The publisher's statement about a skill's evals: about exactly these files, signed if the publisher has a key.

It is an in-toto statement in a DSSE envelope. Its subject is the content digest of the skill; it names the files with
the evals and their SHA-256, the tool that ran them, and the numbers. The hub checks the digests; the numbers are the
publisher's claim, and everyone who has the skill can run the evals again.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from whet.errors import InvalidError, UsageError
from whet.skill.signature import PAYLOAD, STATEMENT, PublicKey, encode_payload, public_key
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MOST_BYTES = 5 * 1024
"""Largest proof in bytes; it is sent in a header."""
_PREDICATE = "urn:whet:evals:v1"
_MOST_FILES = 10
_TEXT = re.compile(r"[^\x00-\x1f\x7f]{0,200}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class EvalsFile(NamedTuple):
    """A file of the skill with evals."""

    path: str
    sha256: str


class TriggerResults(NamedTuple):
    """Precision and recall of the skill being triggered, and of it being offered."""

    messages: int
    among: int
    """Skills in the measurement, including itself."""
    precision: float | None
    recall: float | None
    offered_precision: float | None
    offered_recall: float | None


class OutputResults(NamedTuple):
    """Mean pass rates of a model with the skill and without it, or with the previous version."""

    model: str
    grader: str
    evals: int
    runs: int
    with_skill: float | None
    without_skill: float | None
    old_skill: float | None


class EvalsResults(NamedTuple):
    """The results of a skill's evals."""

    tool: str
    time: str
    files: tuple[EvalsFile, ...]
    triggers: TriggerResults | None = None
    outputs: OutputResults | None = None

    def __str__(self) -> str:
        """Return the numbers in one line."""
        told = []
        if found := self.triggers:
            numbers = f"precision {_show(found.precision)}, recall {_show(found.recall)}"
            told.append(f"triggers with {numbers} ({found.messages} messages, {found.among} skills)")
        if done := self.outputs:
            before = (
                f"without {_show(done.without_skill)}" if done.old_skill is None else f"before {_show(done.old_skill)}"
            )
            told.append(f"pass rate {_show(done.with_skill)}, {before} ({done.evals} evals, {done.model})")
        return "; ".join(told)


class CollectedEvals(NamedTuple):
    """Results, and the digest of their content."""

    digest: str
    results: EvalsResults


class EvalsProof(NamedTuple):
    """Verified results about exactly these files."""

    results: EvalsResults
    key: PublicKey | None
    """The signer; None if it is not signed."""

    def to_json(self) -> Json:
        """Return the results for the answers and the log of a hub."""
        return {**results_json(self.results), "key": str(self.key) if self.key else None}


def results_json(results: EvalsResults) -> Json:
    """Return results for a statement."""
    return {name: value for name, value in as_json(results).items() if value is not None}


def make_proof(name: str, digest: str, results: EvalsResults, key: Ed25519PrivateKey | None) -> bytes:
    """Return the envelope for a skill with this content digest."""
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": _PREDICATE,
        "predicate": results_json(results),
    }
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    signatures = []
    if key is not None:
        signature = base64.b64encode(key.sign(encode_payload(PAYLOAD, payload))).decode()
        signatures.append({"sig": signature, "keyid": str(public_key(key))})
    envelope = {"payload": base64.b64encode(payload).decode(), "payloadType": PAYLOAD, "signatures": signatures}
    return json.dumps(envelope, separators=(",", ":")).encode()


def check_proof(data: bytes, digest: str, files: Mapping[str, str]) -> EvalsProof:
    """Check a proof for the skill with this content digest and these files (path -> SHA-256); return its content.

    Raises InvalidError `bad-evals`.
    """
    if len(data) > MOST_BYTES:
        raise _wrong("it is too large")
    try:
        envelope = json.loads(data)
        payload = base64.b64decode(envelope["payload"], validate=True)
        said, signatures = json.loads(payload), envelope["signatures"]
        kinds = envelope["payloadType"], said["_type"], said["predicateType"]
        subject, predicate = said["subject"][0]["digest"]["sha256"], said["predicate"]
        signed = [(row["keyid"], base64.b64decode(row["sig"], validate=True)) for row in signatures]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise _wrong("it is not a statement in a DSSE envelope") from None
    if kinds != (PAYLOAD, STATEMENT, _PREDICATE) or len(signed) > 1:
        raise _wrong("it is a statement of another kind")
    if subject != digest.removeprefix("sha256:"):
        raise _wrong("it is about other content")
    results = read_results(predicate)
    for path, sha256 in results.files:
        if files.get(path) != sha256:
            raise _wrong(f"{path} is not the file that was run")
    key = _check_key(*signed[0], encode_payload(PAYLOAD, payload)) if signed else None
    return EvalsProof(results, key)


def read_results(said: Any) -> EvalsResults:
    """Read the results in a statement. Raise InvalidError `bad-evals`."""
    known = {"tool", "time", "files", "triggers", "outputs", "key"}
    if not isinstance(said, dict) or not {"tool", "time", "files"} <= said.keys() <= known:
        raise _wrong("its fields are not those of eval results")
    rows = said["files"] if isinstance(said["files"], list) else []
    files = tuple(_read(EvalsFile, row) for row in rows[: _MOST_FILES + 1])
    triggers = _read(TriggerResults, said["triggers"]) if "triggers" in said else None
    outputs = _read(OutputResults, said["outputs"]) if "outputs" in said else None
    texts = said["tool"], said["time"]
    sound = all(isinstance(text, str) and text and _TEXT.fullmatch(text) for text in texts)
    if not sound or not 1 <= len(files) <= _MOST_FILES or not (triggers or outputs):
        raise _wrong("it does not say what was run, by what and when")
    if not all(_SHA256.fullmatch(file.sha256) for file in files):
        raise _wrong("one of its hashes is not valid")
    return EvalsResults(said["tool"], said["time"], files, triggers, outputs)


def _read(kind: Any, value: Any) -> Any:
    """Read a named tuple of texts, counts and shares. Raise InvalidError."""
    hints = get_type_hints(kind)
    if not isinstance(value, dict) or value.keys() != hints.keys():
        raise _wrong("its fields are not those of eval results")
    for name, hint in hints.items():
        item = value[name]
        if hint is str:
            sound = isinstance(item, str) and _TEXT.fullmatch(item) is not None
        elif hint is int:
            sound = type(item) is int and 0 < item <= 1_000_000
        else:
            sound = item is None or (type(item) in (int, float) and 0 <= item <= 1)
        if not sound:
            raise _wrong(f"`{name}` is not what it should be")
    return kind(**value)


def _check_key(name: str, signature: bytes, signed: bytes) -> PublicKey:
    try:
        key = PublicKey.parse(name)
    except (UsageError, AttributeError):
        raise _wrong("its key cannot be read") from None
    if not key.verify(signature, signed):
        raise _wrong("its key did not sign it")
    return key


def _show(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _wrong(why: str) -> InvalidError:
    hint = "Publish again with `--evals`, or without them."
    return InvalidError("bad-evals", f"The statement about the skill's evals is not valid: {why}.", hint=hint)
