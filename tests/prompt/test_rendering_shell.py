"""Commands in a body: run only where that is allowed, whole and safe, and never with more than was meant."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from whet.notes import Note
from whet.prompt.rendering import MOST_COMMANDS, Rendered, Variables, render
from whet.prompt.shell import LocalRunner, Ran, Shell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCENE = Variables("/skills/deploy", "deploy", "s-1", "/project", "/plugin", "/plugin-data", "high")
BARE = Variables("/skills/deploy")
OFF = "To allow it, add the trust level of the skill to `inline_shell` in config.toml."
posix = pytest.mark.skipif(sys.platform == "win32", reason="runs bash")


def off(number: str) -> Note:
    return Note("inline-shell-off", "info", f"{number} not run: inline shell is off.", OFF)


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
    assert render(EXAMPLES, SCENE, arguments="v", shell=Shell(runner, "/", {})) == Rendered(expected, ())
    assert render(EXAMPLES, SCENE, arguments="v") == Rendered(expected, ())
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


def test_without_a_shell_commands_stay_and_show_their_values() -> None:
    expected = COMMANDS.replace("\\$0", "$").replace("$0", "v").replace("six $", "six $0")
    expected = expected.replace("${CLAUDE_SKILL_DIR}", "/skills/deploy")
    assert render(COMMANDS, SCENE, arguments="v") == Rendered(expected, (off("7 inline commands were"),))
    assert render("!`one`", SCENE) == Rendered("!`one`", (off("1 inline command was"),))


def test_with_a_shell_commands_run_in_order() -> None:
    runner = Answering("1", "2", "3", "4", "5\n6", "7", "9")
    body = COMMANDS.replace("$0", "x")
    expected = (
        "1\n- 2 and\t3\n``x`` 4 ``y``\n5\n6\n```sh\n!`example`\n```\n7\n"
        "~~~\n\n!`eight`\n~~~\n    ```\n    !`example`\n    ```\n9\n"
    )
    assert render(body, SCENE, shell=Shell(runner, "/", {})) == Rendered(expected, ())
    blocks = ['five "${CLAUDE_SKILL_DIR}"\nsix \\x\n', "seven\n  indented\n```\n"]
    assert runner.scripts == ["one x", "two", "three", "four", *blocks, "nine"]


def test_windows_line_ends_are_line_ends() -> None:
    runner = Answering("1", "2")
    body = "```!\r\none\r\ntwo\r\n```\r\n!`three`\r\n```\r\n!`no`\r\n```\r\n"
    assert render(body, SCENE, shell=Shell(runner, "/", {})).text == "1\r\n2\r\n```\r\n!`no`\r\n```\r\n"
    assert runner.scripts == ["one\ntwo\n", "three"]


def test_a_block_that_is_never_closed_is_not_run() -> None:
    body = "```!\nrm everything\n!`id`\n"
    message = "A block of inline commands is not closed with ```; it did not run."
    note = Note("inline-shell-unclosed", "warning", message, "Close the block.")
    assert render(body, SCENE, shell=Shell(Answering(), "/", {})) == Rendered(body, (note,))


# commands that are run


def test_a_runner_gets_the_directory_the_limits_and_the_values_in_the_environment() -> None:
    runner = Answering()
    shell = Shell(runner, "/work", {"PATH": "/bin"}, "sh", 3, 50)
    body = '!`run "$0" x$ARGUMENTS[1] "$ARGUMENTS" $to {baseDir}/a "${CLAUDE_SKILL_DIR}/b" $HOME \\$0 $from`'
    rendered = render(body, BARE, names=("from", "to", "by"), arguments="a b", shell=shell)
    assert rendered == Rendered("out", ())
    script = (
        'run "${WHET_ARGUMENT_0}" x"${WHET_ARGUMENT_1}" "${WHET_ARGUMENTS}" "${WHET_ARGUMENT_1}" "${WHET_SKILL_DIR}"/a'
        ' "${CLAUDE_SKILL_DIR}/b" $HOME $0 "${WHET_ARGUMENT_0}"'
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


def test_all_arguments_outside_quotes_are_words_and_no_patterns() -> None:
    runner = Answering()
    shell = Shell(runner, "/", {})
    render('!`run $ARGUMENTS "$ARGUMENTS"` !`x=$ARGUMENTS` !`x=($ARGUMENTS)`', BARE, arguments="a *", shell=shell)
    assert runner.scripts == [
        'set -f; run ${WHET_ARGUMENTS} "${WHET_ARGUMENTS}"',
        'x="${WHET_ARGUMENTS}"',
        "set -f; x=(${WHET_ARGUMENTS})",
    ]


def lacking(number: str, what: str) -> Note:
    hint = "Pass the value, or put a backslash before a $ meant for the shell."
    message = f"{number} not run: {what} has no value."
    return Note("inline-shell-unfilled", "warning", message, hint)


def unsafe(number: str, what: str) -> Note:
    hint = "Move it to a script in the skill that takes the values as arguments."
    message = f"{number} not run: values are not safe in a script with {what}."
    return Note("inline-shell-unsafe", "warning", message, hint)


@pytest.mark.parametrize(
    ("command", "arguments", "missing"),
    [
        ('echo "issue=[$0] rm -rf build/$1"', "", "$0, $1"),
        ("echo $0 $1 $1", "a", "$1"),
        ("echo $ARGUMENTS[3]", "a", "$ARGUMENTS[3]"),
        ("rm -rf build/$to", "a", "$to"),
        ("rm -rf build/$1_old $0b", "a b", "$1_old, $0b"),
        ("run $0 $ARGUMENTS $from \\$1", None, "$0, $ARGUMENTS, $from"),
        ("run ${CLAUDE_SESSION_ID}", "a", "${CLAUDE_SESSION_ID}"),
        ("run ${CLAUDE_NEW}", "a", "${CLAUDE_NEW}"),
        ("echo $1 $2 $3 $4 $5 $6 $7", "a", "$1, $2, $3, $4, $5, ..."),
    ],
)
def test_a_command_is_not_run_without_all_its_values(command: str, arguments: str | None, missing: str) -> None:
    runner = Answering()
    shell = Shell(runner, "/", {})
    body = f"!`{command}`\n```!\n{command}\n```\n"
    rendered = render(f"{body}!`date`", BARE, names=("from", "to"), arguments=arguments, shell=shell)
    assert (rendered.text, rendered.notes[-1]) == (f"{body}out", lacking("2 inline commands were", missing))
    assert runner.scripts == ["date"]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("!`run $1`", ["placeholder-unfilled", "inline-shell-unfilled"]),
        ("!`run $to`", ["argument-not-given", "inline-shell-unfilled"]),
        ("!`run ${CLAUDE_EFFORT}`", ["variable-without-value", "inline-shell-unfilled"]),
        ("!`run ${CLAUDE_NEW}`", ["variable-unknown", "inline-shell-unfilled"]),
        ("!`run $1x`", ["inline-shell-unfilled"]),
    ],
)
def test_what_a_command_lacks_is_told_as_elsewhere(body: str, codes: list[str]) -> None:
    shell = Shell(Answering(), "/", {})
    rendered = render(body, BARE, names=("from", "to"), arguments="a", shell=shell)
    assert (rendered.text, [note.code for note in rendered.notes]) == (body, codes)


def test_without_arguments_all_of_them_are_nothing() -> None:
    runner = Answering()
    assert render("!`git log $ARGUMENTS`", BARE, arguments="", shell=Shell(runner, "/", {})) == Rendered("out", ())
    assert (runner.scripts, runner.asked[0].env["WHET_ARGUMENTS"]) == (["set -f; git log ${WHET_ARGUMENTS}"], "")


@pytest.mark.parametrize(
    ("script", "sign"),
    [
        ("cat <<EOT\ndon't $0\nEOT\n", "<<"),
        ("cat <<'EOT'\n$0\nEOT\n", "<<"),
        ("cat <<-EOT\n{baseDir}\nEOT\n", "<<"),
        ("[[ $0 -eq 1 ]] && echo one\n", "[["),
        ("(( $0 > 1 )) && echo more\n", "(("),
        ("n=$0\necho $(( n + 1 ))\n", "(("),
        ("let n=$0\n", "let"),
        ('eval "$ARGUMENTS"\n', "eval"),
        ('bash -c "ls $0"\n', "bash -c"),
    ],
)
def test_a_script_that_could_run_its_values_is_not_run(script: str, sign: str) -> None:
    runner = Answering()
    body = f"```!\n{script}```\n"
    rendered = render(body, SCENE, arguments="a b", shell=Shell(runner, "/", {}))
    assert rendered == Rendered(body, (unsafe("1 inline command was", f"`{sign}`"),))
    assert runner.scripts == []
    assert render(body, SCENE, arguments="a b") == Rendered(body, (off("1 inline command was"),))


@pytest.mark.parametrize(
    "script",
    [
        "cat <<EOT\ndon't\nEOT\n",
        "[[ -f x ]] && awk '{print $1}' x\n",
        'cat <<< "$0"\n',
        "eval date\n",
        "let n=\\$1\n",
    ],
)
def test_without_values_in_danger_a_script_runs(script: str) -> None:
    runner = Answering()
    rendered = render(f"```!\n{script}```\n", SCENE, arguments="a", shell=Shell(runner, "/", {}))
    assert rendered == Rendered("out\n", ())
    assert runner.scripts == [script.replace("$0", "${WHET_ARGUMENT_0}").replace("\\$", "$")]


def test_each_reason_is_counted_by_itself() -> None:
    body = "!`a $1` !`eval $0` !`b $2` !`let x=$0` !`c $0`"
    rendered = render(body, SCENE, arguments="v", shell=Shell(Answering(), "/", {}, total=0))
    most = limited("1 inline command was", 0)
    left = (lacking("2 inline commands were", "$1, $2"), unsafe("2 inline commands were", "`eval`, `let`"), most)
    assert (rendered.text, rendered.notes[-3:]) == (body.replace("c $0", "c v"), left)


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("gh issue view $0", "42", "gh issue view 42"),
        ("gh issue view $0 $1", "42", "gh issue view 42 $1"),
        ("echo $0", "'a b'", "echo 'a b'"),
        ('echo "$0"', "'a b'", 'echo "a b"'),
        ('echo "$0" $1', "'$(id)' '`id`'", "echo \"\\$(id)\" '`id`'"),
        ("echo $ARGUMENTS", "'a b' c;d", "echo 'a b' 'c;d'"),
        ('echo "$ARGUMENTS"', 'say "hi"', 'echo "say \\"hi\\""'),
        ("x=$ARGUMENTS; ls a/$ARGUMENTS", "a rm", "x='a rm'; ls a/'a rm'"),
        ("$ARGUMENTS", "git log", "git log"),
        ("echo '$0' \\$0", "a", "echo '$0' $0"),
        ("echo $to.", "a", "echo $to."),
        ("echo $to.", "a ''", "echo ''."),
        ("ls {baseDir}/x", "", "ls '/my skills'/x"),
        ('ls "${CLAUDE_SKILL_DIR}/x"', None, 'ls "/my skills/x"'),
        ("echo $0 $ARGUMENTS", None, "echo $0 $ARGUMENTS"),
        ("echo $0", "'$ARGUMENTS {baseDir} $0'", "echo '$ARGUMENTS {baseDir} $0'"),
    ],
)
def test_a_command_that_is_not_run_shows_its_values_quoted(command: str, arguments: str | None, expected: str) -> None:
    variables = Variables("/my skills")
    rendered = render(f"!`{command}`", variables, names=("from", "to"), arguments=arguments)
    assert (rendered.text, rendered.notes[-1]) == (f"!`{expected}`", off("1 inline command was"))
    shell = Shell(Answering(), "/", {}, total=0)
    if "$1" not in expected and "$to" not in expected and arguments is not None:
        assert render(f"!`{command}`", variables, names=("from", "to"), arguments=arguments, shell=shell).text == (
            f"!`{expected}`"
        )


def test_a_name_that_was_not_given_stays_in_a_command_and_is_told() -> None:
    message = "The argument 'to' is missing; $to stays as written in commands."
    note = Note("argument-not-given", "warning", message, "Pass 2 or more: from to.")
    rendered = render("!`run $to`", SCENE, names=("from", "to"), arguments="a")
    assert rendered == Rendered("!`run $to`", (note, off("1 inline command was")))


def test_over_a_limit_a_command_of_powershell_stays_as_written() -> None:
    shell = Shell(Answering(), "/", {}, "pwsh", total=0)
    assert render("!`run $0`", SCENE, arguments="a", shell=shell).text == "!`run $0`"


def test_in_single_quotes_nothing_is_filled_in_as_in_any_shell() -> None:
    runner = Answering()
    rendered = render("!`awk '{print $0, \\$1}' \"it's $0\"`", BARE, arguments="a b", shell=Shell(runner, "/", {}))
    message = "$0 is in single quotes in a command, where a shell expands nothing."
    note = Note("inline-shell-quoted", "info", message, "Use double quotes to insert the value.")
    assert rendered == Rendered("out", (note,))
    assert runner.scripts == ["awk '{print $0, $1}' \"it's ${WHET_ARGUMENT_0}\""]


def test_powershell_gets_references_of_its_own() -> None:
    runner = Answering()
    render("!`run $0 {baseDir} ${CLAUDE_SKILL_DIR}`", BARE, arguments="a", shell=Shell(runner, "/", {}, "pwsh"))
    assert runner.scripts == ["run ${env:WHET_ARGUMENT_0} ${env:WHET_SKILL_DIR} ${env:CLAUDE_SKILL_DIR}"]
    render('!`run $ARGUMENTS "$0"`', BARE, arguments="a", shell=Shell(runner, "/", {}, "powershell"))
    assert runner.scripts[1:] == ['run ${env:WHET_ARGUMENTS} "${env:WHET_ARGUMENT_0}"']


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


def limited(number: str, seconds: int = 30) -> Note:
    message = f"{number} not run: a skill may run 20 at most, for 20000 characters of output and {seconds} seconds."
    hint = "Combine commands in one block, or let the model run them."
    return Note("inline-shell-limit", "warning", message, hint)


def test_a_body_runs_a_bounded_number_of_commands() -> None:
    runner = Answering()
    rendered = render("!`x $0`\n" * 23, SCENE, arguments="v", shell=Shell(runner, "/", {}))
    expected = "out\n" * 20 + "!`x v`\n" * 3
    assert rendered == Rendered(expected, (limited("3 inline commands were"),))
    assert len(runner.asked) == MOST_COMMANDS


def test_the_output_of_all_commands_together_is_bounded() -> None:
    runner = Answering(*(["o" * 4000] * 4), "o" * 3000, "o" * 4000, "o")
    rendered = render("!`x`\n" * 8, SCENE, shell=Shell(runner, "/", {}))
    expected = ("o" * 4000 + "\n") * 4 + "o" * 3000 + "\n" + "o" * 1000 + "...[truncated]\n" + "!`x`\n" * 2
    assert rendered.text == expected
    assert [note.code for note in rendered.notes] == ["inline-shell-truncated", "inline-shell-limit"]
    assert [asked.limit for asked in runner.asked] == [4000] * 5 + [1000]


class Slow(Answering):
    """A runner that takes a while."""

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        time.sleep(0.06)
        return super().run(script, shell=shell, cwd=cwd, env=env, seconds=seconds, limit=limit)


def test_the_time_of_all_commands_together_is_bounded() -> None:
    runner = Slow()
    rendered = render("!`a` !`b` !`c`", SCENE, shell=Shell(runner, "/", {}, total=0.05))
    assert (rendered.text, [asked.seconds for asked in runner.asked]) == ("out !`b` !`c`", [0.05])
    assert [note.code for note in rendered.notes] == ["inline-shell-limit"]


def test_a_command_gets_the_time_that_others_left() -> None:
    runner = Slow()
    render("!`a` !`b`", SCENE, shell=Shell(runner, "/", {}, seconds=1000, total=1000))
    first, second = (asked.seconds for asked in runner.asked)
    assert (first, second < 1000) == (1000, True)


def test_a_timeout_tells_the_seconds_that_there_were() -> None:
    runner = Answering(Ran("", None, "timeout", False))
    rendered = render("!`a`", SCENE, shell=Shell(runner, "/", {}, total=2.5))
    assert rendered.text == "[inline-shell timeout: 2.5 s: a]"


@posix
def test_a_real_command_runs_in_the_given_directory(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("noted\n")
    shell = Shell(LocalRunner(), str(tmp_path), {"PATH": os.environ["PATH"]})
    body = 'Notes: !`cat notes.txt`\n```!\nfor word in $ARGUMENTS\ndo\n  echo "- $word"\ndone\n```\nEnd: !`exit 3`\n'
    rendered = render(body, SCENE, arguments="a b", shell=shell)
    assert rendered.text == "Notes: noted\n- a\n- b\nEnd: [inline-shell error: exit 3]\n"
    assert [note.code for note in rendered.notes] == ["inline-shell-failed"]


@posix
def test_values_with_spaces_and_wildcards_stay_whole(tmp_path: Path) -> None:
    skill = tmp_path / "my skill *"
    skill.mkdir()
    (skill / "notes.txt").write_text("noted\n")
    shell = Shell(LocalRunner(), str(skill), {"PATH": os.environ["PATH"]}, seconds=60)
    body = "!`ls {baseDir}` !`printf '[%s]' $0 $1` !`printf '[%s]' $ARGUMENTS` !`printf '[%s]' *.txt $0`"
    rendered = render(body, Variables(str(skill)), arguments="'a  b' *", shell=shell)
    assert rendered == Rendered("notes.txt [a  b][*] ['a][b'][*] [notes.txt][a  b]", ())
