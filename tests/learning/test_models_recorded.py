"""Answers from a file: recorded, played back, and not believed when somebody changed them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import FailedError, InvalidError, NotFoundError
from whet.learning.models.model import Call, Completion, Message, ModelError, Tool
from whet.learning.models.providers import open_model
from whet.learning.models.recorded import Recorded
from whet.learning.models.scripted import Scripted

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASK = [Message("system", "You name skills."), Message("user", "Name this:\nrelease notes\nfrom commits")]
TOOL = Tool("look", "", {"type": "object", "properties": {}})


def unasked(_: object) -> str:
    raise AssertionError("the model was asked")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "answers.jsonl")


def content(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def record(path: str, *answers: str | Completion) -> None:
    queue = iter(answers)
    model = Recorded(path, Scripted(lambda _: next(queue), "real"))
    assert model.name == f"recording:{path}#real"
    for _ in answers:
        model.complete(ASK, schema=SCHEMA, tools=[TOOL])


def test_what_was_recorded_is_played_back_whole(path: str) -> None:
    model = Recorded(path, Scripted(lambda _: Completion('{"name": "notes"}', tokens_in=5, tokens_out=6), "real"))
    first = model.complete(ASK, schema=SCHEMA)
    assert first == Completion('{"name": "notes"}', {"name": "notes"}, (), 5, 6, "real", False)
    calling = Recorded(path, Scripted(lambda _: Completion("", calls=(Call("1", "look", {"a": [1]}),)), "real"))
    second = calling.complete(ASK, tools=[TOOL])
    played = open_model(f"recorded:{path}", {})
    assert played.name == f"recorded:{path}"
    assert played.complete(ASK, schema=SCHEMA) == first
    assert played.complete(ASK, tools=[TOOL], max_tokens=9) == second
    again = Recorded(path, Scripted(unasked, "real"))
    assert again.complete(ASK, schema=SCHEMA) == first


def test_line_ends_and_trailing_blanks_make_no_other_question(path: str) -> None:
    record(path, '{"name": "a"}')
    told = [message._replace(text=message.text.replace("\n", "  \r\n") + "\n") for message in ASK]
    assert Recorded(path).complete(told, schema=dict(reversed(SCHEMA.items())), tools=[TOOL]).value == {"name": "a"}


def test_the_same_question_has_its_answers_in_order_and_the_last_is_repeated(path: str) -> None:
    record(path, '{"name": "a"}', '{"name": "b"}')
    model = Recorded(path)
    names = [model.complete(ASK, schema=SCHEMA, tools=[TOOL]).value["name"] for _ in range(4)]
    assert names == ["a", "b", "b", "b"]


def test_a_question_that_was_not_recorded_is_told_with_its_digest(path: str) -> None:
    record(path, '{"name": "a"}')
    asked = [ASK[0], Message("user", "Name this:\nrelease notes\nfrom tags")]
    with pytest.raises(ModelError) as raised:
        Recorded(path).complete(asked, schema=SCHEMA, tools=[TOOL])
    error, digest = raised.value, raised.value.details["digest"]
    assert (error.code, error.message) == (
        "model-not-recorded",
        f"{path} has no recorded answer to the request {digest[:12]}.",
    )
    assert digest not in (json.loads(line)["digest"] for line in content(path).splitlines())


def test_a_cassette_that_is_not_there_is_told(path: str) -> None:
    with pytest.raises(NotFoundError) as raised:
        Recorded(path)
    assert raised.value.code == "cassette-not-found"
    with pytest.raises(FailedError, match="Cannot write"):
        Recorded(f"{path}/deeper", Scripted(lambda _: "x")).complete(ASK)


def change(path: str, *keys: Any, to: Any) -> None:
    lines = content(path).splitlines()
    records = [json.loads(line) for line in lines]
    inner = records[1]
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("keys", "to", "problem"),
    [
        (("answer", "value"), {"name": "mine"}, "was changed after it was recorded"),
        (("answer", "tokens_in"), 0, "was changed after it was recorded"),
        (("seal",), "0" * 64, "was changed after it was recorded"),
        (("request", "messages", 1, "text"), "x", "has a request that differs from the recorded one"),
        (("digest",), "0" * 64, "has a request that differs from the recorded one"),
        (("more",), 1, "is not a recording"),
    ],
)
def test_a_cassette_that_was_changed_is_not_believed(path: str, keys: tuple[Any, ...], to: Any, problem: str) -> None:
    record(path, '{"name": "a"}', '{"name": "b"}')
    change(path, *keys, to=to)
    with pytest.raises(InvalidError) as raised:
        Recorded(path)
    assert (raised.value.code, raised.value.message) == ("cassette-broken", f"Line 2 of {path} {problem}.")


@pytest.mark.parametrize("tail", [b'{"digest": "a', b"\xff\xfe", b"[]", b"5", b"[" * 100_000])
def test_a_cassette_that_is_cut_off_or_damaged_is_not_believed(path: str, tail: bytes) -> None:
    record(path, '{"name": "a"}')
    with open(path, "ab") as file:
        file.write(tail)
    with pytest.raises(InvalidError) as raised:
        Recorded(path)
    assert (raised.value.code, raised.value.details) == ("cassette-broken", {"line": 2})


def test_a_cassette_written_differently_is_the_same(path: str) -> None:
    record(path, '{"name": "ä"}')
    told = json.loads(content(path))
    with open(path, "w", encoding="utf-8", newline="\r\n") as file:
        file.write("\n" + json.dumps(dict(reversed(told.items())), ensure_ascii=False) + "\n\n")
    assert Recorded(path).complete(ASK, schema=SCHEMA, tools=[TOOL]).value == {"name": "ä"}


def test_secrets_are_not_recorded_and_do_not_matter_for_the_question(path: str) -> None:
    key, token = "hunter-2-hunter-2", "ghp_" + "a1B2c3D4e5" * 4
    real = Scripted(lambda _: Completion(f"Use {key}.", calls=(Call("1", "look", {"token": token}),)), "real")
    asked = [Message("user", f"My key is {key}, my token {token}.")]
    Recorded(path, real, secrets=[key]).complete(asked, tools=[TOOL])
    written = content(path)
    assert key not in written and token not in written
    asked = [Message("user", "My key is [secret], my token " + "ghp_" + "9z8Y7x6W5v" * 4 + ".")]
    answer = Recorded(path).complete(asked, tools=[TOOL])
    assert (answer.text, answer.calls) == ("Use [secret].", (Call("1", "look", {"token": "[secret:github-token]"}),))


def test_a_refusal_is_not_recorded(path: str) -> None:
    def refuse(_: object) -> str:
        raise ModelError("model-refused", "No.")

    with pytest.raises(ModelError):
        Recorded(path, Scripted(refuse)).complete(ASK)
    with pytest.raises(NotFoundError):
        Recorded(path)
