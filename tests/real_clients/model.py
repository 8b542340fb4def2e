"""A model on loopback that says what a script tells it, in the protocols of real clients, and keeps what it is asked.

    with ScriptedModel([Step(calls=(Call("Bash", {"command": "ls"}),)), Step("Done.")]) as model:
        ...                                 # run a client with its address set to model.url
    model.requests[0].tools                 # what the client offered in its first request
    model.requests[1].results               # what it answered to the calls of the first step

It speaks Anthropic Messages, OpenAI Responses, OpenAI chat completions and Gemini's generateContent, whole or streamed.
Each request that offers tools gets the next step of the script, and "Done." when the script has ended. Requests without
tools are a client's own questions (a title, a summary): they are kept in `others` and take no step.
"""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whet.values import Json

_SPOKEN = ("text", "input_text", "output_text", "")
"""Kinds of parts of a message that carry text."""


class Call(NamedTuple):
    """A tool call that the model makes."""

    name: str
    arguments: Json
    namespace: str = ""
    """The group of tools it is in, where a client has such groups."""
    raw: str | None = None
    """What a tool that takes plain text is called with, in place of arguments."""


class Step(NamedTuple):
    """One answer of the model."""

    text: str = ""
    calls: tuple[Call, ...] = ()


class Result(NamedTuple):
    """What a client answered to a call."""

    call: str
    """The id of the call."""
    text: str
    failed: bool = False
    """Whether the client says so; some protocols cannot."""


class Request(NamedTuple):
    """What a client asked."""

    path: str
    body: Json

    @property
    def tools(self) -> list[str]:
        """The names of the tools it offers; one in a group stands as `group.name`."""
        return list(_tool_names(self.body.get("tools", [])))

    @property
    def system(self) -> str:
        """What stands before the conversation."""
        body = self.body
        given = body.get("system") or body.get("instructions") or body.get("systemInstruction")
        first = [part["content"] for part in self._items if part.get("role") in ("system", "developer")]
        return "\n".join([*_texts(given), *_texts(first)])

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Who said what, in order; calls and results left out."""
        return [
            (item["role"], text)
            for item in self._items
            if item.get("role") not in (None, "system", "developer", "tool")
            for text in _texts(item.get("content", item.get("parts", "")))
        ]

    @property
    def text(self) -> str:
        """All text that the model gets to read, but for the descriptions of tools."""
        told = [text for _, text in self.messages]
        return "\n".join([self.system, *told, *(result.text for result in self.results)])

    @property
    def results(self) -> list[Result]:
        """What it answers to calls, in order, since the beginning."""
        return [result for item in self._items for result in _results(item)]

    @property
    def _items(self) -> list[Json]:
        found: Any = next((self.body[key] for key in ("messages", "input", "contents") if key in self.body), [])
        return [{"role": "user", "content": found}] if isinstance(found, str) else found


class ScriptedModel:
    """The server, and what it was asked."""

    def __init__(self, steps: Sequence[Step] = (), *, log: Path | None = None) -> None:
        """`log` is a directory that gets each request as a file, to look at."""
        self.steps = list(steps)
        self.requests: list[Request] = []
        self.others: list[Request] = []
        self._log = log
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.model = self  # type: ignore[attr-defined]  # how a handler finds it
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def play(self, steps: Sequence[Step]) -> None:
        """Begin another script, and forget what was asked."""
        with self._lock:
            self.steps, self.requests, self.others = list(steps), [], []

    def answer(self, request: Request) -> tuple[int, Step]:
        """The number of the answer and the step it is."""
        with self._lock:
            if self._log:
                self._log.mkdir(parents=True, exist_ok=True)
                name = f"{len(self.requests) + len(self.others):03d}.json"
                (self._log / name).write_text(json.dumps(request._asdict(), indent=1), encoding="utf-8")
            number = len(self.requests) + len(self.others) + 1
            if not request.tools:
                self.others.append(request)
                return number, Step("A title")
            self.requests.append(request)
            at = len(self.requests) - 1
            return number, self.steps[at] if at < len(self.steps) else Step("Done.")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._send_json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        request = Request(self.path.partition("?")[0], json.loads(self._read() or b"{}"))
        path, body = request
        if "count" in path:  # of tokens, in two protocols
            self._send_json({"input_tokens": 1000, "totalTokens": 1000})
            return
        speak = next((speak for end, speak in _PROTOCOLS if path.endswith(end)), None)
        if speak is None:
            self._send_json({"error": {"message": f"There is no {path}."}}, 404)
            return
        number, step = self.server.model.answer(request)  # type: ignore[attr-defined]  # see ScriptedModel
        whole, events = speak(number, step, body)
        if body.get("stream") or "stream" in path:
            self._send("".join(events).encode(), "text/event-stream")
        else:
            self._send_json(whole)

    def _read(self) -> bytes:
        data = b""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def _send_json(self, value: Json, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


# how each protocol says a step: the whole answer, and the same as the events of a stream


def _anthropic(number: int, step: Step, body: Json) -> tuple[Json, list[str]]:
    blocks: list[Json] = [{"type": "text", "text": step.text}] if step.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number:03d}{at}", "name": call.name, "input": call.arguments}
        for at, call in enumerate(step.calls)
    ]
    end = {"stop_reason": "tool_use" if step.calls else "end_turn", "stop_sequence": None}
    usage = {"input_tokens": 1000, "output_tokens": 20}
    whole = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model"), "usage": usage}
    events: list[Json] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for at, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": at, "content_block": empty},
            {"type": "content_block_delta", "index": at, "delta": delta},
            {"type": "content_block_stop", "index": at},
        ]
    events += [{"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]
    return {**whole, **end, "content": blocks}, [_event(event, event["type"]) for event in events]


def _responses(number: int, step: Step, body: Json) -> tuple[Json, list[str]]:
    items: list[Json] = []
    if step.text:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content})
    for at, call in enumerate(step.calls):
        ids = {"id": f"item_{number}_{at}", "call_id": f"call_{number}_{at}", "name": call.name, "status": "completed"}
        if call.raw is not None:
            items.append({"type": "custom_tool_call", **ids, "input": call.raw})
            continue
        group = {"namespace": call.namespace} if call.namespace else {}
        items.append({"type": "function_call", **ids, "arguments": json.dumps(call.arguments), **group})
    begun = {"id": f"resp_{number}", "object": "response", "model": body.get("model"), "status": "in_progress"}
    usage = {"input_tokens": 1000, "output_tokens": 20, "total_tokens": 1020}
    whole = {**begun, "status": "completed", "output": items, "usage": usage}
    events: list[Json] = [{"type": "response.created", "response": {**begun, "output": []}}]
    for at, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": at, "item": item})
        if item["type"] == "message":
            delta = {"item_id": item["id"], "output_index": at, "content_index": 0, "delta": step.text}
            events.append({"type": "response.output_text.delta", **delta})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return whole, [_event(event, event["type"]) for event in events]


def _chat(number: int, step: Step, body: Json) -> tuple[Json, list[str]]:
    calls = [
        {"id": f"call_{number}_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for at, (name, given, *_) in enumerate(step.calls)
    ]
    head = {"id": f"chat_{number}", "created": 1, "model": body.get("model")}
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    end = "tool_calls" if calls else "stop"
    message: Json = {"role": "assistant", "content": step.text or None, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": end}
    deltas: list[Json] = [{"role": "assistant", "content": step.text}]
    deltas += [{"tool_calls": [{"index": at, **call}]} for at, call in enumerate(calls)]
    chunk = {**head, "object": "chat.completion.chunk"}
    choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": end})
    events = [_event({**chunk, "choices": [each]}) for each in choices]
    events += [_event({**chunk, "choices": [], "usage": usage}), "data: [DONE]\n\n"]
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, events


def _gemini(number: int, step: Step, body: Json) -> tuple[Json, list[str]]:
    # Questions of the client itself want an object; the fields of all of them are in this one.
    asked = json.dumps({"reasoning": "", "model_choice": "flash", "next_speaker": "user", "complexity_score": 1})
    wants_object = body.get("generationConfig", {}).get("responseMimeType") == "application/json"
    text = asked if wants_object else step.text
    parts: list[Json] = [{"text": text}] if text else []
    parts += [
        {"functionCall": {"id": f"call_{number}_{at}", "name": call.name, "args": call.arguments}}
        for at, call in enumerate(step.calls)
    ]
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted", "responseId": f"r{number}"}
    return whole, [_event(whole)]


_PROTOCOLS = (
    ("/messages", _anthropic),
    ("/responses", _responses),
    ("/chat/completions", _chat),
    (":generateContent", _gemini),
    (":streamGenerateContent", _gemini),
)


def _event(value: Json, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(value)}\n\n"


# how each protocol tells of tools, texts and results


def _tool_names(tools: list[Json], group: str = "") -> Iterator[str]:
    for tool in tools:
        inner = tool.get("tools") or tool.get("functionDeclarations") or tool.get("function")
        if isinstance(inner, list):
            yield from _tool_names(inner, tool.get("name", ""))
        else:
            name = (inner or tool).get("name") or tool.get("type", "")
            yield f"{group}.{name}" if group else name


def _texts(content: Any) -> Iterator[str]:
    """The texts of a message's content, which is one, a part, or a list of parts."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _texts(part)
    elif isinstance(content, dict) and "parts" in content:
        yield from _texts(content["parts"])
    elif isinstance(content, dict) and content.get("type", "") in _SPOKEN and isinstance(content.get("text"), str):
        yield content["text"]


def _results(item: Json) -> Iterator[Result]:
    """The results of calls that an item of a conversation carries."""
    if item.get("role") == "tool":  # chat completions
        yield Result(item["tool_call_id"], "\n".join(_texts(item.get("content"))))
    elif item.get("type") in ("function_call_output", "custom_tool_call_output"):  # Responses
        yield Result(item["call_id"], "\n".join(_texts(item["output"])))
    for part in item.get("parts", item.get("content")) or ():
        if not isinstance(part, dict):
            continue
        if part.get("type") == "tool_result":  # Anthropic
            text = "\n".join(_texts(part.get("content")))
            yield Result(part["tool_use_id"], text, failed=bool(part.get("is_error")))
        elif answer := part.get("functionResponse"):  # Gemini
            given = answer["response"]
            text = given.get("output") or given.get("error") or json.dumps(given)
            yield Result(answer.get("id", ""), str(text), failed="error" in given)
