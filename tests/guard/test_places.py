"""Places that matter on a machine, and names that only look like them."""

from __future__ import annotations

from re import _parser as parser  # type: ignore[attr-defined]  # the parsed form has no public name

import pytest

from guard.expressions import literals
from whet.guard import places as module
from whet.guard.places import Place, hints_in, places
from whet.guard.tables import load_table


@pytest.mark.parametrize(
    ("text", "kind", "what", "grave"),
    [
        ("cat .ssh/id_rsa", "secret", "SSH keys", True),
        ("id_ed25519", "secret", "SSH keys", True),
        ("cat ~/.ssh/id_rsa", "secret", "the SSH directory", True),
        ("tar c $HOME/.ssh", "secret", "the SSH directory", True),
        ("~/.aws/credentials", "secret", "AWS credentials", True),
        ("application_default_credentials.json", "secret", "Google Cloud credentials", True),
        ("~/.azure/accessTokens.json", "secret", "Azure credentials", True),
        ("~/.kube/config", "secret", "Kubernetes credentials", True),
        ("~/.docker/config.json", "secret", "Docker credentials", True),
        ("~/.npmrc", "secret", "package registry tokens", True),
        ("~/.git-credentials", "secret", "git credentials", True),
        ("~/.gnupg", "secret", "GPG keys", True),
        ("security find-generic-password -w", "secret", "the keychain", True),
        ("~/.config/google-chrome/Default/Login Data", "secret", "browser data", True),
        ("wallet.dat", "secret", "wallets", True),
        ("C:\\Users\\a\\vault.kdbx", "secret", "password managers", True),
        ("/etc/shadow", "secret", "password hashes", True),
        ("~/.bash_history", "secret", "shell history", True),
        ("http://169.254.169.254/latest", "secret", "cloud metadata", True),
        ("~/.claude/.credentials.json", "secret", "the agent's own keys", True),
        ("Telegram Desktop\\tdata", "secret", "messenger sessions", True),
        ("/etc/passwd", "secret", "the account list", False),
        ("source .env", "secret", "environment files", False),
        ("config/.env.production", "secret", "environment files", False),
        (">> ~/.bashrc", "start", "shell start-up files", False),
        ("crontab -l", "start", "cron", False),
        ("~/Library/LaunchAgents/a.plist", "start", "launchd", False),
        ("/etc/systemd/system/a.service", "start", "systemd", False),
        ("/etc/rc.local", "start", "init scripts", False),
        ("~/.config/autostart/a.desktop", "start", "autostart", False),
        ("~/.ssh/authorized_keys", "start", "authorized SSH keys", True),
        (".git/hooks/pre-commit", "start", "git hooks", False),
        ("~/.ssh/config", "start", "settings that run programs", False),
        ("tar czf - ~/Documents", "secret", "personal documents", False),
        ("sitecustomize.py", "start", "Python start-up", False),
        ("~/.claude/CLAUDE.md", "agent", "the agent's instructions", False),
        (".claude/settings.json", "agent", "the agent's settings", False),
        ("~/.codex/skills", "agent", "other skills", False),
    ],
)
def test_a_place_is_known(text: str, kind: str, what: str, grave: bool) -> None:
    found = next(iter(places(text)), None)

    assert found is not None
    assert found[:3] == (kind, what, grave)


@pytest.mark.parametrize(
    "text",
    [
        "~/.ssh/id_rsa.pub",
        "cat ~/.ssh/*.pub",
        "~/.ssh/known_hosts",
        "environment.ts",
        "process.env.HOME",
        "config.env.example",
        "https://addons.mozilla.org/firefox/",
        "developer.mozilla.org",
        "the docs of aws.amazon.com",
        "my-claude.md",
        "user-agents.mdx",
        "profile.png",
        "a launch event",
        "",
    ],
)
def test_a_name_that_looks_like_one_is_none(text: str) -> None:
    assert places(text) == []


def test_every_place_of_a_text_is_told_in_order() -> None:
    assert places("cat ~/.aws/credentials >> AGENTS.md") == [
        Place("secret", "AWS credentials", True, ".aws/credentials"),
        Place("agent", "the agent's instructions", False, "AGENTS.md"),
    ]


def test_the_first_look_never_hides_a_place() -> None:
    assert places("ID_RSA")
    assert all(hint == hint.lower() for hint in module._hints())


def test_a_hint_stands_in_every_text_that_names_a_place() -> None:
    """A hint that is missing would make the expression blind, and nothing else would tell."""
    for row in (row for rows in load_table("places").values() for row in rows):
        for text in map(str.lower, literals(parser.parse(row["pattern"]))):
            assert any(hint in text for hint in row["hints"]), (row["what"], text)


def test_the_hints_of_several_texts_are_enough_for_each_of_them() -> None:
    texts = ["cat ~/.ssh/id_rsa", "nothing", "~/.config/google-chrome/Default/Login Data", "the SAM hive"]
    hints = hints_in(texts)

    assert [places(text, hints) for text in texts] == [places(text) for text in texts]
    assert hints_in(["nothing", "at all"]) == []
    assert places("cat ~/.ssh/id_rsa", []) == []
