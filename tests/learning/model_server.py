"""A server on this machine that speaks as the APIs of OpenAI (chat completions) and Anthropic (messages) do, or badly.

    with serving(OPENAI.says("Hello."), status(500)) as server:
        ...

Each request gets the next answer, the last one is repeated. What was asked is in `server.requests`.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Asked(NamedTuple):
    """One request that came."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]


class Answer(NamedTuple):
    """What is sent back."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    kind: str = "application/json"
    missing: int = 0
    """Bytes that are promised and not sent."""
    mute: bool = False
    """Nothing is sent until the server closes."""
    echo: bool = False
    """The key is sent back, as careless proxies do."""


def status(code: int, message: str = "no", *, headers: Mapping[str, str] | None = None, kind: str = "") -> Answer:
    body = {"type": "error", "error": {"type": kind or "error", "message": message, "code": kind or None}}
    return Answer(json.dumps(body).encode(), code, headers or {})


class OpenAI:
    """The wire format of chat completions."""

    path = "/v1/chat/completions"

    def says(self, text: str | None, *, finish: str = "stop", refusal: str | None = None, calls: Any = ()) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
        if calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in calls
            ]
            finish = "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        kind = {"id": "c1", "object": "chat.completion", "created": 1_700_000_000, "model": "tiny-1"}
        return Answer(json.dumps({**kind, "choices": [choice], "usage": usage}).encode())

    def refuses(self, text: str) -> Answer:
        return self.says(None, refusal=text)

    def cut(self, text: str) -> Answer:
        return self.says(text, finish="length")

    def too_long(self, text: str) -> Answer:
        return status(400, text, kind="context_length_exceeded")

    def way(self, asked: Asked) -> str:
        if "response_format" in asked.body:
            return "native"
        names = [tool["function"]["name"] for tool in asked.body.get("tools", [])]
        return "tool" if "answer" in names else "text"

    def said(self, asked: Asked) -> list[tuple[str, str]]:
        """Who said what."""
        return [(message["role"], message.get("content") or "") for message in asked.body["messages"]]


class Anthropic:
    """The wire format of messages."""

    path = "/v1/messages"

    def says(self, text: str | None, *, finish: str = "end_turn", calls: Any = ()) -> Answer:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for call_id, name, arguments in calls:
            content.append({"type": "tool_use", "id": call_id, "name": name, "input": json.loads(arguments)})
            finish = "tool_use"
        kind = {"id": "m1", "type": "message", "role": "assistant", "model": "tiny-1", "stop_reason": finish}
        usage = {"input_tokens": 11, "output_tokens": 7}
        return Answer(json.dumps({**kind, "content": content, "stop_sequence": None, "usage": usage}).encode())

    def refuses(self, text: str) -> Answer:
        return self.says(text, finish="refusal")

    def cut(self, text: str) -> Answer:
        return self.says(text, finish="max_tokens")

    def too_long(self, text: str) -> Answer:
        return status(400, text, kind="invalid_request_error")

    def way(self, asked: Asked) -> str:
        if "output_config" in asked.body or "output_format" in asked.body:
            return "native"
        return "tool" if "answer" in [tool["name"] for tool in asked.body.get("tools", [])] else "text"

    def said(self, asked: Asked) -> list[tuple[str, str]]:
        def text(content: Any) -> str:
            return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)

        system = asked.body.get("system")
        first = [("system", text(system))] if system else []
        return first + [(message["role"], text(message["content"])) for message in asked.body["messages"]]


class Google:
    """The wire format of Gemini."""

    def says(self, text: str, *, calls: Any = ()) -> Answer:
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        parts += [{"functionCall": {"id": id_, "name": name, "args": json.loads(given)}} for id_, name, given in calls]
        candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
        told = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "tiny-1", "responseId": "r1"}
        return Answer(json.dumps(told).encode())


OPENAI, ANTHROPIC, GOOGLE = OpenAI(), Anthropic(), Google()


class Server:
    """What tests see of a running server."""

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        self.url = ""
        self.requests: list[Asked] = []
        self.answers = answers
        self.closing = threading.Event()

    def next(self, asked: Asked) -> Answer:
        self.requests.append(asked)
        return self.answers[min(len(self.requests), len(self.answers)) - 1]


@contextlib.contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    """A server on the loopback that gives these answers."""
    server = Server(answers)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = server.next(Asked(self.path, headers, body))
            if answer.mute:
                server.closing.wait(20)
                return
            keys = f"{headers.get('authorization')} {headers.get('x-api-key')}"
            content = json.dumps({"error": {"message": keys}}).encode() if answer.echo else answer.body
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(content) + answer.missing))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            if answer.missing:
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

        def log_message(self, *_: Any) -> None:
            return

        def finish(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                super().finish()

    class Quiet(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            return

    with Quiet(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.url = f"http://127.0.0.1:{web.server_address[1]}"
        try:
            yield server
        finally:
            server.closing.set()
            web.shutdown()
            thread.join()
