"""Who signed a Sigstore bundle with a certificate: an identity that an authority vouched for, and its issuer.

The package `sigstore` (extra `sigstore`) checks all of it offline: that the certificate leads to a trusted authority
and was logged, that it was valid when the log of signatures took the entry, the log's proof, checkpoint and promise,
and that the entry and the envelope fit. Trusted are the authorities of the public Sigstore, as the package ships them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from whet.errors import InvalidError

PREFIX = "sigstore:"
"""Of a signer that Sigstore knows."""
_ISSUER, _OLD_ISSUER = "1.3.6.1.4.1.57264.1.8", "1.3.6.1.4.1.57264.1.1"
_STORE = "https%3A%2F%2Ftuf-repo-cdn.sigstore.dev"
_MOST = 500


class _AnyIdentity:
    """Accepts every identity: whether it is the right one is asked elsewhere."""

    def verify(self, _certificate: object) -> None:
        pass


def can_verify() -> bool:
    """Whether the extra is installed."""
    return find_spec("sigstore") is not None


def verify_bundle(data: bytes, root: str = "") -> tuple[str, bytes]:
    """Who signed a bundle, as `sigstore:ISSUER#IDENTITY`, and the statement.

    Raises ValueError, in words for people, where Sigstore does not confirm it, and InvalidError `bad-signature` where
    it cannot be asked. `root` is a file of authorities and logs to trust in place of the public ones.
    """
    from importlib import resources  # few skills have such a signature

    models, verify, errors = (import_module(f"sigstore.{name}") for name in ("models", "verify", "errors"))
    try:
        trusted = models.TrustedRoot.from_file(
            root or str(resources.files("sigstore._store") / _STORE / "trusted_root.json")
        )
    except (OSError, ValueError, errors.Error) as error:
        message = "The authorities that Sigstore trusts cannot be read."
        hint = "Install the extra `sigstore` again."
        raise InvalidError("bad-signature", message, hint=hint) from error
    try:
        bundle = models.Bundle.from_json(data)
        _, payload = verify.Verifier(trusted_root=trusted).verify_dsse(bundle, _AnyIdentity())
        return _name(bundle.signing_certificate), payload
    except (errors.Error, ValueError, TypeError, LookupError, AttributeError) as error:
        why = (str(error).splitlines() or [""])[0][:200].rstrip(".")
        raise ValueError(f"Sigstore does not confirm it ({why or type(error).__name__})") from error


def _name(certificate: Any) -> str:
    from cryptography import x509

    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    found = [name.value for name in names if isinstance(name, x509.RFC822Name | x509.UniformResourceIdentifier)]
    values = {each.oid.dotted_string: each.value for each in certificate.extensions}
    issuer = values[_ISSUER].value[2:] if _ISSUER in values else values[_OLD_ISSUER].value
    text = f"{PREFIX}{issuer.decode('ascii')}#{found[0]}"
    if len(found) != 1 or len(text) > _MOST or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("its certificate does not name a signer that Whet can show")
    return text
