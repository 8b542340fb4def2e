"""The tools for a model: their definitions and the answers to calls, for one conversation.

    tools = Library.open().tools()
    reply = client.chat.completions.create(model=model, messages=messages, tools=tools.openai()).choices[0].message
    messages += [reply, *tools.answer(reply)]

Six tools are enough for a model to find, read, use and improve skills, and to distill what was worked out into a skill.
Every surface that a model works through (MCP, function calling, the adapters of agent libraries) has exactly these,
with these words. Whatever a model sends, the answer is a JSON value: an error is an answer like any other, with a hint
for the next attempt. No answer is longer than `MAX_ANSWER` characters of JSON; longer texts come in pages. If an answer
still has to be cut, the requested content is cut last, and the answer names what was cut.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from whet.api.tool_definitions import FOUND, LISTED, RUN, definitions, search_hint, usage
from whet.errors import FailedError, UsageError, WhetError
from whet.skill.schema import find_problems
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from whet.api.learning import OutcomeNoted
    from whet.api.session import Session
    from whet.api.tool_definitions import Tool, Writes
    from whet.authoring.results import Changes
    from whet.routing.feedback import Noted
    from whet.runtime.runs import RunResult

LIST_ROOM = 50_000
"""Largest page of the list in characters; the cursor leads to the rest."""
_MOST_FILES = 400
_MOST_CATEGORIES = 100
_MOST_NOTES = 20
_FILES_ROOM, _NOTES_ROOM = 40_000, 10_000
"""Characters for the names of files, and for the diagnostics, in a view."""
_DESCRIPTION = 1_024
_CATEGORY = 200
"""Longest description in a list, in characters: of a skill, and of a category."""
_OFFER = "Skills that may fit this message; load one with skill_view(name) before you act on it:"
_UNFORESEEN = "Try again with other arguments; `whet doctor` checks the library for problems."
_MOST_DIGITS = 10
_ORDER = {"additionalProperties": 0, "required": 2}
"""Order in which problems of the arguments are reported: an unknown one, a wrong value, a missing one."""
_KINDS = {
    "string": "text",
    "boolean": "true or false",
    "integer": "a number of at least {}",
    "array": "a list",
    "object": "an object",
}


class Tools:
    """The tools of one conversation. They may be called from several threads."""

    def __init__(
        self,
        session: Session,
        *,
        writes: Writes = "allow",
        only: Collection[str] | None = None,
        run: Callable[[str, str], RunResult] | None = None,
    ) -> None:
        """`run` runs a skill, given its name and its task; without it, the tool for running skills is missing."""
        if writes not in ("allow", "propose", "none"):
            raise UsageError("bad-writes", f"writes is {writes!r}.", hint="Use allow, propose or none.")
        self.session = session
        self.writes = writes
        self.runs = run is not None
        self._one_at_a_time = threading.Lock()
        answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "skills_list": self._list,
            "skill_view": self._view,
            "skills_search": self._search,
            "skill_manage": self._manage,
            "skill_feedback": self._feedback,
            "skill_distill": self._distill,
        }
        if run is not None:
            answers[RUN] = lambda given: run(given["name"], given.get("arguments", ""))
        if writes == "none":
            del answers["skill_manage"], answers["skill_distill"]
        if only is not None:
            if strange := sorted(set(only) - set(answers)):
                hint = f"There are {', '.join(answers)}."
                raise UsageError("no-such-tool", f"There is no tool {', '.join(strange)}.", hint=hint)
            answers = {name: answer for name, answer in answers.items() if name in only}
        self._answers = answers
        self._defined = {tool.name: tool for tool in definitions(writes, runs=self.runs) if tool.name in answers}

    # definitions

    def definitions(self) -> tuple[Tool, ...]:
        """Return the definitions for the model, in the order in which it needs them."""
        return tuple(self._defined.values())

    def openai(self, *, responses: bool = False) -> list[dict[str, Any]]:
        """Return the definitions in the form of OpenAI's chat completions, or of its `responses`."""
        told = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.definitions()
        ]
        return [{"type": "function", **tool} if responses else {"type": "function", "function": tool} for tool in told]

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the definitions in the form of Anthropic's messages."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in self.definitions()
        ]

    def instructions(self, budget: int | None = None) -> str:
        """Return the part of a system prompt that goes with the tools: the list of skills, and how to use them."""
        text = str(self.session.index(budget, rules="skill_view" in self._answers))
        return "\n\n".join(part for part in (text.rstrip(), usage(self._answers)) if part)

    def introduction(self, budget: int) -> str:
        """Return a shorter text for a client that waits to start: for a large library, it names no skills."""
        if not self.session.workspace.is_large():
            return self.instructions(budget)
        return search_hint(self._answers, "There are too many skills to list here.")

    def offer(self, message: str, *, again: bool = False) -> str:
        """Return the few skills that fit a message of the user, as text to put next to it; empty if none fits.

        It leaves out skills that are active, or that it offered since the last compaction; with `again`, it offers the
        latter.
        """
        if not message.strip():
            return ""
        with self._one_at_a_time:
            text = self.session.offer(message, again=again).text
        return f"{_OFFER}\n{text.rstrip()}" if text else ""

    # calls

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> dict[str, Any]:
        """Call a tool and return its answer; it never raises. Arguments are an object, or JSON text."""
        try:
            return bounded(self._answered(name, arguments))
        except WhetError as error:
            error.hint = error.hint.replace("`whet list`", "skills_list")
            return bounded(error.to_json())
        except Exception as error:  # noqa: BLE001  whatever happens, a model's turn goes on; nothing is swallowed
            told = f"{name} failed: {type(error).__name__}: {_shown(error)}"
            return bounded(FailedError("tool-failed", told, hint=_UNFORESEEN).to_json())

    def _answered(self, name: Any, arguments: Any) -> dict[str, Any]:
        if not isinstance(name, str) or name not in self._answers:
            hint = f"The tools are {', '.join(self._answers)}."
            raise UsageError("no-such-tool", f"There is no tool {_shown(name)}.", hint=hint)
        given = _object(arguments)
        if name != "skill_manage":  # it checks its own arguments, with better messages
            given = _read_arguments(given, self._defined[name].parameters)
        answer: dict[str, Any] = as_json(self._answers[name](given))
        return answer

    async def acall(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> dict[str, Any]:
        """Do the same as `call` without blocking an event loop."""
        import asyncio

        return await asyncio.to_thread(self.call, name, arguments)

    async def aanswer(self, message: Any) -> list[dict[str, Any]]:
        """Do the same as `answer` without blocking an event loop."""
        import asyncio

        return await asyncio.to_thread(self.answer, message)

    def answer(self, message: Any) -> list[dict[str, Any]]:
        """Return the messages that answer a model's message, for any provider; empty when it calls none of these tools.

        `message` is what OpenAI's chat completions or responses, or Anthropic's messages returned, as an object of
        their libraries or as plain JSON. Calls of other tools are left to the caller.
        """
        answers: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for shape, call_id, name, arguments in _calls(message):
            if not isinstance(name, str) or name not in self._answers:
                continue
            answer = self.call(name, arguments)
            text = json.dumps(answer, ensure_ascii=False)
            if shape == "anthropic":
                failed = {} if answer["success"] else {"is_error": True}
                results.append({"type": "tool_result", "tool_use_id": call_id, "content": text, **failed})
            elif shape == "responses":
                answers.append({"type": "function_call_output", "call_id": call_id, "output": text})
            else:
                answers.append({"role": "tool", "tool_call_id": call_id, "content": text})
        return [*answers, {"role": "user", "content": results}] if results else answers

    def invoke(self, line: str) -> dict[str, Any]:
        """Return what a typed line asks for, as `Session.invoke` returns it, with no command reserved for the client.

        Skills that run in a separate agent run only if there is a tool for that.
        """
        with self._one_at_a_time:
            return self.session.invoke(line, reserved=(), runs=self.runs).to_json()

    # the six tools

    def _list(self, given: dict[str, Any]) -> dict[str, Any]:
        answer = self._listed(given, given.get("limit", LISTED))
        room = max(1, fitting(answer["skills"], LIST_ROOM))
        if room < len(answer["skills"]):
            answer = self._listed(given, room)
        answer.pop("missing_roots", None)
        if (left := len(answer["categories"]) - _MOST_CATEGORIES) > 0:
            answer |= {"categories": answer["categories"][:_MOST_CATEGORIES], "more_categories": left}
        return answer

    def _listed(self, given: dict[str, Any], limit: int) -> dict[str, Any]:
        skills = self.session.skills(given.get("category"), given.get("query"), limit, given.get("cursor"))
        answer = skills.to_json()
        for skill in answer["skills"]:
            skill["description"] = skill["description"][:_DESCRIPTION]
        for category in answer["categories"]:
            category["description"] = category["description"][:_CATEGORY]
        return answer

    def _view(self, given: dict[str, Any]) -> dict[str, Any]:
        with self._one_at_a_time:
            answer = self.session.view(given["name"], given.get("file_path"), given.get("page", 1)).to_json()
        for key, most, room in (("files", _MOST_FILES, _FILES_ROOM), ("diagnostics", _MOST_NOTES, _NOTES_ROOM)):
            items = answer.get(key, [])
            shown = items[: fitting(items[:most], room)]
            if left := len(items) - len(shown):
                answer |= {key: shown, f"more_{key}": left}
        return answer

    def _search(self, given: dict[str, Any]) -> dict[str, Any]:
        answer = self.session.find(given["message"], given.get("limit", FOUND)).to_json()
        for row in answer["results"]:
            row["description"] = row["description"][:_DESCRIPTION]
        return answer

    def _manage(self, given: dict[str, Any]) -> Changes:
        with self._one_at_a_time:
            return self.session.manage(given, stage=self.writes == "propose")

    def _feedback(self, given: dict[str, Any]) -> OutcomeNoted | Noted:
        name, outcome, message, fits = (given.get(key) for key in ("name", "outcome", "message", "fits"))
        if name is not None:
            self.session.allow(self.session.workspace.find(name)[0])
        if outcome is not None and name is not None:
            told = self.session.learning.note_outcome(name, outcome)
            if message is None:
                return told
        elif outcome is not None or message is None:
            hint = "Pass name and outcome, or message and fits, or all of them."
            raise UsageError("bad-arguments", "The feedback does not say what it is about.", hint=hint)
        if fits is None and outcome != "helped":  # a skill that failed may still have been the right one
            if outcome is not None:
                return told
            hint = "Set fits to say whether the message is for that skill."
            raise UsageError("bad-arguments", "fits is missing.", hint=hint)
        return self.session.learning.feedback(name, message or "", fits=fits is not False, origin="agent")

    def _distill(self, given: dict[str, Any]) -> dict[str, Any]:
        from whet.api.distill_tool import distill

        return distill(self.session, given, stage=self.writes == "propose")


def _object(arguments: Any) -> dict[str, Any]:
    """Return the arguments as an object, from an object or from JSON text."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            hint = 'Pass one JSON object, such as {"name": "..."}.'
            raise UsageError("bad-arguments", "The arguments are not JSON.", hint=hint) from error
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        from collections.abc import Mapping

        if isinstance(arguments, Mapping):
            return dict(arguments)
        hint = 'Pass one JSON object, such as {"name": "..."}.'
        raise UsageError("bad-arguments", f"The arguments must be an object, not {_shown(arguments)}.", hint=hint)
    return arguments


def _read_arguments(given: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool with the right types, without unknown ones and without nulls.

    Numbers, truth values, lists and objects may be written as text, which small models do. The tool itself checks the
    contents of lists and objects.
    """
    properties = schema["properties"]
    read = {
        key: _convert(value, properties.get(key, {}))
        for key, value in given.items()
        if value is not None or key not in properties
    }
    problems = (each for each in find_problems(read, schema) if len(each.path) == 1 and each.keyword != "string")
    problem = min(problems, key=lambda each: _ORDER.get(each.keyword, 1), default=None)
    if problem is None:
        return read
    key = str(problem.path[0])
    if problem.keyword == "additionalProperties":
        message, hint = f"There is no argument {key!r:.80}.", f"Arguments are {', '.join(properties)}."
    elif problem.keyword == "required":
        message, hint = f"{key} is missing.", properties[key]["description"]
    else:
        kind, hint = properties[key], properties[key]["description"]
        wanted = " or ".join(kind.get("enum", ())) or _KINDS[kind["type"]].format(kind.get("minimum"))
        message = f"{key} is {_shown(read[key])}, not {wanted}."
    raise UsageError("bad-arguments", message, hint=hint)


def _convert(value: Any, schema: dict[str, Any]) -> Any:
    """Convert a value to the type that the schema wants, if possible; a number is limited to the maximum."""
    wanted = schema.get("type")
    if wanted == "integer":
        digits = isinstance(value, str) and value.strip().isdecimal() and len(value) < _MOST_DIGITS
        if digits or (isinstance(value, float) and value.is_integer()):
            value = int(value)
        return min(value, schema.get("maximum", 10**_MOST_DIGITS)) if type(value) is int else value
    if wanted == "boolean" and value in ("true", "false"):
        return value == "true"
    if wanted in ("array", "object") and isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _calls(message: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the tool calls of a message: API shape, id, name, arguments."""
    for call in _part(message, "tool_calls") or ():
        function = _part(call, "function")
        if function is not None:
            yield "chat", _part(call, "id"), _part(function, "name"), _part(function, "arguments")
    items = _part(message, "output")
    for item in items if isinstance(items, list) else ():
        if _part(item, "type") == "function_call":
            yield "responses", _part(item, "call_id"), _part(item, "name"), _part(item, "arguments")
    blocks = _part(message, "content")
    for block in blocks if isinstance(blocks, list) else ():
        if _part(block, "type") == "tool_use":
            yield "anthropic", _part(block, "id"), _part(block, "name"), _part(block, "input")


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _shown(value: Any) -> str:
    """Format a value for a sentence; some values are too deep or too large to be written at all."""
    try:
        return str(value)[:200] if isinstance(value, Exception) else f"{value!r:.60}"
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"


MAX_ANSWER = 200_000
"""Longest answer, in characters of JSON."""
_BESIDE = 10_000
"""Characters that each field except the content may keep in an answer that is too long."""
_SHORT = 2_000
"""Characters that each field may keep if that is not enough."""
_TOLD = 1_000
"""Characters reserved for the note about what was cut."""
_MOST_NAMED = 20


def bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer as valid JSON, cut to `MAX_ANSWER` characters; the answer names what was cut."""
    answer = _carried(answer)
    if length(answer) <= MAX_ANSWER:
        return answer
    kept = {key: value if key == "content" else shortened(value, _BESIDE) for key, value in answer.items()}
    hint = "The answer is too long to show in full; ask for less."
    if isinstance(content := kept.get("content"), str):
        beside = length({**kept, "content": ""})
        kept["content"] = shortened(content, max(2, MAX_ANSWER - _TOLD - beside))
        if left := len(content) - len(kept["content"]):
            hint = f"The last {left:,} characters of this page are not shown; read them from the skill's path."
    if length(kept) > MAX_ANSWER - _TOLD:
        kept = {key: value for key, value in kept.items() if length(value) <= _SHORT}
        kept = dict(islice(kept.items(), (MAX_ANSWER - _TOLD) // (2 * _SHORT)))
    cut = [key[:_MOST_NAMED] for key in answer if kept.get(key) != answer[key]]
    return {**kept, "cut": cut[:_MOST_NAMED], "hint": hint}


def length(value: Any) -> int:
    """Return the length of a value as JSON, in characters."""
    return len(json.dumps(value, ensure_ascii=False))


def fitting(items: list[Any], room: int) -> int:
    """Return how many of these items fit into `room` characters of JSON."""
    taken = 0
    for count, item in enumerate(items):
        taken += length(item) + 2
        if taken > room:
            return count
    return len(items)


def shortened(value: Any, room: int) -> Any:
    """Return the beginning of a value, as much as fits into `room` characters of JSON."""
    if length(value) <= room:
        return value
    if isinstance(value, str):
        low, high = 0, len(value)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if length(value[:middle]) <= room else (low, middle - 1)
        return value[:low]
    if isinstance(value, dict):
        return dict(islice(value.items(), fitting([list(pair) for pair in value.items()], room - 2)))
    return list(value[: fitting(list(value), room - 2)]) if isinstance(value, (list, tuple)) else None


def _carried(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with lone surrogates, which cannot be encoded, replaced by question marks."""
    text = json.dumps(answer, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        carried: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
        return carried
    return answer
