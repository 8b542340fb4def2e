"""The signer of a Sigstore bundle with a certificate: an identity that an authority vouched for, and its issuer.

The package `sigstore` (extra `sigstore`) checks everything offline: that the certificate leads to a trusted authority
and was logged, that it was valid when the log of signatures accepted the entry, the log's proof, checkpoint and
promise, and that entry and envelope match. The trusted authorities are those of the public Sigstore, as the package
ships them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from whet.errors import InvalidError

PREFIX = "sigstore:"
"""Prefix of a Sigstore signer."""
_ISSUER, _OLD_ISSUER = "1.3.6.1.4.1.57264.1.8", "1.3.6.1.4.1.57264.1.1"
_STORE = "https%3A%2F%2Ftuf-repo-cdn.sigstore.dev"
_MOST = 500


class _AnyIdentity:
    """Accepts every identity, which is checked elsewhere."""

    def verify(self, _certificate: object) -> None:
        pass


def can_verify() -> bool:
    """Return whether the extra is installed."""
    return find_spec("sigstore") is not None


def verify_bundle(data: bytes, root: str = "") -> tuple[str, bytes]:
    """Return the signer of a bundle, as `sigstore:ISSUER#IDENTITY`, and the statement.

    Raises ValueError with a human-readable reason if Sigstore does not confirm it, and InvalidError `bad-signature` if
    it cannot be checked. `root` is a file of authorities and logs to trust instead of the public ones.
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
