"""Words of an argument string: shell quoting for those who use it, no surprises for those who do not."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.prompt.arguments import PLACE, has_heredoc, literal, makes_code, quoting, split_arguments


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", ()),
        (" \t\n ", ()),
        ("one", ("one",)),
        ("  one \t two\nthree ", ("one", "two", "three")),
        ('"hello world" second', ("hello world", "second")),
        ("'hello world' second", ("hello world", "second")),
        ("--title='two words' x", ("--title=two words", "x")),
        ('--title="two words" x', ("--title=two words", "x")),
        ("'a b''c d' e", ("a bc d", "e")),
        (r"two\ words x", ("two words", "x")),
        (r"\"a\" \'b\' \\", ('"a"', "'b'", "\\")),
        (r'"say \"hi\" for \$5 in C:\dir \\ \`x\`"', (r'say "hi" for $5 in C:\dir \ `x`',)),
        (r"'no \escape' x", (r"no \escape", "x")),
        ("\"\" '' x", ("", "", "x")),
        ('a"b c"d', ("ab cd",)),
    ],
)
def test_words_are_split_by_shell_quoting(raw: str, words: tuple[str, ...]) -> None:
    assert split_arguments(raw) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("don't do it", ("don't", "do", "it")),
        ("don't say it isn't so", ("don't", "say", "it", "isn't", "so")),
        ("the users' files and dogs' toys", ("the", "users'", "files", "and", "dogs'", "toys")),
        ("'open and not closed", ("'open", "and", "not", "closed")),
        ('say "open and', ("say", '"open', "and")),
        ('one "two three" "four', ("one", "two three", '"four')),
        ("mixed \"quote' here", ("mixed", "\"quote'", "here")),
    ],
)
def test_a_quote_that_quotes_nothing_is_a_character(raw: str, words: tuple[str, ...]) -> None:
    assert split_arguments(raw) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (r"C:\Users\me\notes.txt x", (r"C:\Users\me\notes.txt", "x")),
        (r"\d+ x", (r"\d+", "x")),
        ("end\\", ("end\\",)),
        ("end \\", ("end", "\\")),
    ],
)
def test_a_backslash_before_a_letter_is_a_character(raw: str, words: tuple[str, ...]) -> None:
    assert split_arguments(raw) == words


def test_nothing_is_expanded() -> None:
    raw = "$HOME ${HOME} $(id) `id` ~ * ? [a] {a,b} #x !x a;b|c&d>e"
    assert split_arguments(raw) == tuple(raw.split())


TEXT = st.text() | st.text(alphabet="a'\"\\ $\n=", max_size=40)


@given(st.lists(TEXT))
@settings(max_examples=200, deadline=None)
def test_what_a_shell_would_quote_comes_back(words: list[str]) -> None:
    assert split_arguments(shlex.join(words)) == tuple(words)


def bare(text: str) -> str:
    return "".join(char for char in text if not char.isspace() and char not in "'\"\\")


@given(TEXT)
@settings(max_examples=200, deadline=None)
def test_no_character_is_lost(raw: str) -> None:
    assert bare("".join(split_arguments(raw))) == bare(raw)


@given(st.text(alphabet="ab é中\t\n$`;|&*", max_size=40))
@settings(max_examples=200, deadline=None)
def test_text_without_quotes_is_split_at_its_spaces(raw: str) -> None:
    assert split_arguments(raw) == tuple(raw.split())


@pytest.mark.parametrize("unit", ["'", '"', "\\", "a'", '"\\', '\\"', "\"'", "'\\'\"", "'' "])
def test_a_long_string_of_quotes_is_split_in_one_go(unit: str, *, quick: bool) -> None:
    raw = unit * ((50_000 if quick else 1_000_000) // len(unit))
    assert bare("".join(split_arguments(raw))) == bare(raw)


# scripts


@pytest.mark.parametrize(
    ("script", "single", "double"),
    [
        ("echo 'a' \"b\" 'c'", ["'a", "'c"], ['b"']),
        ('echo "it\'s $1"', [], ["it's $1\""]),
        ("echo \\' \\\" 'a'", ["'a"], []),
        ("echo \"$(awk '{print $1}')\" 'b'", ["'{print $1}", "'b"], ["$(", '"']),
        ("echo \"`awk '{print $1}'`\" 'b'", ["'{print $1}", "'b"], ["`", '"']),
        ('echo "$(echo "x\'s" y)" z', [], ["$(", "x's\"", '"']),
        ("echo ')' \"(\" 'a'", ["')", "'a"], ['("']),
        ("# don't\necho 'a'", ["'a"], []),
        ("echo a#'b' \" # 'c\" 'd'", ["'b", "'d"], [" # 'c\""]),
        ("echo $'it\\'s $1' 'x$' \"$'\"", [r"$'it\'s $1", "'x$"], ["$'\""]),
        ("echo 'never closed", ["'never closed"], []),
        ("", [], []),
    ],
)
def test_quotes_are_found_as_a_shell_finds_them(script: str, single: list[str], double: list[str]) -> None:
    assert (quoted(script, "'"), quoted(script, '"')) == (single, double)


def quoted(script: str, sign: str) -> list[str]:
    """The pieces in these quotes; a single quote belongs to what it opens, a double one to what it closes."""
    pieces: list[str] = []
    before = ""
    places, quotes = quoting(script)
    for start, end, quote in zip(places, (*places[1:], len(script)), quotes, strict=True):
        if quote == sign and before == sign:
            pieces[-1] += script[start:end]
        elif quote == sign:
            pieces.append(script[start:end])
        before = quote
    return pieces


@given(st.text(alphabet="a'\"\\$()`# \n", max_size=60))
@settings(max_examples=200, deadline=None)
def test_the_places_of_quotes_are_in_order(script: str) -> None:
    places, quotes = quoting(script)
    assert (places, places[0], len(quotes)) == (sorted(places), 0, len(places))


@pytest.mark.parametrize("unit", ["'", '"', "$(", "\"$('", "# ", "\\", "`", "$'", "$'\\"])
def test_a_long_script_of_quotes_is_read_in_one_go(unit: str, *, quick: bool) -> None:
    assert quoting('" ' + unit * ((50_000 if quick else 1_000_000) // len(unit)))[0][0] == 0


@pytest.mark.parametrize(
    ("script", "has"), [("cat <<EOT", True), ("cat 3<<-'EOT'", True), ("cat <<< x", False), ("cat < x", False)]
)
def test_a_heredoc_is_found(script: str, has: bool) -> None:
    assert has_heredoc(script) is has


@pytest.mark.parametrize(
    ("script", "sign"),
    [
        ("[[ @ -eq 1 ]]", "[["),
        ("echo $((@ + 1))", "(("),
        ("echo $[@]", "$["),
        ("echo ${x:@}", "${x:"),
        ("echo ${x[@@]}", "${x["),
        ("x[@]=1", "x["),
        ("n=@; echo ${!n}", "${!n"),
        ("[ ! -v @ ]", "[ ! -v"),
        ("printf -v @ x", "printf -v"),
        ("declare -i n=@", "declare -i"),
        ('read -r "@"', "read -r"),
        ("export @", "export"),
        ("x; eval  @", "eval"),
        ("let n=@", "let"),
        ("trap @ EXIT", "trap"),
        ("ssh host ls @", "ssh"),
        ("Invoke-Expression @", "Invoke-Expression"),
        ('/bin/sh -e  -c "ls @"', "sh -e -c"),
        ("echo @ | sudo-less | bash", "| bash"),
        ('python3 -c "print(@)"', "python3 -c"),
        ('perl -pe "s/x/@/"', "perl -pe"),
        ('node --eval "@"', "node --eval"),
    ],
)
def test_what_reads_a_value_as_code_is_found(script: str, sign: str) -> None:
    assert makes_code(script.replace("@", PLACE)) == sign


@pytest.mark.parametrize(
    "script",
    [
        "gh issue view @",
        "[ @ = x ] && echo yes",
        "bash @/run.sh -c @",
        "python3 -m json.tool @",
        "export X=@; read -r line",
        "ls ~/.ssh/@ letters/@ eval-set/@",
        'echo "${x:-@}" "${list[*]}" file[0-9].txt',
        "x=$(cat @) && (cd @; ls)",
        "cat @ | shuf",
    ],
)
def test_other_scripts_take_values_as_data(script: str) -> None:
    assert makes_code(script.replace("@", PLACE)) == ""


@pytest.mark.parametrize("unit", ["[ ", "${x", "sh -a ", "x[", "declare -a ", "python ", "| ", "-"])
def test_a_long_script_is_looked_through_in_one_go(unit: str) -> None:
    assert makes_code(unit * (200_000 // len(unit))) == ""


@pytest.mark.parametrize(
    ("value", "bare", "double"),
    [("a", "a", "a"), ("", "''", ""), ("a b", "'a b'", "a b"), ('"$x`\\', "'\"$x`\\'", '\\"\\$x\\`\\\\')],
)
def test_a_value_is_written_as_data(value: str, bare: str, double: str) -> None:
    assert (literal(value, ""), literal(value, '"')) == (bare, double)
