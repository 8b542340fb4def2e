"""Redaction never breaks code: what parsed before parses afterwards, and code without a secret stays as it is."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.secrets.hide import Known, hide_secrets
from whet.guard.syntax import can_parse, is_program, language_of, parses
from whet.learning.transcripts.reader import from_messages

LETTERS = string.ascii_letters + string.digits


def made(length: int, seed: int = 7) -> str:
    """A token that opens nothing."""
    return "".join(random.Random(seed).choices(LETTERS, k=length))


GITHUB = "ghp_" + made(36)
KEY = "-----BEGIN RSA PRIVATE" + f" KEY-----\n{made(64)}\n{made(64, 8)}\n"
END = "-----END RSA PRIVATE" + " KEY-----"
SECRETS = (
    GITHUB,
    "sk-ant-api03-" + made(93) + "AA",
    "glpat-" + made(20),
    "AKIA" + made(16).upper(),
    made(32),
    "hunter2",
    "correct-horse-battery",
    "Tr0ub4dor&3",
    "p@ss!w0rd",
    "48151623",
    made(200),
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + made(43),
)
"""What may stand in a string, whatever its language."""
NAMES = (
    "password", "PASSWORD", "token", "API_TOKEN", "secret", "api_key", "client_secret", "authorization", "credential",
    "limit", "DB_PASSWORD",
)  # fmt: skip
FORMS = {
    "python": (
        '{name} = "{value}"',
        "{name}: str = '{value}'  # the {name}",
        "def f({name}: Passw0rdType) -> Token2Type: return {name}.value1",
        "x = f({name}=read_{name}1, b=cfg.{name}2)",
        "# {name}: {value}",
        'headers = {{"Authorization": f"Bearer {value}", "{name}": {name}9}}',
        'url = "https://user:{value}@example.org/?token={value}"',
        "if {name} == expectedToken9: pass",
        'KEY = """' + KEY + '"""',
        'KEY = """' + KEY + END + '"""',
        'auth = HTTPBasicAuth("dana", "{value}")',
        "{name} = 48151623",
        "{name} = {identifier}",
    ),
    "javascript": (
        'const {name} = "{value}";',
        "const o = {{ {name}: other.{name}1, b: [{name}2], 'c': `{value}` }};",
        "// {name}: {value}",
        "fetch(url, {{ headers: {{ Authorization: `Bearer {value}` }} }});",
        "if ({name} === expectedToken9) {{ login({name}); }}",
        "let {name} = 48151623;",
        "var k = `" + KEY + "`;",
        "function f({name} = Passw0rdType) {{ return {name}; }}",
        "{name} = {identifier};",
    ),
    "bash": (
        "export {name}='{value}'",
        '{name}="{value}" ./run --token "{value}" -p 8080',
        'curl -u "dana:{value}" -H "Authorization: Bearer {value}" https://example.org',
        'echo "{value}" | docker login --password-stdin',
        "# {name}: {value}",
        'if [ -z "${name}" ]; then {name}=${{{name}:-"{value}"}}; fi',
        "case $x in {name}) token={identifier} ;; esac",
        "cat > .env <<'EOF'\n{name}={value}\nEOF",
        "(( {name} = 48151623 ))",
        "mysql -u root -p'{value}' db < dump.sql",
    ),
    "json": (
        '{{"{name}": "{value}", "b": [1, {{"token": "{value}"}}]}}',
        '{{"{name}": 48151623, "url": "postgres://u:{value}@h/db"}}',
        '[{{"header": "Authorization: Bearer {value}"}}, true, null]',
    ),
    "yaml": (
        "{name}: '{value}'\nother: [a, b]",
        'a:\n  - {name}: "{value}"\n  - {{{name}: "{value}", b: c}}',
        "{name}: {identifier}",
        "env:\n  {name}: 48151623  # {value}",
        "run: |\n  curl -H 'Authorization: Bearer {value}'\n  {name}={identifier}",
        'url: "https://u:{value}@h"',
    ),
    "toml": (
        '{name} = "{value}"\n[b]\nc = [1, "{value}"]',
        "{name} = 48151623 # {value}",
        "[a]\n{name} = '''{value}'''",
        'url = "redis://:{value}@h:6379"',
    ),
}


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, str]:
    """A language, and code that may hold secrets in every place for one."""
    language = draw(st.sampled_from(sorted(FORMS)))
    count = 1 if language in ("json", "yaml", "toml") else draw(st.integers(1, 4))
    texts = []
    for _ in range(count):
        value = draw(st.sampled_from(SECRETS))
        texts.append(
            draw(st.sampled_from(FORMS[language])).format(
                name=draw(st.sampled_from(NAMES)),
                value=value,
                identifier="t" + draw(st.sampled_from(SECRETS[:1])) + made(9),
            )
        )
    return language, "\n".join(texts) + "\n"


@settings(max_examples=150, deadline=None)
@given(programs(), st.booleans(), st.sampled_from(("", "  ")))
def test_code_that_parsed_still_parses(made_: tuple[str, str], fenced: bool, indent: str) -> None:
    language, code = made_
    if not parses(language, code):
        return  # a secret that its string cannot hold
    if not fenced:
        assert parses(language, hide_secrets(code, language=language)[0])
        return
    rows = "\n".join(f"{indent}{line}" for line in (f"```{language}", *code.rstrip("\n").split("\n"), "```"))
    text = hide_secrets(f"Run this:\n\n{rows}\n")[0]
    (_, block, _) = text.split("```")
    assert parses(language, "\n".join(line[len(indent) :] for line in block.partition("\n")[2].split("\n")))
    assert not any(secret in text for secret in SECRETS[:3])


@pytest.mark.parametrize("language", FORMS)
@pytest.mark.parametrize("value", SECRETS)
def test_a_secret_in_a_string_is_hidden(language: str, value: str) -> None:
    code = FORMS[language][0].partition("\n[b]")[0].format(name="password", value=value, identifier="x")
    safe, hidden = hide_secrets(code, language=language)
    assert value not in safe
    assert hidden
    assert parses(language, safe)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.scala", "def tokenize(value: String): Array[String] = value.split(' ')"),
        ("a.scala", "def token(value: String): Tokenizer2 = new Tokenizer2(value)"),
        ("a.scala", "val secret: ByteString2 = foo"),
        ("a.go", "func Token(secret Secret2) Passw0rd { token := makeToken2 }"),
        ("a.java", "private final Passw0rdEncoder password = encoder1;"),
        ("a.ts", "const password: Passw0rdType = user.password2;"),
        ("a.py", "def f(password: Passw0rdType): pass"),
        ("a.py", "password = get_password1\n"),
        ("a.py", "if token == expectedToken9: pass"),
        ("a.py", "_LONGEST_TOKEN = 4096"),
        ("a.js", "const password = user.password2;"),
        ("a.js", "const o = { token: Token2Type, secret };"),
        ("a.py", "  password = fields.password1  # a piece, indented\n else: oops"),
    ],
)
def test_code_without_a_secret_stays(path: str, code: str) -> None:
    assert hide_secrets(code, language=language_of(path)) == (code, 0)
    assert hide_secrets(f"```{language_of(path)}\n{code}\n```\n")[0] == f"```{language_of(path)}\n{code}\n```\n"


@pytest.mark.parametrize(
    ("language", "code", "safe"),
    [
        ("python", "password = 48151623", 'password = "[secret:password]"'),
        ("json", '{"password": 48151623}', '{"password": "[secret:password]"}'),
        ("python", f"token = {GITHUB}", 'token = "[secret:github-token]"'),
        ("python", f"def f({GITHUB}): pass", "def f(SECRET_GITHUB_TOKEN): pass"),
        ("python", "token = a8f3kd92jf83kd9", 'token = "[secret:token]"'),
        ("python", f'x = """{KEY}"""\ny = 1\n', 'x = """[secret:private-key]\n"""\ny = 1\n'),
        ("bash", "TOKEN=hunter2 ./run", "TOKEN=[secret:token] ./run"),
        ("scala", 'val password = "hunter2"', 'val password = "[secret:password]"'),
        ("scala", "// password: hunter2", "// password: [secret:password]"),
    ],
)
def test_what_stands_for_a_secret_fits_the_code(language: str, code: str, safe: str) -> None:
    assert hide_secrets(code, language=language) == (safe, 1)


def test_a_name_in_code_is_no_secret_elsewhere() -> None:
    known = Known()
    hide_secrets("password = get_password1\n", known, "python")
    assert not known
    hide_secrets("password: s3cr3t-horse-9\n", known)
    assert known.hide("login('s3cr3t-horse-9')", "python") == ("login('[secret:password]')", 1)


HIDDEN = "hunter_horse1"
"""A password that could be the name of a variable."""


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "const env = `\nDB_PASSWORD={}\n`;\n"),
        ("typescript", "const env = `a ${{x ? `\nDB_PASSWORD={}\n` : 1}} b`;\n"),
        ("typescript", "const page = <pre>\n  password: {}\n</pre>;\n"),
        ("typescript", "/*\n  password: {}\n*/\nf();\n"),
        ("ruby", "text = <<~EOS\n  password: {}\nEOS\n"),
        ("ruby", "  password: {}\nEOS\nputs text\n"),
        ("ruby", "text = %q{{\n  password: {}\n}}\n"),
        ("php", "$text = <<<'EOS'\npassword: {}\nEOS;\n"),
        ("go", "var env = `\nDB_PASSWORD={}\n`\n"),
        ("go", "a := `C:\\`\nvar env = `\nDB_PASSWORD={}\n`\nb := `D:\\`\n"),
        ("rust", "const A: &'static str = \"it's\nDB_PASSWORD={}\n\";\n"),
        ("lua", "text = [[\npassword = {}\n]]\n"),
        ("kotlin", 'val env = """\nDB_PASSWORD={}\n"""\n'),
        ("python", 'print "x"\ntext = """\npassword: {}\n"""\n'),
        ("python", "print 'x'\ntext = '''\npassword: {}\n'''\n"),
        ("python", 'text = """\npassword: {}\n'),
        ("python", 'password: {}\n"""\nx = 1\n'),
        ("go", 'password: {}", user, "and the port'),
        ("typescript", "DB_PASSWORD={}`, join(a, b), `more"),
        ("ruby", "it's the password: {}', or 'none"),
    ],
)
def test_a_secret_in_text_over_lines_is_hidden_without_a_parser(language: str, code: str) -> None:
    known = Known()
    safe, hidden = hide_secrets(code.format(HIDDEN), known, language)
    assert HIDDEN not in safe
    assert hidden
    assert known.hide(f"login {HIDDEN} now")[1] == 1


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "// it's here\nconst a = 'x';\nconst password: Passw0rdType = user.password2;\n"),
        ("go", '/* a\nb */\nurl := "http://x"\ntoken := makeToken2\n'),
        ("ruby", "# don't\nname = 'x'\npassword = read_password1\n"),
        ("python", 'print "x"\nd = """a b"""\npassword = get_password1\n'),
    ],
)
def test_a_name_after_closed_strings_stays_without_a_parser(language: str, code: str) -> None:
    assert hide_secrets(code, language=language) == (code, 0)


def test_a_text_that_looks_like_a_mark_is_none() -> None:
    forged = "[secret:x\U000f0000]"
    for text in (
        f'password: "abc{forged}def9"\n',
        f"https://u:ab{forged}c9@h/x\n",
        f'password = "{GITHUB}{forged}"\n',
        f"{forged} = 1\ntoken = '{HIDDEN}'\n",
    ):
        for language in ("", "python", "typescript"):
            safe, _ = hide_secrets(text, language=language)
            assert GITHUB not in safe
            assert HIDDEN not in safe
    known = Known()
    known.learn(GITHUB, "token")
    assert known.hide(f"{GITHUB}{forged}", "python")[0].startswith("[secret:token]")
    assert hide_secrets("an icon \U000f0001 stays") == ("an icon \U000f0001 stays", 0)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("yaml", 'a: "\\UFFFFFFFF"'),
        ("yaml", 'a: "\\U00110000"'),
        ("yaml", "a: \ud800"),
        ("yaml", "[" * 5000),
        ("yaml", "{" * 200_000),
        ("json", "[" * 100_000),
        ("json", "1" * 5000 + "x"),
        ("toml", "a = " + "[" * 5000),
        ("toml", "a = 2024-99-99"),
        ("python", "x = \0"),
        ("python", "x = '\ud800'"),
        ("python", "(" * 5000),
        ("python", "-" * 100_000 + "1"),
    ],
)
def test_no_text_breaks_a_parser(language: str, text: str) -> None:
    assert not parses(language, text)


def test_a_session_keeps_its_code() -> None:
    code = "def f(password: Passw0rdType):\n    return password.value1\n"
    call = {"type": "tool_use", "id": "1", "name": "Write", "input": {"file_path": "a.py", "content": code}}
    read = from_messages([{"role": "user", "content": "Write it."}, {"role": "assistant", "content": [call]}])
    assert read.events[1].given["content"] == code


def test_the_languages() -> None:
    assert {language_of(path) for path in ("a.py", "b/c.JS", "d.yml", "Makefile", "e.scala", ".bashrc")} == {
        "python", "javascript", "yaml", "", "scala",
    }  # fmt: skip
    assert [name for name in ("py", "shell", "js", "scala", "") if can_parse(name)] == ["py", "shell", "js"]
    assert [name for name in ("py", "shell", "ts", "yaml", "") if is_program(name)] == ["py", "ts"]


@pytest.mark.parametrize("more", ["", "4"])
def test_the_name_of_a_hidden_value_stays(more: str) -> None:
    """Also where the value is longer than its provider makes them: then all of it is hidden."""
    value = "zR5tYq8LmN2pXv7KcJ4hGf3Ds9AaQw1EeRr6TtYy" + more
    text, _ = hide_secrets(f"AWS_ACCESS_KEY_ID=AKIAQX7ZP4LMN2RT5VWY AWS_SECRET_ACCESS_KEY={value} terraform init")
    kind = "secret" if more else "aws-secret"
    assert text == f"AWS_ACCESS_KEY_ID=[secret:aws-key] AWS_SECRET_ACCESS_KEY=[secret:{kind}] terraform init"
