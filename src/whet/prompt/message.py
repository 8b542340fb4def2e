"""The message that puts skills into a conversation, and the way back from it to the user's own words.

    The user asked for the skill deploy. ...

    <skill_content name="deploy" digest="sha256:...">
    the rendered body
    [Skill directory: ...]  [Files: ...]  [Setup needed: ...]  [Settings: ...]  [Note: ...]
    </skill_content>

    <user_request>
    what the user typed
    </user_request>

A harness finds a skill again by its tag, and the user's words by theirs. Only the user's text may contain these tags: a
skill can neither end its own block nor imitate the user. The user's text is unchanged. If a skill does not fit, an
excerpt of its body by one of `STRATEGIES` replaces it.
"""

from __future__ import annotations

import re

from whet.patterns import compile_late
from whet.prompt.formats import clean, neutral
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from whet.library.card import Card
    from whet.notes import Note
    from whet.prompt.tokens import Counter
    from whet.skill.model import Skill

MAX_BODY = 100_000
"""Longest body in a message, in characters; the rest comes page by page."""
_MOST_FILES = 50
_MOST_REMARKS = 4_000
_LONGEST_NAME = 64
_LONGEST_VALUE = 200
_PLAIN_NAME = compile_late(r"[\w:.-]{1,64}", re.ASCII)

ASKED = "The user asked for the "
"""The beginning of every message that puts skills into a conversation."""
_BEGINNING = compile_late(rf'^(?:{ASKED}(?:skills?|bundles?) |<skill_content name="|<skill_reference>)', re.MULTILINE)
_OPEN, _CLOSE = "<user_request>\n", "\n</user_request>"


class Part(NamedTuple):
    """One skill, ready for a message."""

    card: Card
    skill: Skill
    digest: str
    body: str
    """The rendered body."""
    notes: tuple[Note, ...]
    allowed_tools: tuple[str, ...]
    """Its tools, with the variables for directories replaced."""
    settings: tuple[str, ...]
    """`key = value` of each setting the skill declares."""
    remarks: tuple[str, ...]
    """Remarks below the body: directory, files, setup, settings."""


class Block(NamedTuple):
    """One skill in a message."""

    part: Part
    strategy: str
    """One of `STRATEGIES`, `loaded` (already in the conversation), `report` (of a separate run) or `omitted`."""
    text: str
    tokens: int


def spoken(name: str) -> str:
    """Return a name for our own sentences: a skill must not speak in our voice through its name."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    short = clean(name).replace('"', "'")
    return f'"{neutral(short[:_LONGEST_NAME])}{"…" if len(short) > _LONGEST_NAME else ""}"'


def tagged(name: str, digest: str, text: str, status: str = "") -> str:
    """Return a skill's text between tags that only we can write."""
    label = name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    extra = f' status="{status}"' if status else ""
    return f'<skill_content name="{label}" digest="{digest}"{extra}>\n{neutral(text)}\n</skill_content>'


def block(part: Part, strategy: str) -> str:
    """Return a skill with its tags. A description alone comes without remarks: the skill is not loaded yet."""
    body = excerpt(part.body, part.skill.description, strategy).strip("\n")
    name = part.card.full_name
    if len(body) > MAX_BODY:
        body = f"{body[:MAX_BODY]}\n[The rest: skill_view({name!r}, page=2).]"
    rows = [body, "", *(part.remarks if strategy != "description" else ())]
    if strategy != "full":
        rows.append(f"[This is only the {strategy.replace('+', ' and ')}. The whole skill: skill_view({name!r}).]")
    return tagged(name, part.digest, "\n".join(rows).strip("\n"))


def already_loaded(part: Part) -> str:
    """Return the stub for a skill that is in the conversation, unchanged."""
    name = part.card.full_name
    text = f"[{spoken(name)} is already loaded above and has not changed. Follow it for this request.]"
    return tagged(name, part.digest, text, "loaded")


def ladder(part: Part, count: Counter) -> dict[str, tuple[str, int]]:
    """Return the skill by each strategy with its tokens; a strategy that saves nothing repeats the previous one."""
    steps: dict[str, tuple[str, int]] = {}
    for strategy in STRATEGIES:
        text = block(part, strategy)
        steps[strategy] = min((*steps.values(), (text, count(text))), key=lambda step: step[1])
    return steps


def fit(parts: Sequence[Part], budget: int | None, count: Counter, strategy: str = "full") -> list[Block]:
    """Fit the parts into a token budget, most relevant first: by the strategy, or lowered step by step.

    Every step goes from the least relevant to the most relevant skill; a skill whose description does not fit is
    omitted. Remaining room raises the most relevant ones again.
    """
    steps = [[*ladder(part, count).values(), ("", 0)] for part in parts]
    first = STRATEGIES.index(strategy)
    chosen = [first] * len(parts)

    def total() -> int:
        return sum(step[at][1] for step, at in zip(steps, chosen, strict=True))

    if budget is not None:
        for step in range(first + 1, len(STRATEGIES) + 1):
            for at in reversed(range(len(parts))):
                if total() > budget:
                    chosen[at] = step
        for at, own in enumerate(steps):
            room = budget - total() + own[chosen[at]][1]
            chosen[at] = next(number for number, (_, tokens) in enumerate(own) if tokens <= room and number >= first)
    names = (*STRATEGIES, "omitted")
    return [Block(part, names[at], *own[at]) for part, own, at in zip(parts, steps, chosen, strict=True)]


def compose(head: Sequence[str], blocks: Sequence[str], request: str) -> str:
    """Return the whole message."""
    parts = ["\n".join(map(neutral, head)), *blocks]
    if request:
        parts.append(f"{_OPEN}{request}{_CLOSE}")
    return "\n\n".join(filter(None, parts))


def recover(message: str) -> str | None:
    """Return the user's own words in a message that Whet made; None for any other message, "" if there are none."""
    began = _BEGINNING.search(message)
    if began is None:
        return None
    _, opened, rest = message[began.start() :].partition(f"\n{_OPEN}")
    return rest[: rest.rfind(_CLOSE)] if opened and _CLOSE in rest else ""


def setting_lines(skill: Skill, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of the settings that a skill declares; a blank one has its default."""
    lines = []
    for setting in skill.gates.settings:
        value = values.get(setting.key)
        value = setting.default if value is None or value == "" else value
        if value is None or value == "":
            text = "(not set)"
        elif isinstance(value, str):
            text = clean(value)
        else:
            import json

            text = json.dumps(value, ensure_ascii=False, default=str)
        lines.append(f"{clean(setting.key)} = {text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + '…'}")
    return tuple(lines)


def remarks(
    part_files: Sequence[tuple[str, int]],
    directory: str,
    setup: Sequence[str],
    settings: Sequence[str],
    opens: str = "skill_view(name, file_path)",
) -> tuple[str, ...]:
    """Return the remarks below a body; `opens` is the call that reads a file."""
    rows = [f"[Skill directory: {directory}. Paths in the skill are relative to it.]"] if directory else []
    if part_files:
        listed = ", ".join(f"{clean(path)} ({size:,} bytes)" for path, size in part_files[:_MOST_FILES])
        more = f", and {len(part_files) - _MOST_FILES:,} more" if len(part_files) > _MOST_FILES else ""
        rows.append(f"[Files, not read yet; open them with {opens}: {listed}{more}.]")
    rows.extend(f"[Setup needed: {clean(item)}]" for item in setup)
    if settings:
        rows.append(f"[Settings: {'; '.join(settings)}.]")
    return tuple(row if len(row) <= _MOST_REMARKS else f"{row[:_MOST_REMARKS]}…]" for row in rows)


STRATEGIES = ("full", "overview+usage", "overview", "description")
"""From the most to the least."""

_OVERVIEW = compile_late(
    r"[\W\d_]*(?:overview|introduction|about|purpose|summary|what\b.*\b(?:is|does)\b)", re.IGNORECASE
)
_USAGE = compile_late(
    r"[\W\d_]*(?:usage|how\s+to\b|when\s+(?:to|not)\b|do\s+not\b|instructions?|steps?\b|workflow|procedure|process|"
    r"quick\s?start|getting\s+started|method|checklist|rules)",
    re.IGNORECASE,
)
_MOST_INTRODUCTION = 1_200
"""Longest introduction in characters, if it serves as the overview."""


def excerpt(body: str, description: str, strategy: str) -> str:
    """Return the part of a body that a strategy shows."""
    if strategy == "full":
        return body
    if strategy == "description":
        return description
    from whet.skill.body import sections

    rows = body.split("\n")
    found = sections(rows)
    if found and found[0].level == 1:  # the title, and the text after it
        del found[0]
    kept = set(range(_introduction(rows, found[0].start if found else len(rows))))
    wanted = (_OVERVIEW, _USAGE) if strategy == "overview+usage" else (_OVERVIEW,)
    chosen = [section for section in found if any(title.match(section.title) for title in wanted)]
    if strategy == "overview+usage" and found and not any(_USAGE.match(section.title) for section in chosen):
        chosen.append(found[0])
    for section in chosen:
        kept.update(range(section.start, section.end))
    shown = [rows[number] for number in sorted(kept)]
    if not any(map(_is_prose, shown)):
        return description
    return re.sub(r"\n{3,}", "\n\n", "\n".join(shown)).strip("\n")


def _introduction(rows: list[str], end: int) -> int:
    """Return the number of lines before the first section that fit into an overview: whole paragraphs, at least one."""
    used, last, prose, fenced = 0, 0, False, False
    for number, row in enumerate(rows[:end]):
        used += len(row) + 1
        if last and used > _MOST_INTRODUCTION:
            return last
        fenced ^= row.lstrip().startswith(("```", "~~~"))
        prose = prose or _is_prose(row)
        if prose and not fenced and not row.strip():
            last = number
    return end


def _is_prose(row: str) -> bool:
    return bool(row.strip()) and not row.startswith("#")
