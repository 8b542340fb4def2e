"""The standard streams of `whet mcp`: one client, which is answered from its first line on.

    streams = open_streams(arguments, env)     # None: this command line is not a plain server on these streams
    if streams and not streams.wait():         # until a library is needed
        return                                 # the client has gone
    streams.answer_lists(answer)               # until the client is quiet
    streams.hand_over()

The official SDK serves the client; but loading it takes longer than some clients wait for tools. So the first requests
are answered here, by a thread that reads lines from the start: `initialize`, `ping`, `tools/list` and the templates of
resources without a library, `prompts/list` and `resources/list` without the SDK. Only requests in the plainest form are
answered here. Every other line waits for the SDK in the order of arrival, and so do lines that the SDK needs: the
notifications, and `initialize`, whose second answer is dropped.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # it has no stubs; `signal` takes longer to import
import json
import os
import sys
import threading
from _queue import SimpleQueue
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from whet.interfaces.mcp.handshake import TEMPLATES, initialize_result, list_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from whet.api.tool_definitions import Writes
    from whet.values import Json

OPTIONS: dict[str, Writes] = {"--allow-writes": "allow", "--read-only": "none"}
"""The options that do not delay the greeting; any other is parsed first."""
_QUIET = 0.3
"""Seconds without a line after which the SDK is loaded, so that a later request need not wait for it."""
_LONGEST = 65_536
"""Longest line in bytes that is parsed here."""
_LISTS = ("prompts/list", "resources/list")
_MODERN = "io.modelcontextprotocol/"
"""The beginning of field names in a request without a handshake."""


def open_streams(arguments: Sequence[str], env: Mapping[str, str]) -> Streams | None:
    """Return the client of this command line, and start answering its first requests."""
    words = arguments[1:]
    if len(words) > 1 or not OPTIONS.keys() >= {*words} or os.isatty(0) or not is_installed():
        return None
    return Streams(OPTIONS[words[0]] if words else "propose", env)


def is_installed() -> bool:
    """Return whether the SDK is installed."""
    return sys.modules.get("mcp", True) is not None and PathFinder.find_spec("mcp") is not None


class Streams:
    """The client on the standard streams. The SDK reads lines from it and writes to it like a file."""

    def __init__(self, writes: Writes, env: Mapping[str, str], *, runs: bool = False) -> None:
        self.client = ""
        """The name it gives itself; "" unless it was greeted here."""
        self._writes: Writes = writes
        self._runs = runs
        self._env = env
        self._lines: SimpleQueue[str] = SimpleQueue()
        """Lines for the SDK."""
        self._changed = threading.Condition()
        self._lists: list[Json] | None = []
        """Unanswered requests for lists; None once these go to the SDK, too."""
        self._greeted = self._asked = self._ended = self._loaded = False
        """Whether the client was greeted here, needs the SDK, or has disconnected; and whether the SDK has taken over.
        """
        self._answered: Any = None
        """The id of the `initialize` that was answered here and that the SDK has not answered yet."""
        self._sending = threading.Lock()
        _leave_at_once()
        self._reading, self._writing = _claim()
        threading.Thread(target=self._read, name="whet-mcp-lines", daemon=True).start()

    # the reading thread

    def _read(self) -> None:
        try:
            while line := self._reading.readline():
                self._take(line)
        except OSError:
            pass  # the client no longer reads
        finally:
            self._lines.put("")
            with self._changed:
                self._ended = True
                self._changed.notify()

    def _take(self, line: bytes) -> None:
        """Answer a line, or leave it to the SDK."""
        message = None if self._loaded else _read_message(line)
        if message is not None and self._answer(message):
            return
        known = _read_client(message) if message and not (self._greeted or self._asked) else None
        if message is not None and known is not None:
            self._greet(message["id"], known)
            line = json.dumps({**message, "params": known}).encode()
        elif message is None or "id" in message:
            with self._changed:
                self._asked = True
                self._changed.notify()
        self._lines.put(line.decode("utf-8", "replace"))

    def _greet(self, number: Any, known: Json) -> None:
        """Answer `initialize`."""
        from whet.api.tool_definitions import definitions, search_hint
        from whet.interfaces.mcp.introduction import Introduction

        name, tools = known["clientInfo"]["name"], [tool.name for tool in definitions(self._writes, runs=self._runs)]
        told = Introduction(self._env, name, self._writes).recall() or search_hint(tools)
        self._greeted, self.client, self._answered = True, name, number
        self.answer(number, initialize_result(known["protocolVersion"], told))

    def _answer(self, message: Json) -> bool:
        """Answer a plain request, or queue a request for a list; return False if it is for the SDK."""
        if not self._greeted or "id" not in message or not _is_plain(message.get("params")):
            return False
        number, method = message["id"], message["method"]
        if method == "ping":
            self.answer(number, {})
        elif method == "tools/list":
            self.answer(number, list_tools(self._writes, runs=self._runs))
        elif method == "resources/templates/list":
            self.answer(number, TEMPLATES)
        else:
            with self._changed:
                if method not in _LISTS or self._lists is None:
                    return False
                self._lists.append(message)
                self._changed.notify()
        return True

    def answer(self, number: Any, result: Json) -> None:
        """Send the result of a request."""
        message = {"jsonrpc": "2.0", "id": number, "result": result}
        self._send(json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n")
        with self._changed:
            self._changed.notify()

    def _send(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        with self._sending:
            while data:
                data = data[os.write(self._writing, data) :]

    # the waiting command

    def wait(self) -> bool:
        """Wait until a library is needed, or the client is quiet. Return False if it is gone and nothing is left."""
        with self._changed:
            while not (self._lists or self._asked or self._ended):
                if not self._changed.wait(_QUIET if self._greeted else None):
                    break
            return bool(self._lists) or self._asked or not self._ended

    def answer_lists(self, answer: Callable[[str], Json]) -> None:
        """Answer requests for lists, by their methods, until the client asks for something else or is quiet."""
        while True:
            self.wait()
            with self._changed:
                lists, self._lists = self._lists, []
                if not lists:
                    self._lists = None
                    return
            for request in lists:
                try:
                    result = answer(request["method"])
                except Exception:  # noqa: BLE001  the server tries again, and says what is wrong
                    self._lines.put(json.dumps(request))
                else:
                    self.answer(request["id"], result)

    # the SDK

    def hand_over(self) -> None:
        """Leave everything to the SDK from now on."""
        self._loaded = True

    def readline(self) -> str:
        """Return the next line; "" at the end."""
        return self._lines.get()

    def write(self, text: str) -> None:
        """Send the SDK's output, except an answer that the client already has."""
        if self._answered is not None:
            message = json.loads(text)
            if "method" not in message and message.get("id") == self._answered:
                self._answered = None
                return
        self._send(text)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""


def _leave_at_once() -> None:
    """Exit at the first signal: a thread that waits for the client's next line would delay it.

    Nothing is lost; the next process settles interrupted writes.
    """
    for name in ("SIGINT", "SIGTERM"):
        _signal.signal(getattr(_signal, name), lambda *_: os._exit(0))


def _claim() -> tuple[BinaryIO, int]:
    """Return the client's streams. From now on, others read nothing from stdin, and prints go to stderr."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return open(reading, "rb"), writing


def _read_message(line: bytes) -> Json | None:
    """Parse a request or notification; None for anything else, and for a line that is too long."""
    if len(line) > _LONGEST:
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return None
    return message if type(message.get("id", 0)) in (int, str) else None


def _is_plain(params: Any) -> bool:
    """Return whether a request asks for a list from its start, without fields that only the SDK knows."""
    if params is None:
        return True
    if not isinstance(params, dict) or not {"cursor", "_meta"}.issuperset(params) or params.get("cursor") is not None:
        return False
    about = params.get("_meta", {})
    if not isinstance(about, dict) or any(name.startswith(_MODERN) for name in about):
        return False
    return type(about.get("progressToken", 0)) in (int, str)


def _read_client(message: Json) -> Json | None:
    """Return the client's part of `initialize` that the server uses; None for any other message.

    The SDK gets no more than this, so that it accepts the same requests.
    """
    params = message.get("params")
    if message["method"] != "initialize" or "id" not in message or not isinstance(params, dict):
        return None
    version, given, info = (params.get(name) for name in ("protocolVersion", "capabilities", "clientInfo"))
    if not isinstance(version, str) or not isinstance(given, dict) or not isinstance(info, dict):
        return None
    about = {name: info[name] for name in ("name", "version") if isinstance(info.get(name), str)}
    capabilities: Json = {}
    if isinstance(roots := given.get("roots"), dict):
        capabilities["roots"] = {"listChanged": roots.get("listChanged") is True}
    if isinstance(forms := given.get("elicitation"), dict):
        capabilities["elicitation"] = {name: {} for name in ("form", "url") if isinstance(forms.get(name), dict)}
    known = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": about}
    return known if len(about) == len(("name", "version")) else None
