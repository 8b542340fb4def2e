"""Scripts of cmd as shell scripts, with the values of their variables."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.code.batch import as_shell, expanded, rearranged

FAST = settings(max_examples=150, deadline=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set A=x\necho %A% %a%", "set A=x\necho x x"),
        ('set "A=x y"\necho !A!', 'set "A=x y"\necho x y'),
        ("set A=abcdef\necho %A:~1,3% %A:~-2% %A:b=-%", "set A=abcdef\necho bcd ef a-cdef"),
        ("set A=x\nset A=%A%y\necho %A%", "set A=x\nset A=xy\necho xy"),
        ("set A=%TOKEN%\necho %A%", "set A=%TOKEN%\necho %TOKEN%"),
        ("set A=%1\necho %A%", "set A=%1\necho %A%"),
        ("set A=x\nset /p A=name: \necho %A%", "set A=x\nset /p A=name: \necho %A%"),
        ("for %%A in (a b) do echo %%A", "echo a & echo b"),
        ("for %%A in (*.txt) do echo %%A", "for %%A in (*.txt) do echo %%A"),
        ("rem set A=x\necho %A%", "rem set A=x\necho %A%"),
        ("echo 100% sure!", "echo 100% sure!"),
    ],
)
def test_known_values_are_written_into_a_script(text: str, expected: str) -> None:
    assert expanded(text) == expected


def test_what_is_set_twice_is_sure_nowhere() -> None:
    text = "set A=x\nset B=y\ngoto :c\n:b\necho %A% %B%\n:c\nset A=z\ngoto :b"

    assert (expanded(text).split("\n")[4], expanded(text, sure=True).split("\n")[4]) == ("echo x y", "echo %A% y")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@echo hello", 'echo "hello"'),
        ("type a.txt", "cat a.txt"),
        ("del /q a.txt", "rm -f a.txt"),
        ("rd /s /q build", "rm -rf build"),
        ("md a\\b", "mkdir -p a/b"),
        ("set", "env"),
        ("set AWS", "env | grep AWS"),
        ("set A=1", 'A="1"'),
        ("echo a>b.txt", 'echo "a" > b.txt'),
        ("echo a ^> b", 'echo "a > b"'),
        ("echo %A%> b.txt", 'echo "${A}" > b.txt'),
        (">> b.txt echo a", 'echo "a" >> b.txt'),
        ("echo a >nul 2>&1", 'echo "a" > /dev/null'),
        ("copy /y a \\\\host\\in\\b", "cp a //host/in/b"),
        ("if exist a (del a) else md b", "if true; then rm -f a ; fi ; true && mkdir -p b"),
        ("if not defined X exit /b 1", "true && :"),
        ("tool a && tool b || tool c", "tool a && tool b || tool c"),
        ("for %%f in (*.txt) do type %%f", "for f in *.txt; do cat ${f} ; done"),
        (
            "for /f %%l in ('dir /s /b \"d\\*.pem\"') do echo %%~nl.txt",
            'for l in $(find "d" -name "*.pem"); do echo "${l}.txt" ; done',
        ),
        ("start \"\" /b tool.exe a", "tool a"),
        ("certutil -urlcache -f http://a.example/x y", "curl -o y http://a.example/x"),
        ('ftp -n -s:"job.ftp"', 'ftp -n < "job.ftp"'),
        ("goto more\n:more\ndel a", "to_more\nto_more() {\nrm -f a ; }"),
        ("goto :eof", ":"),
        ("rem note", ""),
        (":: note", ""),
        ("call :sub a\nexit /b\n:sub\necho %~1", 'to_sub a\n:\nto_sub() {\necho "${1}" ; }'),
    ],
)  # fmt: skip
def test_a_script_of_cmd_is_one_of_a_shell(text: str, expected: str) -> None:
    assert as_shell(text) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("robocopy src dst a.txt /e", [["cp", "-r", (1, 3), 2]]),
        ("robocopy src dst /mir", [["rm", "-rf", 2], ["cp", "-r", 1, 2]]),
        ("copy a+b c", [["cat", "a", "b", ">", 2]]),
        ("bitsadmin /transfer n /upload http://a.example/x f", [["curl", "-T", 5, 4]]),
        ("dir /s d/*.pem", [["find", '"d"', "-name", '"*.pem"']]),
        ("dir d", []),
        ("whoami /all", []),
    ],
)
def test_a_program_of_windows_is_one_of_a_shell(words: str, expected: list[object]) -> None:
    assert rearranged(words.split()) == expected


LINES = st.sampled_from(
    [
        "set A=%A%%A%x", 'set "B=!A!"', "for %%a in (a b c) do set A=%%a", "echo %A:~1,2% !B!", "if exist %A% (", ")",
        ":label", "call :label %A%", "for /f \"tokens=1,2\" %%a in ('type %A%') do (", "rem %A%", "> %A% echo ^",
        'powershell -c "%A%"', "%", "!", '"', "^",
    ]
)  # fmt: skip


@FAST
@given(st.lists(LINES | st.text(max_size=8), max_size=30).map("\n".join))
def test_lines_keep_their_numbers_and_values_do_not_grow_without_end(text: str) -> None:
    known = expanded(text)

    assert known.count("\n") == text.count("\n")
    assert len(known) <= 3 * len(text) + 30_000
    assert as_shell(known).count("\n") == text.count("\n")
