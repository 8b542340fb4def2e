"""Prerequisites that are the attack: "install this first", from an untrustworthy place.

Most malicious skills in public registries contain no code at all. They say that a program must be installed before the
skill works, and where to get it: a release of a stranger, a page to copy a command from, an archive with a password. No
single sign is enough, since honest skills have prerequisites too; the signs of one section are added up.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.finding import Hit
from whet.guard.hosts import URL, host_of, is_installer, odd_top
from whet.guard.patterns import shorten
from whet.guard.prose.context import mentions
from whet.guard.prose.patterns import INSTALLER as SIGNS
from whet.guard.tables import load_table

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from whet.guard.finding import Severity
    from whet.guard.patterns import Rows
    from whet.guard.prose.markdown import Block

_MOST_BLOCKS = 24


class _Unit(NamedTuple):
    """A section: its blocks as one text, and the offset and line at which each begins."""

    text: str
    trail: str
    starts: tuple[tuple[int, int], ...]

    def line(self, offset: int) -> int:
        """Return the line of the document at an offset."""
        start, line = next((start, line) for start, line in reversed(self.starts) if start <= offset)
        return line + self.text.count("\n", start, offset)


def hits(found: list[Block], index: Rows) -> Iterator[Hit]:
    """Yield the fake installers of a text, at most one of each kind per section."""
    whole, lowered = index.whole, index.whole.lower()
    packed = _has(lowered, "packed")
    locked = packed and _has(lowered, "password")
    worst = max(map(_host_score, URL.findall(whole)), default=0) if "http" in lowered else 0
    copied = _has(lowered, "paste") and _has(lowered, "terminal")
    pasted = worst > 2 or copied or ("+" in lowered and SIGNS["run_keys"].search(lowered) is not None)
    shielded = _has(lowered, "scanner")
    demanded = (
        (worst > 0 or _has(lowered, "host") or _has(lowered, "strict"))
        and _has(lowered, "fetch")
        and _has(lowered, "demand")
    )
    if packed and _has(lowered, "unlock"):
        yield from _unlocked(_Unit("\n".join(block.text for block in found), "", _starts(found)))
    if not (locked or pasted or demanded or shielded):
        return
    for unit in _units(found):
        less = int(mentions(unit.trail))
        for hit in _look(unit, worst, locked=locked, shielded=shielded, pasted=pasted, demanded=demanded):
            yield hit._replace(steps=less)


def _look(unit: _Unit, worst: int, *, locked: bool, shielded: bool, pasted: bool, demanded: bool) -> Iterator[Hit]:
    part = unit.text.lower()
    if locked and _has(part, "password"):
        yield from (list(_locked(unit)) if _has(part, "locked") else ()) or _told(unit)
    if shielded and _has(part, "scanner"):
        yield from _shielded(unit)
    if pasted and (SIGNS["run_keys"].search(part) or ("http" in part and (worst > 2 or _has(part, "paste")))):
        yield from _pasted(unit)
    if demanded and _has(part, "fetch"):
        yield from _demanded(unit)


def _has(text: str, name: str) -> bool:
    """Return whether a text contains one of the hints. This is much cheaper than the expressions that they stand for."""
    return any(map(text.__contains__, _hints(name, plain=text.isascii())))


@cache
def _hints(name: str, *, plain: bool) -> tuple[str, ...]:
    return tuple(hint for hint in load_table("words")[f"installer_{name}"] if not plain or hint.isascii())


def _units(found: list[Block]) -> Iterator[_Unit]:
    """Yield the sections, each with its direct subsections, because `Prerequisites` has a part for each system."""
    start = 0
    while start < len(found):
        base = " > ".join(found[start].trail.split(" > ")[:2])
        end = start + 1
        while end < len(found) and end - start < _MOST_BLOCKS and (found[end].trail + " > ").startswith(base + " > "):
            end += 1
        yield _Unit("\n".join(block.text for block in found[start:end]), base, _starts(found[start:end]))
        start = end


def _starts(found: list[Block]) -> tuple[tuple[int, int], ...]:
    """Return the offset and line at which each block begins."""
    starts: list[tuple[int, int]] = []
    offset = 0
    for block in found:
        starts.append((offset, block.line))
        offset += len(block.text) + 1
    return tuple(starts)


def _locked(unit: _Unit) -> Iterator[Hit]:
    for pattern in (SIGNS["password"], SIGNS["password_first"]):
        for match in pattern.finditer(unit.text) if pattern.search(unit.text) else ():
            word = match["word"].strip(".,;:")
            if (
                len(word) < 2
                or word[0] in "-./"
                or SIGNS["one_pass"].match(match[0])
                or SIGNS["own_password"].fullmatch(word)
                or not _looks_given(match, word)
                or not _is_near(SIGNS["packed"], unit, match)
            ):
                continue
            fetched = URL.search(unit.text) or SIGNS["host"].search(unit.text) or SIGNS["download"].search(unit.text)
            severity: Severity = "critical" if fetched else "warn"
            yield Hit("installer-locked-archive", unit.line(match.start()), shorten(match[0]), severity)
            return


def _told(unit: _Unit) -> Iterator[Hit]:
    """Report a password in any language that is given next to an archive to download."""
    match = SIGNS["pass_word"].search(unit.text)
    if (
        match is None
        or not _is_near(SIGNS["archive"], unit, match)
        or SIGNS["own_password"].fullmatch(match["word"] or match["bare"])
    ):
        return
    if URL.search(unit.text) or SIGNS["host"].search(unit.text) or SIGNS["download"].search(unit.text):
        yield Hit("installer-locked-archive", unit.line(match.start()), shorten(match[0]), "critical")


def _shielded(unit: _Unit) -> Iterator[Hit]:
    """Report programs whose installation begins with a remark about the virus scanner, in any language."""
    match = SIGNS["scanner"].search(unit.text)
    if (
        match is None
        or not (SIGNS["executable"].search(unit.text) or SIGNS["archive"].search(unit.text))
        or not SIGNS["download"].search(unit.text)
    ):
        return
    near = unit.text[max(0, match.start() - 300) : match.end() + 300]
    if SIGNS["off"].search(near) and (
        URL.search(near)
        or SIGNS["host"].search(near)
        or SIGNS["executable"].search(near)
        or SIGNS["pass_word"].search(near)
    ):
        yield Hit("installer-required", unit.line(match.start()), shorten(near[:200]), "critical")


def _unlocked(unit: _Unit) -> Iterator[Hit]:
    match = SIGNS["unlock"].search(unit.text)
    if (
        match is None
        or not SIGNS["archive"].search(unit.text)
        or SIGNS["own_password"].fullmatch(match["word"] or match["other"])
    ):
        return
    if SIGNS["program"].search(unit.text) and SIGNS["fetch"].search(unit.text):
        yield Hit("installer-locked-archive", unit.line(match.start()), shorten(match[0]), "critical")


def _is_near(sign: re.Pattern[str], unit: _Unit, match: re.Match[str]) -> bool:
    """Return whether the sign is up to 200 characters before the password, in its paragraph, or up to 120 after it."""
    start = max(unit.text.rfind("\n\n", 0, match.start()), match.start() - 200, 0)
    return sign.search(unit.text, start, match.end() + 120) is not None


def _looks_given(match: re.Match[str], word: str) -> bool:
    """Return whether the word is a password that is given, and not the next word of a sentence."""
    before = match[0][: match[0].rfind(word)]
    return before.rstrip().endswith(("`", '"', "'", "“", ":", "=", "*", "：", "(", "「", "【", "是", "は", "is"))


def _pasted(unit: _Unit) -> Iterator[Hit]:
    if (match := SIGNS["run_dialog"].search(unit.text)) is not None:
        yield Hit("installer-paste", unit.line(match.start()), shorten(match[0]), "critical")
        return
    for page in URL.finditer(unit.text):
        host = host_of(page[0])
        if host.near or is_installer(page[0]):
            continue
        before, after = unit.text[max(0, page.start() - 160) : page.start()], unit.text[page.end() : page.end() + 260]
        copied = SIGNS["copy"].search(after) or SIGNS["copy"].search(before)
        pasted = SIGNS["into_terminal"].search(after)
        odd = host.shady or host.kind == "free"
        shown = SIGNS["shown"].search(after) is not None
        if not (
            (copied and pasted) or shown or (host.shady and host.kind != "drop" and SIGNS["run_from"].search(after))
        ):
            continue
        grave = odd or SIGNS["strict"].search(unit.text) is not None
        severity: Severity = "info" if host.kind == "known" else "critical" if grave else "warn"
        evidence = shorten(unit.text[max(0, page.start() - 60) : page.end() + 140])
        yield Hit("installer-paste", unit.line(page.start()), evidence, severity, subject=host.name)
        return


def _demanded(unit: _Unit) -> Iterator[Hit]:
    best: tuple[int, str, int] = (0, "", 0)
    named = SIGNS["bare_host"].finditer(unit.text) if _has(unit.text.lower(), "host") else ()
    for match in (*URL.finditer(unit.text), *named):
        score = _host_score(match[0])
        if score <= best[0] or is_installer(match[0]):
            continue
        if SIGNS["fetch"].search(unit.text[max(0, match.start() - 220) : match.end() + 160]):
            best = (score, match[0], match.start())
    if not best[0]:
        return
    score, url, offset = best
    host = host_of(url)
    text = unit.text
    points = [
        2
        if SIGNS["strict"].search(text)
        else 1
        if SIGNS["mandatory"].search(text) or SIGNS["mandatory"].search(unit.trail)
        else 0,
        2 if SIGNS["brand"].search(text) else 0,
        1 if SIGNS["windows"].search(text) and SIGNS["mac"].search(text) else 0,
        2 if SIGNS["executable"].search(text) else 1 if SIGNS["program"].search(text) else 0,
        2 if SIGNS["into_terminal"].search(text) and SIGNS["copy"].search(text) else 0,
        4
        if SIGNS["protection"].search(text) and (SIGNS["program"].search(text) or SIGNS["archive"].search(text))
        else 0,
        1 if SIGNS["opaque"].search(text) else 0,
    ]
    if not points[0] and not points[5]:
        return
    total = score + sum(points)
    if total >= 5:
        yield Hit(
            "installer-required",
            unit.line(offset),
            shorten(text[max(0, offset - 120) : offset + len(url)]),
            "critical" if total >= 6 else "warn",
            subject=host.name,
        )


def _host_score(url: str) -> int:
    host = host_of(url)
    asset = 1 if SIGNS["asset"].search(url) else 0
    if host.shady:
        return 3 + asset
    if host.kind == "free" and not host.name.endswith((".github.io", ".gitlab.io")):
        return 2 + asset
    if host.kind in ("other", "reserved", "free"):
        return asset + (2 if odd_top(host.name) else 1 if asset or SIGNS["branded"].search(host.name) else 0)
    if host.kind == "known" and asset and host.name.endswith(("github.com", "githubusercontent.com", "gitlab.com")):
        return 1
    return 0
