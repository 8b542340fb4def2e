"""A body as the model reads it: filled in once, from left to right, and never with more than was meant."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.prompt.rendering import MOST_COMMANDS, VARIABLES, Rendered, Scene, expand, render
from whet.prompt.shell import LocalRunner, Ran, Shell
from whet.skill.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCENE = Scene("/skills/deploy", "deploy", "s-1", "/project", "/plugin", "/plugin-data", "high")
BARE = Scene("/skills/deploy")
OFF = "To allow it, add the trust level of the skill to `inline_shell` in config.toml."
posix = pytest.mark.skipif(sys.platform == "win32", reason="runs bash")


def text(body: str, arguments: str | None = None, *names: str) -> str:
    return render(body, SCENE, names=names, arguments=arguments).text


def off(number: str) -> Diagnostic:
    return Diagnostic("inline-shell-off", "info", f"{number} not run: inline shell is off.", hint=OFF)


# variables


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_has_its_value(variable: str) -> None:
    value = getattr(SCENE, VARIABLES[variable])
    expected = Rendered(f"a{value}/b {value}", (), takes_arguments=False)
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
    assert set(VARIABLES.values()) == set(Scene._fields)


def test_a_variable_without_a_value_stays_and_is_told_once() -> None:
    message = "${CLAUDE_SESSION_ID} has no value here and stays as written."
    hint = "Give the session or the project it belongs to, or do without it."
    note = Diagnostic("variable-without-value", "info", message, hint=hint)
    body = "log ${CLAUDE_SESSION_ID}.txt and ${CLAUDE_SESSION_ID}"
    assert render(body, BARE) == Rendered(body, (note,), takes_arguments=False)


def test_unknown_variables_of_the_known_families_stay_and_are_told() -> None:
    hint = f"Use one of {', '.join(VARIABLES)}."
    names = ("${CLAUDE_NEW}", "${HERMES_X1}", "${WHET_SKILLDIR}")
    body = " ".join(names * 2)
    notes = tuple(
        Diagnostic("variable-unknown", "warning", f"{name} is not a known variable and stays as written.", hint=hint)
        for name in names
    )
    assert render(body, SCENE) == Rendered(body, notes, takes_arguments=False)


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
    assert render(body, SCENE, arguments="x") == Rendered(body, (), takes_arguments=False)


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
    assert expand("${CLAUDE_SKILL_DIR} {baseDir}", Scene("{baseDir}${WHET_SESSION_ID}", session_id="x")) == (
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
    assert render("$name $PATH", SCENE, arguments="x") == Rendered("$name $PATH", (), takes_arguments=False)


def unfilled(written: str, place: int) -> Diagnostic:
    message = f"There is no argument number {place}, counted from 0; {written} stays as written."
    hint = f"Give {place + 1} or more, or write \\{written} where no argument is meant."
    return Diagnostic("placeholder-unfilled", "info", message, hint=hint)


def test_a_missing_index_stays_and_is_told_once() -> None:
    notes = (unfilled("$1", 1), unfilled("$ARGUMENTS[2]", 2))
    assert render("$0 $1 $ARGUMENTS[2] $1", SCENE, arguments="a") == Rendered("a $1 $ARGUMENTS[2] $1", notes, True)


def test_a_missing_name_is_empty_and_told() -> None:
    message = "The argument 'to' was not given; $to is left empty."
    note = Diagnostic("argument-not-given", "warning", message, hint="Give 2 or more: from to.")
    rendered = render("[$from] [$to] [$to]", SCENE, names=("from", "to"), arguments="a")
    assert rendered == Rendered("[a] [] []", (note,), takes_arguments=True)


def test_a_number_that_cannot_be_a_place_is_text() -> None:
    body = f"${'1' * 5000} $ARGUMENTS[{'1' * 5000}]"
    assert render(body, SCENE, arguments="a") == Rendered(body, (), takes_arguments=False)


def test_a_view_leaves_placeholders_and_resolves_escapes() -> None:
    body = r"$ARGUMENTS $ARGUMENTS[0] $0 $name \$0 \$ARGUMENTS ${CLAUDE_EFFORT}"
    expected = "$ARGUMENTS $ARGUMENTS[0] $0 $name $0 $ARGUMENTS high"
    assert render(body, SCENE, names=("name",)) == Rendered(expected, (), takes_arguments=True)


@pytest.mark.parametrize(
    ("body", "arguments", "takes"),
    [
        ("$ARGUMENTS", "x", True),
        ("$ARGUMENTS", "", True),
        ("$ARGUMENTS", None, True),
        ("$ARGUMENTS[3]", "x", True),
        ("$0", "x", True),
        ("$3", "x", False),
        ("$0", None, False),
        ("$name", "x", True),
        ("$name", None, True),
        (r"\$ARGUMENTS \$0 \$name", "x", False),
        ("plain", "x", False),
        ("!`echo $ARGUMENTS`", "x", False),
    ],
)
def test_a_body_says_whether_it_has_a_place_for_arguments(body: str, arguments: str | None, takes: bool) -> None:
    assert render(body, SCENE, names=("name",), arguments=arguments).takes_arguments is takes


def test_arguments_without_a_place_are_not_appended() -> None:
    assert render("Body.\n", SCENE, arguments="words") == Rendered("Body.\n", (), takes_arguments=False)


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
    assert render(body, SCENE, names=("name",), arguments="x") == Rendered(
        expected, (), takes_arguments="x" in expected
    )


# commands that are not run


class Script(NamedTuple):
    script: str
    shell: str
    cwd: str
    env: Mapping[str, str]
    seconds: float
    limit: int


class Answering:
    """A runner that answers from a list and remembers what it was asked."""

    def __init__(self, *answers: str | Ran) -> None:
        self.answers = list(answers)
        self.asked: list[Script] = []

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        self.asked.append(Script(script, shell, cwd, env, seconds, limit))
        answer = self.answers.pop(0) if self.answers else "out"
        return answer if isinstance(answer, Ran) else Ran(answer, 0, "", truncated=False)

    @property
    def scripts(self) -> list[str]:
        return [asked.script for asked in self.asked]


EXAMPLES = """\
KEY=!`a` x!`b` `!`c` (!`d`) !`` !` ` !`e
f`
```bash
!`in a fence $0`
```
~~~
```!
in another
```
!`x`
~~~
- ```
  !`in a list`
  ```
> ```
> !`in a quotation`
> ```
   ````md
   ```
   !`in a longer fence`
    ```!
   no
   ````
Write `` !`git status` `` or ``` a !`x` b ``` in a span.
```!
```
```!x
!`fence with words`
```
"""


def test_examples_are_never_commands() -> None:
    runner = Answering()
    expected = EXAMPLES.replace("$0", "v")
    assert render(EXAMPLES, SCENE, arguments="v", shell=Shell(runner, "/", {})) == Rendered(expected, (), True)
    assert render(EXAMPLES, SCENE, arguments="v") == Rendered(expected, (), takes_arguments=True)
    assert runner.scripts == []


COMMANDS = """\
!`one $0`
- !`two` and\t!`three`
``x`` !`four` ``y``
```!
five ${CLAUDE_SKILL_DIR}
six \\$0
```
```sh
!`example`
```
  ````!
  seven
    indented
  ```
  ````
~~~

!`eight`
~~~
    ```
    !`example`
    ```
!`nine`
"""


def test_without_a_shell_commands_stay_exactly_as_written() -> None:
    assert render(COMMANDS, SCENE, arguments="v") == Rendered(COMMANDS, (off("7 inline commands were"),), False)
    assert render("!`one`", SCENE) == Rendered("!`one`", (off("1 inline command was"),), takes_arguments=False)


def test_with_a_shell_commands_run_in_order() -> None:
    runner = Answering("1", "2", "3", "4", "5\n6", "7", "9")
    body = COMMANDS.replace("$0", "x")
    expected = (
        "1\n- 2 and\t3\n``x`` 4 ``y``\n5\n6\n```sh\n!`example`\n```\n7\n"
        "~~~\n\n!`eight`\n~~~\n    ```\n    !`example`\n    ```\n9\n"
    )
    assert render(body, SCENE, shell=Shell(runner, "/", {})) == Rendered(expected, (), takes_arguments=False)
    blocks = ["five ${CLAUDE_SKILL_DIR}\nsix \\x\n", "seven\n  indented\n```\n"]
    assert runner.scripts == ["one x", "two", "three", "four", *blocks, "nine"]


def test_windows_line_ends_are_line_ends() -> None:
    runner = Answering("1", "2")
    body = "```!\r\none\r\ntwo\r\n```\r\n!`three`\r\n```\r\n!`no`\r\n```\r\n"
    assert render(body, SCENE, shell=Shell(runner, "/", {})).text == "1\r\n2\r\n```\r\n!`no`\r\n```\r\n"
    assert runner.scripts == ["one\ntwo\n", "three"]


def test_a_block_that_is_never_closed_is_not_run() -> None:
    body = "```!\nrm everything\n!`id`\n"
    message = "A block of inline commands is not closed by a line ``` and was not run."
    note = Diagnostic("inline-shell-unclosed", "warning", message, hint="Close it.")
    assert render(body, SCENE, shell=Shell(Answering(), "/", {})) == Rendered(body, (note,), takes_arguments=False)


# commands that are run


def test_a_runner_gets_the_directory_the_limits_and_the_values_in_the_environment() -> None:
    runner = Answering()
    shell = Shell(runner, "/work", {"PATH": "/bin"}, "sh", 3, 50)
    body = '!`run "$0" $ARGUMENTS[1] $ARGUMENTS $to {baseDir} ${CLAUDE_SKILL_DIR} $HOME $9 \\$0 $from`'
    rendered = render(body, BARE, names=("from", "to", "by"), arguments="a b", shell=shell)
    assert rendered == Rendered("out", (unfilled("$9", 9),), takes_arguments=True)
    script = (
        'run "${WHET_ARGUMENT_0}" ${WHET_ARGUMENT_1} ${WHET_ARGUMENTS} ${WHET_ARGUMENT_1} ${WHET_SKILL_DIR}'
        " ${CLAUDE_SKILL_DIR} $HOME $9 $0 ${WHET_ARGUMENT_0}"
    )
    env = {
        "PATH": "/bin",
        "WHET_SKILL_DIR": "/skills/deploy",
        "CLAUDE_SKILL_DIR": "/skills/deploy",
        "HERMES_SKILL_DIR": "/skills/deploy",
        "WHET_ARGUMENT_0": "a",
        "WHET_ARGUMENT_1": "b",
        "WHET_ARGUMENTS": "a b",
    }
    assert runner.asked == [Script(script, "sh", "/work", env, 3, 50)]


def test_a_name_without_a_value_is_empty_in_a_command_too() -> None:
    runner = Answering()
    rendered = render("!`run $to`", BARE, names=("from", "to"), arguments="a", shell=Shell(runner, "/", {}))
    assert [note.code for note in rendered.notes] == ["argument-not-given"]
    assert (runner.scripts, runner.asked[0].env["WHET_ARGUMENT_1"]) == (["run ${WHET_ARGUMENT_1}"], "")


def test_in_a_view_a_command_keeps_its_placeholders() -> None:
    runner = Answering()
    render("!`run $0 $ARGUMENTS $name \\$1`", BARE, names=("name",), shell=Shell(runner, "/", {}))
    assert runner.scripts == ["run $0 $ARGUMENTS $name $1"]


def test_a_variable_without_a_value_stays_in_a_command_and_is_told() -> None:
    runner = Answering()
    rendered = render("!`run ${CLAUDE_SESSION_ID}`", BARE, shell=Shell(runner, "/", {}))
    assert (runner.scripts, [note.code for note in rendered.notes]) == (
        ["run ${CLAUDE_SESSION_ID}"],
        ["variable-without-value"],
    )


def test_in_single_quotes_nothing_is_filled_in_as_in_any_shell() -> None:
    runner = Answering()
    rendered = render("!`awk '{print $0, \\$1}' \"it's $0\"`", BARE, arguments="a b", shell=Shell(runner, "/", {}))
    message = "$0 stands in single quotes in a command, where a shell fills in nothing."
    note = Diagnostic("inline-shell-quoted", "info", message, hint="Use double quotes where the value is meant.")
    assert rendered == Rendered("out", (note,), takes_arguments=True)
    assert runner.scripts == ["awk '{print $0, $1}' \"it's ${WHET_ARGUMENT_0}\""]


def test_powershell_gets_references_of_its_own() -> None:
    runner = Answering()
    render("!`run $0 {baseDir} ${CLAUDE_SKILL_DIR}`", BARE, arguments="a", shell=Shell(runner, "/", {}, "pwsh"))
    assert runner.scripts == ["run ${env:WHET_ARGUMENT_0} ${env:WHET_SKILL_DIR} ${env:CLAUDE_SKILL_DIR}"]


def test_failures_are_marks_and_the_rest_is_rendered() -> None:
    runner = Answering(
        Ran("bad\n", 3, "failed", False), Ran("", None, "timeout", False), Ran("", None, "not-found", False)
    )
    rendered = render("!`a` !`b` !`c` !`d` $0", SCENE, arguments="x", shell=Shell(runner, "/", {}))
    assert rendered.text == (
        "[inline-shell error: exit 3: bad] [inline-shell timeout: 10 s: b]"
        " [inline-shell error: bash not found: c] out x"
    )
    assert [note.code for note in rendered.notes] == [
        "inline-shell-failed",
        "inline-shell-timeout",
        "inline-shell-failed",
    ]


def limited(number: str) -> Diagnostic:
    message = f"{number} not run: a body runs 20 at most, for 20000 characters of output."
    hint = "Put several commands into one block, or let the model run them."
    return Diagnostic("inline-shell-limit", "warning", message, hint=hint)


def test_a_body_runs_a_bounded_number_of_commands() -> None:
    runner = Answering()
    rendered = render("!`x $0`\n" * 23, SCENE, arguments="v", shell=Shell(runner, "/", {}))
    expected = "out\n" * 20 + "!`x $0`\n" * 3
    assert rendered == Rendered(expected, (limited("3 inline commands were"),), takes_arguments=True)
    assert len(runner.asked) == MOST_COMMANDS


def test_the_output_of_all_commands_together_is_bounded() -> None:
    runner = Answering(*(["o" * 4000] * 4), "o" * 3000, "o" * 4000, "o")
    rendered = render("!`x`\n" * 8, SCENE, shell=Shell(runner, "/", {}))
    expected = ("o" * 4000 + "\n") * 4 + "o" * 3000 + "\n" + "o" * 1000 + "...[truncated]\n" + "!`x`\n" * 2
    assert rendered.text == expected
    assert [note.code for note in rendered.notes] == ["inline-shell-truncated", "inline-shell-limit"]
    assert [asked.limit for asked in runner.asked] == [4000] * 5 + [1000]


@posix
def test_a_real_command_runs_in_the_given_directory(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("noted\n")
    shell = Shell(LocalRunner(), str(tmp_path), {"PATH": os.environ["PATH"]})
    body = 'Notes: !`cat notes.txt`\n```!\nfor word in $ARGUMENTS\ndo\n  echo "- $word"\ndone\n```\nEnd: !`exit 3`\n'
    rendered = render(body, SCENE, arguments="a b", shell=shell)
    assert rendered.text == "Notes: noted\n- a\n- b\nEnd: [inline-shell error: exit 3: exit 3]\n"
    assert [note.code for note in rendered.notes] == ["inline-shell-failed"]


# values are never read again

LINES = ["\n", "\ntouch X\n", "\n```\n", "~~~\n", "\n```!\ntouch X\n```\n", " !`touch X` ", "; touch X", "&& touch X #"]
MARKS = r"$ARGUMENTS $ARGUMENTS[0] $0 $1 $name \ \$0 !`id` ``` `` ` '"
MORE = '" $(id>X) `id>X` $ { ${HOME} * -n é中😀'
HOSTILE = st.lists(
    st.sampled_from([*VARIABLES, *LINES, *MARKS.split(" "), *MORE.split(" ")]), min_size=1, max_size=6
).map("".join)


@given(
    value=HOSTILE, scene=st.builds(Scene, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE), output=HOSTILE
)
@settings(max_examples=200, deadline=None)
def test_values_come_out_verbatim_and_are_never_read_again(value: str, scene: Scene, output: str) -> None:
    raw = shlex.join([value, "second"])
    runner = Answering(output, output)
    shown = output.rstrip("\n")
    pieces = {
        "$ARGUMENTS": raw,
        "$ARGUMENTS[0]": value,
        "$0": value,
        "$name": value,
        "$1": "second",
        **{variable: getattr(scene, field) for variable, field in VARIABLES.items()},
        "!`one`": shown,
        "\n```!\ntwo\n```\n": f"\n{shown}\n",
        "\\$0": "$0",
    }
    body = " | ".join(pieces)
    rendered = render(body, scene, names=("name",), arguments=raw, shell=Shell(runner, "/", {}))
    assert rendered == Rendered(" | ".join(pieces.values()), (), takes_arguments=True)
    assert runner.scripts == ["one", "two\n"]


@posix
@given(value=HOSTILE | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
@settings(max_examples=60, deadline=None)
def test_values_are_only_data_to_a_real_shell(value: str) -> None:
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as other:
        scene = Scene(f"/{value}", session_id=value)
        shell = Shell(LocalRunner(), empty, {"PATH": os.environ["PATH"], "HOME": other}, seconds=60)
        quoted = [
            ('"$0"', value),
            ('"$ARGUMENTS[0]"', value),
            ('"$name"', value),
            ('"${CLAUDE_SESSION_ID}"', value),
            ('"{baseDir}"', f"/{value}"),
            ('"$ARGUMENTS"', shlex.quote(value)),
            ('"$(printf %s "$0")"', value.rstrip("\n")),
        ]
        bare = ["$0", "$ARGUMENTS", "$ARGUMENTS[0]", "$name", "${CLAUDE_SESSION_ID}", "{baseDir}"]
        script = "\n".join(f"printf '%s\\n--\\n' {word}" for word, _ in quoted)
        rest = "\n".join(f"printf '%s' {word} >/dev/null; : $(echo {word})" for word in bare)
        body = f"```!\n{script}\n{rest}\n```"
        rendered = render(body, scene, names=("name",), arguments=shlex.quote(value), shell=shell)
        expected = "".join(f"{data}\n--\n" for _, data in quoted).rstrip("\n")
        assert rendered == Rendered(expected, (), takes_arguments=True)
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
def test_a_long_body_is_read_in_one_go(unit: str) -> None:
    body = unit * (LONG // len(unit))
    assert render(body, SCENE, arguments="", names=("name",)).text == body.replace("$ARGUMENTS", "")


def test_a_long_body_of_placeholders_is_filled_in_one_go() -> None:
    body = "$0 \\$0 {baseDir} $name " * (LONG // 24)
    expected = "x $0 /skills/deploy x " * (LONG // 24)
    assert render(body, SCENE, arguments="x", names=("name",)) == Rendered(expected, (), takes_arguments=True)
