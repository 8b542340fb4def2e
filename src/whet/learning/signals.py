"""Whether a session was hard, judged without reading it and cheap enough for every event.

It only decides what is worth a closer look later. A session is hard if it took many tool calls, if something failed and
then worked, or if the user had to correct it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from whet.patterns import compile_late
from whet.records import NamedTuple

HARD_TOOLS = 5
"""Number of tool calls from which on a task may be worth repeating."""
GLANCE = 8 * 1024 * 1024
"""Bytes at the end of a transcript that are searched."""
_CALLS = compile_late(
    rb'"type"\s?:\s?"(?:tool_use|function_call|custom_tool_call|local_shell_call|tool\.execution_start)"'
    rb'|"toolCalls"\s?:\s?\[\{|"functionCall"\s?:\s?\{'
)
_FAILED = compile_late(
    rb'"is_error"\s?:\s?true|"isError"\s?:\s?true|"exit_code"\s?:\s?[1-9]|"exitCode"\s?:\s?[1-9]'
    rb'|"error"\s?:\s?\{"message"|"status"\s?:\s?"error"|\\nExit Code: [1-9]'
)
"""Patterns of tool calls and failures in the transcripts of Claude Code, Codex, Gemini CLI, Qwen and Copilot CLI.

Gemini CLI reports a call twice; the exact number does not matter.
"""
_LOOKED_AT = 200
"""Characters at the beginning of a message that may be a correction."""

_OPENINGS = (
    *("no", "nah", "nein", "nee", "nicht", "that", "this", "it", "still", "immer", "wrong", "incorrect", "falsch"),
    *("stimmt", "you", "i", "undo", "revert", "roll", "take", "try", "do", "stop", "das", "不", "错", "違", "ち", "아"),
)
"""Possible beginnings of a correction. The pattern is compiled only after one of these, because that is slow."""
_CORRECTIONS = compile_late(
    r"(?:no|nope|nah|nein|non|nee)\b(?!\s+(?:problem|worries|need|rush|hurry|questions?|idea|wonder|doubt)\b)"
    r"\s*[,.;:!…—–-]"
    r"|(?:no|nein)\s+(?:that|this|it|you|not|don't|das|nicht|so)\b"
    r"|(?:not|nicht)\s+(?:like that|what i|that one|right|quite|correct|so\b|das)"
    r"|(?:that|this|it)(?:'s| is| was)\s+(?:not|wrong|incorrect|still)\b"
    r"|(?:that|this|it)\s+(?:did|does|still|do)\s*(?:n't|n’t|not)?"
    r"\s*(?:work|help|fail|break|crash|look right|compile)"
    r"|(?:still|immer noch)\s+(?:not|fail|failing|broken|wrong|the same|nicht|falsch|kaputt)"
    r"|(?:wrong|incorrect|falsch|stimmt nicht)\b"
    r"|you\s+(?:forgot|missed|ignored|broke|misunderstood|should(?:n't| not| have)|were supposed)\b"
    r"|i\s+(?:said|meant|asked (?:you )?(?:for|to|not)|told you|did(?:n't| not) (?:ask|mean|want))\b"
    r"|(?:undo|revert|roll back|take back)\s+(?:that|this|it|your|the last)\b"
    r"|(?:try|do it)\s+again\b"
    r"|(?:stop|don't|do not)\s+(?:doing|do|use|using|touch|change|changing)\b"
    r"|(?:das ist|das war)\s+(?:falsch|nicht)\b"
    r"|(?:不对|不是|错了|違う|違います|ちがう|아니)",
    re.IGNORECASE,
)


class Counts(NamedTuple):
    """Counts of events in a session."""

    prompts: int = 0
    tools: int = 0
    errors: int = 0
    """Tool calls that failed."""
    recoveries: int = 0
    """Tool calls that worked right after one that failed."""
    corrections: int = 0


NOTHING = Counts()


def is_hard(counts: Counts) -> bool:
    """Return whether the session is worth a closer look when it is over.

    One recovery is enough, because the failure will recur; and one correction, because nobody wants to repeat it.
    """
    return counts.tools >= HARD_TOOLS or counts.recoveries > 0 or counts.corrections > 0


def glance(path: str) -> Counts:
    """Count tool calls and failures in a transcript without parsing it; zero if there is none.

    Clients report only some tools to hooks. If there are more calls than failures, one failure counts as recovered.
    """
    data = b""
    with suppress(OSError, ValueError):
        if os.path.isfile(path):  # a pipe would block
            with open(path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - GLANCE))
                data = file.read(GLANCE)
    tools, errors = len(_CALLS.findall(data)), len(_FAILED.findall(data))
    return Counts(tools=tools, errors=errors, recoveries=int(0 < errors < tools))


def corrects(message: str) -> bool:
    """Return whether the user corrects earlier work. Only the beginning of the message counts."""
    text = message.strip()[:_LOOKED_AT].replace("’", "'")
    return text.lower().startswith(_OPENINGS) and _CORRECTIONS.match(text) is not None
