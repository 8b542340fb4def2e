"""The real clients, end to end, against a server on this machine that speaks as OpenAI and Anthropic do."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from learning.model_server import ANTHROPIC, GOOGLE, OPENAI, Answer, Anthropic, OpenAI, Server, serving, status
from whet.learning.models.model import Budget, Budgeted, Call, Completion, Message, Model, ModelError, Tool
from whet.learning.models.providers import open_model

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pydantic_ai", reason="the real clients need the extra `models`")

KEY = "key-4f7c2b90d1e8"
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 2}, "steps": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "steps"],
    "additionalProperties": False,
}
GOOD = {"name": "release", "steps": ["tag", "push"]}
HELLO = [Message("system", "Be short."), Message("user", "Say hello.")]
TOOL = Tool("look", "Look at a file.", {"type": "object", "properties": {}})

Speech = OpenAI | Anthropic


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, and no certificates: the server speaks plain HTTP, and reading them takes longer than asking it."""
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


@pytest.fixture(params=["openai", pytest.param("anthropic", marks=pytest.mark.deep)])
def speech(request: pytest.FixtureRequest) -> Speech:
    pytest.importorskip(request.param, reason=f"the library {request.param} comes with the extra `models`")
    return OPENAI if request.param == "openai" else ANTHROPIC


@pytest.fixture
def openai() -> OpenAI:
    pytest.importorskip("openai", reason="the library openai comes with the extra `models`")
    return OPENAI


def opened(speech: Speech, server: Server, *, timeout: float = 20) -> Model:
    spec, env = f"openai-compatible:{server.url}/v1#tiny", {"WHET_MODEL_KEY": KEY}
    if isinstance(speech, Anthropic):
        spec, env = "anthropic:claude-sonnet-4-6", {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
    return open_model(spec, env, timeout=timeout)


def soon(code: int, message: str = "no") -> Answer:
    """A failure after which the server wants to be asked again at once."""
    return status(code, message, headers={"retry-after-ms": "1"})


def failed(model: Model, messages: list[Message] = HELLO, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        model.complete(messages, **options)
    shown = "".join(traceback.format_exception(raised.value)) + repr(raised.value.to_json()) + repr(raised.value)
    assert KEY not in shown
    return raised.value


def test_a_plain_answer_comes_with_what_it_cost(speech: Speech) -> None:
    with serving(speech.says("Hello.")) as server:
        model = opened(speech, server)
        assert model.complete(HELLO, max_tokens=50) == Completion("Hello.", None, (), 11, 7, "tiny-1", False)
        assert model.complete(HELLO).text == "Hello."
    assert [asked.path.partition("?")[0] for asked in server.requests] == [speech.path] * 2
    system, user = speech.said(server.requests[0])
    assert (system[0], system[1].splitlines()[0], user) == ("system", "Be short.", ("user", "Say hello."))
    asked = server.requests[0].body
    assert 50 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))
    assert KEY in server.requests[0].headers.get("authorization", "") + server.requests[0].headers.get("x-api-key", "")
    assert KEY not in repr(model) + model.name


def test_it_works_while_an_event_loop_is_running_and_in_threads(speech: Speech) -> None:
    with serving(speech.says("Hello.")) as server:
        model = opened(speech, server)

        async def main() -> list[str]:
            inside = model.complete(HELLO).text
            beside = await asyncio.gather(*(asyncio.to_thread(model.complete, HELLO) for _ in range(3)))
            return [inside, *(answer.text for answer in beside)]

        assert asyncio.run(main()) == ["Hello."] * 4


def test_an_answer_by_a_schema_is_asked_for_natively_and_checked(speech: Speech) -> None:
    with serving(speech.says(json.dumps(GOOD))) as server:
        answer = opened(speech, server).complete(HELLO, schema=SCHEMA)
    assert answer.value == GOOD
    assert [speech.way(asked) for asked in server.requests] == ["native"]


def test_a_server_that_knows_no_schemas_is_asked_by_a_tool_and_then_in_words(speech: Speech) -> None:
    no = status(400, "unknown parameter")
    with serving(no, speech.says("", calls=[("1", "answer", json.dumps(GOOD))])) as server:
        model = opened(speech, server)
        assert [model.complete(HELLO, schema=SCHEMA).value for _ in range(2)] == [GOOD, GOOD]
    assert [speech.way(asked) for asked in server.requests] == ["native", "tool", "tool"]
    with serving(no, no, speech.says(f"Sure:\n```json\n{json.dumps(GOOD)}\n```\nAnything else?")) as server:
        assert opened(speech, server).complete(HELLO, schema=SCHEMA).value == GOOD
    assert [speech.way(asked) for asked in server.requests] == ["native", "tool", "text"]
    assert '"minLength": 2' in "".join(text for role, text in speech.said(server.requests[-1]) if role == "system")


def test_an_answer_that_does_not_fit_is_repaired_once(speech: Speech) -> None:
    with serving(speech.says('{"name": "x"}'), speech.says(json.dumps(GOOD))) as server:
        answer = opened(speech, server).complete(HELLO, schema=SCHEMA)
    assert (answer.value, answer.tokens_in, answer.tokens_out) == (GOOD, 22, 14)
    told = speech.said(server.requests[1])[-2:]
    assert told[0] == ("assistant", '{"name": "x"}')
    assert "the answer must have 'steps'; the answer.name must be at least 2 characters, not 1" in told[1][1]


def test_an_answer_that_never_fits_is_an_error_with_its_costs(speech: Speech) -> None:
    with serving(speech.says("I would rather not say.")) as server:
        error = failed(opened(speech, server), schema=SCHEMA)
    assert (error.code, error.tokens_in, error.tokens_out, len(server.requests)) == ("model-bad-answer", 22, 14, 2)


def test_an_answer_that_is_cut_off_is_not_completed_from_its_pieces(speech: Speech) -> None:
    with serving(speech.cut('{"example": {"name": "ab", "steps": []}, "name": "rel')) as server:
        error = failed(opened(speech, server), schema=SCHEMA, max_tokens=9)
    assert (error.code, len(server.requests)) == ("model-bad-answer", 1)
    assert error.message.endswith("was cut off at 9 tokens.")
    with serving(speech.cut("It was a dark")) as server:
        assert opened(speech, server).complete(HELLO).cut


def test_tools_are_offered_called_and_answered(speech: Speech) -> None:
    first = speech.says("Let me see.", calls=[("c9", "look", '{"path": "a.txt"}')])
    with serving(first, speech.says("It is empty.")) as server:
        model = opened(speech, server)
        turn = model.complete(HELLO, tools=[TOOL])
        assert turn == Completion("Let me see.", None, (Call("c9", "look", {"path": "a.txt"}),), 11, 7, "tiny-1")
        said = [*HELLO, Message("assistant", turn.text, turn.calls), Message("tool", "(empty)", call="c9")]
        assert model.complete(said, tools=[TOOL]).text == "It is empty."
    assert "(empty)" in json.dumps(server.requests[1].body["messages"][-1])


def test_arguments_of_a_call_that_are_no_object_are_an_error(openai: OpenAI) -> None:
    for arguments in ('{"path": ', "[1]", "NaN"):
        with serving(openai.says(None, calls=[("1", "look", arguments)])) as server:
            error = failed(opened(openai, server), tools=[TOOL])
        assert (error.code, error.tokens_out) == ("model-bad-answer", 7)


def test_a_rate_limit_of_an_hour_is_not_waited_out(speech: Speech) -> None:
    with serving(status(429, "slow down", headers={"Retry-After": "3600"})) as server:
        error = failed(opened(speech, server))
    assert (error.code, error.details, len(server.requests)) == ("model-unavailable", {"status": 429}, 1)


def test_rate_limits_and_failures_of_the_server_are_tried_again(speech: Speech) -> None:
    with serving(soon(429), soon(500), soon(529), speech.says("Hello.")) as server:
        assert opened(speech, server).complete(HELLO).text == "Hello."
    with serving(soon(500, "out of order")) as server:
        error = failed(opened(speech, server))
    assert (error.code, error.details, len(server.requests)) == ("model-unavailable", {"status": 500}, 4)
    assert error.message.endswith(" failed: out of order.")


def test_an_answer_that_takes_too_long_is_given_up_and_not_asked_for_again(speech: Speech) -> None:
    with serving(Answer(mute=True)) as server:
        error = failed(opened(speech, server, timeout=0.4))
    assert (error.code, len(server.requests)) == ("model-timeout", 1)


def test_a_connection_that_breaks_off_is_tried_again(speech: Speech) -> None:
    with serving(speech.says("Hello.")._replace(missing=100), speech.says("Hello.")) as server:
        assert opened(speech, server).complete(HELLO).text == "Hello."
    assert len(server.requests) == 2


def test_a_server_that_is_not_there_is_told(speech: Speech, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.learning.models.client.RETRIES", 0)
    with serving(speech.says("Hello.")) as server:
        model = opened(speech, server)
    assert failed(model).code == "model-unavailable"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b'{"id": "x", "choices": ['),
        Answer(b""),
        Answer(b"{}"),
        Answer(b"[]"),
        Answer(b'{"choices": [], "content": 5}'),
        Answer(b"<html>Please log in</html>", kind="text/html"),
        Answer(b"hello", kind="text/plain"),
        Answer(b"\xff\xfe\x00", kind="application/json"),
    ],
)
def test_what_no_api_answers_is_an_error_and_not_tried_again(speech: Speech, answer: Answer) -> None:
    with serving(answer) as server:
        error = failed(opened(speech, server))
    assert (error.code, len(server.requests)) == ("model-bad-answer", 1)


def test_a_refusal_is_an_answer_and_not_tried_again(speech: Speech) -> None:
    with serving(speech.refuses("I cannot help with that.")) as server:
        error = failed(opened(speech, server), schema=SCHEMA)
    assert (error.code, error.tokens_in, error.tokens_out, len(server.requests)) == ("model-refused", 11, 7, 1)
    assert "refuses to answer" in error.message


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (status(401, f"Incorrect API key provided: {KEY[:6]}"), "model-unavailable", "does not accept the key."),
        (status(403, "not for you"), "model-unavailable", "does not accept the key."),
        (status(404, "no such model"), "model-unavailable", "does not exist: no such model."),
        (status(402, "pay first"), "model-unavailable", "has no credit left: pay first."),
        (status(422, "odd"), "model-rejected", "does not accept the request: odd."),
    ],
)
def test_what_the_server_does_not_accept_is_told_and_not_tried_again(
    speech: Speech, answer: Answer, code: str, says: str
) -> None:
    with serving(answer) as server:
        model = opened(speech, server)
        error = failed(model)
    assert (error.code, error.message, len(server.requests)) == (code, f"{model.name} {says}", 1)


def test_a_request_that_is_too_long_is_told_apart(speech: Speech) -> None:
    with serving(speech.too_long("prompt is too long: 300000 tokens > 200000 maximum")) as server:
        error = failed(opened(speech, server), schema=SCHEMA)
    assert (error.code, len(server.requests)) == ("model-too-long", 1)


@pytest.mark.parametrize("code", [400, 401, 404, 418, 500])
def test_a_key_that_a_server_sends_back_is_not_shown(
    speech: Speech, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whet.learning.models.client.RETRIES", 0)
    with serving(Answer(status=code, echo=True)) as server:
        error = failed(opened(speech, server))
    assert ("[secret]" in error.message) == (code != 401)


def test_secrets_in_messages_do_not_leave(speech: Speech) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    messages = [
        Message("user", f"I ran it with {KEY} and {token}."),
        Message("assistant", "", (Call("1", "look", {"t": token}),)),
    ]
    with serving(speech.says("Hello.")) as server:
        opened(speech, server).complete([*messages, Message("tool", f"export T={token}", call="1")], tools=[TOOL])
    sent = json.dumps(server.requests[0].body)
    assert token not in sent and KEY not in sent and "[secret:github-token]" in sent


def test_a_budget_stops_the_real_thing_in_the_middle(speech: Speech) -> None:
    budget = Budget(tokens=45)
    with serving(speech.says("Hello.")) as server:
        model = Budgeted(opened(speech, server), budget)
        for _ in range(2):
            model.complete(HELLO)
        assert failed(model).code == "model-budget"
    assert (len(server.requests), budget.spent()[:2]) == (2, (36, 2))


def test_the_key_and_the_environment_of_openai_stay_away_from_other_servers(
    openai: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(variable, f"mine-{variable}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: mine-too")
    with serving(openai.says("Hello.")) as server:
        open_model(f"openai-compatible:{server.url}/v1#tiny", {"OPENAI_API_KEY": "mine"}).complete(HELLO)
    headers = server.requests[0].headers
    assert "mine" not in repr(headers)
    assert headers.keys() <= {
        *("host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent")
    }


def test_openai_itself_is_reached_where_the_environment_says(openai: OpenAI) -> None:
    with serving(openai.says("Hello.")) as server:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{server.url}/v1"}
        assert open_model("openai:gpt-5", env).complete(HELLO, max_tokens=77).text == "Hello."
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert (server.requests[0].body["model"], server.requests[0].body["max_completion_tokens"]) == ("gpt-5", 77)


def test_tokens_are_estimated_where_the_server_does_not_say(openai: OpenAI) -> None:
    told = json.loads(openai.says("Hello.").body)
    del told["usage"]
    with serving(Answer(json.dumps(told).encode())) as server:
        answer = opened(openai, server).complete(HELLO)
    assert answer.tokens_in > 0 and answer.tokens_out > 0


@pytest.mark.deep
def test_google_is_asked_as_the_others_are() -> None:
    pytest.importorskip("google.genai", reason="the library of Google is not part of the extra `models`")
    call = GOOGLE.says("", calls=[("c9", "look", '{"path": "a.txt"}')])
    limited = soon(429, "slow down")
    with serving(GOOGLE.says("Hello."), GOOGLE.says(json.dumps(GOOD)), call, limited, GOOGLE.says("Bye.")) as server:
        model = open_model("google:gemini-3", {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.url}, timeout=20)
        assert model.complete(HELLO, max_tokens=50) == Completion("Hello.", None, (), 11, 7, "tiny-1")
        assert model.complete(HELLO, schema=SCHEMA).value == GOOD
        assert model.complete(HELLO, tools=[TOOL]).calls == (Call("c9", "look", {"path": "a.txt"}),)
        assert model.complete(HELLO).text == "Bye."
    first, second = server.requests[:2]
    assert (first.headers["x-goog-api-key"], first.body["generationConfig"]["maxOutputTokens"]) == (KEY, 50)
    assert "Be short." in json.dumps(first.body["systemInstruction"])
    assert second.body["generationConfig"]["responseMimeType"] == "application/json"
    with serving(status(400, "API key not valid")) as server:
        model = open_model("google:gemini-3", {"GOOGLE_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.url})
        assert failed(model).message == "google:gemini-3 does not accept the request: API key not valid."
