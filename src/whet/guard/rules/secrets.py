"""Rules for secrets that lie in a package."""

from __future__ import annotations

from whet.guard.finding import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "shipped-secret", "warn", "secrets",
        "The package carries what looks like a real token.",
        "Whoever reads the package can use it, and who uses the skill works on somebody else's account.",
        "Revoke the token, and read it from the environment.", ("CWE-798",),
    ),
    Rule(
        "shipped-private-key", "warn", "secrets",
        "The package carries a private key.",
        "A key that is published is no longer private.",
        "Replace the key, and keep it outside the package.", ("CWE-321",),
    ),
)  # fmt: skip
