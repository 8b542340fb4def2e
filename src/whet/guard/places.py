"""Places on a machine that matter: where secrets lie, where programs start by themselves, and what rules the agent.

`places(text)` looks for them in a path or a piece of text, however the home directory is spelled in front of them.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from whet.guard.tables import word_list


class Place(NamedTuple):
    """What a path is."""

    kind: Literal["secret", "start", "agent"]
    what: str
    grave: bool
    """Nobody reads or writes it by accident: private keys, wallets, browser stores, the agent's own settings."""
    text: str


_SECRETS = (
    (
        "SSH keys",
        True,
        r"\.ssh/(?:id_\w+\b|\*|identity|(?!authorized_)[\w.-]*key\b)(?!\.pub)|(?<![\w-])id_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)",
    ),
    (
        "the SSH directory",
        True,
        r"(?:~|\$\{?home\}?|%userprofile%|/root|/home/[^/\s]+|/users/[^/\s]+)[\\/]\.ssh(?![\w-])(?![\\/](?:config|known_hosts|authorized_keys|[\w.*-]{1,60}\.pub\b))",
    ),
    ("AWS credentials", True, r"\.aws[\\/](?:credentials|config)\b|\.aws(?=[\s\"'`,/]|$)"),
    (
        "Google Cloud credentials",
        True,
        r"gcloud[\\/](?:application_default_credentials|credentials\.db|access_tokens)|application_default_credentials\.json",
    ),
    ("Azure credentials", True, r"\.azure[\\/](?:accesstokens|msal_token|azureprofile)[\w.]*"),
    ("Kubernetes credentials", True, r"\.kube[\\/]config\b|serviceaccount/token\b"),
    ("Docker credentials", True, r"\.docker[\\/]config\.json"),
    (
        "package registry tokens",
        True,
        r"(?:~|home\}?|%userprofile%|/root|/home/[^/\s]+)[\\/]\.(?:npmrc|pypirc|yarnrc|gem/credentials|cargo/credentials(?:\.toml)?)\b",
    ),
    (
        "git credentials",
        True,
        r"\.git-credentials\b|\.config[\\/]gh[\\/]hosts\.yml|(?<![\w.])\.netrc\b|\.config[\\/]hub\b",
    ),
    ("GPG keys", True, r"\.gnupg\b(?![\w-])"),
    (
        "the keychain",
        True,
        r"library[\\/]keychains|login\.keychain|find-(?:generic|internet)-password|dump-keychain|secret-tool\s+(?:lookup|search)|\.password-store\b|\.local/share/keyrings",
    ),
    (
        "browser data",
        True,
        (
            r"(?:google[\\/ -]chrome|chromium|bravesoftware|microsoft[\\/ ]edge|firefox[\\/]profiles|(?<![\w.])\.mozilla[\\/])[^\n]{0,60}?(?:login data|cookies|local state|web data|key4\.db|logins\.json|history|local storage|profiles)"
            r"|\blogin data\b(?=[\"'`]|\s*(?:file|database|\())|\b(?:key4\.db|logins\.json|cookies\.sqlite)\b"
        ),
    ),
    (
        "wallets",
        True,
        (
            r"(?:\bwallet\.dat|keystore[\\/]utc--|(?<!\w)\.ethereum\b|(?<!\w)\.bitcoin[\\/]|(?<!\w)\.electrum\b|\.solana[\\/]id\.json|solana[\\/]id\.json|metamask[^\n]{0,20}(?:vault|leveldb|storage)|exodus[\\/]exodus\.wallet|phantom[^\n]{0,20}(?:vault|storage))"
            r"|(?:settings|extensions?|storage)[\\/](?:nkbihfbeogaeaoehlefnkodbefgpgknn|bfnaelmomeimhlpmgjnjophhpkkoljpa)\b"
        ),
    ),
    (
        "password managers",
        True,
        r"\b(?:1password|bitwarden|lastpass|keepass(?:xc)?)\b[^\n]{0,40}(?:vault|data\.json|\.kdbx|\.sqlite)|[\w-]+\.kdbx\b",
    ),
    (
        "password hashes",
        True,
        r"/etc/(?:shadow|gshadow|sudoers|master\.passwd)\b|\bsam\b[^\n]{0,10}(?:hive|system32)|\bntds\.dit\b|\blsass\b",
    ),
    ("shell history", True, r"\.(?:bash|zsh|python|node_repl|psql|mysql)_history\b|consolehost_history\.txt"),
    ("cloud metadata", True, r"169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254|100\.100\.100\.200"),
    (
        "the agent's own keys",
        True,
        r"\.(?:claude|codex|gemini|openclaw|clawdbot|moltbot|hermes|cursor)[\\/](?:\.?credentials[\w.]*|auth[\w.-]*\.json|\.env|openclaw\.json|clawdbot\.json|oauth[\w.]*|tokens?\.json)|\.claude\.json\b",
    ),
    (
        "messenger sessions",
        True,
        r"telegram[ \\/-]desktop[^\n]{0,20}tdata|\btdata\b|discord[\\/](?:local storage|leveldb)|slack[\\/](?:cookies|local storage)",
    ),
    ("the account list", False, r"/etc/passwd\b"),
    (
        "environment files",
        False,
        r"(?<![\w/.])(?:[\w./~${}-]{0,60}/)?\.env(?:\.(?:local|production|prod|development|dev|staging))?(?![\w.(])",
    ),
)
_STARTS = (
    (
        "shell start-up files",
        r"(?<![\w-])\.(?:bashrc|bash_profile|bash_login|zshrc|zprofile|zshenv|profile|bash_logout|config/fish/config\.fish)\b|/etc/(?:profile(?:\.d/|\b)|bash\.bashrc|environment\b|zsh/)",
    ),
    ("cron", r"/etc/cron[\w.]*|/var/spool/cron|\bcrontab\b"),
    ("launchd", r"library[\\/]launch(?:agents|daemons)"),
    ("systemd", r"(?:/etc/systemd/system|\.config/systemd/user|/lib/systemd/system)[\\/]?"),
    ("init scripts", r"/etc/(?:init\.d|rc\.local|rc\d?\.d|ld\.so\.preload)\b"),
    (
        "autostart",
        r"\.config/autostart|start menu[\\/]programs[\\/]startup|currentversion[\\/]+run(?:once)?\b|\bschtasks\b",
    ),
    ("authorized SSH keys", r"authorized_keys\b"),
    ("git hooks", r"\.git[\\/]hooks\b|core\.hookspath|init\.templatedir"),
    ("Python start-up", r"\b(?:site|user)customize\.py\b|site-packages[\\/][\w-]+\.pth\b|pythonstartup\b"),
)
_AGENTS = (
    (
        "the agent's instructions",
        r"(?<![\w-])(?:claude(?:\.local)?\.md|agents?\.md|gemini\.md|soul\.md|memory\.md|identity\.md|user\.md|heartbeat\.md|copilot-instructions\.md|\.cursorrules|\.windsurfrules|\.clinerules|\.cursor[\\/]rules|\.github[\\/]instructions)(?![\w])",
    ),
    (
        "the agent's settings",
        r"\.(?:claude|gemini|codex|cursor|openclaw|clawdbot|continue|roo)[\\/](?:settings(?:\.local)?\.json|config\.(?:toml|json|ya?ml)|hooks(?:\.json)?\b|commands\b|mcp\.json|openclaw\.json)|\bclaude_desktop_config\.json\b|(?<![\w-])\.mcp\.json\b|\.vscode[\\/](?:settings|tasks|mcp)\.json",
    ),
    ("other skills", r"\.(?:claude|codex|agents|openclaw|hermes|cursor|gemini)[\\/]skills\b"),
)


_HIVE = re.compile(r"\bsam\b")
"""A hint that is also the beginning of everyday words."""


def _compiled() -> tuple[re.Pattern[str], dict[str, tuple[Literal["secret", "start", "agent"], str, bool]]]:
    meaning: dict[str, tuple[Literal["secret", "start", "agent"], str, bool]] = {}
    parts = []
    rows: list[tuple[Literal["secret", "start", "agent"], str, bool, str]] = [
        *(("secret", what, grave, pattern) for what, grave, pattern in _SECRETS),
        *(("start", what, what == "authorized SSH keys", pattern) for what, pattern in _STARTS),
        *(("agent", what, False, pattern) for what, pattern in _AGENTS),
    ]
    for number, (kind, what, grave, pattern) in enumerate(rows):
        meaning[f"p{number}"] = (kind, what, grave)
        parts.append(f"(?P<p{number}>{pattern})")
    return re.compile("|".join(parts), re.IGNORECASE), meaning


_PATTERN: tuple[re.Pattern[str], dict[str, tuple[Literal["secret", "start", "agent"], str, bool]]] | None = None


def places(text: str) -> list[Place]:
    """Every place that a text names."""
    global _PATTERN  # noqa: PLW0603  compiled at the first use: the pattern is large and most programs never scan
    if _PATTERN is None:
        _PATTERN = _compiled()
    lowered = text.lower()
    if not any(hint in lowered for hint in word_list("places")) and not _HIVE.search(lowered):
        return []
    pattern, meaning = _PATTERN
    found = []
    for match in pattern.finditer(text):
        kind, what, grave = meaning[str(match.lastgroup)]
        found.append(Place(kind, what, grave, match[0]))
    return found
