"""Colour, width and what reaches standard output."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from whet.errors import FailedError
from whet.interfaces.cli.output import Console, Screen, screen_for, wants_colour
from whet.interfaces.cli.text import width

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@pytest.mark.parametrize(
    ("env", "tty", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm"}, True, True),
    ],
)
def test_who_gets_colour(env: dict[str, str], tty: bool, expected: bool) -> None:
    assert wants_colour(env, tty=tty) is expected


def terminal(columns: int = 40, *, colour: bool = False, home: str = "/home/me") -> Screen:
    return Screen(tty=True, colour=colour, columns=columns, home=home)


def test_paint_is_plain_without_colour() -> None:
    assert terminal().paint("x", "red") == "x"
    assert terminal(colour=True).paint("x", "red", "bold") == "\x1b[31;1mx\x1b[0m"
    assert terminal(colour=True).paint("", "red") == ""


def test_a_place_below_the_home_is_short_on_a_terminal() -> None:
    assert terminal().place("/home/me/x") == "~/x"
    assert terminal().place("/home/melinda") == "/home/melinda"
    assert Screen(tty=False, colour=False, columns=80, home="/home/me").place("/home/me/x") == "/home/me/x"


def test_a_table_fits_the_terminal() -> None:
    screen = terminal(24)
    screen.table(("A", "LONGER", "TEXT"), [("日本", "x", "words that go on and on"), ("b", "", "short\x1b")])
    assert screen.text() == (
        "A     LONGER  TEXT\n"  # the widest cell is four columns
        "日本  x       words tha…\n"
        "b             short\\x1b\n"
    )
    assert max(map(width, screen.text().splitlines())) <= 24


def test_wide_columns_of_a_table_make_room_for_the_last() -> None:
    screen = terminal(40)
    screen.table(("WHEN", "B", "C"), [("2026-11-15 06:00", "b" * 30, "the last"), ("", "b", "")])
    assert screen.text() == (
        "WHEN              B                 C\n2026-11-15 06:00  bbbbbbbbbbbbbbb…  the…\n                  b\n"
    )


def test_facts_are_wrapped_below_themselves() -> None:
    screen = terminal(26)
    screen.facts([("label", "one two three four five six"), ("none", "")], 6)
    assert screen.text() == "label one two three four\n      five six\nnone  \n"


def test_a_table_on_a_pipe_is_not_cut() -> None:
    screen = Screen(tty=False, colour=False, columns=10)
    screen.table(("A", "B"), [("x", "words that go on and on")])
    assert screen.text() == "A  B\nx  words that go on and on\n"


def test_a_paragraph_is_wrapped_on_a_terminal_only() -> None:
    screen = terminal(26)
    screen.paragraph("one two three four five six", 2)
    assert screen.text() == "  one two three four five\n  six\n"
    piped = Screen(tty=False, colour=False, columns=26)
    piped.paragraph("one two three four five six", 2)
    assert piped.text() == "  one two three four five six\n"


@pytest.mark.parametrize(("columns", "expected"), [("120", 120), ("0", 80), ("wide", 80), ("", 80)])
def test_the_width_comes_from_the_environment(columns: str, expected: int) -> None:
    assert screen_for(io.StringIO(), {"COLUMNS": columns}).columns == expected


def console(*, json_: bool = False, quiet: bool = False) -> Console:
    return Console(json=json_, quiet=quiet, env={})


class Fake(io.TextIOWrapper):
    """A standard output that behaves as told."""

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__(io.BufferedWriter(raw), encoding="ascii")


class Slow(io.RawIOBase):
    """Takes a few bytes now and then, like a non-blocking pipe that is nearly full."""

    def __init__(self) -> None:
        self.taken = b""
        self.calls = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int | None:
        self.calls += 1
        if self.calls % 2:
            return None
        piece = bytes(data)[:1000]
        self.taken += piece
        return len(piece)


def test_everything_reaches_a_pipe_that_does_not_block(monkeypatch: pytest.MonkeyPatch) -> None:
    import select

    raw, data = Slow(), bytes(range(256)) * 400
    monkeypatch.setattr(sys, "stdout", Fake(raw))
    monkeypatch.setattr(select, "select", lambda *_: ([], [], []))
    console().write(data)
    assert raw.taken == data
    monkeypatch.undo()


def test_what_the_encoding_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    console().data("naïve\n")
    assert raw.getvalue() == b"na\\xefve\n"


def test_a_document_is_always_utf_8_and_always_json(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    console(json_=True).document({"name": "日本", "path": "x\udc80"})
    assert raw.getvalue() == '{"name": "日本", "path": "x\\udc80"}\n'.encode()
    assert json.loads(raw.getvalue()) == {"name": "日本", "path": "x\udc80"}


def test_without_standard_output_the_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(FailedError) as caught:
        console().data("x")
    assert (caught.value.code, caught.value.message) == (
        "output-failed",
        "Standard output cannot be written: Bad file descriptor.",
    )


def test_quiet_silences_talk_but_no_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        one = console(quiet=quiet)
        one.say("talk")
        one.hint("do this")
        one.block("one\ntwo\n")
        one.error("that failed\x1b")
    assert (
        capsys.readouterr().err == "talk\nhint: do this\none\ntwo\nerror: that failed\\x1b\nerror: that failed\\x1b\n"
    )
