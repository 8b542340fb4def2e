"""Rules for secrets that lie in a package, and the shapes that they have."""

from __future__ import annotations

from typing import NamedTuple

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


class Shape(NamedTuple):
    """How the tokens of one provider look."""

    kind: str
    """Words for a person, and what `redact` leaves."""
    mark: str
    """A piece of text that is always there, looked for first."""
    regex: str
    least: float = 3.0
    """The least number of bits in a character of the varying part."""


SHAPES: tuple[Shape, ...] = (
    Shape("AWS key", "AKIA", r"(?<![A-Za-z0-9/+])AKIA([A-Z2-7]{16})(?![A-Za-z0-9/+=])"),
    Shape("AWS key", "ASIA", r"(?<![A-Za-z0-9/+])ASIA([A-Z2-7]{16})(?![A-Za-z0-9/+=])"),
    Shape("GitHub token", "gh", r"\bgh[pousr]_([A-Za-z0-9]{36,251})\b", 3.5),
    Shape("GitHub token", "github_pat_", r"\bgithub_pat_([A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b", 3.5),
    Shape("GitLab token", "glpat-", r"\bglpat-([A-Za-z0-9_-]{20,64})(?![\w-])"),
    Shape("Slack token", "xox", r"\bxox[abprs]-(\d{8,14}-(?:\d{8,14}-){0,2}[A-Za-z0-9]{20,64})\b"),
    Shape("Slack webhook", "hooks.slack.com",
            r"hooks\.slack\.com/services/(T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{22,26})\b"),
    Shape("Stripe key", "_live_", r"\b[sr]k_live_([A-Za-z0-9]{24,120})\b", 3.5),
    Shape("OpenAI key", "sk-",
            r"\bsk-(?:proj-|svcacct-|admin-)?([A-Za-z0-9_-]{10,90}T3BlbkFJ[A-Za-z0-9_-]{10,90})(?![\w-])", 3.5),
    Shape("OpenAI key", "sk-", r"\bsk-proj-([A-Za-z0-9_-]{60,180})(?![\w-])", 4.0),
    Shape("Anthropic key", "sk-ant-", r"\bsk-ant-(?:api|admin|oat)\d\d-([A-Za-z0-9_-]{60,120})(?![\w-])", 3.5),
    Shape("Google key", "AIza", r"\bAIza([A-Za-z0-9_-]{35})(?![\w-])", 3.7),
    Shape("npm token", "npm_", r"\bnpm_([A-Za-z0-9]{36})\b", 3.5),
    Shape("PyPI token", "pypi-AgEIcHlwaS5vcmc", r"\bpypi-AgEIcHlwaS5vcmc([A-Za-z0-9_-]{50,400})", 3.5),
    Shape("Telegram bot token", ":AA", r"(?<![\w:])\d{8,10}:(AA[A-Za-z0-9_-]{33})(?![\w-])", 3.7),
    Shape("Discord webhook", "/api/webhooks/",
            r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,90})", 3.7),
    Shape("SendGrid key", "SG.", r"\bSG\.([A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})(?![\w-])", 3.7),
    Shape("Twilio key", "SK", r"(?<![A-Za-z0-9])SK([0-9a-f]{32})(?![A-Za-z0-9])", 3.2),
    Shape("Hugging Face token", "hf_", r"\bhf_([A-Za-z]{34})\b", 3.7),
    Shape("DigitalOcean token", "dop_v1_", r"\bdop_v1_([0-9a-f]{64})\b"),
    Shape("Shopify token", "shp", r"\bshp(?:at|ca|pa|ss)_([0-9a-fA-F]{32})\b"),
    Shape("JSON web token", "eyJ",
            r"\beyJ[A-Za-z0-9_-]{15,400}\.(eyJ[A-Za-z0-9_-]{60,2000}\.[A-Za-z0-9_-]{40,700})(?![\w-])", 4.2),
)  # fmt: skip
"""Tokens whose shape says what they are."""
