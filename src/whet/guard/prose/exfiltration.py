"""Orders to send: secrets to anybody, or the user's data to an address that the task does not need.

Each has a verb of sending, something to send and a destination, close together. The severity depends on what is sent,
on the destination, and on the words around the order: routinely, secretly, under a pretext.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import Fact, Hit
from whet.guard.hosts import URL, host_of, is_placeholder, is_shared
from whet.guard.patterns import compiled, shorten
from whet.guard.places import hints_in, places
from whet.guard.prose.context import meant
from whet.guard.prose.patterns import ORDERS
from whet.guard.tables import shape
from whet.guard.taint.secret import belongs, own_service, secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.finding import Severity
    from whet.guard.patterns import Rows
    from whet.guard.prose.markdown import Block, Row

_PROSE = frozenset(("", "text", "txt", "markdown", "md", "plaintext"))
_SEND = shape("prose", "send", frame=r"\b(?:{})\b")
_SECRET = shape("prose", "secret", frame=r"\b(?:{})\b")
_MANY = expression(
    r"\*_?[A-Z_]{0,20}(?:KEY|TOKEN|SECRET|PASSWORD)|\b(?:all|every)\s+(?:[\w'’]{1,20}\s+){0,4}(?:keys|tokens|secrets|credentials|passwords|variables)\b"
    r"|\b(?:user|owner|developer|person)['’]s\s+(?:\w+\s+){0,2}(?:keys?|tokens?|secrets?|credentials?|passwords?|cookies)\b"
    r"|\b(?:ends?|ending|starts?|starting|contain(?:s|ing)?)\s+(?:(?:in|with)\s+)?[`\"'_*]{0,3}(?:KEY|TOKEN|SECRET|PASS)"
)
"""Many secrets at once, or those of a person: no service asks for secrets of other services."""
_TAKE = shape("prose", "take", frame=r"\b(?:{})\b")
_TAKEN = shape("prose", "taken", frame=r"\b(?:{})\b")
_COLLECTS = shape("prose", "collects", frame=r"\b(?:{})\w*\b")
_HANDED = shape("prose", "handed", frame=r"\b(?:{})\b")
_OWNER = shape("prose", "owner", frame=r"\b(?:{})\b")
_CONVERSATION = shape("prose", "conversation", frame=r"\b(?:{})\b")
_DATA = shape("prose", "data", frame=r"\b(?:{})\b")
_ADDRESS_SIGN = expression(r"://|@")
_ADDRESS = expression(r"\b[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,4}[a-z]{2,16}\b", re.IGNORECASE)
_NAMELESS = expression(
    r"\b(?:to|at|via)\s+(?:our|the|an?|this)\s+(?:\w+\s+){0,2}(?:remote|external|collection|collector|telemetry|analytics|monitoring|logging|tracking|ingest\w*|callback|command|c2|drop|attacker['’]?s?|third[- ]party)\s+(?:\w+\s+)?(?:server|endpoint|service|host|url|address|webhook|api|backend|site|domain)\b|\battacker[\w-]*\.",
    re.IGNORECASE,
)
_ALWAYS = shape("prose", "always", frame=r"\b(?:{})\b")
_PRETEXT = shape("prose", "pretext", frame=r"\b(?:{})\b")
_HIDE = shape("prose", "hide", frame=r"\b(?:{})\b")
_HONEST = shape("prose", "honest", frame=r"\b(?:{})\b")
_PLACEHOLDER = expression(r"your|example|domain\.|@email|user@|name@|someone|^[a-z]@[a-z]\.", re.IGNORECASE)
_SENTENCE = expression(r"(?<=\D[.!?])\s+|(?<=[。！？])")
_BEFORE_VERB = r"(?:^|[.!?:;,>()—–*\u4e00-\u9fff-]|\b(?:{}))[\s*_`\d.)\[\]]{0,12}$"
_ORDERING = shape("prose", "ordering", re.IGNORECASE, frame=_BEFORE_VERB)
"""The text before the verb of an order."""
_FORBIDS = shape("prose", "forbids", re.IGNORECASE)
_FETCHES = expression(
    r"\b(?:read|take|get|fetch|look\s+up|find|grab|extract|copy|print|load|resolve|note|obtain|retrieve|collect|gather|open|check|query|echo|need|lies|lese|hole|nimm|lee|toma|obtén|obtener|lis|lisez|prends|récupère\w*|leggi|leia|прочитай\w*|value|contents?|wert|valor|valeur)\b|读取|获取|取得|内容|的值|環境変数|环境变量|読み|읽",
    re.IGNORECASE,
)
_VARIABLE = expression(r"(?<![\w/.-])[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,6}(?![\w-])")
_BARE_HOST = expression(
    r"\b(?:to|at|via|with|an|a|à|到|至|给)\s*[`*\"']{0,2}(\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|(?:[a-z0-9-]{1,63}\.){1,4}(?:com|net|org|io|dev|app|ai|co|me|info|cloud|site|xyz|top|ru|cn|de|example|test|invalid))\b(?!\s*@)",
    re.IGNORECASE,
)
_DOTTED = expression(
    r"\.(?:\d|(?i:com|net|org|io|dev|app|ai|co|me|info|cloud|site|xyz|top|ru|cn|de|example|test|invalid)\b)"
)
"""The ending of a host named without its scheme, which few sentences contain."""
_HEADER = shape("prose", "header", frame=r"\b(?:{})\b")
_TOWARDS = expression(
    r"(?:\b(?:to|with|at|via|into|onto|an|a|à)\s+(?:\w+\s+){0,4}|[到至给])[\s`*\"'<(]{0,4}$", re.IGNORECASE
)
_KEEPS = expression(r"add|put|pass|write|store|save|copy|hand|give|publish|include|append|attach|embed", re.IGNORECASE)
_OWNERS = shape("prose", "owners")
_NOBODY = expression(r"@example\.(?:com|org|net)$|your|^(?:user|name|someone)@", re.IGNORECASE)
_UPLOADS = shape("prose", "uploads")
_SKIP = frozenset(("loopback", "private", "known"))
_SHADY = frozenset(("paste", "drop", "tunnel", "address", "shortener", "shared"))

_LONGEST_LIST = 12
_NEAR = 400
"""Characters around an order that are read with it."""

EXPRESSIONS = (_SEND.pattern, _COLLECTS.pattern, _NAMELESS.pattern)
"""Expressions that are searched in rows."""


def hits(found: list[Block], rows: Sequence[Row], index: Rows) -> Iterator[Hit]:
    """Yield the orders in a text to send something."""
    targets = {*index.matched(_ADDRESS_SIGN), *index.having(_NAMELESS.pattern)}
    for number in index.having(_SEND.pattern) if targets else ():
        if targets.isdisjoint(range(number, number + 5)):
            continue
        row = rows[number]
        block = found[row.owner]
        if not _is_spoken(block) or not _SEND.search(row.text):
            continue
        before = _joined(rows[max(0, number - 2) : number], found, block)[-400:]
        after = _joined(rows[number + 1 : number + 5], found, block)[:400]
        yield from _secrets(block, before, row, after)
        yield from _data(block, before, row, after, index)


def posts(found: list[Block], rows: Sequence[Row], index: Rows) -> Iterator[Hit]:
    """Yield orders to send a secret to somebody it does not belong to, in one sentence or in two consecutive sentences."""
    placed = {*index.matched(_ADDRESS_SIGN)}
    placed.update(number for number in index.matched(_DOTTED) if _BARE_HOST.search(rows[number].text))
    placed |= {number - 1 for number in placed if number and rows[number - 1].text.endswith(":")}
    for pattern in ORDERS["sends"] if placed else ():
        for number in index.having(pattern.regex):
            if number not in placed:
                continue
            row = rows[number]
            block = found[row.owner]
            if not _is_spoken(block):
                continue
            before = _joined(rows[max(0, number - 1) : number], found, block)[-_NEAR:]
            after = _joined(rows[number + 1 : number + 2], found, block)[:_NEAR] if row.text.endswith(":") else ""
            for sentence in _SENTENCE.split(row.text):
                for match in compiled(pattern.regex).finditer(sentence):
                    early = sentence[max(0, match.start() - _NEAR) : match.start()]
                    if not _ORDERING.search(early) and match[0].isascii():
                        continue
                    rest = sentence[match.start() : match.end() + _NEAR]
                    rest = f"{rest} {after if rest.endswith(':') else ''}"
                    severity, target = _sent(match, before, early, rest, index.rows)
                    if severity is not None:
                        at = row.text.find(sentence) + match.start()
                        told = row.text[max(0, at - 2000) : at]
                        less, shown = meant(
                            block, told, quoted=told.count('"') % 2 == 1
                        )  # the quotation may span several sentences
                        yield Hit(pattern.rule, row.line, shorten(sentence), severity, target, steps=less, shown=shown)
                before = sentence[-_NEAR:]


def _is_spoken(block: Block) -> bool:
    return block.kind != "heading" and (block.kind != "fence" or block.language in _PROSE)


def _sent(match: re.Match[str], before: str, early: str, rest: str, rows: Sequence[str]) -> tuple[Severity | None, str]:
    """Return the severity of sending what an order sends, and the destination."""
    url, kind = _place(rest)
    if not kind or _FORBIDS.search(early):
        return None, ""
    sentence = f"{early}{rest}"
    what = match.groupdict().get("what")
    if what is None:
        told = f"{before} {early}{rest[: rest.find(url)]}"
        names = _VARIABLE.findall(told) if _FETCHES.search(told) else []
    else:
        names = [what.strip("$%{}")]
    names = [name for name in names if "_" in name and name == name.upper()]
    bad = kind in _SHADY or kind in ("mail", "reserved", "free")
    familiar = not bad and sum(host_of(url).name in row for row in rows) > 1
    if names:
        graves = [_grave(name, url, kind, bad=bad, login=_HEADER.search(sentence) is not None) for name in names]
        grave = next((one for one in ("critical", "warn") if one in graves), None)
        return "warn" if grave and familiar and not any(map(_is_owned, names)) else grave, url
    if what is None or "_" in what or not _TOWARDS.search(rest[: rest.find(url)]):
        return None, ""
    if _KEEPS.match(match[0]) and not ("'s" in match[0] or "’s" in match[0]):
        return None, ""  # a place where people keep their own secrets
    if not bad and any(own_service(name, url) for name in _VARIABLE.findall(sentence)):
        return None, ""
    if not bad and (kind == "placeholder" or (familiar and _HEADER.search(sentence))):
        return None, ""
    return "critical" if bad or _OWNERS.search(rest) or not (familiar or _HEADER.search(sentence)) else "warn", url


def _is_owned(name: str) -> bool:
    return belongs(name) in ("vendor", "nowhere")


def _grave(name: str, url: str, kind: str, *, bad: bool, login: bool) -> Severity | None:
    """Return the severity of sending an environment variable to an address."""
    if not secret_name(name) or (kind != "mail" and own_service(name, url if "://" in url else f"https://{url}")):
        return None
    if bad or _is_owned(name):
        return "critical"
    return None if kind == "placeholder" else "warn" if login else "critical"


def _place(text: str) -> tuple[str, str]:
    """Return the first outside destination in a text, as written there, and its kind."""
    for found in URL.finditer(text):
        if is_placeholder(host_of(found[0]).name):
            return found[0].rstrip(".,;:"), "placeholder"
        if kind := _kind(found[0]):
            return found[0].rstrip(".,;:"), kind
    if (mail := _ADDRESS.search(text)) is not None and not _NOBODY.search(mail[0]):
        return mail[0], "mail"
    if "://" not in text and (bare := _BARE_HOST.search(text)) is not None:
        kind = _kind(bare[1])
        return (bare[1], kind) if kind else ("", "")
    return "", ""


def _kind(url: str) -> str:
    """Return the kind of an address; "" for nearby hosts, and for well-known hosts unless anyone can publish there."""
    kind = host_of(url).kind
    return "shared" if kind == "known" and is_shared(url) else "" if kind in _SKIP else kind


def _joined(rows: Sequence[Row], found: list[Block], block: Block) -> str:
    """Return the text of neighbouring rows of the same section."""
    return " ".join(row.text for row in rows if found[row.owner].trail == block.trail)


def _target(text: str) -> tuple[str, str]:
    """Return the destination in a text and its kind; both are empty if there is none."""
    for match in URL.finditer(text):
        if kind := _kind(match[0]):
            return host_of(match[0]).name, kind
    if (mail := _ADDRESS.search(text)) is not None:
        return mail[0], "mail"
    if (nameless := _NAMELESS.search(text)) is not None:
        return nameless[0], "nameless"
    return "", ""


def beside(found: list[Block], rows: Sequence[Row], index: Rows) -> Iterator[Hit]:
    """Yield passages with secret files and an outside address: in any language, the files go to the address."""
    passages: list[tuple[Row, str, str]] = []
    for number in index.matched(_ADDRESS_SIGN):
        row = rows[number]
        block = found[row.owner]
        if block.kind in ("heading", "fence", "frontmatter") or "://" not in row.text:
            continue
        if (target := _target(row.text))[1]:
            before = _joined(rows[max(0, number - 2) : number], found, block)[-400:]
            passages.append((row, f"{before} {row.text}", target[0]))
    hints = hints_in(passage for _, passage, _ in passages)
    for row, passage, host in passages if hints else ():
        named = [place for place in places(passage, hints) if place.kind == "secret" and place.grave]
        if (
            named
            and not _HONEST.search(passage)
            and (_SEND.search(passage) or _TAKEN.search(passage) or not passage.isascii())
        ):
            less, shown = meant(found[row.owner], passage[: passage.find(named[0].text)])
            yield Hit("order-sends-secrets", row.line, shorten(row.text), "critical", host, steps=less, shown=shown)


def reads(found: list[Block], rows: Sequence[Row], index: Rows) -> Iterator[Hit]:
    """Yield orders to read secret files that do not mention sending."""
    orders: list[tuple[Row, str]] = []
    for number in index.having(_COLLECTS.pattern):
        row = rows[number]
        if found[row.owner].kind not in ("heading", "fence", "frontmatter", "table"):
            listed = _listed(found, rows, number) if row.text.rstrip("*_ ").endswith(":") else ()
            orders.append((row, "\n".join((row.text, *listed))))
    hints = hints_in(text for _, text in orders)
    for row, text in orders if hints else ():
        named = [place for place in places(text, hints) if place.kind == "secret" and place.grave]
        if named and _COLLECTS.search(row.text) and not _HONEST.search(text) and not _OWNER.search(text):
            less, shown = meant(found[row.owner], text[: text.find(named[0].text)])
            handed = len({place.what for place in named}) > 1 or _HANDED.search(row.text) is not None
            grave: Severity = "critical" if handed else "warn"
            yield Hit("order-reads-secrets", row.line, shorten(row.text), grave, named[0].text, steps=less, shown=shown)


def facts(found: list[Block], rows: Sequence[Row], index: Rows) -> Iterator[Fact]:
    """Yield facts about files in prose: an order fills a file with secrets, or sends one. Another may do the other half."""
    for number in sorted({*index.having(_COLLECTS.pattern), *index.having(_SEND.pattern)}):
        text, block = rows[number].text, found[rows[number].owner]
        if block.kind in ("heading", "fence", "frontmatter", "table") or not _NAMES_FILE.search(text):
            continue
        if "://" in text and (sent := _SEND.search(text)) and (target := _target(text[sent.start() :]))[1]:
            yield Fact("sink", ORDERED, rows[number].line, shorten(text), target[0])
        elif _COLLECTS.search(text) and not _HONEST.search(text) and not _FORBIDS.search(text):
            grave = any(place.kind == "secret" and place.grave for place in places(text))
            if grave or _WHOLE.search(text):
                yield Fact("source", ORDERED, rows[number].line, shorten(text), grave=True)


ORDERED = "an order in the text"
_NAMES_FILE = shape("prose", "names_file", 0, frame=r"\.(?<=[\w-]{2}\.)(?:{})\b")
_WHOLE = shape("prose", "whole")


def _listed(found: list[Block], rows: Sequence[Row], number: int) -> Iterator[str]:
    """Yield the items of the list that a row introduces."""
    for row in rows[number + 1 : number + 1 + _LONGEST_LIST]:
        if found[row.owner].kind != "item":
            break
        yield row.text


def _secrets(block: Block, before: str, row: Row, after: str) -> Iterator[Hit]:
    text = row.text
    sent = _SEND.search(text)
    target, kind = _target(f"{text} {after}")
    if not kind:
        return
    grave = [
        place
        for place in places(f"{before}\n{text}")
        if place.kind == "secret" and (place.grave or place.what == "environment files")
    ]
    many = _MANY.search(f"{before} {text}")
    named = many or _SECRET.search(text) or _SECRET.search(before)
    if sent is None or not (grave or named) or _HONEST.search(text):
        return
    taken = _TAKE.search(f"{before} {text}")
    strong = bool(grave or many) or kind in _SHADY or kind == "nameless" or _HIDE.search(f"{before} {text} {after}")
    if taken is None or (not strong and kind not in ("other", "free", "reserved", "mail")):
        return
    if not strong and not (_ALWAYS.search(text) and _SECRET.search(text)):
        return
    less, shown = meant(block, text[: sent.start()], quoted=text.count('"', 0, sent.start()) % 2 == 1)
    severity: Severity = "critical" if strong else "warn"
    yield Hit("order-sends-secrets", row.line, shorten(text), severity, target, steps=less, shown=shown)


def _data(block: Block, before: str, row: Row, after: str, index: Rows) -> Iterator[Hit]:
    text = row.text
    sent = _SEND.search(text)
    if sent is None:
        return
    target, kind = _target(text[sent.start() :])
    if not kind:
        target, kind = _target(after) if _UPLOADS.search(after) else ("", "")
    if not kind or _HONEST.search(text):
        return
    whole = _CONVERSATION.search(text)
    if not whole and not _DATA.search(text):
        return
    score = 2 if kind in _SHADY else 1 if kind in ("nameless", "free", "mail") else 0
    score += 2 if _HIDE.search(f"{before} {text} {after}") else 0
    score += 1 if whole else 0
    score += 1 if _PRETEXT.search(text) else 0
    score += 1 if _ALWAYS.search(f"{before[-120:]} {text}") else 0
    score -= 1 if score and sum(text.count(target) for text in index.rows) > 2 else 0
    if kind == "mail" and (score < 2 or _PLACEHOLDER.search(target)):
        return
    if score >= 1:
        less, shown = meant(block, text[: sent.start()])
        severity: Severity = "critical" if score >= 4 else "warn" if score >= 2 else "info"
        yield Hit("order-sends-data", row.line, shorten(text), severity, target, steps=less, shown=shown)
