"""Permissions: what a skill's grants cover, and what slips through nowhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.permission_attempts import attempts, honest
from guard.permissions_table import BYPASSES, ROWS, Row
from whet.guard.permissions.decision import Grant, Permission, Policy, permits, read_grants, skill_permits
from whet.guard.permissions.globs import name_matches, row_matches
from whet.guard.permissions.grants import VOCABULARY
from whet.guard.permissions.programs import is_wrapper, program_tables
from whet.guard.permissions.shell import read_line
from whet.guard.tables import load_toml
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import read_document

if TYPE_CHECKING:
    from pathlib import Path

BASH = shutil.which("bash")
on_linux = pytest.mark.skipif(sys.platform != "linux" or BASH is None, reason="the commands are those of GNU and bash")


def ask(grants: Any, tool: str, call: Any, **more: Any) -> Permission:
    """The decision on one call, in the place that the table is about."""
    read = None if grants is None else read_grants(grants)
    return permits(read, tool, call, cwd="/work", skill_dir="/skills/one", **more)


def command(grants: Any, line: str, **more: Any) -> str:
    """The decision on one command line."""
    return ask(grants, "Bash", {"command": line}, **more).decision


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.decision}-{str(row.given)[:60]!a}")
def test_every_call_of_the_table_gets_its_answer(row: Row) -> None:
    decision = ask(row.grants, row.tool, row.given)
    assert decision.decision == row.decision, decision.reason
    assert decision.reason[:1] == decision.reason[:1].upper() and decision.reason.endswith(".")


def test_no_attempt_gets_past_a_grant() -> None:
    tried = list(attempts())
    assert len({str(one) for one in tried}) == len(tried) >= 1_700
    assert [one for one in tried if ask(one.grant, "Bash", one.given).decision != "deny"] == []


def test_what_people_write_with_the_same_grants_passes() -> None:
    assert [one for one in honest() if ask(one.grant, "Bash", one.given).decision != "allow"] == []


def test_the_table_of_programs_has_nothing_twice_and_nothing_empty() -> None:
    table = load_toml("permissions")
    for kind in ("runners", "options"):
        names = [name for row in table[kind] for name in row["names"]]
        assert len(names) == len(set(names)), kind
    assert all(is_wrapper(name) and re.compile(shape) for name, shape in table["harmless_wrappers"].items())
    for row in (*table["git"]["options"], *table["options"], *table["runners"]):
        assert all(value for key, value in row.items() if key != "name"), row
        for key in ("long", "exact", "harmless", "fetches") if "deep" not in row else ():
            words = row.get(key, "").split()
            assert len(words) == len(set(words)), row
    for row in (*table["options"], *table["git"]["options"]):
        assert all(re.fullmatch(r"--[a-z][A-Za-z0-9.-]+", word, re.IGNORECASE) for word in row.get("long", "").split())
        assert not set(row.get("short", "")) & set(row.get("values", "")), row
    assert {row["name"] for row in table["git"]["options"]} - {""} <= set(table["git"]["commands"])
    assert all(words == sorted(set(words)) for name, words in table["words"].items() if name in ("opaque", "writers"))
    assert program_tables().git.options[""].long
    named = [name for row in table["tools"] for name in row["names"]]
    assert len(named) == len(set(named)) and all(re.fullmatch("[a-z]+", name) for name in named)
    assert {tool for row in table["tools"] for tool in row["tools"]} <= VOCABULARY


def test_the_table_is_large_and_has_no_doubles() -> None:
    calls = [(str(row.grants), row.tool, str(row.given)) for row in ROWS]
    assert (len(calls) >= 600, len(BYPASSES) >= 150, len(set(calls))) == (True, True, len(calls))


@on_linux
def test_the_bypasses_of_the_table_are_real(tmp_path: Path) -> None:
    if missing := [name for name in ("git", "awk", "tar", "make", "python3", "perl") if shutil.which(name) is None]:
        pytest.skip(f"not here: {', '.join(missing)}")
    who = {f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **who}
    origin = tmp_path / "origin"
    origin.mkdir()
    make = (
        "git init -q && echo text > text && git add text && git commit -qm one && echo x >> text && git commit -qam two"
    )
    subprocess.run(["bash", "-c", make], cwd=origin, env=env, check=True, capture_output=True)

    def leaves_a_marker(number: int) -> bool:
        place = tmp_path / str(number)
        shutil.copytree(origin, place)
        line = BYPASSES[number].given["command"]
        subprocess.run(
            ["bash", "-c", line], cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )
        return os.path.lexists(place / "marker")

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(leaves_a_marker, range(len(BYPASSES))))
    assert [row.given["command"] for row, left in zip(BYPASSES, done, strict=True) if not left] == []


# what no insertion may do

CONSTRUCTS = (
    *(
        ";",
        "&&",
        "||",
        "|",
        "|&",
        "&",
        "\n",
        "\r",
        "\r\n",
        "`x`",
        "$(x)",
        "${x}",
        "$x",
        "$((1))",
        "<(x)",
        ">(x)",
        "(",
        ")",
    ),
    *("{a,b}", "{1..3}", "> f", ">>f", "2>f", "&>f", "< f", "<<E", "<<<x", "<>f", ">|f", ">&f", "3>&1", "2>&-", "\\\n"),
    *(
        "; x",
        "&& x",
        "| x",
        "& x",
        "\nx",
        " # x\nx",
        "; }",
        "*",
        "?",
        "[x]",
        "!",
        "$'\\0'",
        '$"x"',
        "\0",
        "\x07",
        "\u200b",
    ),
    *("\u00a0", "é", "\u2028", "'", '"', "\\\r\n", " A=b;", " =x", " ~x/", " -*"),
)


@given(st.sampled_from(("git status", "git status -s", "git status --short src")), st.data())
@settings(max_examples=200, deadline=None)
def test_no_insertion_makes_a_granted_command_do_more(line: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(line)))
    text = line[:at] + data.draw(st.sampled_from(CONSTRUCTS)) + line[at:]
    if command("Bash(git status:*)", text) == "allow":
        read = read_line(text)
        assert [[word.text for word in one.words][:2] for one in read.commands] == [["git", "status"]]
        assert all(word.glob is any(letter in word.source for letter in "*?[") for word in read.commands[0].words)
        # One stream joined to another writes nothing new, and a line that is continued is one line.
        joined = re.sub(r">&[12](?=\s|$)|(?<=[ \t])\\\n", "", text.strip())
        assert not set(joined) & set(";&|`$<>()\n\r\0'\"")


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ("git", "status", "-s", " ", " ", " ", "touch", "x", "marker", "a=b", "LC_ALL=C", "time", "2>&1")
        ),
        st.sampled_from(
            (
                *";&|<>()$`\\\"'#!{}[]*?=\n\t-",
                "&&",
                "||",
                "$(",
                "$'",
                '$"',
                "@{0}",
                "\\n",
                "\\x41",
                "command",
                " \\\n",
                " # x",
            )
        ),
    ),
    max_size=6,
).map("".join)


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose only program is a git that writes down how it was called."""
    place = tmp_path_factory.mktemp("stub")
    program = place / "git"
    program.write_text(f"#!{BASH}\nprintf '%s\\0' \"$@\" $'\\1' >> '{place}/calls'\n")
    program.chmod(0o755)
    return place


@on_linux
@given(st.sampled_from(("git status ", "git status", "")), PIECES, PIECES)
@settings(max_examples=200, deadline=None)
def test_bash_does_exactly_what_was_read(stub: Path, start: str, middle: str, end: str) -> None:
    text = f"{start}{middle} {end}"
    if command("Bash(git status:*)", text) != "allow":
        return
    calls, work = stub / "calls", stub / "work"
    calls.unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    env = {"PATH": str(stub), "HOME": "/nobody"}
    run = subprocess.run([str(BASH), "-c", text], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    assert (run.returncode, os.listdir(work), b"not found" in run.stderr) == (0, [], False)
    written = [call.split("\0")[:-1] for call in calls.read_text().split("\1\0")[:-1]]
    read = [[word.text for word in one.words] for one in read_line(text).commands]
    expected = [words[words.index("git") + 1 :] for words in read]
    assert all(call in expected for call in written) and ("||" in text or sorted(written) == sorted(expected))


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_gets_an_answer(text: str) -> None:
    assert command("Bash(git:*) Read", text) in ("allow", "deny", "ask")
    for tool, key in (("Read", "file_path"), ("WebFetch", "url"), ("apply_patch", "patch"), (text, "x")):
        assert ask("Bash Read WebFetch apply_patch", tool, {key: text}).decision in ("allow", "deny", "ask")
    assert all(isinstance(grant, Grant) for grant in read_grants(text))


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
@settings(max_examples=200, deadline=None)
def test_wildcards_mean_what_they_say(pattern: str, text: str) -> None:
    import re

    expected = re.fullmatch(".*".join(map(re.escape, re.sub(r"\*+", "*", pattern).split("*"))), text) is not None
    assert name_matches(pattern, text) is expected


def test_many_wildcards_keep_nobody_busy() -> None:
    assert not name_matches("*a" * 400 + "b", "a" * 4000)
    assert not row_matches(["**", "a"] * 200 + ["b"], ["a"] * 2000, "**")
    assert command(f"Bash({'* a ' * 200}b)", "a " * 2000) == "deny"


# grants


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("Bash(git add:*) Bash(git commit:*) Read", [("Bash", "git add:*"), ("Bash", "git commit:*"), ("Read", "")]),
        ("Bash(git add:*),Read , Write", [("Bash", "git add:*"), ("Read", ""), ("Write", "")]),
        ("[Read, Grep]", [("Read", ""), ("Grep", "")]),
        (["Bash(npm run test *)", "Read(./src/**)"], [("Bash", "npm run test *"), ("Read", "./src/**")]),
        (["Bash(ls*) Read", "mcp__a__*"], [("Bash", "ls*"), ("Read", ""), ("mcp__a", "")]),
        ("Bash Bash(*) Bash(:*)", [("Bash", ""), ("Bash", ""), ("Bash", "")]),
        ("Bash (git:*)", [("Bash", "git:*")]),
        ("agent-browser:* curl:*", [("Bash", "agent-browser:*"), ("Bash", "curl:*")]),
        ("infsh *", [("Bash", "infsh *")]),
        (["infsh *"], [("Bash", "infsh *")]),
        ("WebFetch(domain:Example.com.)", [("WebFetch", "domain:example.com")]),
        ("file_read bash think", [("Read", ""), ("Bash", ""), ("think", "")]),
        ("run_command readFile write_file edit-file", [("Bash", ""), ("Read", ""), ("Write", ""), ("Edit", "")]),
        ("apply_patch", [("Edit", ""), ("Write", "")]),
        (
            {"Bash": ["git log", "git diff *"], "Read": True, "Write": False},
            [("Bash", "git log"), ("Bash", "git diff *"), ("Read", "")],
        ),
        ([{"tool": "bash", "commands": ["a", "b"]}], [("Bash", "a"), ("Bash", "b")]),
        ([{"name": "WebFetch", "domains": ["a.b"]}], [("WebFetch", "domain:a.b")]),
        ({"WebFetch": {"domain": "a.b"}}, [("WebFetch", "domain:a.b")]),
        (None, []),
        ([], []),
        ("", []),
    ],
    ids=str,
)
def test_grants_are_read_in_every_spelling(declared: Any, expected: list[tuple[str, str]]) -> None:
    grants = read_grants(declared)
    assert [(grant.tool, grant.rule) for grant in grants] == expected
    assert [grant.problem for grant in grants if grant.problem] == []


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("*", "'*' grants nothing: it asks for every tool; name them."),
        ("Bash(", "'Bash(' grants nothing: its parentheses do not match."),
        ("Bash(git:*", "'Bash(git:*' grants nothing: its parentheses do not match."),
        ("Bash()", "'Bash()' grants nothing: its parentheses are empty."),
        ("Bash(git:* push)", "'Bash(git:* push)' grants nothing: :* counts only at the end."),
        ("Bash(a; b)", "'Bash(a; b)' grants nothing: it names more than one command."),
        ("Bash(a > b)", "'Bash(a > b)' grants nothing: it names more than one command."),
        ("Bash(a $(b))", "'Bash(a $(b))' grants nothing: it has an expansion ($)."),
        ("Bash(a\u200bb)", "'Bash(a\\u200bb)' grants nothing: it contains the invisible character U+200B."),
        ("Read(../x)", "'Read(../x)' grants nothing: a path in a rule must not contain `..`."),
        ("Read(~jo/x)", "'Read(~jo/x)' grants nothing: the home directory is unknown."),
        ("WebFetch(https://a.b)", "'WebFetch(https://a.b)' grants nothing: write domain:HOST, in ASCII."),
        ("WebFetch(domain:*)", "'WebFetch(domain:*)' grants nothing: write domain:HOST, in ASCII."),
        ("WebFetch(domain:com)", "'WebFetch(domain:com)' grants nothing: write domain:HOST, in ASCII."),
        ("WebSearch(x)", "'WebSearch(x)' grants nothing: rules for WebSearch are not known."),
        ("mcp__*", "'mcp__*' grants nothing: write mcp__server, mcp__server__tool or mcp__server__*."),
        ("Réad", "'Réad' grants nothing: this is not the name of a tool."),
        (5, "'5' grants nothing: grants are text, a list or a mapping."),
        ([5], "'5' grants nothing: a grant is text or a mapping."),
        ([{"tool": "Bash", "root": True}], "'Bash: root' grants nothing: root is not known in a grant."),
        ({"Bash": 5}, "'Bash: 5' grants nothing: its rules are neither text nor a list of texts."),
    ],
    ids=str,
)
def test_what_cannot_be_read_grants_nothing(declared: Any, problem: str) -> None:
    grants = read_grants(declared)
    assert [(grant.tool, grant.problem) for grant in grants] == [("", problem)]
    calls = (("Bash", {"command": "git push"}), ("Read", {"file_path": "a"}), ("WebFetch", {"url": "https://a.b"}))
    assert {ask(declared, tool, call).decision for tool, call in calls} == {"deny"}


# policies


def policy(**rules: Any) -> Policy:
    """A policy in the words of `allowed-tools`."""
    return Policy(**{name: read_grants(text) for name, text in rules.items()})


@pytest.mark.parametrize(
    ("grants", "line", "rules", "decision"),
    [
        ("Bash", "git push", {"deny": "Bash(git push:*)"}, "deny"),
        ("Bash", "git -C x push", {"deny": "Bash(git push:*)"}, "deny"),
        ("Bash", "/usr/bin/git push", {"deny": "Bash(git push:*)"}, "deny"),
        ("Bash", "git status && timeout 5 git push", {"deny": "Bash(git push:*)"}, "deny"),
        ("Bash(git push:*)", "git push", {"deny": "Bash(git push:*)"}, "deny"),
        ("Bash", "git pull", {"deny": "Bash(git push:*)"}, "allow"),
        ("Bash", "rm x", {"ask": "Bash(rm:*)"}, "ask"),
        ("Bash", "rm x", {"ask": "Bash(rm:*)", "deny": "Bash(rm:*)"}, "deny"),
        ("Bash(ls:*)", "rm x", {"ask": "Bash(rm:*)"}, "deny"),
        ("Bash", "cat .env", {"deny": "Read(.env)"}, "deny"),
        ("Bash", "cat .ENV", {"deny": "Read(.env)"}, "deny"),
        ("Bash Write", "echo a > out", {"deny": "Write(out)"}, "deny"),
        ("Bash", "ls", {"allow": "Bash(ls:*)"}, "allow"),
        ("Bash", "rm x", {"allow": "Bash(ls:*)"}, "deny"),
        ("Bash(ls:*)", "rm x", {"allow": "Bash"}, "deny"),
        ("Bash", "ls", {"allow": "Read"}, "deny"),
        ("Bash", "ls", {"deny": "Bash($(x))"}, "deny"),
        (None, "ls", {"deny": "Bash(ls:*)"}, "deny"),
        (None, "ls $(x)", {"deny": "Bash(rm:*)"}, "deny"),
        (None, "ls", {"allow": "Bash"}, "ask"),
    ],
)
def test_a_policy_only_takes_away(grants: Any, line: str, rules: dict[str, str], decision: str) -> None:
    assert command(grants, line, policy=policy(**rules)) == decision


@pytest.mark.parametrize(
    ("tool", "call", "rules", "decision"),
    [
        ("Read", {"file_path": "a/.env"}, {"deny": "Read(**/.env)"}, "deny"),
        ("Read", {"file_path": "a/.ENV"}, {"deny": "Read(**/.env)"}, "deny"),
        ("Grep", {"pattern": "x", "path": "secret"}, {"deny": "Read(secret/**)"}, "deny"),
        ("Edit", {"file_path": "a"}, {"deny": "Write(a)"}, "deny"),
        ("Read", {"file_path": "a"}, {"deny": "Write(a)"}, "allow"),
        ("WebFetch", {"url": "https://a.b:8443/"}, {"ask": "WebFetch(domain:a.b)"}, "ask"),
        ("WebFetch", {"url": "https://x.a.b/"}, {"deny": "WebFetch(domain:*.a.b)"}, "deny"),
        ("mcp__a__b", {}, {"deny": "mcp__a"}, "deny"),
        ("mcp__a__get_b", {}, {"deny": "mcp__a__get_*"}, "deny"),
        ("mcp__ab__c", {}, {"deny": "mcp__a"}, "allow"),
    ],
)
def test_a_policy_speaks_of_every_tool(tool: str, call: Any, rules: dict[str, str], decision: str) -> None:
    grants = "Read Grep Edit WebFetch mcp__a mcp__ab"
    assert ask(grants, tool, call, policy=policy(**rules)).decision == decision


# skills


def skill_with(lines: str, tool: str, call: Any) -> tuple[str, str]:
    """The decision for a skill whose frontmatter has these lines."""
    skill = read_skill(read_document(f"---\nname: x\ndescription: y\n{lines}---\nz\n"), fallback_name="x")
    decision = skill_permits(skill, tool, call, cwd="/work")
    return decision.decision, decision.reason


def test_a_skill_is_held_to_what_it_declares() -> None:
    call = {"command": "git log"}
    assert skill_with("", "Bash", call) == ("ask", "The skill declares no tools.")
    assert skill_with("allowed-tools:\n", "Bash", call) == ("ask", "The skill declares no tools.")
    assert skill_with("allowed-tools: []\n", "Bash", call) == ("deny", "Bash is not granted.")
    assert skill_with("allowed-tools: Bash(git log:*)\n", "Bash", call)[0] == "allow"
    assert skill_with("allowed_tools: Bash(git log:*)\n", "Bash", call)[0] == "allow"
    assert skill_with("allowed-tools:\n  - tool: bash\n    command: git log\n", "Bash", call)[0] == "allow"
    assert skill_with("allowed-tools: Bash\ndisallowed-tools: Bash(git log:*)\n", "Bash", call) == (
        "deny",
        "Bash(git log:*) says deny.",
    )


def test_paths_of_windows_are_understood() -> None:
    def decide(grants: str, path: str) -> str:
        return permits(read_grants(grants), "Write", {"file_path": path}, cwd="C:\\work").decision

    assert decide("Write(src/**)", "src\\a.py") == "allow"
    assert decide("Write(src/**)", "c:\\work\\src\\a.py") == "allow"
    assert decide("Write(src/**)", "C:\\work\\src\\..\\a.py") == "deny"
    assert decide("Write(src/**)", "D:\\work\\src\\a.py") == "deny"
    for odd in ("a.py:stream", "CLAUDE~1.MD", "CLAUDE.md.", "CLAUDE.md ", "\\\\host\\share\\a", "C:\\..\\a"):
        assert decide("Write", odd) == "deny"


def test_a_known_home_is_the_same_place_as_a_tilde() -> None:
    def decide(grants: str, path: str) -> str:
        return permits(read_grants(grants), "Read", {"file_path": path}, cwd="/work", home="/home/jo").decision

    assert decide("Read(~/notes/**)", "/home/jo/notes/a") == "allow"
    assert decide("Read(//home/jo/notes/**)", "~/notes/a") == "allow"
    assert decide("Read(~/notes/**)", "~/notes/../a") == "deny"
