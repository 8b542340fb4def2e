"""PowerShell as trees, and the values that a program in it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whet.guard.code.conditions import ORDINARY, SECRETS, matched
from whet.guard.code.powershell import PowerShell
from whet.guard.code.powershell_tree import parse
from whet.guard.code.windows import check
from whet.guard.taint.containers import plain
from whet.guard.taint.value import UNKNOWN

if TYPE_CHECKING:
    from whet.guard.code.syntax import Node

FAST = settings(max_examples=150, deadline=None)


def shown(node: Node) -> Any:
    """A node as nested tuples, without lines."""
    words = {name: shown(one) for name, one in node.words}
    found = (node.kind, node.text, *map(shown, node.parts))
    return (*found, words) if words else found


def tree(text: str) -> list[Any]:
    """The statements of a program; what it prints is shown without the `return` around it."""
    nodes = (node.parts[0] if node.kind == "return" and node.parts else node for node in parse(text))
    return [shown(node) for node in nodes]


def value(text: str, name: str = "x") -> Any:
    """What a variable of a program holds in the end, as a constant."""
    reader = PowerShell(text, parse(text), check)
    reader.run()
    found = reader.scope.find(name)
    return UNKNOWN if found is None else plain(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$a = 'one'", [("set", "=", ("text", "one"), ("name", "a"))]),
        ("$A += 1", [("set", "+=", ("number", "1"), ("name", "a"))]),
        ("'don''t'", [("text", "don't")]),
        ("'C:\\a\\b'", [("text", "C:/a/b")]),
        ("'HKCU:\\Software'", [("text", "HKCU:\\Software")]),
        ('"id`t$a"', [("joined", "", ("text", "id\t"), ("name", "a"))]),
        ("gc a.txt", [("call", "", ("member", "get-content", ("nothing", "")), ("text", "a.txt"))]),
        (
            "gci | select -First 1",
            [
                (
                    "call", "", ("member", "select-object", ("call", "", ("member", "get-childitem", ("nothing", "")))),
                    {"first": ("text", "1")},
                )
            ],
        ),
        ("tool -x 1", [("call", "", ("name", "(program)"), ("text", "tool"), ("text", "-x"), ("text", "1"))]),
        ("$a.$b", [("computed", "", ("name", "a"), ("name", "b"))]),
        ("New-Object Net.WebClient", [("call", "", ("name", "WebClient"))]),
        ("New-Object Uri('a')", [("call", "", ("name", "Uri"), ("text", "a"))]),
        ("[Net.WebClient]::new()", [("call", "", ("name", "WebClient"))]),
        ("1..3", [("list", "", ("number", "1"), ("number", "2"), ("number", "3"))]),
        ("3..2", [("list", "", ("number", "3"), ("number", "2"))]),
        ("'{1}-{0}' -f 'a', 'b'", [("text", "b-a")]),
        ("@{ a = 1; \"$b\" = 2 }", [("map", "", ("name", "b"), ("number", "2"), {"a": ("number", "1")})]),
        ("<# note #> $x # note", [("name", "x")]),
        (
            "$a > b.txt",
            [("call", "", ("member", "out-file", ("name", "a")), ("text", "b.txt"))],
        ),
    ],
)  # fmt: skip
def test_a_program_is_a_tree(text: str, expected: list[Any]) -> None:
    assert tree(text) == expected


def test_functions_and_blocks_have_their_parameters() -> None:
    (function,) = parse("function Send-Note {\n  param([string]$Text, $To = 'all')\n  $Text\n}")
    (assigned,) = parse("$b = { param($one) $one }")

    assert (function.kind, function.text, function.params) == ("function", "send-note", ("text", "to"))
    assert [(name, shown(one)) for name, one in function.words] == [("to", ("text", "all"))]
    assert (assigned.parts[0].kind, assigned.parts[0].params) == ("block", ("one",))


def test_statements_know_their_lines() -> None:
    text = "$a = 1\n\n$b = @'\ntext\n'@\n# note\nirm `\n  x\n"

    assert [node.line for node in parse(text)] == [1, 3, 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$x = 'a' + 'b'", "ab"),
        ("$x = 'a,b' -split ','", ["a", "b"]),
        ("$x = 'a1b2' -replace '\\d', '-'", "a-b-"),
        ("$x = 'key=v' -replace '^(\\w+)=(.*)', '$2'", "v"),
        ("$x = ('a', 'b') -join '/'", "a/b"),
        ("$x = -join ('cba'[2..0])", "abc"),
        ("$x = -join [char[]](104, 105)", "hi"),
        ("$c = 'abc'.ToCharArray(); [array]::Reverse($c); $x = -join $c", "cba"),
        ("$m = @{ One = 'a' }; $x = $m.one", "a"),
        ("$m = @{}; $m['k' + 1] = 'a'; $x = $m['k1']", "a"),
        ("$m = @{ a = 1 } + @{ b = 'c' }; $x = $m.b", "c"),
        ('$m = ConvertFrom-StringData "a = 1`nb = two"; $x = $m.b', "two"),
        ("$x = 'a', 'b', 'c' | Select-Object -Skip 1 -First 1", "b"),
        ("foreach ($e in @{ k = 'v' }.GetEnumerator()) { $x = \"$($e.Key):$($e.Value)\" }", "k:v"),
        ("Set-Variable -Name ('x') -Value 'a'", "a"),
        ("$b = 'a'; $x = Get-Variable b -ValueOnly", "a"),
        ("$env:NOTE = 'a'; $x = (Get-Item Env:NOTE)", "a"),
        ("class A { static [string] $b }; [A]::b = 'a'; $x = [A]::b", "a"),
        ("function F { param($a, $b) $b }; $x = F -b 'one' -a 'two'", "one"),
        ("function F { process { $_ } }; $x = 'a' | F", "a"),
        ("filter F { \"<$_>\" }; $x = 'a' | F", "<a>"),
        ("function F($a) { return { $a }.GetNewClosure() }; $x = & (F 'one')", "one"),
        ("$with = @{ a = 'one' }; function F($a) { $a }; $x = F @with", "one"),
        ("try { throw 'one' } catch { $x = \"$_\" }", "one"),
        ("Write-Output 'one' -OutVariable x | Out-Null", "one"),
        ("$x = if ($a) { 'one' } else { 'one' }", "one"),
        ("$home = 'one'; $x = $home", "one"),
        ("$x = $home", "~"),
        ("$x = 4 - 1", 3),
        ("$值 = 'one'; $x = $值", "one"),
    ],
)
def test_values_are_known(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("way", "text", "expected"),
    [
        ("like", "*TOKEN*", ["GITHUB_TOKEN", "NPM_TOKEN", "AWS_SESSION_TOKEN"]),
        ("match", "^STRIPE|_PAT$", ["STRIPE_SECRET_KEY", "AZURE_PAT"]),
        ("eq", "ANY_NAME", ["ANY_NAME"]),
        ("match", ".", None),
        ("match", "(a+)+$", None),
        ("match", "a+b+c+d+e+f+", None),
        ("match", "[", None),
    ],
)
def test_a_condition_chooses_names(way: str, text: str, expected: list[str] | None) -> None:
    assert matched(way, text, SECRETS, ORDINARY) == expected


PIECES = st.sampled_from(
    [
        *"{}()[]'\"$@|%`;,.=&#", "\n", " ", "$a", "@{", "$(", "@'\n", "\n'@", "function f {", "if (", "foreach ($a in ",
        "-join ", "..", "::", "<#",
    ]
)  # fmt: skip


@FAST
@example('"$(@\'\n"')
@given(st.lists(PIECES | st.text(max_size=6), max_size=60).map("".join))
def test_any_text_is_a_tree_whose_lines_are_those_of_the_text(text: str) -> None:
    left = list(parse(text))
    while left:
        node = left.pop()
        assert 1 <= node.line <= 1 + text.count("\n")
        left += (*node.parts, *(one for _, one in node.words))


@FAST
@given(st.text("ab'c ", max_size=30))
def test_a_text_in_quotes_is_itself(text: str) -> None:
    assert value("$x = '{}'".format(text.replace("'", "''"))) == text


@pytest.mark.parametrize("part", ["{", "(", "@{", "$(", '"$(', "[", "if (", "& {", "$a.$(", "$a | % {"])
def test_a_deep_text_ends(part: str) -> None:
    assert len(parse(part * 3000)) < 3001
