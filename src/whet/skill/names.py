"""Names of skills: directory slug, slash command, comparison key, qualified name.

Users, models and file systems write the same name in different ways. Each function here computes one form of a name,
and all agree: names with the same `key` have the same `slug` and the same `command`. The rules of agentskills.io are in
`spec_problems`, which follows the reference validator; everything else is lenient.
"""

from __future__ import annotations

import unicodedata

from whet.errors import expected_text
from whet.patterns import compile_late
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.errors import UsageError

MAX_LENGTH = 64
"""Largest length of a name of the specification, a slug and a command."""

_NOT_ASCII_WORD = compile_late(r"[^a-z0-9]+")
_ASCII_NAME = compile_late(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_QUALIFIED = compile_late(r"(?s)([A-Za-z0-9_-]+):([^\s/\\:].*)")
_HYPHENS = compile_late("[_\u2010\u2012-\u2015\u2212]")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_VARIATION_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_NOTHING_TO_SEE = compile_late(f"[{_FILLERS}{_VARIATION_SELECTORS}]")

_LOOKED_AT = 128
"""Characters of a name that `closest` compares; a longer name is not a typo."""
_PART = 3
"""Shortest part of a name that counts as a match."""
_WORD = 4
"""Words must be longer than this for a typo in them to count."""
_PROBES = 8
"""Letter pairs of a long name that are checked first; a candidate with few of them is not compared further."""
_FINALISTS = 64
"""Candidates whose edit distance is computed."""
_SHARED_ENOUGH = 0.5
"""Share of letter pairs that makes two names similar."""


class Problem(NamedTuple):
    """A rule of the specification that a name breaks."""

    code: str
    message: str


class Qualified(NamedTuple):
    """A name with its scope or plugin; "" for no scope."""

    scope: str
    name: str


def hidden(character: str) -> bool:
    """Return whether a character is invisible or reorders its neighbours: control, format, bidi, zero-width, filler."""
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _FILLERS


def key(name: str) -> str:
    """Return the comparison key of a name, equal for all its spellings; compare names only by this."""
    try:
        if name.isascii() and name.islower() and name.replace("-", "").isalnum():
            return name
    except (AttributeError, TypeError):  # bytes have the same methods
        raise not_a_name(name) from None
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().replace("_", "-").split())
    return " ".join(_HYPHENS.sub("-", _fold(name)).split())


def slug(text: str) -> str:
    """Return the directory name of a declared name: ASCII, never empty, idempotent.

    A name without any ASCII letter or digit (after accents are dropped) gets a slug from its hash, so that skills named
    in other scripts do not collide and keep their directory.
    """
    if is_ascii_name(text):
        return text
    folded = key(text)
    plain = folded if folded.isascii() else _without_marks(folded)
    short = _NOT_ASCII_WORD.sub("-", plain).strip("-")[:MAX_LENGTH].rstrip("-")
    if short:
        return short
    import hashlib

    return f"skill-{hashlib.sha256(folded.encode()).hexdigest()[:8]}"


def command(text: str) -> str:
    """Return the slash command: letters, digits and marks of any script, joined by single hyphens.

    Empty if the name has none of them: such a skill has no command.
    """
    if is_ascii_name(text):
        return text
    folded = key(text)
    if not folded.isascii():
        folded = "".join(c if c.isalnum() or unicodedata.category(c).startswith("M") else "-" for c in folded)
        return "-".join(filter(None, folded.split("-")))[:MAX_LENGTH].rstrip("-")
    return _NOT_ASCII_WORD.sub("-", folded).strip("-")[:MAX_LENGTH].rstrip("-")


def spec_problems(name: str) -> tuple[Problem, ...]:
    """Return every rule of agentskills.io that the name itself breaks."""
    name = unicodedata.normalize("NFKC", name.strip())
    if not name:
        return (Problem("name-empty", "The name is empty."),)
    problems = []
    if len(name) > MAX_LENGTH:
        problems.append(Problem("name-too-long", f"The name has {len(name)} characters; the limit is {MAX_LENGTH}."))
    shown = repr(name[:MAX_LENGTH])
    if name != name.lower():
        problems.append(Problem("name-not-lowercase", f"The name {shown} has capital letters."))
    if name.startswith("-") or name.endswith("-"):
        problems.append(Problem("name-edge-hyphen", f"The name {shown} starts or ends with a hyphen."))
    if "--" in name:
        problems.append(Problem("name-double-hyphen", f"The name {shown} has two hyphens in a row."))
    wrong = dict.fromkeys(c for c in name if not (c.isalnum() or c == "-"))
    if wrong:
        listed = " ".join(repr(c) for c in list(wrong)[:5])
        message = f"The name {shown} has characters other than letters, digits and hyphens: {listed}."
        problems.append(Problem("name-bad-character", message))
    return tuple(problems)


def is_ascii_name(name: str) -> bool:
    """Return whether the name is valid by the specification in ASCII alone, which every host accepts."""
    if not isinstance(name, str):
        raise not_a_name(name)
    return len(name) <= MAX_LENGTH and _ASCII_NAME.fullmatch(name) is not None


def not_a_name(name: object) -> UsageError:
    """Return the error for a value that is not a name."""
    return expected_text("bad-name", "A name", name, hint="Pass a name as `library.skills()` has it.")


def split_qualified(text: str) -> Qualified:
    """Split `user:deploy` or `plugin:skill`; a drive, an address or prose with a colon stays a plain name."""
    if not isinstance(text, str):
        raise not_a_name(text)
    text = text.strip()
    match = _QUALIFIED.fullmatch(text)
    return Qualified(match[1], match[2]) if match else Qualified("", text)


def closest(name: str, candidates: Iterable[str], limit: int = 5) -> tuple[str, ...]:
    """Return the candidates that a user may have meant by `name`, best first.

    Same key, then prefix, then part of the name (one or two letters only at the start of a word); if these are too few,
    small typos and names that share many letter pairs. One pass over the candidates with substring tests only; edit
    distance for a few finalists.
    """
    if not isinstance(name, str):
        raise not_a_name(name)
    wanted = key(name[:_LOOKED_AT]).replace(" ", "-")
    if not wanted or limit < 1:
        return ()
    near: list[tuple[int, float, str, str]] = []
    others: list[tuple[str, str]] = []
    for candidate in dict.fromkeys(candidates):
        text = key(candidate).replace(" ", "-")
        if (wanted if len(wanted) >= _PART else f"-{wanted}") in f"-{text}":
            kind = 0 if text == wanted else 1 if text.startswith(wanted) else 2
            near.append((kind, len(text), text, candidate))
        else:
            others.append((text, candidate))
    if len(near) < limit:
        near.extend(_similar(wanted, others))
    return tuple(candidate for *_, candidate in sorted(near)[:limit])


def is_slip(one: str, two: str) -> bool:
    """Return whether two names are one typo apart: a letter added, left out, replaced, or two exchanged."""
    if one == two:
        return False
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    first, second = one[start:], two[start:]
    if len(first) == len(second):
        return first[1:] == second[1:] or (first[:2] == second[:2][::-1] and first[2:] == second[2:])
    return first[1:] == second if len(first) > len(second) else first == second[1:]


def _fold(text: str) -> str:
    """Return the compatibility case folding, in the two rounds that make it stable, without invisible characters."""
    text = _NOTHING_TO_SEE.sub("", text)
    if not text.isprintable():
        text = "".join(c for c in text if c.isspace() or not hidden(c))
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)


def _without_marks(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.category(c).startswith("M"))


def _similar(wanted: str, others: list[tuple[str, str]]) -> list[tuple[int, float, str, str]]:
    """Rank as in `closest`: small edit distances before shared letter pairs."""
    pairs = _letter_pairs(wanted)
    probes = pairs[:: max(1, len(pairs) // _PROBES)]
    scored = []
    for text, candidate in others:
        marked = f"\n{text}\n"
        if 4 * len([1 for pair in probes if pair in marked]) >= len(probes):
            shared = len([1 for pair in pairs if pair in marked])
            scored.append((-2 * shared / (len(pairs) + len(text) + 1), text, candidate))
    scored.sort()
    mistakes = min(3, 1 + len(wanted) // 5)
    similar: list[tuple[int, float, str, str]] = []
    for score, text, candidate in scored[:_FINALISTS]:
        distance = _distance(wanted, text, mistakes)
        if distance > mistakes:
            distance = _distance(_words_sorted(wanted), _words_sorted(text), mistakes)
        if distance > mistakes and len(wanted) > _WORD and any(is_slip(wanted, word) for word in text.split("-")):
            distance = mistakes
        if distance <= mistakes:
            similar.append((3, distance, text, candidate))
        elif -score >= _SHARED_ENOUGH:
            similar.append((4, score, text, candidate))
    return similar


def _letter_pairs(text: str) -> list[str]:
    """Return every pair of neighbours once, in order; the ends of the text count as letters."""
    marked = f"\n{text}\n"
    return list(dict.fromkeys(marked[i : i + 2] for i in range(len(marked) - 1)))


def _words_sorted(text: str) -> str:
    """Return a key that is equal for `review-code` and `code-review`."""
    return "-".join(sorted(text.split("-")))


def _distance(a: str, b: str, most: int) -> int:
    """Count insertions, deletions, replacements and swaps of neighbours from `a` to `b`, up to `most`."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    two_up: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i] + [most + 1] * len(b)
        for j in range(max(1, i - most), min(len(b), i + most) + 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != b[j - 1]))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, two_up[j - 2] + 1)
            row[j] = best
        if min(row) > most:
            return most + 1
        two_up, above = above, row
    return above[-1]
