"""A Sigstore of its own for tests: an authority, a log of certificates and a log of signatures, all made here."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
ISSUER = "https://token.actions.githubusercontent.com"
IDENTITY = "https://github.com/acme/tools/.github/workflows/release.yml@refs/tags/v1.0.0"
_ISSUER_V1 = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_ISSUER_V2 = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_SCT = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def log_id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(spki(key)).digest()


class Sigstore:
    """Who certifies identities and logs signatures."""

    def __init__(self) -> None:
        self.logged = NOW
        """When the log takes entries."""
        self.authority, self.certificates, self.signatures = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority.example")])
        public = self.authority.public_key()
        usage = dict.fromkeys(_USAGES, False)
        self.root = (
            x509.CertificateBuilder(name, name, public, 1, NOW - timedelta(days=300), NOW + timedelta(days=3000))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(**{**usage, "key_cert_sign": True, "crl_sign": True}), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
            .sign(self.authority, hashes.SHA256())
        )

    def trusted_root(self) -> str:
        """Whom to trust, as clients of Sigstore read it."""
        since = {"start": "2020-01-01T00:00:00Z"}

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
            public = {"rawBytes": b64(spki(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": since}
            identity = {"keyId": b64(log_id(key))}
            return {
                "baseUrl": "https://log.example",
                "hashAlgorithm": "SHA2_256",
                "publicKey": public,
                "logId": identity,
            }

        authority = {
            "subject": {"organization": "example", "commonName": "authority.example"},
            "uri": "https://authority.example",
            "certChain": {"certificates": [{"rawBytes": b64(self.root.public_bytes(Encoding.DER))}]},
            "validFor": since,
        }
        return json.dumps(
            {
                "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [log(self.signatures)],
                "certificateAuthorities": [authority],
                "ctlogs": [log(self.certificates)],
                "timestampAuthorities": [],
            }
        )

    def certify(self, key: ec.EllipticCurvePrivateKey, identity: str, issuer: str) -> x509.Certificate:
        """A certificate for ten minutes, with the receipt of the log of certificates."""
        usage = dict.fromkeys(_USAGES, False)
        name: x509.GeneralName
        name = x509.RFC822Name(identity) if "://" not in identity else x509.UniformResourceIdentifier(identity)
        text = issuer.encode()
        builder = (
            x509.CertificateBuilder(
                self.root.subject,
                x509.Name([]),
                key.public_key(),
                7,
                NOW - timedelta(minutes=1),
                NOW + timedelta(minutes=9),
            )
            .add_extension(x509.KeyUsage(**{**usage, "digital_signature": True}), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()), critical=False
            )
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
            .add_extension(x509.UnrecognizedExtension(_ISSUER_V1, text), critical=False)
            .add_extension(x509.UnrecognizedExtension(_ISSUER_V2, bytes([12, len(text)]) + text), critical=False)
        )
        before = builder.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        when = int(NOW.timestamp() * 1000)
        issued_by = hashlib.sha256(spki(self.authority)).digest()
        signed = struct.pack("!BBQH", 0, 0, when, 1) + issued_by + len(before).to_bytes(3, "big") + before + b"\0\0"
        signature = self.certificates.sign(signed, ec.ECDSA(hashes.SHA256()))
        receipt = b"\0" + log_id(self.certificates) + struct.pack("!QHBBH", when, 0, 4, 3, len(signature)) + signature
        listed = struct.pack("!HH", len(receipt) + 2, len(receipt)) + receipt
        wrapped = _octets(listed)
        return builder.add_extension(x509.UnrecognizedExtension(_SCT, wrapped), critical=False).sign(
            self.authority, hashes.SHA256()
        )

    def sign(self, payload: bytes, kind: str, identity: str = IDENTITY, issuer: str = ISSUER) -> bytes:
        """The bundle of a statement that somebody signed."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self.certify(key, identity, issuer)
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        signature = key.sign(signed, ec.ECDSA(hashes.SHA256()))
        envelope = {"payload": b64(payload), "payloadType": kind, "signatures": [{"sig": b64(signature)}]}
        pem = certificate.public_bytes(Encoding.PEM)
        spec = {
            "envelopeHash": _hash(json.dumps(envelope).encode()),
            "payloadHash": _hash(payload),
            "signatures": [{"signature": b64(signature), "verifier": b64(pem)}],
        }
        entry = self._log({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})
        material = {
            "certificate": {"rawBytes": b64(certificate.public_bytes(Encoding.DER))},
            "tlogEntries": [entry],
        }
        media = "application/vnd.dev.sigstore.bundle.v0.3+json"
        return json.dumps({"mediaType": media, "verificationMaterial": material, "dsseEnvelope": envelope}).encode()

    def _log(self, body: dict[str, Any]) -> dict[str, Any]:
        """The only entry of the log, with its proof, its checkpoint and the promise."""
        data = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        root, when, own = hashlib.sha256(b"\0" + data).digest(), int(self.logged.timestamp()), log_id(self.signatures)
        promised = {"body": b64(data), "integratedTime": when, "logID": own.hex(), "logIndex": 0}
        promise = json.dumps(promised, sort_keys=True, separators=(",", ":")).encode()
        note = f"log.example - 1\n1\n{b64(root)}\n"
        mark = b64(own[:4] + self.signatures.sign(note.encode(), ec.ECDSA(hashes.SHA256())))
        return {
            "logIndex": "0",
            "logId": {"keyId": b64(own)},
            "kindVersion": {"kind": body["kind"], "version": body["apiVersion"]},
            "integratedTime": str(when),
            "inclusionPromise": {"signedEntryTimestamp": b64(self.signatures.sign(promise, ec.ECDSA(hashes.SHA256())))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": b64(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\N{EM DASH} log.example {mark}\n"},
            },
            "canonicalizedBody": b64(data),
        }


_USAGES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


def _hash(data: bytes) -> dict[str, str]:
    return {"algorithm": "sha256", "value": hashlib.sha256(data).hexdigest()}


def _octets(data: bytes) -> bytes:
    """An OCTET STRING in DER."""
    size = bytes([len(data)]) if len(data) < 128 else bytes([0x81, len(data)])
    return b"\x04" + size + data
