"""Whose a secret is by the name of its variable, and where it may be sent."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whet.guard import services
from whet.guard.services import Where, owner_of, secret_name, sent

if TYPE_CHECKING:
    from whet.guard.finding import Severity

TABLE = tomllib.loads((Path(services.__file__).parent / "services.toml").read_text())


def test_the_table_has_its_shape() -> None:
    assert set(TABLE) == {"hosts", "names"}
    for owner, hosts in TABLE["hosts"].items():
        assert re.fullmatch(r"[a-z]+", owner)
        assert all(re.fullmatch(r"(?:[a-z0-9-]+\.)+[a-z]+", host) for host in hosts), owner
    assert set(TABLE["names"]) == {"words", "keys", "pairs", "not_behind", "never_sent"}
    assert all(re.fullmatch(r"[a-z_]+", word) for words in TABLE["names"].values() for word in words)


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "JWT_SECRET", "DATABASE_URL"),
        *("SSH_PRIVATE_KEY", "PASSWORD", "DB_PASS", "PGPASSWORD", "apiKey", "STRIPE_KEY", "GH_PAT", "npm_config_token"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "WALLET_MNEMONIC", "SECRET_KEY_BASE", "sessionToken"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("HOME", "PATH", "KEY", "MAX_TOKENS", "TOKEN_COUNT", "CACHE_KEY", "PUBLIC_KEY", "SORT_KEY", "TOKEN_URL"),
        *("KEYBOARD", "PASSENGER_COUNT", "SECRET_NAME", "API_URL", "SSH_KEY_PATH", "compass", "tokenizer"),
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not secret_name(name)


def test_the_owner_is_a_whole_word_of_the_name() -> None:
    assert (owner_of("MY_OPENAI_KEY"), owner_of("GH_TOKEN"), owner_of("GHOST_TOKEN")) == ("openai", "gh", "")


@pytest.mark.parametrize(
    ("name", "url", "where", "before", "severity"),
    [
        ("OPENAI_API_KEY", "https://api.openai.com/v1", "head", "Authorization: Bearer ", None),
        ("OPENAI_API_KEY", "http://127.0.0.1:8080/v1", "body", "", None),
        ("OPENAI_API_KEY", "https://openai.com.collector.example/", "head", "Authorization: Bearer ", "critical"),
        ("OPENAI_API_KEY", "https://openai-keys.example/", "head", "Authorization: Bearer ", "critical"),
        ("OPENAI_API_KEY", "https://api.acme.example/v1", "head", "Authorization: Bearer ", "critical"),
        ("AWS_SECRET_ACCESS_KEY", "https://sts.amazonaws.com/", "body", "", "critical"),
        ("DATABASE_URL", "https://api.acme.example/", "body", "database_url=", "critical"),
        ("ACME_TOKEN", "https://api.acme.example/", "body", "", None),
        ("ACME_TOKEN", "https://api.other.example/", "head", "Authorization: Bearer ", None),
        ("ACME_TOKEN", "https://api.other.example/", "head", "X-Trace: ", "critical"),
        ("API_KEY", "https://api.other.example/", "url", "https://api.other.example/?api_key=", None),
        ("API_KEY", "https://api.other.example/", "url", "https://api.other.example/?q=", "critical"),
        ("PASSWORD", "https://login.other.example/", "body", '{"user": "me", "password": "', None),
        ("PASSWORD", "https://login.other.example/", "body", "", "critical"),
        ("API_KEY", "https://login.other.example/", "login", "", None),
        ("API_KEY", "https://pastebin.com/api", "head", "Authorization: Bearer ", "critical"),
        ("API_KEY", "$URL/v1", "body", "", None),
        ("SSH_PRIVATE_KEY", "$URL/v1", "body", "", "warn"),
    ],
)
def test_where_a_secret_may_go(name: str, url: str, where: Where, before: str, severity: Severity | None) -> None:
    assert sent(name, url, where, before) == severity
