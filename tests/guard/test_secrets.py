"""Secrets that lie in a package, and secrets that findings must not show. The tokens are put together at run time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.corpus import Pair, pairs
from whet.guard.finding import Hit, Seen
from whet.guard.rules import pack
from whet.guard.secrets.redact import redact
from whet.guard.secrets.scan import find_secrets

PAIRS = [pair for pair in pairs() if pair.pack == "secrets"]
RANDOM = "q7Zk2Wv9XbR4tYc1MsLd8PfJhG3nUeA6oViKw5TzQxB0NrCyEgDuFjHlImOpSaVeR2bT8uYw3XcZ5vN7mK1jL4hG6fD9s"
HEX = "9f3b7c1e5a8d2046f1b3c7e9a5d80264" * 2
REAL = {
    "AWS key": "AKIA" + "Q3ZTWM5VXLBNC2JD",
    "GitHub token": "ghp_" + RANDOM[:36],
    "GitLab token": "glpat-" + RANDOM[:20],
    "Slack token": "xoxb-" + "482915637204-739164820537-" + RANDOM[:24],
    "Stripe key": "sk_" + "live_" + RANDOM[:24],
    "OpenAI key": "sk-proj-" + RANDOM[:80],
    "Anthropic key": "sk-ant-" + "api03-" + RANDOM[:80],
    "Google key": "AIza" + RANDOM[:35],
    "npm token": "npm_" + RANDOM[:36],
    "Telegram bot token": "748159263:" + "AA" + RANDOM[:33],
    "Discord webhook": "https://discord.com/api/webhooks/" + "739164820537482915/" + RANDOM[:68],
    "SendGrid key": "SG." + RANDOM[:22] + "." + RANDOM[22:65],
    "Twilio key": "SK" + HEX[:32],
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJ" + RANDOM + "." + RANDOM[:43],
}
PLACEHOLDERS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "x" * 36,
    "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "sk-ant-api03-" + "your-key-here" * 6,
    "AIza" + "SyDUMMYKEYDUMMYKEYDUMMYKEYDUMMYKEYD",
    "sk_" + "live_" + "1234567890" * 3,
    "123456789:" + "AA" + "x" * 33,
    "xoxb-" + "123456789012-123456789012-" + "abcdefghijklmnopqrstuvwx",
    "glpat-xxxxxxxxxxxxxxxxxxxx",
    "password = hunter2",
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_secret_is_found_and_its_twin_is_clean(pair: Pair) -> None:
    def found(tree: dict[str, bytes]) -> set[str]:
        return {hit.rule for data in tree.values() for hit in find_secrets(data.decode()).hits}

    assert found({path: item.data for path, item in pair.bad.items()}) == set(pair.rules)
    assert found({path: item.data for path, item in pair.good.items()}) == set()


def test_every_rule_has_a_pair() -> None:
    assert {rule.id for rule in pack("secrets")} == {rule for pair in PAIRS for rule in pair.rules}


@pytest.mark.parametrize("kind", REAL)
def test_real_looking_tokens_are_found_and_never_shown(kind: str) -> None:
    text = f"first\ntoken = '{REAL[kind]}'\n"
    (hit,) = find_secrets(text).hits
    assert (hit.rule, hit.line, hit.subject) == ("shipped-secret", 2, kind)
    assert RANDOM[5:20] not in hit.evidence
    assert RANDOM[5:20] not in redact(text)


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_placeholders_are_no_secrets(text: str) -> None:
    assert find_secrets(f"token = '{text}'") == Seen()


def test_a_token_that_is_called_an_example_is_one() -> None:
    assert find_secrets(f"# example: {REAL['GitHub token']}") == Seen()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefghijklmnop123", "Authorization: Bearer abcd***"),
        ('API_KEY="zz-abcdefgh12345"', 'API_KEY="zz-a***"'),
        ("postgres://user:hunter22@host/db", "postgres://user:***@host/db"),
        ("password: hunter22", "password: hu***"),
        ("password: ${PASSWORD}", "password: ${PASSWORD}"),
        ('token = os.environ["TOKEN"]', 'token = os.environ["TOKEN"]'),
        ("curl https://api.invalid/v1", "curl https://api.invalid/v1"),
        (
            "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY----- *** -----END PRIVATE KEY-----",
        ),
    ],
)
def test_redaction_hides_values_and_leaves_the_rest(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_a_private_key_is_shown_by_its_first_line_only() -> None:
    body = "\n".join(RANDOM[:64] for _ in range(5))
    text = "-----BEGIN PRIVATE" + f" KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    assert find_secrets(text).hits == (Hit("shipped-private-key", 1, "-----BEGIN PRIVATE KEY----- ***"),)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300) | st.text(alphabet="sk-AKIA_ghp:=/@ \"'\npasswordBearer0123", max_size=300))
def test_redaction_is_short_and_idempotent_and_nothing_raises(text: str) -> None:
    once = redact(text)
    assert len(once) <= 2 * len(text) + 8
    assert redact(once) == once
    assert isinstance(find_secrets(text), Seen)
