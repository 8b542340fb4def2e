"""A generated trigger set for a skill that has none: fifty messages from its own text, as a starting point.

Messages for the skill are what its text says people ask (quoted phrases, "When to use", triggers) and what it does
(the verbs and objects of its description, its headings and steps), phrased as people ask: briefly, politely, as a
question, at length. Messages not for it are its own exceptions, requests for other work that share no word with its
text, and everyday talk; these come from a built-in list, never from other skills of the user, because the file is
published with the skill. The file says that it was generated; messages of real users are worth more.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from whet.routing.analysis import without_exclusions, without_negations
from whet.skill.body import section, sections
from whet.skill.terms import key_terms
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whet.skill.model import Skill

FILE = "evals/triggers.generated.json"
MARK = "generated"
"""The key that marks a file as generated."""
EACH = 25
"""Number of messages for the skill, and of those not for it."""
_WORK = 17
"""Maximum number of messages that are requests for other work."""
_PER_KIND = 4
_WORDS = (2, 16)
"""Minimum and maximum number of words in a message."""
_WHEN = re.compile(r"(?i)when to use")
_QUOTED = re.compile(r'"([^"\n]{3,120})"')
_POINT = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?:])\s+")
_CLAUSES = re.compile(r"[,;]\s+(?:or\s+|and\s+)?|\s+or\s+")
_VERBS = re.compile(r"[,;]\s+(?:and\s+)?|\s+and\s+(?=[a-z]+s\s)")
_USE = re.compile(r"(?i)use (?:it |this )?(?:when|for|if)\b")
_LEAD = re.compile(
    r"(?i)^(?:use (?:it |this )?)?(?:(?:when|for|if|to)\s+)?"
    r"(?:the user\s+)?(?:(?:says|asks(?: for| to)?|wants(?: to)?|mentions|asked (?:for|to))\s+)?"
)
_MARKUP = re.compile(r"[`*\[\]]|\([^)]*\)")
_STEP = re.compile(r"^\d+[.)]\s+(.+)$", re.MULTILINE)
_THIRD = re.compile(r"([A-Za-z]+?)(ies|(?<=ch)es|(?<=sh)es|(?<=ss)es|(?<=x)es|(?<=z)es|(?<=[^su])s)\s+(\S+)(.*)")
"""A task of a skill, such as "tidies drawers": the verb, its ending, the next word and the rest."""
_TODO = "TODO"
_FEW = 5
"""Number of requests below which the steps are used, too."""


class _Phrases(NamedTuple):
    ask: list[str]
    do: list[str]
    busy: list[str]
    titles: list[str]
    small: list[str]
    everyday: list[str]
    work: dict[str, list[str]]


class TriggerSet(NamedTuple):
    """Messages that a skill is for, and messages that it is not for."""

    skill: str
    should_trigger: tuple[str, ...]
    should_not_trigger: tuple[str, ...]

    def to_json(self) -> Json:
        """Return the content of the file, marked as generated."""
        return {
            MARK: "by Whet from the skill's text; replace it with messages of real users",
            **fields_json(self),
        }

    def text(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.to_json(), ensure_ascii=False, indent=2) + "\n"


def generate(skill: Skill) -> TriggerSet:
    """Return a set of up to fifty messages for a skill."""
    fits = _distinct(_wordings(skill), ())[:EACH]
    work = islice(_other_work(skill), _WORK)
    away = _distinct((*_not_for_it(skill), *work, *_phrases().everyday), fits)[:EACH]
    return TriggerSet(skill.name, tuple(fits), tuple(away))


def is_generated(data: bytes) -> bool:
    """Return whether a file of trigger evals says that it was generated."""
    try:
        found = json.loads(data)
    except ValueError:
        return False
    return isinstance(found, dict) and MARK in found


@lru_cache(maxsize=1)
def _phrases() -> _Phrases:
    return _Phrases(**tomllib.loads(files(__package__).joinpath("generated.toml").read_text(encoding="utf-8")))


def _wordings(skill: Skill) -> Iterator[str]:
    """Yield every phrase as it is, then every phrase in its next wording, and so on."""
    phrases = _phrases()
    ways: list[Iterator[str]] = []
    for text in _distinct(_asked(skill), ()):
        ways.append(_ways(text, phrases.ask))
    for text in _distinct(_done(skill), ()):
        is_busy = text.split()[0].endswith("ing")
        ways.append(_ways(text, [*(phrases.busy if is_busy else phrases.do), *phrases.ask]))
    if not ways:
        ways = [_ways(skill.name.replace("-", " "), phrases.ask)]
    for row in zip_longest(*ways, fillvalue=""):
        yield from row


def _ways(text: str, frames: Sequence[str]) -> Iterator[str]:
    first, *rest = frames
    yield first.format(text)
    small = _phrases().small
    terse = [word for word in text.split() if word.casefold() not in small]
    yield " ".join(terse) if len(terse) >= _WORDS[0] else ""
    yield from (frame.format(text) for frame in rest)


def _asked(skill: Skill) -> Iterator[str]:
    """Yield the requests that the text of a skill mentions."""
    description = without_negations(skill.description)[0]
    _, *rest = _SENTENCE.split(description)
    told = [*_QUOTED.findall(description), *_POINT.findall(section(skill.body, _WHEN)), *skill.triggers]
    when = "" if _POINT.findall(skill.when_to_use) else skill.when_to_use
    for sentence in (*rest, *_SENTENCE.split(when)):
        told += [] if _QUOTED.search(sentence) or not _USE.match(sentence) else _CLAUSES.split(sentence)
    if when and not _USE.match(when):
        told += _QUOTED.findall(when) or _CLAUSES.split(when)
    yield from filter(_is_message, map(_plain, told))


def _done(skill: Skill) -> Iterator[str]:
    """Yield the tasks of a skill: verbs and objects of its description, its headings, its steps."""
    yield from _does(skill.description)
    titles, body = _phrases().titles, without_exclusions(skill.body)[0]
    for part in sections(body.split("\n")):
        title = _plain(part.title)
        if part.level > 1 and _is_message(title) and not part.title.casefold().startswith(tuple(titles)):
            yield title
    if len([*_asked(skill)]) >= _FEW:
        return
    steps = (_SENTENCE.split(step)[0] for step in _STEP.findall(body))
    yield from filter(_is_message, map(_plain, steps))


def _does(description: str) -> Iterator[str]:
    """Yield the tasks in the first sentence of a description, phrased as requests: "tidy drawers"."""
    small = _phrases().small
    sentence = _SENTENCE.split(without_negations(description)[0])[0]
    for clause in _VERBS.split(sentence):
        if found := _THIRD.fullmatch(_plain(clause)):
            verb, ending, following, more = found.groups()
            if following.casefold() not in small or following.casefold() in ("a", "an", "the", "your", "you"):
                text = f"{verb}{'y' if ending == 'ies' else ''} {following}{more}"
                yield from filter(_is_message, [text])


def _other_work(skill: Skill) -> Iterator[str]:
    """Yield requests that share no word with a skill, from the most similar kinds of work first."""
    told = (skill.name, skill.description, skill.when_to_use, *skill.triggers, skill.body)
    own = key_terms(" ".join(told))
    kinds = sorted(_phrases().work.values(), key=lambda requests: -len(own & key_terms(" ".join(requests))))
    strange = [[text for text in requests if own.isdisjoint(key_terms(text))] for requests in kinds]
    yield from (text for requests in strange for text in requests[:_PER_KIND])
    yield from (text for requests in strange for text in requests[_PER_KIND:])


def _not_for_it(skill: Skill) -> Iterator[str]:
    """Yield the exclusions of a skill."""
    also = [] if _POINT.findall(skill.when_not_to_use) else _CLAUSES.split(skill.when_not_to_use)
    clauses = _CLAUSES.split(without_negations(skill.description)[1])
    for text in (*_POINT.findall(without_exclusions(skill.body)[1]), *clauses, *also):
        yield from filter(_is_message, [_plain(_SENTENCE.split(text)[0])])


def _plain(text: str) -> str:
    """Return a text as a user types it: without markup, full stop and initial capital."""
    text = _LEAD.sub("", " ".join(_MARKUP.sub("", text).split()).strip("\"' ").rstrip(".:;,\"' "))
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _is_message(text: str) -> bool:
    return _WORDS[0] <= len(text.split()) <= _WORDS[1] and _TODO not in text


def _distinct(texts: Iterable[str], taken: Iterable[str]) -> list[str]:
    known = {text.casefold() for text in taken}
    found = []
    for text in texts:
        if text and text.casefold() not in known:
            known.add(text.casefold())
            found.append(text)
    return found
