"""The shell reader: commands in order, words resolved, and the one question of permissions answered strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.shell.commands import parse
from whet.guard.shell.wrappers import from_console, inner, name_of, unwrapped

if TYPE_CHECKING:
    from whet.guard.shell.command import Command

FAST = settings(max_examples=150, deadline=None)


def words(command: Command) -> list[str]:
    return [word.text for word in command.argv]


def lines(text: str) -> list[list[str]]:
    return [words(command) for command in parse(text).commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c''url x", [["curl", "x"]]),
        ("cu\\rl x", [["curl", "x"]]),
        ("$'\\x63\\165rl' x", [["curl", "x"]]),
        ("x=cu; ${x}rl y", [[], ["curl", "y"]]),
        ("curl${IFS}-s$IFS'a b'", [["curl", "-s", "a b"]]),
        ("{curl,-s,http://x}", [["curl", "-s", "http://x"]]),
        ("cu\\\nrl x", [["curl", "x"]]),
        ("echo a{b,c}d", [["echo", "abd", "acd"]]),
        ("C='curl -s u'; $C", [[], ["curl", "-s", "u"]]),
        ("x=abcurl; ${x:2} y", [[], ["curl", "y"]]),
        ("x=${y:-curl}; $x z", [[], ["curl", "z"]]),
        ("$(echo Y3VybA== | base64 -d) x", [["curl", "x"], ["echo", "Y3VybA=="], ["base64", "-d"]]),
        ("a=x; a+=y; echo $a", [[], [], ["echo", "xy"]]),
    ],
)
def test_words_are_read_as_the_shell_reads_them(text: str, expected: list[list[str]]) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('A=(-s -d "$K" u); curl "${A[@]}"', [[], ["curl", "-s", "-d", "$K", "u"]]),
        ("cat > f <<E\nEx=1\nE\nid", [["cat"], ["id"]]),
        ("curl -K - u - <<E\nx\nE", [["curl", "-K", "-", "u", "-"]]),
        ('A=x B=y; echo "$A  $B" " ${B}\t$C $B"', [[], ["echo", "x  y", " y\t$C y"]]),
        ('A=x; echo "$A $(echo b) $(c)"', [[], ["echo", "x b $(c)"], ["echo", "b"], ["c"]]),
    ],
    ids=[
        *("array", "a line that begins like the end mark", "a dash before a here-document"),
        *("blanks before a variable", "blanks before a command"),
    ],
)
def test_what_the_grammar_cannot_do_is_done_for_it(text: str, expected: list[list[str]]) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("eval 'cat x' | nc h 1", [["eval", "cat x"], ["cat", "x"], ["nc", "h", "1"]]),
        ("for r in 'id -u' ls; do eval \"$r\"; done", [[], ["eval", "id -u ls"], ["id", "-u"], ["ls"]]),
        ("sudo bash -c 'id; ls'", [["sudo", "bash", "-c", "id; ls"], ["id"], ["ls"]]),
        ('eval "$X"', [["eval", "$X"]]),
    ],
)
def test_a_constant_script_is_read_where_it_is_run(text: str, expected: list[list[str]]) -> None:
    script = parse(text, splice=True)
    assert [words(command) for command in script.commands] == expected
    (run,) = (command for command in script.commands if "eval" in words(command) or "bash" in words(command))
    inside = [command for command in script.commands if "eval" in command.inside]
    assert (run.spliced, {command.pipes for command in inside} <= {run.pipes}) == (bool(inside), True)


def test_what_is_unknown_stays_as_written_and_says_so() -> None:
    command = parse('curl "$HOST/$(id)" ~/x').commands[0]
    assert [(word.text, word.known) for word in command.argv] == [("curl", True), ("$HOST/$(id)", False), ("~/x", True)]
    assert command.argv[1].names == ("HOST",)


def test_pipelines_number_their_stages() -> None:
    script = parse("a | b 2>&1 | c > out; d")
    assert [(words(one), one.pipes) for one in script.commands] == [
        (["a"], ((1, 0), (2, 0))),
        (["b"], ((1, 0), (2, 1))),
        (["c"], ((1, 1),)),
        (["d"], ()),
    ]
    assert [(one.operator, one.target.text) for one in script.commands[2].redirections] == [(">", "out")]


def test_arguments_after_a_redirection_are_arguments() -> None:
    (command,) = parse("curl > /dev/null -d @secret url").commands
    assert words(command) == ["curl", "-d", "@secret", "url"]


def test_substitutions_name_the_word_they_make() -> None:
    outer, within = parse('bash -c "$(curl u)"').commands
    assert (words(outer)[:2], words(within), within.parent, within.slot) == (["bash", "-c"], ["curl", "u"], 0, 2)
    assert within.inside == ("substitution",)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("(a)", ("subshell",)),
        ("a &", ("background",)),
        ("f() { a; }", ("function", "group")),
        ("if true; then a; fi", ("condition",)),
        ("while b; do a; done", ("loop", "loop")),
        ("cat <<E\n$(a)\nE", ("heredoc", "substitution")),
        ("x <(a)", ("process",)),
    ],
)
def test_commands_know_what_they_stand_in(text: str, inside: tuple[str, ...]) -> None:
    assert [one.inside for one in parse(text).commands if words(one) == ["a"]] == [inside]


def test_a_here_document_reaches_its_command_and_the_rest_of_the_line() -> None:
    first, second = parse("cat <<E | bash\none\nE\n").commands
    assert (first.heredoc, first.pipes, words(second), second.pipes) == ("one\n", ((1, 0),), ["bash"], ((1, 1),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sudo -u root env A=1 timeout -k 3 5 nice -n 2 curl x", ["curl", "x"]),
        ("nohup setsid stdbuf -o0 curl x", ["curl", "x"]),
        ("xargs -n 1 -I {} rm {}", ["rm", "{}"]),
        ("find . -name x -exec rm -f {} +", ["rm", "-f", "{}"]),
        ("uv run --with x python -c y", ["python", "-c", "y"]),
        ("command -v curl", ["command", "-v", "curl"]),
        ("exec -a n bash", ["bash"]),
        ("env", ["env"]),
    ],
)
def test_wrappers_are_looked_through(text: str, expected: list[str]) -> None:
    assert [word.text for word in unwrapped(parse(text).commands[0].argv)] == expected


@pytest.mark.parametrize(
    ("text", "language", "script"),
    [
        ("sudo bash -lc 'a b'", "shell", "a b"),
        ("eval a 'b c'", "shell", "a b c"),
        ("ssh -p 2 me@host 'a; b'", "shell", "a; b"),
        ("su - root -c 'a'", "shell", "a"),
        ("python3.12 -c 'print(1)'", "python", "print(1)"),
        ("node -e 'x()'", "javascript", "x()"),
        ("perl -ne 'print'", "perl", "print"),
        ("bash <<E\na\nE\n", "shell", "a\n"),
        ("python3 - <<'E'\na\nE\n", "python", "a\n"),
        ("bash <<< 'a'", "shell", "a"),
        ("trap 'a' EXIT", "shell", "a"),
        ("alias x='a b'", "shell", "a b"),
    ],
)
def test_scripts_in_commands_are_found(text: str, language: str, script: str) -> None:
    assert [(one.language, one.text) for one in inner(parse(text).commands[0])] == [(language, script)]


def test_names_are_bare() -> None:
    assert [name_of(parse(text).commands[0].argv) for text in ("/usr/bin/python3.12 x", "bash.exe", "./a/b.sh")] == [
        "python3",
        "bash",
        "b.sh",
    ]


def test_lines_keep_their_numbers_over_continuations() -> None:
    assert [one.line for one in parse("a\ncu\\\nrl x\n\nb").commands] == [1, 2, 5]


def test_what_breaks_the_grammar_does_not_hide_the_next_line() -> None:
    assert ["curl", "x"] in lines("echo it's\ncurl x | sh\n")
    assert ["curl", "x"] in lines("it's 'so'\nls (foo\ncurl x | sh\nit's")
    assert ["baz"] in lines("cat <<E > out && foo; baz\nhi\nE\n")


def test_a_line_end_that_the_grammar_overlooks_parts_commands() -> None:
    text = "  curl u \\\n    | sed 'x' \\\n    | sudo tee out\n  sudo apt-get update && sudo reboot\n"
    assert ["sudo", "apt-get", "update"] in lines(text)
    assert ["sudo", "tee", "out"] in lines(text)


def test_a_transcript_gives_its_commands_on_their_lines() -> None:
    text = "$ curl u | sh\noutput\n(venv) me@host:~/x$ ls \\\n  -l\nmore output\n"
    assert from_console(text) == "curl u | sh\n\nls \\\n  -l\n\n"
    assert from_console("echo $HOME\nx=$y\n") == ""


def test_a_comment_is_no_prompt() -> None:
    assert from_console('if true; then\n  # first word\n  echo "$HOME"\nfi\n') == ""


@pytest.mark.parametrize(
    "text",
    ["(" * 20_000, "a|" * 20_000, "&|;" * 20_000, '"$(' * 9_000, "${a%%" * 6_000, "`a " * 5_000, "a=$a$a;" * 4_000],
    ids=["brackets", "pipes", "operators", "substitutions", "expansions", "backticks", "growth"],
)
def test_tangled_text_ends(text: str, *, quick: bool) -> None:
    text = text[: len(text) // 8] if quick else text
    one, other = parse(text), parse(text)
    assert (one.commands, one.stopped, one.known.variables) == (other.commands, other.stopped, other.known.variables)


def test_a_text_too_long_says_where_it_stopped() -> None:
    script = parse("a|&;(b)\n" * 10_000)
    assert script.stopped.startswith("the script is too long to be read whole; stopped at line ")


def test_long_scripts_are_read_to_the_end_in_pieces() -> None:
    script = parse("x=cu\n" + f"echo {'one' * 40}\n" * 3_000 + "${x}rl end\n")
    assert script.stopped == ""
    assert (words(script.commands[-1]), script.commands[-1].line) == (["curl", "end"], 3_002)


@pytest.mark.parametrize("letter", ["é", "\u3000", "\U0001f600", "\U000f0000", "\U0010ffff", "\ud800"])
def test_letters_of_every_plane_are_letters(letter: str) -> None:
    forms = ["<<{0}\n", "a ${{{0}}}", "[{0}]", "{0}=1", "a ${0}", "[[ a =~ {0} ]]", "a {0}>b", "@({0})", "a #{0}"]
    for form in forms:
        assert parse(form.format(letter) + "\n" + form.format(letter)).stopped == ""
    (command,) = parse(f"echo '{letter}' x{letter}").commands
    assert len(command.argv) == 3


@FAST
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    script = parse(text)
    assert all(command.parent < len(script.commands) for command in script.commands)
    assert isinstance(from_console(text), str)


_SHELLISH = st.lists(
    st.sampled_from(
        [
            *("a", " ", "|", "&", ";", "\n", "(", ")", "{", "}", "$(", "`", "'", '"', "<<E\n", "E\n", ">", "<", "\\"),
            *("${x", "$((", "))", "if ", "then ", "fi", "do ", "done", "case ", "in ", "esac", "x=", "#", "$'", "*"),
            *("curl ", "| sh", "bash -c ", "eval ", "-o f ", "http://203.0.113.5/x ", "base64 -d ", "xargs ", "find "),
        ]
    ),
    max_size=25,
).map("".join)


@FAST
@given(_SHELLISH)
def test_any_piece_of_shell_is_read(text: str) -> None:
    script = parse(text)
    for command in script.commands:
        inner(command)
        unwrapped(command.argv)
    assert parse(text, splice=True).commands[:1] == script.commands[:1] or "eval" in text or "bash -c" in text


_WORD = st.text("abcXYZ019 _-./:@%+,=$\"'\\`*?[]{}()<>|&;#~!", min_size=1, max_size=12)


@FAST
@given(st.lists(_WORD, min_size=1, max_size=5))
def test_quoted_words_come_back_as_they_are(given_words: list[str]) -> None:
    quoted = ["'" + word.replace("'", "'\"'\"'") + "'" for word in given_words]
    script = parse("git " + " ".join(quoted))
    assert words(script.commands[0]) == ["git", *given_words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            's() { curl -d "$1" $2; }; s "$K" u',
            [["curl", "-d", "$1", "$2"], ["s", "$K", "u"], ["curl", "-d", "$K", "u"]],
        ),
        ('s() { "$@"; }; s curl u', [["$@"], ["s", "curl", "u"], ["curl", "u"]]),
        ('s() { s "$1" | sh; }; s x', [["s", "$1"], ["sh"], ["s", "x"], ["s", "x"], ["sh"]]),
        ('set -- curl -s u; "$@"', [["set", "--", "curl", "-s", "u"], ["curl", "-s", "u"]]),
        ('A=(curl); A+=(-s "$K"); "${A[@]}"', [[], [], ["curl", "-s", "$K"]]),
    ],
)
def test_words_that_are_put_in_later_are_read_where_they_are_used(text: str, expected: list[list[str]]) -> None:
    assert [words(command) for command in parse(text, splice=True).commands] == expected
