"""Orders that a text gives to a model or a person.

Patterns find the orders, `context` decides how they are meant. Orders that consist of several elements are assembled
here, in `installers` and in `exfiltration`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import Hit, Seen, lower
from whet.guard.literals import Literals, has_foreign_letters
from whet.guard.patterns import Rows, compiled, shorten
from whet.guard.places import places
from whet.guard.prose import exfiltration as prose_sending
from whet.guard.prose import installers as prose_installers
from whet.guard.prose.context import meant, mentions
from whet.guard.prose.markdown import Block, blocks, rows
from whet.guard.prose.passages import Passage, judge, pieces, stem
from whet.guard.prose.patterns import NEAR, ORDERS, SCRIPTS
from whet.guard.rules import severity_of
from whet.guard.tables import load_table, shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.guard.finding import Severity
    from whet.guard.prose.passages import Judged


def find_orders(found: list[Block], beside: int = 0) -> Seen:
    """Return the orders in the blocks of a text; `beside` is the number of characters in the other texts of the package."""
    look = _Look(found, _asked())
    look.match()
    look.judge(beside)
    return Seen(tuple(dict.fromkeys(look.hits)), tuple(prose_sending.facts(found, look.rows, look.index)))


def said(text: str) -> list[Passage]:
    """Return the passages of a Markdown text, with the patterns that matched them."""
    look = _Look(blocks(text), _asked())
    look.match()
    return list(look.said())


def said_in_code(code: str) -> list[Passage]:
    """Return the passages of a program that is a file."""
    return [Passage(line, text, _FILE, 0, begins=False, code=True) for line, text in pieces(code)]


def check_program(code: str, beside: int = 0) -> Seen:
    """Return the passages of a program that read like those of malicious programs."""
    return Seen(tuple(map(_odd, judge(said_in_code(code), beside))))


def check_hidden(text: str) -> Seen:
    """Check text that is not prose: comments and strings in code, values in data."""
    said = [Block("paragraph", row, number) for number, row in enumerate(text.split("\n"), start=1) if len(row) > _SAYS]
    look = _Look(said, _asked_hidden(), code=True)
    look.alone(_UNMISTAKABLE)
    look.conceals()
    look.foreign()
    if _ADDRESSED.search(text) and (told := list(_comments(text))):
        inside = _Look(told, _asked(), code=True)
        inside.sends()
        look.hits += inside.hits
    return Seen(tuple(dict.fromkeys(look.hits)))


_ADDRESSED = expression(r"\b(?:assistant|agent|model|llm|claude|chatgpt|codex|gemini)s?\b", re.IGNORECASE)
_COMMENT = expression(r"^[ \t]{0,40}(?:#|//|--|\*|;|%)[#/*!; \t-]{0,8}")


def _comments(text: str) -> Iterator[Block]:
    """Yield the comments of a program or of data that address an agent, each as a paragraph."""
    kept: list[str] = []
    for number, row in enumerate((*text.split("\n"), ""), start=1):
        if sign := _COMMENT.match(row):
            kept.append(row[sign.end() :])
        elif kept:
            if _ADDRESSED.search(said := " ".join(kept)):
                yield Block("paragraph", said, number - len(kept))
            kept = []


@lru_cache(maxsize=1)
def _asked_hidden() -> Literals:
    """Return the expressions that are searched in texts that are not prose."""
    return _literals(*_UNMISTAKABLE, "conceal", "hush", "foreign", *SCRIPTS)


@lru_cache(maxsize=1)
def _asked() -> Literals:
    """Return all expressions that are searched in rows."""
    return _literals(*ORDERS, more=prose_sending.EXPRESSIONS)


def _literals(*groups: str, more: Iterable[str] = ()) -> Literals:
    return Literals((*(pattern.regex for group in groups for pattern in ORDERS[group]), *more))


class _Look:
    def __init__(self, found: list[Block], asked: Literals, *, code: bool = False) -> None:
        self.blocks = found
        self.code = code
        self.rows = rows(found)
        self.index = Rows([row.text for row in self.rows], asked)
        self.hits: list[Hit] = []

    def match(self) -> None:
        """Add the hits of all patterns."""
        self.alone(_ALONE)
        self.conceals()
        self.poisons()
        self.approvals()
        self.foreign()
        self.comments()
        self.name()
        self.hits.extend(prose_installers.hits(self.blocks, self.index))
        self.sends()

    def sends(self) -> None:
        """Add the orders to read secrets, or to send something."""
        self.hits.extend(prose_sending.hits(self.blocks, self.rows, self.index))
        sent = list(prose_sending.posts(self.blocks, self.rows, self.index))
        self.hits.extend(sent)
        if sent:
            self.alone(("quiet",))
        self.hits.extend(prose_sending.beside(self.blocks, self.rows, self.index))
        self.hits.extend(prose_sending.reads(self.blocks, self.rows, self.index))

    def judge(self, beside: int) -> None:
        """Weigh the passages, with the patterns that matched them as a part of the evidence.

        A pattern that is certain stands on its own. What an uncertain one matched is a warning only beside something that is
        certain, or if the passage is close to the threshold or beyond it.
        """
        said = list(self.said())
        judged = list(judge(said, beside))
        weak = {one.line for one in said if not one.code}.difference(*(one.lines for one in judged))
        if any(_severity(hit) == "critical" for hit in self.hits):
            weak = set()
        self.hits = [
            hit._replace(severity="info") if hit.line in weak and severity_of(hit) == "warn" else hit
            for hit in self.hits
        ]
        graves = {hit.line: severity for hit in self.hits if (severity := _severity(hit)) != "info"}
        odd = (_odd(one) for one in judged if one.score.warn > 0)
        self.hits.extend(hit for hit in odd if graves.get(hit.line, "info") not in ("critical", hit.severity))

    def said(self) -> Iterator[Passage]:
        """Yield the passages: running text, the description, and the text and code in fences."""
        matched: dict[int, set[str]] = {}
        for hit in self.hits:
            matched.setdefault(hit.line, set()).add(f"={hit.rule}")
        section, owner, signed = 0, -1, -1
        placed = frozenset[str]()
        for row, line, number in self.rows:
            text, block = row, self.blocks[number]
            if number != signed:
                signed, placed = number, _signs(block.kind, block.trail.rpartition(" > ")[2])
            signs = placed
            if block.kind in ("heading", "frontmatter"):
                section += 1
            if block.kind == "frontmatter" and text.startswith("description:"):
                text = text.removeprefix("description:")
            elif block.kind in ("heading", "frontmatter"):
                continue
            if block.kind != "fence":
                if len(text) >= SHORTEST:
                    signs |= matched.get(line, set())
                    yield Passage(line, text, signs, section, begins=block.kind == "paragraph")
            elif number != owner:
                owner = number
                code = block.language not in _TEXT
                for start, part in pieces(block.text, block.line):
                    yield Passage(
                        start, part if code else " ".join(part.split()), signs, section, begins=False, code=code
                    )

    def add(self, rule: str, number: int, match: re.Match[str], severity: Severity | None = None) -> None:
        row = self.rows[number]
        start = match.start()
        if match[0].startswith("http"):
            start = row.text.rfind(" ", 0, start) + 1  # the quotation mark before an address quotes only the address
        less, shown = meant(self.blocks[row.owner], row.text[:start])
        if _EXPRESSION.search(row.text) or (self.code and _ASSERTED.search(row.text, 0, start)):
            less = min(2, less + 1)  # the patterns of a scanner or the strings of its tests, not words to a reader
        self.hits.append(Hit(rule, row.line, shorten(match[0]), severity, steps=less, shown=shown))

    def alone(self, groups: Iterable[str]) -> None:
        """Add the hits of patterns that suffice on their own."""
        for group in groups:
            for pattern, number, match in self.index.search(ORDERS[group]):
                self.add(pattern.rule, number, match, pattern.severity)

    def conceals(self) -> None:
        """Add orders to hide something from the user, if something is done at the same time."""
        for pattern, number, match in self.index.search((*ORDERS["conceal"], *ORDERS["hush"])):
            around = self.around(number, match)
            if _DEED.search(around):
                self.add(pattern.rule, number, match)
            elif NEAR["concealed_action"].search(around):
                self.add(pattern.rule, number, match, "warn")

    def around(self, number: int, match: re.Match[str], width: int = 260) -> str:
        """Return the text around a match, with the rows before and after it."""
        text = self.rows[number].text
        before = self.rows[number - 1].text[-width:] if number else ""
        after = self.rows[number + 1].text[:width] if number + 1 < len(self.rows) else ""
        return f"{before}\n{text[max(0, match.start() - width) : match.end() + width]}\n{after}"

    def poisons(self) -> None:
        """Add orders to write into the agent's files, if the written text manipulates the agent.

        A skill whose purpose is to write them speaks of little else: then only the same passage counts.
        """
        head = self.blocks[0].text if self.blocks and self.blocks[0].kind == "frontmatter" else ""
        purpose = _AGENT_FILE.search(head) is not None
        for pattern, number, match in self.index.search(ORDERS["memory"]):
            row = self.rows[number]
            after = [] if purpose else self.rows[number + 1 : number + 16]
            if row.text.endswith(":") or self.blocks[row.owner].kind == "fence":
                after = [one for one in after if one.owner == after[0].owner]  # the written text is in one block
            else:
                after = after[:3]
            text = " ".join(one.text for one in after)
            written = f"{row.text[match.start() :]}\n{text[:900]}"
            if NEAR["poison"].search(written):
                self.add(pattern.rule, number, match)
            elif _DAILY.search(match[0]) and NEAR["poison_light"].search(written):
                self.add(pattern.rule, number, match, "info")

    def approvals(self) -> None:
        """Add settings that disable approvals; critical if the text says to write them into the agent's files."""
        for pattern, number, match in self.index.search(ORDERS["approval"]):
            around = " ".join(row.text for row in self.rows[max(0, number - 5) : number + 2])
            written = _WRITES.search(around) and any(place.kind == "agent" for place in places(around))
            if written and not _CAUTIOUS.search(around):
                self.hits.append(Hit(pattern.rule, self.rows[number].line, shorten(match[0]), "critical"))
            else:
                self.add(pattern.rule, number, match, pattern.severity)

    def foreign(self) -> None:
        self.alone(("foreign",))
        if has_foreign_letters(self.index.whole):
            self.alone(script for script, letter in SCRIPTS.items() if letter.search(self.index.whole))

    def name(self) -> None:
        """Check the name and the claims in the frontmatter."""
        for row in self.rows[:40]:
            if self.blocks[row.owner].kind != "frontmatter":
                break
            if (named := _TELLING.match(row.text)) is not None:
                self.hits.append(Hit("telling-name", row.line, shorten(named[0])))
            for pattern in ORDERS["hijack"]:
                if (claimed := compiled(pattern.regex).search(row.text)) is not None:
                    self.hits.append(Hit(pattern.rule, row.line, shorten(claimed[0])))

    def comments(self) -> None:
        for block in self.blocks:
            if block.kind == "comment" and _ORDER.search(block.text) and _TO_MODEL.search(block.text):
                self.hits.append(Hit("hidden-comment", block.line, shorten(block.text)))


def _severity(hit: Hit) -> Severity:
    return lower(severity_of(hit), hit.steps)


def _odd(one: Judged) -> Hit:
    severity: Severity = "critical" if one.score.critical > 0 else "warn"
    order = " and to ".join(one.score.orders[:2]) or "do something that you did not ask for"
    message = f"It reads like an order to {order}. Read it before you use this skill"
    sentence = _oddest(one.passage.text, {word for words in one.score.words for word in words.split()})
    return Hit("odd-passage", one.passage.line, shorten(sentence), severity, message=message)


def _oddest(text: str, stems: set[str]) -> str:
    """Return the sentence of a passage with the most words of these stems."""
    sentences = [sentence for sentence in _SENTENCE.split(text) if len(sentence) > SHORTEST] or [text]
    known = ({stem(word.lower()) for word in _LETTERS.findall(sentence)} for sentence in sentences)
    weights = [len(stems & words) for words in known]
    return sentences[weights.index(max(weights))]


_LETTERS = expression(r"[^\W\d_]+")
_SENTENCE = expression(r"(?<=[.!?])\s{1,9}|\n|(?<=[。！？])")


@lru_cache(maxsize=256)
def _signs(kind: str, heading: str) -> frozenset[str]:
    """Return the signs that the position of a passage gives to the model."""
    placed = {f"<{kind}>"} if kind in ("comment", "quote", "table", "fence") else set()
    return frozenset({*placed, "<mentioned>"} if mentions(heading) else placed)


_TEXT = frozenset(("", "text", "txt", "markdown", "md", "plaintext"))
SHORTEST = 12
"""Characters below which running text says too little, even together with its surroundings."""
_FILE = frozenset(("<file>",))
_SAYS = 24
"""Characters below which a line of code or data says nothing."""
_UNMISTAKABLE = ("override", "authority", "spreads")
_ALONE: tuple[str, ...] = tuple(load_table("words")["orders_alone"])
"""Groups of patterns that are orders on their own."""
_DEED = shape("prose", "deed", frame=r"\b(?:{})|\.env\b|\.ssh\b")
_WRITES = shape("prose", "writes", frame=r"\b(?:{})\b")
_CAUTIOUS = shape("prose", "cautious", frame=r"\b(?:{})\b")
_EXPRESSION = expression(r"\\[sbwd][+*?{)|]|\\s\+|\(\?[:i!=]|\.\*\??[)\w]|\[\^")
"""Syntax that occurs only in regular expressions."""
_ASSERTED = expression(r"^\s{0,40}(?:assert\b|(?:self\.)?assert\w+\(|expect\(|await\s+expect\()")
"""The beginning of a line in a test that compares something."""
_AGENT_FILE = expression(r"\b(?:claude|agents?|gemini|soul|memory|copilot-instructions)\.md\b", re.IGNORECASE)
_DAILY = expression(r"(?:heartbeat|soul|identity)\.md", re.IGNORECASE)
"""Files that an agent reads automatically, again and again."""
_TELLING = shape("prose", "telling", frame=r"name:.{0,40}(?:{})")
_ORDER = shape("prose", "order", frame=r"\b(?:{})\b")
_TO_MODEL = expression(
    r"\b(?:ai|llm|agents?|assistants?|claude|gpt|chatgpt|codex|gemini|model|system|you\s+(?:must|should|are|will)|the\s+user|your)\b[\s\S]{0,300}(?:https?://|curl|\.ssh|\.env|secret|token|credential|ignore|instructions|tell|inform|mention|execute|upload|send|silently)",
    re.IGNORECASE,
)
