"""Small operations on prose: sentences, first letters, ends that do not cut a word in half."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"[ \t]{0,8}(`{3,}|~{3,})")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-zA-Z][.)]|#{1,6})[ \t]+")
_END = re.compile(r"(?<=[.!?])[\"')*]{0,2}\s+(?=[\"'(*`]{0,2}[A-Z0-9`À-Þ])")
_SMALL_END = re.compile(r"(?<=[a-zß-ÿ0-9)`'\"][.!?])\s+(?=[a-zß-ÿ])|\s+[:;]-?[)(D]+(?:\s+|\Z)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|eq|dr|mr|mrs|ms|st|inc|ltd|v|incl|resp|nr|z\.b|bzw|ca)\.|\b[A-Z]\.)\Z",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?i)\A(?:(?:ok(?:ay)?|good|great|perfect|excellent|alright|sure|now|next|then|first|finally|so|and|also|actually"
    r"|the next step"
    r"|now that [^,]{3,80}|since [^,]{3,80}|i see)[,.:!]?\s+|(?:let me|let's|i'll|i will|i need to"
    r"|i'm going to|i am going to|i can"
    r"|i should|i'd like to|we need to|we can|we'll|time to|it's time to|going to)\s+(?:(?:now|also|first|just"
    r"|then)\s+)?)"
)
_NUMBERED = re.compile(r"(?i)\A(?:steps?|phases?|parts?)\s*\d[\d\s,&and-]{0,12}\s*[:.)-]\s*")
Kind = Literal["sentence", "item", "code"]


def capital(text: str) -> str:
    """With a capital first letter, unless it begins with code."""
    return text[:1].upper() + text[1:] if not re.match(r"[a-z]+[A-Z_(./]", text) else text


def bare(sentence: str) -> str:
    """A sentence of the assistant without what only leads up to it: `Now let me check` is `check`."""
    text = sentence
    for _ in range(4):
        text = _LEAD.sub("", text)
    return _NUMBERED.sub("", text)


def shorten(text: str, most: int) -> str:
    """At most that long, cut between words."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[most // 2 :] else cut).rstrip(" ,;:-(") + "…"


def spoken(text: str) -> Iterator[str]:
    """The sentences of a message, without code. A list item or a heading begins a sentence of its own."""
    return (sentence for kind, sentence in pieces(text) if kind != "code")


def small_sentences(sentence: str) -> list[str]:
    """What is more than one sentence for those who write without capitals, or end one with a smile."""
    found: list[str] = []
    start = 0
    for end in _SMALL_END.finditer(sentence):
        if not _ABBREVIATION.search(sentence[start : end.start()]):
            found.append(sentence[start : end.start()])
            start = end.end()
    return [one for one in (*found, sentence[start:]) if one.strip()]


def pieces(text: str) -> Iterator[tuple[Kind, str]]:
    """A message taken apart: sentences, the first one of each list item, and code in fences, which comes whole."""
    fence, item = "", False
    code: list[str] = []
    paragraph: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        opening = _FENCE.match(line)
        bullet = _BULLET.match(line)
        if fence:
            code.append(line)
            if opening and opening[1].startswith(fence) and not line.strip().strip(fence[0]):
                yield "code", "\n".join(code)
                fence = ""
                code.clear()
        elif opening or not line.strip() or bullet:
            yield from _sentences(paragraph, item=item)
            paragraph.clear()
            item = bullet is not None and not line.lstrip().startswith("#")
            if opening:
                fence = opening[1][:3]
                code.append(line)
            elif bullet:
                paragraph.append(line[bullet.end() :])
        else:
            paragraph.append(line.strip())
    yield from _sentences(paragraph, item=item)
    if code:
        yield "code", "\n".join([*code, fence])


def _sentences(paragraph: list[str], *, item: bool) -> Iterator[tuple[Kind, str]]:
    text = " ".join(" ".join(paragraph).split())
    start = 0
    kind: Kind = "item" if item else "sentence"
    for found in _END.finditer(text):
        if not _ABBREVIATION.search(text[start : found.start()]):
            yield kind, text[start : found.start()].strip()
            start, kind = found.end(), "sentence"
    if text[start:].strip():
        yield kind, text[start:].strip()
