"""The signature of a skill: `skill.oms.sig` in its directory, in the format of OpenSSF Model Signing (OMS).

The file is a Sigstore bundle around a DSSE envelope, whose statement names every other file of the skill with its
SHA-256. Whet signs with Ed25519 and includes the public key in the bundle, so that the signer can be identified
offline; whether to trust that key is another question. Signatures of other tools with an ECDSA key can be checked with
the key. Those with certificates are checked if the extra `sigstore` is installed (`whet.skill.sigstore_bundle`);
otherwise they prove nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING

from whet.errors import InvalidError, UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.paths import shown
from whet.skill.sigstore_bundle import PREFIX, can_verify, verify_bundle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from whet.skill.tree import Tree
    from whet.values import Json

NAME = "skill.oms.sig"
MOST_BYTES = 4 * 1024 * 1024
_BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://model_signing/signature/v1.0"
_ED25519, _ECDSA = "ed25519:", "ecdsa:"
_IDENTITY = compile_late(r"sigstore:https://[!-\"$-~]+#[!-~]+")


class PublicKey(NamedTuple):
    """A key that signs skills: `ed25519:` and its 32 bytes, or `ecdsa:` and its SubjectPublicKeyInfo, in base64."""

    kind: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.kind}{base64.b64encode(self.data).decode()}"

    @property
    def id(self) -> str:
        """Short human-readable id."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Parse the result of `str()`. Raise UsageError `bad-key`."""
        kind, _, rest = text.partition(":")
        try:
            data = base64.b64decode(rest.encode("ascii", "replace"), validate=True)
        except binascii.Error:
            data = b""
        found = cls(f"{kind}:", data)
        if found.kind not in (_ED25519, _ECDSA) or (found.kind == _ED25519) != (len(data) == 32) or not data:
            raise UsageError("bad-key", "This is not a public key.", hint="It looks like ed25519:BASE64.")
        return found

    def verify(self, signature: bytes, data: bytes) -> bool:
        """Return whether this key has signed the data."""
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_der_public_key

        try:
            if self.kind == _ED25519:
                Ed25519PublicKey.from_public_bytes(self.data).verify(signature, data)
                return True
            key = load_der_public_key(self.data)
            if not isinstance(key, EllipticCurvePublicKey):
                return False
            sizes: dict[int, hashes.HashAlgorithm] = {384: hashes.SHA384(), 521: hashes.SHA512()}
            key.verify(signature, data, ECDSA(sizes.get(key.key_size, hashes.SHA256())))
        except (InvalidSignature, UnsupportedAlgorithm, ValueError):
            return False
        return True


class Signature(NamedTuple):
    """The signer of a skill: a key, or an identity of Sigstore."""

    key: PublicKey | None
    """None if the key is unknown, so that the signature could not be checked."""
    identity: str = ""
    """`sigstore:ISSUER#IDENTITY`."""

    def __str__(self) -> str:
        """Return the signer; "" if unknown."""
        return str(self.key) if self.key else self.identity


def parse_signer(text: str) -> str:
    """Parse a signer: a public key, or `sigstore:ISSUER#IDENTITY`. Raise UsageError `bad-key`.

    A star at the end matches any end of an identity, such as `@refs/tags/*`.
    """
    if not text.startswith(PREFIX):
        return str(PublicKey.parse(text))
    if not _IDENTITY.fullmatch(text):
        hint = "It looks like sigstore:ISSUER#IDENTITY, such as sigstore:https://accounts.example#ada@acme.example."
        raise UsageError("bad-key", "This is not an identity of Sigstore.", hint=hint)
    return text


def is_signer(text: str) -> bool:
    """Return whether this is a public key, or an identity of Sigstore."""
    try:
        parse_signer(text)
    except UsageError:
        return False
    return True


def matches_signer(signer: str, named: str) -> bool:
    """Return whether a signer matches a name, which may end with a star."""
    if named.startswith(PREFIX) and named.endswith("*"):
        return signer.startswith(named[:-1])
    return signer == named


def is_same_signer(one: str, other: str) -> bool:
    """Return whether two signers are the same. A workflow stays the same whatever tag or branch it runs for."""
    return _without_ref(one) == _without_ref(other)


def _without_ref(signer: str) -> str:
    return signer.partition("@refs/")[0] if signer.startswith(PREFIX) else signer


def public_key(key: Ed25519PrivateKey) -> PublicKey:
    """Return the public half of a key."""
    return PublicKey(_ED25519, key.public_key().public_bytes_raw())


def sign(name: str, tree: Tree, key: Ed25519PrivateKey) -> bytes:
    """Return the signature file of a skill with these files. Raise InvalidError if it has links."""
    for path, item in tree.items():
        if item.link:
            message = f"{shown(path)} is a link; only files can be signed."
            raise InvalidError("not-signable", message, hint="Replace the link with a copy of the file.")
    statement = json.dumps(make_statement(name, tree), sort_keys=True, separators=(",", ":")).encode()
    bundle = {
        "mediaType": _BUNDLE,
        "verificationMaterial": {"publicKey": {"hint": str(public_key(key))}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": base64.b64encode(statement).decode(),
            "payloadType": PAYLOAD,
            "signatures": [
                {"sig": base64.b64encode(key.sign(encode_payload(PAYLOAD, statement))).decode(), "keyid": ""}
            ],
        },
    }
    return f"{json.dumps(bundle, indent=2)}\n".encode()


def check_signature(tree: Tree, known: Iterable[str] = (), root: str = "") -> Signature | None:
    """Return the signer of a skill; None if it is not signed. Signers other than `known` are ignored.

    `root` is a file with Sigstore authorities to trust instead of the public ones.

    Raises InvalidError `bad-signature` for a wrong signature, and for files that it does not cover. A signature of an
    unknown key proves nothing about the files.
    """
    item = tree.get(NAME)
    if item is None:
        return None
    statement, signature, hint, certified = _read_bundle(item.data if not item.link else b"")
    if certified and can_verify():
        try:
            identity, statement = verify_bundle(item.data, root)
        except ValueError as error:
            raise _wrong(str(error)) from error
        _compare(statement, tree)
        return Signature(None, identity)
    candidates = [PublicKey.parse(key) for key in known if not key.startswith(PREFIX)]
    if own := hint.startswith(_ED25519):
        try:
            candidates.insert(0, PublicKey.parse(hint))
        except UsageError:
            raise _wrong("its key cannot be read") from None
    signed = encode_payload(PAYLOAD, statement)
    found = next((key for key in candidates if key.verify(signature, signed)), None)
    if found:
        _compare(statement, tree)
    elif own:
        raise _wrong("its key did not sign it")
    return Signature(found)


def make_statement(name: str, tree: Tree) -> Json:
    """Return the signed statement: every file of a skill with its SHA-256."""
    files = sorted((path, hashlib.sha256(item.data)) for path, item in tree.items() if path != NAME)
    whole = hashlib.sha256(b"".join(each.digest() for _, each in files)).hexdigest()
    serialization = {"method": "files", "hash_type": "sha256", "allow_symlinks": False, "ignore_paths": [NAME]}
    resources = [{"name": path, "algorithm": "sha256", "digest": each.hexdigest()} for path, each in files]
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": whole}}],
        "predicateType": _PREDICATE,
        "predicate": {"serialization": serialization, "resources": resources},
    }


def _read_bundle(data: bytes) -> tuple[bytes, bytes, str, bool]:
    """Return the statement of a bundle, its signature, the key hint, and whether it has a certificate."""
    if not data or len(data) > MOST_BYTES:
        raise _wrong("it is empty or too large")
    try:
        bundle = json.loads(data)
        envelope, material = bundle["dsseEnvelope"], bundle["verificationMaterial"]
        statement = base64.b64decode(envelope["payload"], validate=True)
        signature = base64.b64decode(envelope["signatures"][0]["sig"], validate=True)
        hint = material.get("publicKey", {}).get("hint", "")
        certified = "certificate" in material or "x509CertificateChain" in material
        if envelope["payloadType"] == PAYLOAD:
            return statement, signature, hint if isinstance(hint, str) else "", certified
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        pass
    raise _wrong("it is not a signature in the form of OpenSSF Model Signing")


def _compare(statement: bytes, tree: Tree) -> None:
    """Raise InvalidError unless the statement names exactly the files of the tree with their content."""
    try:
        said = json.loads(statement)
        rows = said["predicate"]["resources"] if said["predicateType"] == _PREDICATE else ()
        named = {row["name"]: row["digest"] for row in rows if row["algorithm"] == "sha256"}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _wrong("its statement cannot be understood") from None
    for path, item in tree.items():
        if path == NAME:
            continue
        if path not in named:
            raise _wrong(f"it does not cover {shown(path)}")
        if item.link or named[path] != hashlib.sha256(item.data).hexdigest():
            raise _wrong(f"{shown(path)} was changed after it was signed")
    if missing := sorted(named.keys() - tree.keys()):
        raise _wrong(f"{shown(str(missing[0]))} is missing")


def encode_payload(kind: str, data: bytes) -> bytes:
    """Return the bytes that DSSE signs."""
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(data), data)


def _wrong(why: str) -> InvalidError:
    hint = "If you changed the skill yourself, sign it again: `whet keys sign NAME`, or remove the signature."
    return InvalidError("bad-signature", f"The signature in {NAME} is not valid: {why}.", hint=hint)
