"""A body as the model reads it: filled in once, from left to right, and never with more than was meant."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.notes import Note
from whet.prompt.rendering import VARIABLES, Rendered, Variables, expand, render
from whet.prompt.shell import LocalRunner, Ran, Shell

if TYPE_CHECKING:
    from pathlib import Path

SCENE = Variables("/skills/deploy", "deploy", "s-1", "/project", "/plugin", "/plugin-data", "high")
BARE = Variables("/skills/deploy")
posix = pytest.mark.skipif(sys.platform == "win32", reason="runs bash")


def text(body: str, arguments: str | None = None, *names: str) -> str:
    return render(body, SCENE, names=names, arguments=arguments).text


# variables


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_has_its_value(variable: str) -> None:
    value = getattr(SCENE, VARIABLES[variable])
    expected = Rendered(f"a{value}/b {value}", ())
    assert render(f"a{variable}/b {variable}", SCENE) == expected


def test_the_variables_are_these() -> None:
    assert VARIABLES == {
        "${WHET_SKILL_DIR}": "skill_dir",
        "${WHET_SKILL_NAME}": "skill_name",
        "${WHET_SESSION_ID}": "session_id",
        "${WHET_PROJECT_DIR}": "project_dir",
        "${CLAUDE_SKILL_DIR}": "skill_dir",
        "${CLAUDE_SESSION_ID}": "session_id",
        "${CLAUDE_PROJECT_DIR}": "project_dir",
        "${CLAUDE_PLUGIN_ROOT}": "plugin_root",
        "${CLAUDE_PLUGIN_DATA}": "plugin_data",
        "${CLAUDE_EFFORT}": "effort",
        "${HERMES_SKILL_DIR}": "skill_dir",
        "${HERMES_SESSION_ID}": "session_id",
        "{baseDir}": "skill_dir",
    }
    assert set(VARIABLES.values()) == set(Variables._fields)


def test_a_variable_without_a_value_stays_and_is_told_once() -> None:
    message = "${CLAUDE_SESSION_ID} has no value here and stays as written."
    hint = "Pass the session or project it belongs to, or remove it."
    note = Note("variable-without-value", "info", message, hint)
    body = "log ${CLAUDE_SESSION_ID}.txt and ${CLAUDE_SESSION_ID}"
    assert render(body, BARE) == Rendered(body, (note,))


def test_unknown_variables_of_the_known_families_stay_and_are_told() -> None:
    hint = f"Use one of {', '.join(VARIABLES)}."
    names = ("${CLAUDE_NEW}", "${HERMES_X1}", "${WHET_SKILLDIR}")
    body = " ".join(names * 2)
    notes = tuple(
        Note("variable-unknown", "warning", f"{name} is not a known variable and stays as written.", hint)
        for name in names
    )
    assert render(body, SCENE) == Rendered(body, notes)


@pytest.mark.parametrize(
    "body",
    [
        "${HOME}",
        "${CLAUDE_SKILL_DIR:-x}",
        "${CLAUDE}",
        "$CLAUDE_SKILL_DIR",
        "${baseDir}",
        "{basedir}",
        "${}",
        "${",
        "{baseDir",
    ],
)
def test_other_braces_are_left_alone_silently(body: str) -> None:
    assert render(body, SCENE, arguments="x") == Rendered(body, ())


def test_a_variable_cannot_be_escaped() -> None:
    assert text(r"\${CLAUDE_SKILL_DIR}") == r"\/skills/deploy"


def test_expand_fills_in_variables_only() -> None:
    rule = (
        "Bash(${CLAUDE_SKILL_DIR}/run.sh:*) Read({baseDir}/x) $ARGUMENTS \\$1 ${CLAUDE_SESSION_ID} ${CLAUDE_NEW} !`id`"
    )
    expected = (
        "Bash(/skills/deploy/run.sh:*) Read(/skills/deploy/x) $ARGUMENTS \\$1 ${CLAUDE_SESSION_ID} ${CLAUDE_NEW} !`id`"
    )
    assert expand(rule, BARE) == expected


def test_an_expanded_value_is_not_expanded_again() -> None:
    assert expand("${CLAUDE_SKILL_DIR} {baseDir}", Variables("{baseDir}${WHET_SESSION_ID}", session_id="x")) == (
        "{baseDir}${WHET_SESSION_ID} {baseDir}${WHET_SESSION_ID}"
    )


# arguments


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        ("Fix $ARGUMENTS.", "issue 12  now", "Fix issue 12  now."),
        ("Fix $ARGUMENTS.", "", "Fix ."),
        ("$ARGUMENTS[0] to $ARGUMENTS[1]", "main 'release 2'", "main to release 2"),
        ("$0 to $1, $0", "main 'release 2'", "main to release 2, main"),
        ("$ARGUMENTS[x] $ARGUMENTS[] $ARGUMENTS[", "a", "a[x] a[] a["),
        ("处理$ARGUMENTS文件, $0番", "一", "处理一文件, 一番"),
        ("a$0b", "x", "a$0b"),
        ("a$0-b$0.", "x", "ax-bx."),
        ("$ARGUMENTS_FILE $ARGUMENT $arguments $$", "x", "$ARGUMENTS_FILE $ARGUMENT $arguments $$"),
    ],
)
def test_arguments_are_filled_in(body: str, arguments: str, expected: str) -> None:
    assert text(body, arguments) == expected


def test_declared_names_are_filled_in_longest_first() -> None:
    assert text("$issue-id $issue $issues $issue-ids", "a b", "issue", "issue-id") == "b a $issues a-ids"


def test_undeclared_names_are_shell_text() -> None:
    assert render("$name $PATH", SCENE, arguments="x") == Rendered("$name $PATH", ())


def unfilled(written: str, place: int) -> Note:
    message = f"Argument {place} (counted from 0) is missing; {written} stays as written."
    hint = f"Pass {place + 1} or more, or write \\{written} if you do not mean an argument."
    return Note("placeholder-unfilled", "info", message, hint)


def test_a_missing_index_stays_and_is_told_once() -> None:
    notes = (unfilled("$1", 1), unfilled("$ARGUMENTS[2]", 2))
    assert render("$0 $1 $ARGUMENTS[2] $1", SCENE, arguments="a") == Rendered("a $1 $ARGUMENTS[2] $1", notes)


@pytest.mark.parametrize(
    ("body", "arguments", "told"),
    [
        ("Costs $5.", None, []),
        ("Costs $5.", "", []),
        ("Costs $5.", "one two", []),
        ("Costs $5 for $ARGUMENTS.", "one two", []),
        ("Costs $5 for $who.", "one two", []),
        ("Costs $50 for $0.", "one two", []),
        ("Costs $5 for $0.", "one two", [("$5", 5)]),
        ("Costs $5 for $ARGUMENTS[0].", "one", [("$5", 5)]),
        ("From $0 to $1", "", [("$0", 0), ("$1", 1)]),
        ("Fix $1.", "one", [("$1", 1)]),
        ("$ARGUMENTS[12]", "", [("$ARGUMENTS[12]", 12)]),
        (r"Costs \$5 for $0.", "one", []),
        ("Costs $5 for !`x $0`.", "one", [("$5", 5)]),
    ],
)
def test_a_number_is_missed_only_in_a_body_that_counts(
    body: str, arguments: str | None, told: list[tuple[str, int]]
) -> None:
    rendered = render(body, SCENE, names=("who",), arguments=arguments)
    notes = [note for note in rendered.notes if note.code != "inline-shell-off"]
    assert notes == [unfilled(*each) for each in told]


def test_a_missing_name_is_empty_and_told() -> None:
    message = "The argument 'to' is missing; $to is left empty."
    note = Note("argument-not-given", "warning", message, "Pass 2 or more: from to.")
    rendered = render("[$from] [$to] [$to]", SCENE, names=("from", "to"), arguments="a")
    assert rendered == Rendered("[a] [] []", (note,))


def test_a_number_that_cannot_be_a_place_is_text() -> None:
    body = f"${'1' * 5000} $ARGUMENTS[{'1' * 5000}]"
    assert render(body, SCENE, arguments="a") == Rendered(body, ())


def test_a_view_leaves_placeholders_and_resolves_escapes() -> None:
    body = r"$ARGUMENTS $ARGUMENTS[0] $0 $name \$0 \$ARGUMENTS ${CLAUDE_EFFORT}"
    expected = "$ARGUMENTS $ARGUMENTS[0] $0 $name $0 $ARGUMENTS high"
    assert render(body, SCENE, names=("name",)) == Rendered(expected, ())


def test_arguments_without_a_place_are_not_appended() -> None:
    assert render("Body.\n", SCENE, arguments="words") == Rendered("Body.\n", ())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (r"\$0", "$0"),
        (r"\\$0", r"\\x"),
        (r"\\\$0", r"\\\x"),
        (r"\$ARGUMENTS \$ARGUMENTS[0]", "$ARGUMENTS $ARGUMENTS[0]"),
        (r"\$name", "$name"),
        (r"\$7", "$7"),
        (r"\$other \$HOME \$ \n", r"\$other \$HOME \$ \n"),
        (r"$0\$0$0", "x$0x"),
    ],
)
def test_one_backslash_escapes_a_placeholder(body: str, expected: str) -> None:
    assert render(body, SCENE, names=("name",), arguments="x") == Rendered(expected, ())


# values are never read again


class Saying:
    """A runner whose commands all print the same."""

    def __init__(self, output: str) -> None:
        self.output = output
        self.scripts: list[str] = []

    def run(self, script: str, **_: object) -> Ran:
        self.scripts.append(script)
        return Ran(self.output, 0, "", truncated=False)


LINES = ["\n", "\ntouch X\n", "\n```\n", "~~~\n", "\n```!\ntouch X\n```\n", " !`touch X` ", "; touch X", "&& touch X #"]
MARKS = r"$ARGUMENTS $ARGUMENTS[0] $0 $1 $name \ \$0 !`id` ``` `` ` '"
MORE = '" $(id>X) `id>X` $ { ${HOME} * -n é中😀'
HOSTILE = st.lists(
    st.sampled_from([*VARIABLES, *LINES, *MARKS.split(" "), *MORE.split(" ")]), min_size=1, max_size=6
).map("".join)


@given(
    value=HOSTILE,
    variables=st.builds(Variables, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),
    output=HOSTILE,
)
@settings(max_examples=200, deadline=None)
def test_values_come_out_verbatim_and_are_never_read_again(value: str, variables: Variables, output: str) -> None:
    raw = shlex.join([value, "second"])
    runner = Saying(output)
    shown = output.rstrip("\n")
    pieces = {
        "$ARGUMENTS": raw,
        "$ARGUMENTS[0]": value,
        "$0": value,
        "$name": value,
        "$1": "second",
        **{variable: getattr(variables, field) for variable, field in VARIABLES.items()},
        "!`one`": shown,
        "\n```!\ntwo\n```\n": f"\n{shown}\n",
        "\\$0": "$0",
    }
    body = " | ".join(pieces)
    rendered = render(body, variables, names=("name",), arguments=raw, shell=Shell(runner, "/", {}))
    assert rendered == Rendered(" | ".join(pieces.values()), ())
    assert runner.scripts == ["one", "two\n"]


@posix
@given(value=HOSTILE | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
@settings(max_examples=60, deadline=None)
def test_values_are_only_data_to_a_real_shell(value: str) -> None:
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as other:
        variables = Variables(f"/{value}", session_id=value)
        shell = Shell(LocalRunner(), empty, {"PATH": os.environ["PATH"], "HOME": other}, seconds=60)
        places = [
            ("$0", value),
            ('"$0"', value),
            ("$ARGUMENTS[0]", value),
            ('x"$name"', f"x{value}"),
            ("$name", value),
            ("${CLAUDE_SESSION_ID}", value),
            ('"{baseDir}"', f"/{value}"),
            ("{baseDir}", f"/{value}"),
            ('"$ARGUMENTS"', shlex.quote(value)),
            ('"$(printf %s $0)"', value.rstrip("\n")),
        ]
        script = "\n".join(f"printf '%s\\n--\\n' {word}" for word, _ in places)
        rest = "printf '%s' $ARGUMENTS >/dev/null; : $(echo $ARGUMENTS)"
        body = f"```!\n{script}\n{rest}\n```"
        rendered = render(body, variables, names=("name",), arguments=shlex.quote(value), shell=shell)
        expected = "".join(f"{data}\n--\n" for _, data in places).rstrip("\n")
        assert rendered == Rendered(expected, ())
        assert (os.listdir(empty), os.listdir(other)) == ([], [])


@posix
@pytest.mark.parametrize(
    "value", ["; touch X", "$(touch X)", "`touch X`", "' ; touch X ; '", '"; touch X; "', "a\ntouch X"]
)
@pytest.mark.parametrize(
    "place", ["$0", '"$0"', "'$0'", "$ARGUMENTS", '"$ARGUMENTS"', "'$ARGUMENTS'", "a$0b", '"$(echo $0)"']
)
def test_no_argument_becomes_a_command(value: str, place: str, tmp_path: Path) -> None:
    shell = Shell(LocalRunner(), str(tmp_path), {"PATH": os.environ["PATH"]}, seconds=60)
    render(f"!`echo {place}`", SCENE, arguments=shlex.quote(value), shell=shell)
    render(f"!`echo {place}`", SCENE, arguments=value, shell=shell)
    assert os.listdir(tmp_path) == []


@posix
@given(value=HOSTILE | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
@settings(max_examples=60, deadline=None)
def test_who_runs_what_is_shown_gets_the_same_data(value: str) -> None:
    words = ["$0", '"$0"', '"$(printf %s "$0")"', "x$name", "{baseDir}", '"{baseDir}"', '"$ARGUMENTS"', "$ARGUMENTS"]
    expected = [value, value, value.rstrip("\n"), f"x{value}", f"/{value}", f"/{value}", shlex.quote(value), value]
    body = "```!\n" + "\n".join(f"printf '%s\\n--\\n' {word}" for word in words) + "\n```"
    shown = render(body, Variables(f"/{value}"), names=("name",), arguments=shlex.quote(value)).text
    script = shown.removeprefix("```!\n").removesuffix("\n```")
    with tempfile.TemporaryDirectory() as empty:
        env = {"PATH": os.environ["PATH"]}
        ran = LocalRunner().run(script, shell="bash", cwd=empty, env=env, seconds=60, limit=100_000)
        assert (ran.output, os.listdir(empty)) == ("".join(f"{data}\n--\n" for data in expected).rstrip("\n"), [])


# any body


@given(st.text(alphabet="a$0`!~ >-\n{}'\"", max_size=80))
@settings(max_examples=200, deadline=None)
def test_a_view_of_a_body_without_variables_or_escapes_is_the_body(body: str) -> None:
    assert render(body, SCENE).text == body


LONG = 1_000_000


@pytest.mark.parametrize(
    "unit",
    [
        "$",
        "\\",
        "`",
        "~",
        "!`",
        "`\n",
        "`` ",
        "`` ``` ",
        " !`a",
        "```!\n",
        "> ",
        "1. ",
        "\n",
        "{",
        "${CLAUDE_",
        "$ARGUMENTS[",
    ],
)
def test_a_long_body_is_read_in_one_go(unit: str, *, quick: bool) -> None:
    body = unit * ((50_000 if quick else LONG) // len(unit))
    assert render(body, SCENE, arguments="", names=("name",)).text == body.replace("$ARGUMENTS", "")


def test_a_long_body_of_placeholders_is_filled_in_one_go() -> None:
    body = "$0 \\$0 {baseDir} $name " * (LONG // 24)
    expected = "x $0 /skills/deploy x " * (LONG // 24)
    assert render(body, SCENE, arguments="x", names=("name",)) == Rendered(expected, ())
