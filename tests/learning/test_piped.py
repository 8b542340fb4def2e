"""Sessions that come as bytes: read like a file, and nothing of them stays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet.errors import InvalidError
from whet.learning.transcripts.reader import DIRECTORY, read_piped

if TYPE_CHECKING:
    from pathlib import Path

TEXT = b"## User\n\nAdd a column.\n\n## Assistant\n\nDone.\n"


def test_pieces_are_one_session_and_leave_nothing(tmp_path: Path) -> None:
    read = read_piped(str(tmp_path), (TEXT[:9], TEXT[9:]), "It")
    assert [(event.kind, event.text) for event in read.events] == [("user", "Add a column."), ("assistant", "Done.")]
    assert os.listdir(tmp_path / DIRECTORY) == []


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    left = tmp_path / DIRECTORY / f".session.whet-tmp-{'0' * 16}"
    left.mkdir(parents=True)
    (left / "transcript").write_bytes(b"a secret")
    read_piped(str(tmp_path), [TEXT], "It")
    assert os.listdir(tmp_path / DIRECTORY) == []


def test_an_error_names_what_the_caller_knows(tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as caught:
        read_piped(str(tmp_path), [b"nothing"], "Standard input")
    assert (caught.value.code, caught.value.message) == (
        "not-a-transcript",
        "Standard input is not a transcript: it has no speakers.",
    )
    assert os.listdir(tmp_path / DIRECTORY) == []


def test_a_session_of_which_nothing_is_understood_is_named_as_it_came(tmp_path: Path) -> None:
    data = b'{"type": "future.event", "data": {}, "parentId": null}\n'
    with pytest.raises(InvalidError) as caught:
        read_piped(str(tmp_path), [data], "Standard input")
    assert (caught.value.code, caught.value.message, caught.value.details) == (
        "empty-transcript",
        "Nothing is said or done in Standard input. Records left out because their kind is unknown: 1 (future.event).",
        {},
    )
