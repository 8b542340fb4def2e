"""What somebody pasted into a message: tracebacks, logs, the output of a program. It tells of the case, not a wish.

Code in fences may be a pattern for the result; it is taken for that unless it looks like output, or the sentence above
it tells of trouble.
"""

from __future__ import annotations

import re

_TRACE = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|File \"[^\"\n]{1,300}\", line \d+"
    r"|at [\w.$<>/ ]{1,120}\([^()\n]{1,300}\)\s*\Z"
    r"|Caused by: |\.\.\. \d+ more\Z|goroutine \d+ \[|panic: |npm ERR! |E {3,}\S|thread '[^'\n]{1,60}' panicked"
    r"|[\w.]{0,120}\w(?:Error|Exception|Fault)\b(?:: |\s*\Z)"
    r"|\[?(?:ERROR|FATAL|CRITICAL|WARN(?:ING)?|INFO|DEBUG)\b[\]: |]"
    r"|\[?(?:19|20)\d\d[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[.,\]| ]|\w{3} [ \d]\d \d\d:\d\d:\d\d "
    r"|Process exited with |Segmentation fault|fatal: |error(?:\[E\d+\])?: "
    r"|\S{1,200}:\d+:\d+: (?:error|warning|note)\b)"
)
"""A line that a program printed."""
_BEGINS = re.compile(r"\s*(?:Traceback \(most recent call last\)|goroutine \d+ \[|Exception in thread )")
_INDENTED = re.compile(r"(?: {2,}|\t)\S")
_FENCE = re.compile(r"[ \t]{0,8}(`{3,}|~{3,})")
_TROUBLE = re.compile(
    r"(?i)\b(?:i(?:'m| am)? (?:get|getting|got|see|seeing|saw)|we (?:get|see|got)"
    r"|it (?:says|prints|said|shows|fails|crashes)"
    r"|errors?|fail(?:s|ed|ing|ure)?|crash\w*|exceptions?|tracebacks?|stack ?traces?|logs?|broken|bug|doesn't work"
    r"|does not work|not working|happens|warnings?)\b"
)


def without_pasted(text: str) -> str:
    """A message without what a program printed."""
    kept: list[str] = []
    block: list[str] = []
    fence, trace = "", False
    for line in text.replace("\r\n", "\n").split("\n"):
        opening = _FENCE.match(line)
        if fence:
            block.append(line)
            if opening and opening[1].startswith(fence) and not line.strip().strip(fence[0]):
                kept += [""] if _is_output(block, kept) else block
                fence = ""
            continue
        if opening:
            fence, block, trace = opening[1][:3], [line], False
        elif _TRACE.match(line):
            trace = trace or _BEGINS.match(line) is not None or _INDENTED.match(line) is not None
            kept.append("")
        elif not (trace and _INDENTED.match(line)):
            trace = False
            kept.append(line)
    kept += [] if not fence or _is_output(block, kept) else block
    return "\n".join(kept).strip()


def _is_output(block: list[str], before: list[str]) -> bool:
    """Is a block what a program printed, by its lines or by the sentence above it?"""
    above = next((line for line in reversed(before) if line.strip()), "")
    return any(_TRACE.match(line) for line in block[1:]) or _TROUBLE.search(re.split(r"[.!?]\s", above)[-1]) is not None
