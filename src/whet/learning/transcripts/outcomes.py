"""How a tool call ended, told from what came back; clients wrap it in their own lines or in JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER = re.compile(
    r"(?:Command: [^\n]{0,4000}\n)?(?:Chunk ID: [^\n]{0,80}\n)?(?:Exit code: (-?\d{1,10})\n)?"
    r"(?:Wall time: [^\n]{0,80}\n)?"
    r"(?:Process exited with code (-?\d{1,10})\n|Process running with session ID [^\n]{0,40}\n)?"
    r"(?:Original token count: [^\n]{0,20}\n)?(?:Total output lines: [^\n]{0,20}\n)?Output:\n?"
)
"""The lines that Codex puts above the output of a command."""
_CODE = re.compile(
    r"(?:exit(?:ed with)? code|exit status|Command failed with exit code|exit_code)[:=]? (-?\d{1,10})\b", re.IGNORECASE
)
_LAST = re.compile(r"\n[\[(]?exit(?:ed with)? (?:code|status)[:=]? ?(-?\d{1,10})[\])]?\s*\Z", re.IGNORECASE)
"""The code below the output, where there is none above it."""
_FAILURE = re.compile(
    r"(?:Error|ERROR|error)(?::|\s-)|Traceback \(most recent call last\)|Command failed|<tool_use_error>|fatal: "
    r"|Error (?:response )?from (?:server|daemon)\b|[Aa]n error occurred[ :(]|error\[\w{1,12}\]: |npm (?:ERR!|error) "
    r"|E: |[A-Z]\w{1,60}(?:Error|Exception): |Exception in thread |make(?:\[\d{1,3}\])?: \*\*\* |curl: \(\d{1,3}\) "
    r"|ssh: (?:connect|Could not)|Unable to (?:connect|locate|resolve|open|read|access)\b|Permission denied\b"
    r"|(?:[\w./-]{1,80}: ){1,3}(?:No such file or directory|Permission denied|cannot |(?:invalid|unrecognized) option)"
    r"|(?:[\w./-]{1,80}: )?(?:line \d{1,6}: )?[\w./-]{1,80}: (?:command )?not found\b"
)
_JSON = 200_000
"""Characters of a result that is still looked into as JSON."""


class Outcome(NamedTuple):
    """What a tool call gave."""

    text: str
    failed: bool


def outcome(text: str, *, failed: bool | None = None) -> Outcome:
    """The output without its wrapping, and whether it is a failure; what the client says itself counts first."""
    value = _object(text)
    if value is not None:
        return _told(value, text, failed)
    code = None
    if found := _HEADER.match(text):
        text, code = text[found.end() :], found[1] or found[2]
    elif found := _CODE.match(text) or _LAST.search(text, max(0, len(text) - 80)):
        code = found[1]
    if failed is None:
        failed = code != "0" if code is not None else _FAILURE.match(text) is not None
    return Outcome(text, failed or code not in {None, "0"})


def _object(text: str) -> Mapping[str, Any] | None:
    if not text.startswith("{") or len(text) > _JSON:
        return None
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # output that only begins like JSON
        return None
    return value if isinstance(value, dict) else None


def _told(value: Mapping[str, Any], text: str, failed: bool | None) -> Outcome:
    """What a result in JSON says of itself: an exit code, an error, no success; its output alone where it has one."""
    metadata = value.get("metadata")
    code = value.get("exit_code", metadata.get("exit_code") if isinstance(metadata, dict) else None)
    error = value.get("error")
    if code is None:
        code = value.get("exitCode", value.get("returncode"))
    output = value.get("output", value.get("stdout"))
    if isinstance(output, str) and (
        code is not None or set(value) <= {"output", "stdout", "stderr", "error", "metadata"}
    ):
        extra = [part for part in (value.get("stderr"), error) if isinstance(part, str) and part]
        text = "\n".join(part for part in (output, *extra) if part)
    if failed is None:
        is_error = value.get("is_error") is True or value.get("success") is False or (bool(error) and code is None)
        failed = code not in {None, 0, "0"} if isinstance(code, int | str) else is_error
    return Outcome(text, failed)
