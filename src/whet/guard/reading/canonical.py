"""Canonical spelling: invisible characters are removed, look-alikes are replaced, and both are reported.

Checkers match words, so a word must not be able to hide from them with an invisible character, a letter of another
alphabet or a strange line end. Honest text in any language passes unchanged and unreported: joiners in Persian,
Hindi and emoji, right-to-left text, words entirely in Cyrillic. Lines keep their numbers: a line ends at a line feed, a
carriage return, both together, or a Unicode line or paragraph separator.

Plain ASCII costs one scan; other text without oddities costs two.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import Hit
from whet.guard.patterns import line_of
from whet.guard.reading.confusables import COMMON, LETTERS, ORDERS
from whet.guard.tables import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.finding import Severity

_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_BIDI = "\u202a-\u202e\u2066-\u2069"
_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
INVISIBLE = f"{_TAGS}\U000e0100-\U000e01ef{_BIDI}{_HIDDEN}"
"""Invisible characters, for a character class in an expression."""
_ALIKE = "".join(LETTERS)
_STYLED = (
    "\uff01-\uff5e\U0001d400-\U0001d7ff\u24b6-\u24e9\U0001f130-\U0001f149\u1d43-\u1d5b"
    "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212a-\u2131"
)
_ODD = expression(rf"[\x80-\x9f\u2028\u2029{_TAGS}{_SELECTORS}{_BIDI}{_HIDDEN}{_STYLED}]")
_CARRIER = expression(rf"[{_TAGS}{_SELECTORS}{_HIDDEN}]")
_LOOKALIKE = expression(rf"[{_ALIKE}]")
_ASCII = bytes(range(128))
_NOT_CONTROL = bytes({9, 10, *range(32, 127), *range(128, 256)})
_TAG_RUN = expression(rf"(\U0001f3f4)?([{_TAGS}]+)")
_FLAG = expression(r"[a-z]{2}[a-z0-9]{1,4}\x7f")
_SELECTOR_RUN = expression(rf"[{_SELECTORS}]+")
_BIDI_RUN = expression(rf"[{_BIDI}]")
_HIDDEN_RUN = expression(rf"[{_HIDDEN}]+")
_STYLED_RUN = expression(rf"[{_STYLED}]+")
_MIXED = expression(rf"[A-Za-z][{_ALIKE}]|[{_ALIKE}][A-Za-z]")
_WHOLE = expression(rf"(?<![^\W\d_])[{_ALIKE}]{{4,20}}(?![^\W\d_])")
_FOREIGN = expression(rf"(?![{_ALIKE}])[\u0370-\u052f\u0530-\u058f]")
_RETURN = expression(r"[A-Za-z]{1,20}(?:\r[A-Za-z]{1,20}){1,6}")
_ESCAPE = expression(r"\x1b(?:\[[0-?]{0,30}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)?|[@-_])?")
_CONCEALING = expression(r"\x1b(?:\[(?:(?:[0-9]{1,2};){0,4}8m|[0-9;]{0,6}[AFK])|\](?:52|8);)")
_RTL = expression(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LATIN = expression(r"[A-Za-z]")
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_QUIET = frozenset("\u00ad\u200e\u200f\u061c\ufeff")
_MOST = 5
_LOOKS = 20_000
_BLANKS = expression(r"\s*")
_FOLD = str.maketrans(LETTERS)
_PAD = 200
_PAD_LINES = 100
_MATTERS = shape("reading", "matters")


def canonical(text: str) -> tuple[str, tuple[Hit, ...]]:
    """Return the text as checkers read it, and hits for its oddities."""
    raw = text.encode("utf-8", "surrogatepass")
    foreign = _foreign(raw)
    alike = _LOOKALIKE.search(foreign) is not None
    if not raw.translate(None, _NOT_CONTROL) and not _ODD.search(foreign) and not (alike and _MIXED.search(text)):
        return _whole_words(text) if alike else (text, ())
    hits: list[Hit] = []
    text = _lines(text, hits)
    text = _terminal(text, hits)
    if not text.isascii():
        steps = (_TAG_RUN, _tags), (_SELECTOR_RUN, _selectors), (_BIDI_RUN, _bidi), (_HIDDEN_RUN, _invisible)
        for sign, step in (*steps, (_STYLED_RUN, _styled)):
            text = step(text, hits) if sign.search(foreign) else text
        if alike or _STYLED_RUN.search(foreign):
            text = _mixed(text, hits)
        text, more = _whole_words(text)
        hits += more
    return text, tuple(hits)


def concealed(text: str) -> list[tuple[str, int, str]]:
    """Return texts written in invisible characters: the method, the offset and the text."""
    foreign = "" if text.isascii() else _foreign(text.encode("utf-8", "surrogatepass"))
    if not _CARRIER.search(foreign):
        return []
    found = []
    tags = _tag_runs(text) if _TAG_RUN.search(foreign) else []
    if tags:
        found.append(("unicode tags", tags[0].start(), " ".join(_untag(match[2]) for match in tags)))
    for match in _SELECTOR_RUN.finditer(text):
        if len(match[0]) > 3:
            found.append(("variation selectors", match.start(), _unselect(match[0])))
    for match in _HIDDEN_RUN.finditer(text):
        if len(match[0]) >= 32:
            found.append(("zero-width characters", match.start(), _unwidth(match[0])))
    return [entry for entry in found if entry[2].strip()]


def padding(text: str) -> list[Hit]:
    """Report text that matters, pushed out of sight by hundreds of spaces or blank lines."""
    hits: list[Hit] = []
    step = _PAD // 2
    last = 0
    for match in re.finditer(r"\s(?=\s)", text[::step]):
        start = match.start() * step
        if start < last or not text[start : start + step].isspace():
            continue
        before = text[max(0, start - _PAD) : start]
        begin = start - len(before) + len(before.rstrip())
        last = _BLANKS.match(text, start).end()  # type: ignore[union-attr]  # it matches anything, even an empty text
        lines, right = text.count("\n", begin, last), last - max(begin, text.rfind("\n", begin, last) + 1)
        if lines >= _PAD_LINES or (right >= _PAD and not _in_table(text, begin)):
            rest = text[last : last + 400]
            if _MATTERS.search(rest if lines >= _PAD_LINES else rest.split("\n", 1)[0]):
                where = f"{lines} blank lines" if lines >= _PAD_LINES else f"{right} blanks"
                hits.append(Hit("padding", line_of(text, last), f"after {where}: {_visible(rest)}"))
        if len(hits) >= _MOST:
            break
    return hits


def _in_table(text: str, offset: int) -> bool:
    return text[text.rfind("\n", 0, offset) + 1 : offset].lstrip().startswith(("|", "+-"))


def _foreign(raw: bytes) -> str:
    """Return the characters of a text beyond ASCII, each once: enough to see whether a closer look is needed."""
    return "".join(set(raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")))


def _report(
    hits: list[Hit], rule: str, text: str, offset: int, evidence: str, severity: Severity | None = None
) -> None:
    if sum(hit.rule == rule for hit in hits) < _MOST:
        hits.append(Hit(rule, line_of(text, offset), _visible(evidence), severity))


def _visible(text: str) -> str:
    """Return evidence as one short line, with names for invisible characters."""
    line = " ".join(text[:400].split())
    shown = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in line)
    return shown if len(shown) <= 160 else shown[:157] + "..."


def _lines(text: str, hits: list[Hit]) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\r" in text:
        split = [match for match in _RETURN.finditer(text) if match[0].replace("\r", "").lower() in ORDERS]
        for match in split:
            _report(hits, "carriage-return", text, match.start(), match[0].replace("\r", "\\r"))
        text = _respelled(text, [(match.start(), match.end(), match[0].replace("\r", "")) for match in split])
        text = text.replace("\r", "\n")
    return re.sub("[\u2028\u2029]", "\n", text) if not text.isascii() else text


def _terminal(text: str, hits: list[Hit]) -> str:
    """Remove escape sequences and control characters, and report those that would hide something from a reader."""
    if "\x1b" in text:
        for match in _CONCEALING.finditer(text):
            _report(hits, "terminal-escape", text, match.start(), text[match.start() : match.start() + 60])
        text = _ESCAPE.sub("", text)
    text = re.sub(r"[\x0b\x0c\x85]", " ", text)
    for match in re.finditer(r"[A-Za-z](?:[\x00-\x08\x0e-\x1f\x7f-\x9f]{1,8}[A-Za-z]{1,20})", text):
        word, start = _around(
            text, match.start(), lambda c: c.isalpha() or (unicodedata.category(c) == "Cc" and c != "\n")
        )
        if "".join(filter(str.isalpha, word)).lower() in ORDERS:
            _report(hits, "invisible-characters", text, start, word, "critical")
    return re.sub(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]+", "", text)


def _is_flag(match: re.Match[str]) -> bool:
    return _FLAG.fullmatch("".join(chr(ord(c) - 0xE0000) for c in match[2])) is not None


def _untag(run: str) -> str:
    return "".join(chr(ord(c) - 0xE0000) for c in run if 0xE0020 <= ord(c) <= 0xE007E)


def _tag_runs(text: str) -> list[re.Match[str]]:
    """Return the runs of tags that carry text; a few single tags are a range in a regular expression."""
    runs = [match for match in _TAG_RUN.finditer(text) if not _is_flag(match)]
    lengths = [len(match[2]) for match in runs]
    return runs if max(lengths, default=0) >= 4 or sum(lengths) >= 24 else []


def _tags(text: str, hits: list[Hit]) -> str:
    for match in _tag_runs(text)[:_MOST]:
        said = _untag(match[2])
        _report(hits, "unicode-tags", text, match.start(), said or f"{len(match[2])} tag characters")
    return _TAG_RUN.sub(lambda match: match[0] if _is_flag(match) else match[1] or "", text)


def _unselect(run: str) -> str:
    raw = bytes(ord(c) - 0xFE00 if ord(c) < 0xFE10 else ord(c) - 0xE0100 + 16 for c in run)
    said = raw.decode("utf-8", "replace")
    if not said.isprintable() and all(byte < 16 for byte in raw):
        halves = zip(raw[::2], raw[1::2], strict=False)
        said = bytes(high * 16 + low for high, low in halves).decode("utf-8", "replace")
    return said if said.replace("\n", "").isprintable() else ""


def _selectors(text: str, hits: list[Hit]) -> str:
    """Remove variation selectors that choose no form: several in a row, or after Latin letters, they carry data."""
    loose: list[int] = []

    def take(match: re.Match[str]) -> str:
        run = match[0]
        before = text[match.start() - 1] if match.start() else ""
        if len(run) > 3:
            said = _unselect(run)
            _report(hits, "variation-selectors", text, match.start(), said or f"{len(run)} variation selectors")
            return ""
        if before > "\x7f" or (before and before in "0123456789#*"):
            return run[:1]
        if before.isalpha():
            loose.append(match.start())
        return ""

    kept = _SELECTOR_RUN.sub(take, text)
    if len(loose) >= 8:
        _report(hits, "variation-selectors", text, loose[0], f"{len(loose)} letters carry variation selectors", "warn")
    return kept


def _bidi(text: str, hits: list[Hit]) -> str:
    """Remove direction controls; report those that reorder Latin text, but not those around right-to-left text."""
    for match in _BIDI_RUN.finditer(text):
        if match[0] not in "\u202b\u202e\u2067":
            continue
        end = text.find("\n", match.end())
        inside = text[match.end() : end if end >= 0 else len(text)][:400]
        if match[0] != "\u202e":
            inside = re.split("[\u202c\u2069]", inside, maxsplit=1)[0]
        latin, rtl = len(_LATIN.findall(inside)), len(_RTL.findall(inside))
        if latin > 1 and (rtl == 0 or (match[0] == "\u202e" and latin > rtl)):
            line = text[text.rfind("\n", 0, match.start()) + 1 : match.end() + len(inside)]
            _report(hits, "bidi-control", text, match.start(), line[-160:])
    return _BIDI_RUN.sub("", text)


def _unwidth(run: str) -> str:
    """Return the text that two alternating invisible characters spell as bits."""
    signs = sorted(set(run))
    if len(signs) != 2:
        return ""
    for zero in signs:
        bits = "".join("0" if c == zero else "1" for c in run)
        for width in (8, 7):
            codes = [int(bits[i : i + width], 2) for i in range(0, len(bits) - width + 1, width)]
            if len(codes) > 3 and all(31 < code < 127 or code in (9, 10) for code in codes):
                return "".join(map(chr, codes))
    return ""


def _invisible(text: str, hits: list[Hit]) -> str:
    fillers = any(c in text for c in _FILLERS) and not re.search("[\uac00-\ud7a3\u1100-\u115e\u3131-\u3163]", text)
    looks = _LOOKS

    def take(match: re.Match[str]) -> str:
        nonlocal looks
        run, start, end = match[0], match.start(), match.end()
        before, after = text[start - 1 : start], text[end : end + 1]
        if run in _JOINERS and (_joins(before) or _joins(after)):
            return run
        if len(run) >= 32 and _unwidth(run):
            _report(hits, "invisible-characters", text, start, _unwidth(run), "critical")
        elif looks and before.isalpha() and after.isalpha() and (before + after).isascii():
            looks -= 1
            _split_word(text, start, hits, quiet=all(c in _QUIET for c in run))
        elif len(run) >= 16:
            _report(hits, "invisible-characters", text, start, f"{len(run)} invisible characters in a row")
        elif fillers and run[0] in _FILLERS:
            _report(hits, "invisible-characters", text, start, text[max(0, start - 40) : end + 40])
        return ""

    return _HIDDEN_RUN.sub(take, text)


def _split_word(text: str, offset: int, hits: list[Hit], *, quiet: bool) -> None:
    word, start = _around(text, offset, lambda c: c.isalpha() or _HIDDEN_RUN.match(c) is not None)
    whole = "".join(filter(str.isalpha, word)).lower()
    hyphens = "\u00ad" in word and not _HIDDEN_RUN.search(word.replace("\u00ad", ""))
    if whole in ORDERS and not hyphens:
        _report(hits, "invisible-characters", text, start, word, "critical")
    elif not quiet and whole in COMMON:
        _report(hits, "invisible-characters", text, start, word)


def _joins(character: str) -> bool:
    """Return whether a joiner next to this character has a purpose: in scripts that join, and in emoji."""
    return character > "\u02ff" and not character.isspace()


def _styled(text: str, hits: list[Hit]) -> str:
    """Replace full-width, mathematical and circled letters by plain letters; Chinese punctuation stays."""

    def plain(match: re.Match[str]) -> str:
        run = match[0]
        folded = unicodedata.normalize("NFKC", run)
        if not any(c.isalnum() and c.isascii() for c in folded):
            return run
        if len(run) < 3 and not ("\uff01" <= run[0] <= "\uff5e" or run[0] > "\U0001d3ff") and not _beside(text, match):
            return run
        if _beside(text, match):
            word, start = _around(text, match.start(), str.isalpha)
            _disguised(unicodedata.normalize("NFKC", word), word, text, start, hits)
        return folded

    return _STYLED_RUN.sub(plain, text)


def _beside(text: str, match: re.Match[str]) -> bool:
    neighbours = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return any(c.isascii() and c.isalpha() for c in neighbours)


def _mixed(text: str, hits: list[Hit]) -> str:
    """Respell words of Latin letters that contain look-alikes."""
    spans: list[tuple[int, int, str]] = []
    at = 0
    while match := _MIXED.search(text, at):
        if len(spans) >= _LOOKS:
            return _respelled(text[:at], spans) + text[at:].translate(_FOLD)
        word, start = _around(text, match.start(), str.isalpha)
        at = max(match.end(), start + len(word))
        folded = "".join(LETTERS.get(c, c) for c in word)
        if folded.isascii():
            spans.append((start, start + len(word), folded))
            _disguised(folded, word, text, start, hits)
    return _respelled(text, spans)


def _whole_words(text: str) -> tuple[str, tuple[Hit, ...]]:
    """Respell words that consist only of look-alikes, in a text that is otherwise Latin."""
    first = _WHOLE.search(text)
    if first is None or _FOREIGN.search(text):
        return text, ()
    hits: list[Hit] = []
    spans = []
    for match in _WHOLE.finditer(text):
        folded = "".join(map(LETTERS.__getitem__, match[0]))
        if folded.lower() in ORDERS | COMMON:
            spans.append((match.start(), match.end(), folded))
            _disguised(folded, match[0], text, match.start(), hits)
    return _respelled(text, spans), tuple(hits)


def _disguised(folded: str, word: str, text: str, offset: int, hits: list[Hit]) -> None:
    plain = folded.lower()
    if plain in ORDERS or plain in COMMON:
        evidence = f"{folded}, spelled with {', '.join(_names(word))}"
        _report(hits, "mixed-script-word", text, offset, evidence, "critical" if plain in ORDERS else None)


def _names(word: str) -> Iterator[str]:
    for character in dict.fromkeys(c for c in word if not c.isascii()):
        yield f"U+{ord(character):04X} {unicodedata.name(character, 'unnamed').lower()}"


def _respelled(text: str, spans: list[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, folded in spans:
        pieces += (text[at:start], folded)
        at = end
    return "".join((*pieces, text[at:])) if spans else text


def _around(text: str, offset: int, belongs: Callable[[str], bool]) -> tuple[str, int]:
    """Return the word at an offset, at most 40 characters to each side, and its start."""
    start = end = offset
    while start > 0 and offset - start < 40 and belongs(text[start - 1]):
        start -= 1
    while end < len(text) and end - offset < 40 and belongs(text[end]):
        end += 1
    return text[start:end], start
