"""Secrets never come out of an importer, and what only looks like one stays."""

from __future__ import annotations

import json
import random
import re
import string
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whet.guard.secrets.data import shapes
from whet.guard.secrets.hide import hide_secrets
from whet.learning.transcripts.reader import from_messages, read_transcript

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.transcripts.events import Transcript

# Every token is made here and opens nothing.
LETTERS = string.ascii_letters + string.digits


def made(length: int, alphabet: str = LETTERS, seed: int = 7) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
CLAIMS = ('{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890","name":"x","iat":1516239022}', made(32))
TOKENS = {
    "github-token": ["ghp_" + made(36), "gho_" + made(36), "github_pat_" + made(22) + "_" + made(59)],
    "gitlab-token": ["glpat-" + made(20), "glrt-" + made(20)],
    "slack-token": ["xoxb-123456789012-123456789012-" + made(24), "xapp-1-A0-" + made(40)],
    "slack-webhook": ["hooks.slack.com/services/T" + made(9, string.ascii_uppercase) + "/B" + "A1B2C3D4E/" + made(24)],
    "aws-key": ["AKIA" + made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), "ASIA" + made(16, "ABCDEFGHIJKLMNOP234567")],
    "google-key": ["AIza" + made(35), "GOCSPX-" + made(28), "AQ.Ab" + made(48)],
    "google-token": ["ya29." + made(80), "1//0" + made(60)],
    "stripe-key": ["sk_live_" + made(24), "sk_test_" + made(99), "rk_live_" + made(24), "whsec_" + made(32)],
    "openai-key": ["sk-" + made(20) + "T3BlbkFJ" + made(20), "sk-proj-" + made(120), "sk-" + made(48)],
    "anthropic-key": ["sk-ant-api03-" + made(93) + "AA", "sk-ant-oat01-" + made(60)],
    "npm-token": ["npm_" + made(36)],
    "whet-hub-token": ["whet_" + made(49)],
    "pypi-token": ["pypi-AgEIcHlwaS5vcmc" + made(80)],
    "hugging-face-token": ["hf_" + made(34, string.ascii_letters), "hf_" + made(37)],
    "json-web-token": [".".join(b64encode(part.encode()).decode().rstrip("=") for part in CLAIMS)],
    "sendgrid-key": ["SG." + made(22) + "." + made(43)],
    "telegram-bot-token": ["123456789:AA" + made(33)],
    "digitalocean-token": ["dop_v1_" + made(64, HEX)],
    "vault-token": ["hvs." + made(90)],
    "docker-token": ["dckr_pat_" + made(27)],
    "databricks-token": ["dapi" + made(32, HEX)],
    "linear-key": ["lin_api_" + made(40)],
    "groq-key": ["gsk_" + made(52)],
    "xai-key": ["xai-" + made(80)],
    "discord-webhook": ["discord.com/api/webhooks/123456789012345678/" + made(68)],
    "twilio-key": ["SK" + made(32, HEX), "AC" + made(32, HEX) + ":" + made(32, HEX, 8)],
    "shopify-token": ["shpat_" + made(32, HEX), "shpss_" + made(32, HEX)],
    "openrouter-key": ["sk-or-v1-" + made(64, HEX)],
    "notion-token": ["ntn_" + made(46)],
    "figma-token": ["figd_" + made(40)],
    "sentry-token": ["sntrys_" + made(60), "sntryu_" + made(64, HEX)],
    "postman-key": ["PMAK-" + made(24, HEX) + "-" + made(34, HEX)],
    "tailscale-key": ["tskey-auth-" + made(20)],
    "replicate-token": ["r8_" + made(37)],
    "together-key": ["tgp_v1_" + made(43)],
    "pinecone-key": ["pcsk_" + made(60)],
    "perplexity-key": ["pplx-" + made(48)],
    "nvidia-key": ["nvapi-" + made(64)],
    "tavily-key": ["tvly-" + made(32)],
    "grafana-token": ["glsa_" + made(32) + "_" + made(8, HEX), "glc_" + made(80)],
    "circleci-token": ["CCIPAT_" + made(22) + "_" + made(40, HEX)],
    "atlassian-token": ["ATATT3" + made(180)],
    "square-token": ["sq0atp-" + made(22)],
    "rubygems-key": ["rubygems_" + made(48, HEX)],
    "dynatrace-token": ["dt0c01." + made(24, UPPER) + "." + made(64, UPPER)],
    "new-relic-key": ["NRAK-" + made(27, UPPER)],
    "pulumi-token": ["pul-" + made(40, HEX)],
    "fly-token": ["fm2_" + made(100)],
    "supabase-token": ["sbp_" + made(40, HEX)],
    "resend-key": ["re_" + made(8) + "_" + made(24)],
    "cloudflare-key": ["v1.0-" + made(24, HEX) + "-" + made(146, HEX)],
    "mailgun-key": ["key-" + made(32, HEX)],
    "doppler-token": ["dp.pt." + made(43)],
    "facebook-token": ["EAA" + made(80)],
    "onepassword-token": ["ops_eyJ" + made(200)],
    "age-key": ["AGE-SECRET-KEY-1" + made(58, UPPER)],
    "bitbucket-token": ["ATBB" + made(32)],
    "heroku-key": ["HRKU-" + made(60)],
    "netlify-token": ["nfp_" + made(36)],
    "alibaba-key": ["LTAI" + made(20)],
    "planetscale-token": ["pscale_tkn_" + made(43), "pscale_pw_" + made(43)],
    "langsmith-key": ["lsv2_pt_" + made(32, HEX) + "_" + made(10, HEX)],
    "langfuse-key": ["sk-lf-" + "-".join(made(length, HEX) for length in (8, 4, 4, 4, 12))],
    "posthog-key": ["phx_" + made(47)],
    "terraform-token": [made(14) + ".atlasv1." + made(67)],
    "airtable-token": ["pat" + made(14) + "." + made(64, HEX)],
    "contentful-token": ["CFPAT-" + made(43)],
    "sourcegraph-token": ["sgp_" + made(16, HEX) + "_" + made(40, HEX)],
    "buildkite-token": ["bkua_" + made(40, HEX)],
    "artifactory-key": ["AKCp" + made(69)],
    "cerebras-key": ["csk-" + made(48, string.ascii_lowercase + string.digits)],
    "fireworks-key": ["fw_" + made(24)],
    "mapbox-token": ["sk.eyJ" + made(60) + "." + made(22)],
}  # fmt: skip
PHRASE = "ladder oven river pencil candle forest marble window garden pocket silver thunder"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join(made(64, seed=n) for n in range(12))
    + "\n-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(("kind", "token"), [(kind, token) for kind, tokens in TOKENS.items() for token in tokens])
def test_tokens_are_hidden_by_their_shape_and_named_by_their_kind(kind: str, token: str) -> None:
    hidden, count = hide_secrets(f"use {token}, then go")
    assert (hidden.replace("https://", ""), count) == (f"use [secret:{kind}], then go", 1)
    for before, after in (('"', '"'), ("\\n", "\\n"), ("=", "&x=1"), ("%20", " "), ("`", "`"), ("/", "/"), ("(", ").")):
        assert token not in hide_secrets(before + token + after)[0]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("setx OPENAI_API_KEY zR5xQ9wLmT2vB7nK", "setx OPENAI_API_KEY [secret:token]"),
        ('setx /M GITHUB_TOKEN "zR5xQ9wLmT2vB7nK"', 'setx /M GITHUB_TOKEN "[secret:token]"'),
        ("setx PATH C:\\tools", "setx PATH C:\\tools"),
        (f"the seed phrase is {PHRASE}. Keep it.", "the seed phrase is [secret:seed-phrase]. Keep it."),
        (f'{{"mnemonic": "{PHRASE}"}}', '{"mnemonic": "[secret:seed-phrase]"}'),
        ("the seed phrase is never shown by this app", "the seed phrase is never shown by this app"),
    ],
)
def test_secrets_are_hidden_where_wallets_and_windows_keep_them(text: str, hidden: str) -> None:
    assert hide_secrets(text)[0] == hidden


def test_a_token_is_hidden_also_where_it_is_glued_to_a_word() -> None:
    token = TOKENS["github-token"][0]
    assert hide_secrets(f"now{token}") == ("now[secret:github-token]", 1)


def test_what_is_a_secret_in_one_place_is_one_everywhere() -> None:
    found = from_messages(
        [
            {"role": "user", "content": "log in with tr0ub4dor, as last week"},
            {
                "role": "assistant",
                "tool_calls": [{"name": "bash", "args": {"cmd": "login --password tr0ub4dor"}, "id": "1"}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "tr0ub4dor accepted, password: admin"},
            {"role": "user", "content": "the admin is happy"},
        ]
    )
    assert [event.text or event.given["command"] for event in found.events] == [
        "log in with [secret:password], as last week",
        "login --password [secret:password]",
        "[secret:password] accepted, password: [secret:password]",
        "the admin is happy",
    ]


def test_every_shape_that_is_known_has_a_token_here() -> None:
    assert set(TOKENS) == {shape.kind.lower().replace(" ", "-") for shape in shapes()}
    tokens = [f" {token}" for tokens in TOKENS.values() for token in tokens]
    assert [
        shape
        for shape in shapes()
        if shape.bits is not None and not any(re.search(shape.regex, token) for token in tokens)
    ] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export DB_PASSWORD=hunter2 && run", "export DB_PASSWORD=[secret:password] && run"),
        ('DB_PASSWORD="correct horse battery"', 'DB_PASSWORD="[secret:password]"'),
        ("""password = "it's \\"me\\" 1" # x""", 'password = "[secret:password]" # x'),
        ('{"password": "s3cr3t!pw"}', '{"password": "[secret:password]"}'),
        (r"{\"password\": \"s3cr3t!pw\"}", r"{\"password\": \"[secret:password]\"}"),
        ('password="cut off', 'password="[secret:password]'),
        ("<password>hunter2</password>", "<password>[secret:password]</password>"),
        ("my password is Tr0ub4dor&3", "my password is [secret:password]"),
        ("The API key is a1b2c3d4e5f6", "The API key is [secret:key]"),
        ("--password swordfish1 --host db", "--password [secret:password] --host db"),
        ("--api-key=abcd1234efgh", "--api-key=[secret:key]"),
        ("X-Api-Key: 9a8b7c6d5e4f3a2b", "X-Api-Key: [secret:key]"),
        ("curl -H 'Authorization: Bearer abc123def456' x", "curl -H 'Authorization: Bearer [secret:authorization]' x"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [secret:authorization]"),
        ("Cookie: sid=abcdef; theme=dark\nHost: x", "Cookie: [secret:cookie]\nHost: x"),
        ("sent Bearer a1b2c3d4e5f6g7 there", "sent Bearer [secret:authorization] there"),
        ("postgres://app:p@ss:w0rd@db:5432/x", "postgres://app:[secret:password]@db:5432/x"),
        ("redis://:pa55word@cache", "redis://:[secret:password]@cache"),
        ("Server=x;User ID=sa;Password=Qw!23rty;", "Server=x;User ID=sa;Password=[secret:password];"),
        ("AccountKey=AbCdEf0123456789AbCdEf==;E=1", "AccountKey=[secret:key];E=1"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtn/K7MDENG/bPxRf1", "AWS_SECRET_ACCESS_KEY=[secret:secret]"),
        ("//r.example/:_authToken=0f1e2d3c4b5a6978", "//r.example/:_authToken=[secret:token]"),
        ("machine x login me password z9z9z9", "machine x login me password [secret:password]"),
        ("mysql -uroot -pS3cretPw shop", "mysql -uroot -p[secret:password] shop"),
        ("sshpass -p 'MyPass99' ssh h", "sshpass -p '[secret:password]' ssh h"),
        ("curl -u admin:letmein99 x", "curl -u admin:[secret:password] x"),
        ("curl -uadmin:letmein99 x", "curl -uadmin:[secret:password] x"),
        ("curl -b 'sid=9a8b7c6d5e4f' x", "curl -b 'sid=[secret:cookie]' x"),
        ("mysqldump -p'it is mine' shop", "mysqldump -p'[secret:password]' shop"),
        ("docker login -u me -p'S3cretPw' r", "docker login -u me -p'[secret:password]' r"),
        ("unzip -P S3cretPw a.zip", "unzip -P [secret:password] a.zip"),
        ("7z x -pS3cretPw a.7z", "7z x -p[secret:password] a.7z"),
        ("ldapsearch -x -w S3cretPw -b dc", "ldapsearch -x -w [secret:password] -b dc"),
        ("sqlcmd -S h -U sa -P S3cretPw", "sqlcmd -S h -U sa -P [secret:password]"),
        ("mongosh -u me -p S3cretPw", "mongosh -u me -p [secret:password]"),
        ("smbclient //h/s -U me%S3cretPw", "smbclient //h/s -U me%[secret:password]"),
        ("htpasswd -b users me S3cretPw", "htpasswd -b users me [secret:password]"),
        ("openssl enc -aes-256-cbc -k S3cretPw", "openssl enc -aes-256-cbc -k [secret:password]"),
        ("openssl rsa -passin pass:S3cretPw", "openssl rsa -passin pass:[secret:password]"),
        ("net use z: /user:me S3cretPw", "net use z: /user:me [secret:password]"),
        ("cmdkey /user:y /pass:S3cretPw", "cmdkey /user:y /pass:[secret:password]"),
        ("echo S3cretPw | sudo -S ls", "echo [secret:password] | sudo -S ls"),
        ("echo 'S3cretPw' | docker login --password-stdin", "echo '[secret:password]' | docker login --password-stdin"),
        (
            "aws configure set aws_secret_access_key wJalrXUtnK7MDENG",
            "aws configure set aws_secret_access_key [secret:token]",
        ),
        ("--from-literal=api=a1b2c3d4e5f6", "--from-literal=api=[secret:secret]"),
        ("ConvertTo-SecureString 'S3cretPw' -AsPlainText", "ConvertTo-SecureString '[secret:password]' -AsPlainText"),
        ("$password = ConvertTo-SecureString 'S3cretPw'", "$password = ConvertTo-SecureString '[secret:password]'"),
        ("requests.get(u, auth=('me', 'S3cretPw'))", "requests.get(u, auth=('me', '[secret:password]'))"),
        ("HTTPBasicAuth('me','S3cretPw')", "HTTPBasicAuth('me','[secret:password]')"),
        ("user.set_password('S3cretPw')", "user.set_password('[secret:password]')"),
        ("HASH_SALT=q8Zr1xw5Tb0Pq8Zr1xw5Tb0P=", "HASH_SALT=[secret:salt]"),
        ("APP_KEY=base64:q8Zr1xw5Tb0P=", "APP_KEY=[secret:key]"),
        ('{"auths": {"r": {"auth": "dTpNVFg2VDViQzZPM2hE"}}}', '{"auths": {"r": {"auth": "[secret:auth]"}}}'),
        ("//r.example/:_auth=dTpNVFg2VDViQzZPM2hE", "//r.example/:_auth=[secret:auth]"),
        ("pass: q8Zr1xw5Tb0P", "pass: [secret:password]"),
        ("pw=q8Zr1xw5Tb0P", "pw=[secret:password]"),
        ("Passwort: geheim99", "Passwort: [secret:password]"),
        ("mot de passe : secret99", "mot de passe : [secret:password]"),
        ("contraseña: secreto99", "contraseña: [secret:password]"),
        ("| password | q8Zr1xw5 |", "| password | [secret:password] |"),
        ('<add key="ApiKey" value="q8Zr1xw5Tb0P"/>', '<add key="ApiKey" value="[secret:key]"/>'),
        ("<Password value='q8Zr1xw5Tb0P'/>", "<Password value='[secret:password]'/>"),
        ("recovery code: q8Zr1xw5Tb0P", "recovery code: [secret:code]"),
        ("SENTRY_DSN=https://9bcfbe07fae17389034e@o1.example/12", "SENTRY_DSN=https://[secret:token]@o1.example/12"),
        ("kind: Secret\ndata:\n  db: TVRYNlQ1Yk==\ntype: x", "kind: Secret\ndata:\n  db: [secret:secret]\ntype: x"),
        (r'{"secret": "ab12\/cd34\u003d"}', '{"secret": "[secret:secret]"}'),
        (
            "PuTTY-User-Key-File-3: x\nPrivate-Lines: 1\nAAAAgQDb\nPrivate-MAC: 1",
            "PuTTY-User-Key-File-3: x\nPrivate-Lines: 1\n[secret:private-key]\nPrivate-MAC: 1",
        ),
        ("https://x.example/?sig=Ab3%2F9f8a7b6c5d", "https://x.example/?sig=[secret:signature]"),
        (f"cat key\n{PEM}\ndone", "cat key\n[secret:private-key]\ndone"),
        (json.dumps(PEM), '"[secret:private-key]"'),
        (PEM[: len(PEM) // 2], "[secret:private-key]"),
        (f"tail: {PEM[300:]} ok", "tail:[secret:private-key] ok"),
    ],
)
def test_secrets_are_hidden_by_their_place(text: str, expected: str) -> None:
    assert hide_secrets(text) == (expected, 1)
    assert hide_secrets(expected) == (expected, 0)


@pytest.mark.parametrize(
    "text",
    [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "/runs/550e8400-e29b-41d4-a716-446655440000/out.json",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me",
        "export API_KEY=$API_KEY TOKEN=${TOKEN:-} PASS=%PASS%",
        'api_key = os.environ["API_KEY"]; token = get_token(user)',
        "Authorization: Bearer $TOKEN",
        '"Authorization": f"Bearer {token}"',
        "API_KEY=your-api-key-here TOKEN=<token> PASSWORD=changeme",
        "password: str, token: Optional[str] = None, password=password",
        "max_tokens=4096 token_count: 12ab34cd56 tokens: 99 tokenizer=gpt2abc4def",
        "asttokens=3.0.0=pyhd8ed1ab_1",
        "PWD=/home/me/project OLDPWD=/Users/Kim/Code",
        "private_key=/etc/ssl/private/server.pem token_file: ~/.config/token",
        "kubectl get secret db-credentials -o yaml; secretKeyRef: name",
        "primary_key=Ab12Cd34Ef56 cache_key=Ab12Cd34Ef56 keyboard: qwerty123456",
        "basic authentication, Basic Authentication, the bearer understands",
        "the password is required, a password must be long, this bypass is bad",
        "http://localhost:8080/path@v1 https://example.com:443/a git@github.com:o/r.git",
        "postgres://user:$PASSWORD@localhost/db postgres://user:<password>@localhost/db",
        "mysql -u root -p shop; ls -u x:y",
        "task-list-with-many-words-in-2026 risk-assessment-of-the-plan-2026",
        "if token == expected_token: client_secret=client_secret",
        'API_KEY="your-64-char-api-key" TOKEN=YOUR_4TODO_API_TOKEN PASSWORD="{{password}}"',
        'curl -H "Authorization: Token token=$API_KEY" -d "{password: \'$PASSWORD\'}"',
        "sessionId: 3f2a9c1b7d token: 0xdAC17F958D2ee523a2206206994597C13D831ec7 token: https://api.example/oauth2/token",
        'sqlmap -u "http://target.example/page?id=1" --batch',
        "contract GovernanceToken is ERC20Votes; swapTokens = TWAP_quote - tolerance",
        "storeAuthStateInCookie: something_else, cookieValue: string | undefined",
        "Use BuildKit secrets: `--mount=type=secret`; add a secret: **Name** = `NUGET_USER`",
        "docs/solutions/incident-management/configure-service-level-objective-access-in-2026",
        "[secret:github-token] stays",
        "pass: 48, fail: 2; pass: all; echo hello | sudo tee x; zip -r a.zip b; 7z x archive.7z",
        "| Password | required | The password |; | Private key | APrivateKey1 |; | Secret | SECRET_1 |",
        'echo "Hello World" | post create --stdin-format markdown; git config set core.hotkey none',
        "kind: ExternalSecret\ndata:\n- secretKey: username\n  remoteRef: {key: database/config, property: username}",
        "pass://abc123def/item456; user=^USER^&pass=^PASS^; salt rounds: 12; bcrypt.gensalt(12)",
        "https://user@host.example/x https://averylongusername@host.example; $p = Read-Host -AsSecureString",
        "a" * 5_000 + "/" + "usr/share/" * 60,
        "",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert hide_secrets(text) == (text, 0)


def test_binary_data_becomes_a_word() -> None:
    picture = b64encode(random.Random(3).randbytes(3_000)).decode()
    wrapped = "\n".join(picture[at : at + 76] for at in range(0, len(picture), 76))
    assert hide_secrets(f"see data:image/png;base64,{picture} there")[0] == "see [binary] there"
    assert hide_secrets(f'{{"data": "{picture}"}}') == ('{"data": "[binary]"}', 0)
    assert hide_secrets(f"mail:\n{wrapped}\nend")[0] in {"mail:\n[binary]\nend", "mail:\n[binary]end"}


def test_arguments_are_secret_by_their_name_their_neighbour_and_their_label() -> None:
    given = {
        "password": "open sesame",
        "headers": {"X-Api-Key": "a1b2c3d4e5"},
        "argv": ["psql", "--password", "hunter2", "-h", "db"],
        "fields": [{"name": "Password", "type": "textbox", "value": "hunter2"}, {"name": "City", "value": "Bern"}],
        "max_tokens": 4096,
        "token": "$TOKEN",
        "image": b"\x89PNG",
    }
    found = from_messages([{"role": "assistant", "tool_calls": [{"name": "T", "args": given, "id": "1"}]}])
    assert found.events[0].given == {
        "password": "[secret:password]",
        "headers": {"X-Api-Key": "[secret:key]"},
        "argv": ["psql", "--password", "[secret:password]", "-h", "db"],
        "fields": [
            {"name": "Password", "type": "textbox", "value": "[secret:password]"},
            {"name": "City", "value": "Bern"},
        ],
        "max_tokens": 4096,
        "token": "$TOKEN",
        "image": "[binary]",
    }
    assert [(entry.code, entry.message) for entry in found.report] == [
        ("transcript-secrets-hidden", "Secrets hidden: 4.")
    ]


def test_a_secret_at_the_cut_of_a_long_text_is_hidden(*, quick: bool) -> None:
    token = TOKENS["github-token"][0]
    for place in range(11_900, 24_500, 1_500 if quick else 150):
        text = "x " * (place // 2) + token + " y" * 30_000
        for whole in (text, text[::-1].replace(token[::-1], token)):
            kept = from_messages([{"role": "user", "content": whole}]).events[0].text
            assert not any(token[at : at + 12] in kept for at in range(len(token) - 12))


# Planted secrets, in every field of every importer

ALPHABET = st.sampled_from(LETTERS)
WORD = st.text(ALPHABET, min_size=12, max_size=24).filter(lambda word: word.isalnum() and not word.isalpha())
PLACES = st.sampled_from(
    [
        "DB_PASSWORD={}", 'password: "{}"', "postgres://me:{}@db.example/x", "Authorization: Bearer {}",
        '{{"api_key": "{}"}}', "--token {}", r"{{\"client_secret\": \"{}\"}}", "Password={};", "my password is {}",
    ]
)  # fmt: skip
BARE = st.sampled_from([token for tokens in TOKENS.values() for token in tokens])
EDGE = st.sampled_from([" ", "\n", '"', "'", "=", "(", ",", "\\n", "`", "\t", "%20", ";", "\x1b[31m"])
AROUND = st.text(max_size=20)


@st.composite
def planted(draw: st.DrawFn) -> tuple[str, str]:
    """A secret, and a text that it is in."""
    if draw(st.booleans()):
        secret = draw(BARE)
        return secret, draw(AROUND) + draw(EDGE) + secret + draw(EDGE) + draw(AROUND)
    secret = draw(WORD.filter(lambda word: any(c.isalpha() for c in word) and any(c.isdigit() for c in word)))
    return secret, draw(AROUND) + draw(st.sampled_from(["\n", " ", "\t"])) + draw(PLACES).format(secret) + "\n" + draw(
        AROUND
    )


def messages(text: str) -> list[dict[str, Any]]:
    failed = json.dumps({"output": text, "exit_code": 1, "error": text})
    call = {"id": text, "function": {"name": text, "arguments": json.dumps({text: [{"deep": text}], "command": text})}}
    return [
        {"role": "system", "content": text},
        {"role": "user", "content": text},
        {"role": "user", "content": [{"type": "text", "text": f"<system-reminder>{text}</system-reminder>"}]},
        {"role": "assistant", "content": text, "tool_calls": [call], "reasoning": text},
        {"role": "tool", "tool_call_id": text, "content": text},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": text}},
                                          {"type": "thinking", "thinking": text}, {"type": text}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"text": text}]}]},
        {"type": "custom_tool_call", "name": "apply_patch", "call_id": "p", "input": f"*** Add File: {text}\n+{text}"},
        {"type": "function_call_output", "call_id": "p", "output": failed},
        {"role": text, "content": text},
    ]  # fmt: skip


def files(text: str) -> dict[str, str]:
    """The same secret in a file of every format."""
    claude = [
        {"type": "user", "uuid": f"u{number}", "sessionId": text, "cwd": text, "message": message}
        for number, message in enumerate(messages(text))
    ]
    claude += [{"type": "assistant", "uuid": "a", "message": message} for message in messages(text)]
    queued = {"type": "queued_command", "prompt": text}
    claude += [{"type": "summary", "summary": text, "leafUuid": "x"}, {"type": text, "uuid": "t"}]
    claude += [{"type": "attachment", "uuid": "q", "attachment": queued}]
    codex: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": text, "cwd": text}}]
    codex += [{"type": "response_item", "payload": message} for message in messages(text)]
    codex += [{"type": "event_msg", "payload": {"type": "user_message", "message": text}},
              {"type": "compacted", "payload": {"message": text}}, {"type": text, "payload": {}}]  # fmt: skip
    hermes = {
        "id": text,
        "source": "cli",
        "started_at": 1,
        "cwd": text,
        "system_prompt": text,
        "messages": messages(text),
    }
    events = [{"whet-transcript": 1, "client": text, "session": text, "project": text}]
    events += [{"kind": kind, "text": text, "tool": text, "id": text, "about": text, "given": {text: text}}
               for kind in ("user", "assistant", "call", "result", "note")]  # fmt: skip
    fenced = text.translate({ord(mark): " " for mark in "`~\0"})
    return {
        "claude.jsonl": "\n".join(map(json.dumps, claude)),
        "codex.jsonl": "\n".join(map(json.dumps, codex)),
        "hermes.jsonl": json.dumps(hermes),
        "messages.json": json.dumps(messages(text)),
        "whet.jsonl": "\n".join(map(json.dumps, events)),
        "page.md": f"# User\n{fenced}\n# Assistant\n{fenced}\n# Tool: x\n```\n{fenced}\n```\n# Result\n{fenced}\n",
    }


def everything(read: Transcript) -> str:
    return repr(read) + repr([dict(event.given) for event in read.events])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(planted())
def test_planted_secrets_never_come_out_of_any_importer(tmp_path: Path, plant: tuple[str, str]) -> None:
    secret, text = plant
    for name, content in files(text).items():
        (tmp_path / name).write_text(content, encoding="utf-8", errors="surrogatepass")
        read = read_transcript(str(tmp_path / name))
        assert len(read.events) > 1
        assert (name, secret in everything(read)) == (name, False)


def test_no_token_of_any_kind_comes_out_of_any_field_of_any_importer(tmp_path: Path) -> None:
    tokens = [token for tokens in TOKENS.values() for token in tokens]
    for start in range(0, len(tokens), 8):
        some = tokens[start : start + 8]
        for name, content in files(" ".join(some)).items():
            (tmp_path / name).write_text(content, encoding="utf-8")
            kept = everything(read_transcript(str(tmp_path / name)))
            assert (name, [token for token in some if token[-12:] in kept]) == (name, [])


def test_a_private_key_at_the_cut_of_a_long_text_is_hidden(*, quick: bool) -> None:
    for lines in (12, 50, 300):
        key = [made(64, seed=number) for number in range(lines)]
        block = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(key) + "\n-----END PRIVATE KEY-----\n"
        for place in range(0, 44_000, 10_400 if quick else 1_300):
            text = "line of text\n" * (place // 13) + block + "more text\n" * ((50_000 - place) // 10)
            kept = from_messages([{"role": "user", "content": text}]).events[0].text
            assert [line for line in key if line in kept] == []


def test_a_secret_is_hidden_in_every_spelling_of_json() -> None:
    found = from_messages(
        [
            {"role": "user", "content": r'{"client_secret": "a1b2\/c3d4\u003de5"}'},
            {"role": "assistant", "content": "I send a1b2/c3d4=e5 now."},
        ]
    )
    assert [event.text for event in found.events] == [
        '{"client_secret": "[secret:secret]"}',
        "I send [secret:secret] now.",
    ]


@settings(max_examples=120, deadline=None)
@given(planted())
def test_planted_secrets_never_come_out_of_a_text(plant: tuple[str, str]) -> None:
    secret, text = plant
    hidden, count = hide_secrets(text)
    assert secret not in hidden and count >= 1


@settings(max_examples=120, deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="paswordtkenkyAPI_-=:\"'\\ \n$12ghp_Bearer/@", max_size=80))
def test_hiding_twice_hides_nothing_more_and_never_fails(text: str) -> None:
    hidden, _ = hide_secrets(text)
    assert hide_secrets(hidden) == (hidden, 0)
