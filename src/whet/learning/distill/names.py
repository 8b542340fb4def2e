"""Names and descriptions of skills: made from the request if no model writes, and validated.

A name has the verb of the task and its object, nothing of a single case, and is not a sentence.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from whet.learning.distill.permissions import programs_of
from whet.learning.evidence.values import values_of, without_values
from whet.learning.tables import WORDS, load_table, words_of
from whet.skill.names import slug, spec_problems
from whet.skill.terms import chunks, is_common, key_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.evidence.session import Evidence

_known = partial(words_of, WORDS)
"""Returns the words of a kind."""
DESCRIPTION = 1_024
NAME = 48
"""Longest generated name in characters; the format allows a few more."""
TITLE = 120
_SENTENCE = 400
TRIGGERS = 14
"""Largest number of triggers."""
_PROPOSED = 6
"""Number of proposed triggers."""
_WORDS = 5
"""Number of words in a name."""
_ENOUGH = 3
"""Number of words after which a name ends with its clause."""
_PHRASE = 4
"""Number of words in a trigger."""
_SENTENCES = 40
_BROKEN = "Fix this"
"""Put before a problem that is stated without a request."""
_FAILS = re.compile(
    r"(?i)\b(?:fail(?:s|ed|ing)?|crash(?:es|ed|ing)?|error|broken|wrong|hangs?|stuck|flaky|throws|leaks|missing|not"
    r"|returns (?:an? )?(?:empty|nothing|null|\d{3}))\b|n['’]t\b"
)
_END = re.compile(
    r"\s[—–]\s|(?:(?<=[.!?])|(?<=[.!?][\"'”’)]))\s+(?=[\"'(*`]{0,2}[A-Z0-9`À-Þ])|\n\s*\n"
    r"|(?<=\w\w[.!?])\s+(?=(?:i|we|it|they|please)\b)|\n[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6})[ \t]+|: *\n|\n(?![a-z])"
)
_OWNED = re.compile(r"(?i)\A(?:i|we) have (.{3,120}?),? (?:that|which) (?:i|we) (?:want|need)(?: you)? to (\w+)\b")
"""`I have a library that I want to publish`: the verb comes after its object."""
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]{30,300}'|\"[^\"\n]{30,300}\"|“[^”\n]{30,300}”)(?!\w)")
"""A quoted text of the case."""
_HEADING = re.compile(r"\A(?:[^:.!?\n]|\.(?=\S)){3,160}: +")
"""A subject before the request: `Ticket 12: mend the export`."""
_ASIDE = re.compile(r"(?i)\s*[,;(–—-]*\s*\b(?:by the way|btw|unrelated|as an aside|übrigens)\b.*")
_POINTS = re.compile(r"(?i)\bthe following\b|\A\w+ (?:this|these|it|them)\b|\byour (?:ability|skills?|knowledge)\b")
"""A sentence that refers to another one, or says what a task is good for."""
_POINTING = re.compile(
    r"(?i)(?:\b(?:help (?:me|us)|please|can you)|[.!?]) (\w+)(?: (?:on|with|for|all of))?"
    r" (?:this|these|it|them)[.!?]*\Z"
)
_SHOWN = re.compile(r"(?i)\A(?:here(?:['’]s| is| are)|this is|these are|(?:i|we) have) ")
"""`Here is the report. Please shorten it.`: the verb refers to something shown."""
_NUMBERED = re.compile(r"\d{4}|(?:\A|-)[a-z]?\d+(?:\Z|-)|\d[a-z_]+\d")
"""A number, or a name with one; `k8s` and `vista3d` are words."""
_MENTIONED = re.compile(r'(?:, or mentions| Also when the user mentions) (?P<words>"[^"<>]+"(?:, "[^"<>]+")*)\.\Z')
"""The trigger words at the end of a description."""
_PLACEHOLDER = re.compile(r"[{<]\w[\w .-]{0,40}[}>]")
_SECRET = re.compile(r"[^\s,;]*\[(?:secret[^\]\n]{0,40}|binary)\]")
_ODD_WORDS = frozenset(
    ("the", "a", "an", "is", "are", "was", "were", "be", "i", "you", "we", "it", "this", "that", "if", "then")
)
"""Words that occur in a sentence but not in a name."""


def sentence_of(request: str) -> str:
    """Return the sentence of a request that says what to do, without politeness and values of the case."""
    sentences = list(_sentences(_SECRET.sub("", request)))[:_SENTENCES]
    wishes = [one for one, asked in sentences if asked or _is_wish(one)]
    telling = [one for one in wishes if len(key_terms(one)) > 2 and not _POINTS.search(one)]
    found = _ASIDE.sub("", next(iter((*telling, *wishes, *(one for one, _ in sentences))), ""))
    text = " ".join(without_values(re.sub(r"[<>{}`*]", "", found)).split()).rstrip(" .:;,!?")
    if text and not wishes and (pointing := _POINTING.search(request)):
        text = f"{pointing[1]} {_SHOWN.sub('', text)}"
    elif text and not wishes and _FAILS.search(re.sub(r"\(.*?\)", "", text)):
        text = f"{_BROKEN}: {text[:1].lower() + text[1:]}"
    if len(text) > _SENTENCE:
        text = text[:_SENTENCE].rpartition(" ")[0].rstrip(" ,;:-(") + "…"
    return text[:1].upper() + text[1:] or "Repeat a session"


def title_of(sentence: str) -> str:
    """Return the beginning of such a sentence: up to a colon, or cut between words."""
    head = sentence.partition(": ")[0]
    text = head if len(key_terms(head)) > 2 else sentence
    text = text if text.count("(") == text.count(")") else text.replace("(", "").replace(")", "")
    return text if len(text) <= TITLE else text[:TITLE].rpartition(" ")[0].rstrip(" ,;:-(") + "…"


def _sentences(request: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a request without polite openings and headings, and whether they are requests."""
    for piece in _END.split(re.sub(r"```.*?(?:```|\Z)", "", request, flags=re.DOTALL)):
        text, asks = _OWNED.sub(r"\2 \1", " ".join(piece.split()).strip("*#- ")), False
        for _ in range(4):
            asks = asks or _opens("wish").match(text) is not None
            text = _opens("opening").sub("", text)
            before = _opens("clause").match(text) or (None if _is_wish(text) else _HEADING.match(text))
            text = (
                text[before.end() :] if before and _is_wish(_opens("opening").sub("", text[before.end() :])) else text
            )
            text = re.sub(r"\A[a-zA-Z]{3,14}ly (?=[a-z])", "", text)
        if len(text.split()) > 1:
            yield text, asks and len(key_terms(text)) > 1


@cache
def _opens(kind: str) -> re.Pattern[str]:
    """Return the pattern for the beginning of a request."""
    table = load_table(WORDS)["requests"]
    pattern = "|".join(table[kind])
    for name in ("people", "inside"):
        pattern = pattern.replace(f"<{name}>", table[name])
    return re.compile(rf"(?i)\A(?:{pattern})")


def _is_wish(sentence: str) -> bool:
    """Return whether a sentence begins with the task and says more than `do it`."""
    first = re.match(r"[\w-]+(?! (?:not|n['’]t)\b)", sentence)
    return first is not None and first[0].lower() in _known("verbs") and len(key_terms(sentence)) > 1


def name_of(title: str, commands: str = "") -> str:
    """Make a name from the verb of a title and its object, without proper names that `commands` contain."""
    kept: list[str] = []
    plain = re.sub(r"(?i)\b(set|clean|back|spin) up\b", r"\1-up", _QUOTED.sub("", title))
    for chunk in re.findall(r"(?<![\w-])[^\W\d_][\w'’-]*|[,.;:]", re.sub(r"(?<=\w)\.[a-z]{2,5}\b", "", plain)):
        word = re.sub(r"['’]s?\Z|['’]", "", chunk.lower())
        enough = _ENOUGH + (title.startswith(_BROKEN) or word in ("that", "which"))
        if (word in _known("joints") or chunk in ",.;:") and len(kept) >= enough:
            break
        coined = re.search(r"[-_]", word) is not None and chunk in commands
        common = coined or (all(map(is_common, terms(word))) and not (not kept and word in _known("verbs")))
        if chunk not in ",.;:" and not common and len(word) > 1 and not _NUMBERED.search(word):
            kept += [] if word in _known("joints") | _known("light") | _known("small") else [word]
        if len(kept) >= _WORDS or "-".join(kept).count("-") > _WORDS:
            break
    text = slug("-".join(kept)) if kept else "repeat-session"
    while len(text) > NAME or text.count("-") > _WORDS or text.rpartition("-")[2] in _known("joints"):
        text = text.rpartition("-")[0]
    return text[:NAME].rstrip("-")


def triggers_of(evidence: Evidence, title: str) -> tuple[str, ...]:
    """Return the words that identify this task: phrases of the title and programs, or rare words of the title.

    The rest of a request is full of words of its case.
    """
    values = {term for one in evidence.inputs for term in terms(one.text)}
    used = [name for name in programs_of(evidence.steps) if is_rare(re.sub(r"[\d.]+\Z", "", name))]
    verb, _, rest = title.partition(" ")
    held = set(terms(verb)) if verb.lower() in _known("verbs") else set[str]()
    found: list[str] = []
    for group in ((*_phrases(rest if held else title), *used), filter(is_rare, chunks(title))):
        for one in () if found else group:
            word = re.sub(r"['’]s\Z", "", one)
            keys = set(terms(word))
            if not keys <= (held if " " in word else held | values) and not _vague().search(f"{word} "):
                held |= keys
                found.append(word if word.isupper() or not word.istitle() else word.lower())
    return tuple(found)[:_PROPOSED]


def _phrases(title: str) -> Iterator[str]:
    """Yield neighbouring words of a title, `parental leave request`; the first phrase may be a single word."""
    run: list[str] = []
    first = True
    for word in (*re.findall(r"[\w'’-]+|[^\w\s]", title), "."):
        if tells(word) and word.lower() not in _known("joints"):
            run.append(word)
            continue
        if len(run) > 1 or (first and any(map(is_rare, run))):
            yield " ".join(run[-_PHRASE:])
        first, run = first and not run, []


def description_of(title: str, triggers: Sequence[str]) -> str:
    """Describe the request, when to use the skill, and its trigger words, within the limit of the format."""
    text = f"{title.rstrip('… .')}. Use when the user asks for this"
    text = _quoted(f"{text}, or mentions ", triggers) or text
    return re.sub(r"[<>]", "", _vague().sub("", text) + ".")[:DESCRIPTION]


def mentioning(description: str, triggers: Sequence[str]) -> str:
    """Add missing trigger words to a description, as many as fit."""
    said = description.casefold()
    missing = [word for word in triggers if word.casefold() not in said]
    head = f"{description} Also when the user mentions "
    return f"{words}." if (words := _quoted(head, missing)) else description


def with_triggers(description: str, triggers: Sequence[str]) -> str:
    """Add trigger words of another session to a description that lists such words."""
    found = _MENTIONED.search(description)
    if found is None:
        return description
    known = re.findall(r'"([^"]+)"', found["words"])
    return f"{_quoted(description[: found.start('words')], [*known, *triggers])}."


def _quoted(head: str, words: Sequence[str]) -> str:
    """Append quoted words to a text, as many as fit into a description; return "" if none do."""
    quoted = [f'"{word}"' for word in dict.fromkeys(words)][:TRIGGERS]
    while quoted and len(text := f"{head}{', '.join(quoted)}") >= DESCRIPTION:
        quoted.pop()
    return text if quoted else ""


def is_generated(description: str) -> bool:
    """Return whether Whet made the description, or its end, from a request."""
    return re.search(r"Use when the user asks for this[,.]", description) is not None


def _vague() -> re.Pattern[str]:
    """Return a pattern for phrases that fit or praise any skill, which the linter rejects."""
    from whet.skill.validate.quality import MARKETING, VAGUE

    return re.compile(rf"(?i)(?:{MARKETING.pattern.removeprefix('(?i)')}|{VAGUE.pattern.removeprefix('(?i)')})\s*")


def name_problem(name: str, evidence: Evidence) -> str:
    """Return why a name does not fit the task of a session; "" if it does."""
    parts = name.split("-")
    if problems := spec_problems(name):
        return problems[0].message.rstrip(".")
    if len(parts) > _WORDS + 1:
        return f"it has more than {_WORDS + 1} words"
    if odd := next((word for word in parts if word in _ODD_WORDS or word in _known("small")), ""):
        return f"'{odd}' belongs in a sentence, not in a name"
    if _NUMBERED.search(name) or {"anthropic", "claude"} & set(parts):
        return "it names a single case or a product"
    if values_in(name.replace("-", " "), evidence) or values_in(name, evidence):
        return "it has a value of this case"
    if not key_terms(name.replace("-", " ")) & task_terms(evidence):
        return "it says nothing about what was asked for"
    return ""


def description_problem(description: str, evidence: Evidence) -> str:
    """Return why a description is not accepted; "" if it is."""
    from whet.skill.validate import ValidationInput, validate

    if len(description) > DESCRIPTION:
        return f"it has more than {DESCRIPTION} characters"
    if re.search(r"\A(?:I|We|You)\b|\b(?:I|you) (?:can|will)\b", description):
        return "it is not in the third person"
    if _PLACEHOLDER.search(description):
        return "it has a placeholder"
    if found := values_in(description, evidence):
        return f"it has a value of this case: {found[0]}"
    if len(key_terms(description) & task_terms(evidence)) < 2:
        return "it says too little about what was asked for"
    import json

    text = f"---\nname: skill\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n\nDo it.\n"
    found_notes = validate(ValidationInput("skill", text), "quality")
    said = (one.message for one in found_notes if one.code.startswith("description-") and one.severity != "info")
    return next(said, "").rstrip(".")


def task_terms(evidence: Evidence) -> frozenset[str]:
    """Return the words of the session's subject."""
    return frozenset(key_terms("\n".join((evidence.request, *(one.title for one in evidence.steps), *evidence.rules))))


def values_in(text: str, evidence: Evidence) -> list[str]:
    """Return the values of the case in a text: those that the user gave, as whole words."""
    given = [one.text for one in evidence.inputs]
    given += [name for one in evidence.inputs if one.kind == "file" and "/" in one.text
              for name in [one.text.rpartition("/")[2]] if values_of(name)]  # fmt: skip
    return [one for one in given if re.search(rf"(?<![\w.-])v?{re.escape(one)}(?![\w-])", text)]


def tells(chunk: str) -> bool:
    """Return whether a word can be part of a phrase about a task."""
    plain = chunk.lower().replace("’", "'")
    key = (terms(chunk) or [""])[-1]
    if (
        not key
        or is_common(key)
        or {plain, re.sub(r"(?<=\w{3}[^s])s\Z", "", plain)} & (_known("small") | _known("light"))
    ):
        return False
    shape = re.fullmatch(r"(?=.*[^\W\d_]{3})[^\W_][^\s<>.@/\\_:]{1,28}", chunk)
    return shape is not None and not re.search(r"\d{2}", chunk)


def is_rare(chunk: str) -> bool:
    """Return whether a word alone distinguishes a task from others."""
    return tells(chunk) and not (set(terms(chunk)) or {""}) <= _generic()


@lru_cache(maxsize=1)
def _generic() -> frozenset[str]:
    return frozenset(term for word in _known("generic") for term in terms(word))
