"""From a shortened index, can the right skill still be picked?

    python benchmarks/siblings.py --pool SKILLS.jsonl[.gz] --queries QUERIES.jsonl [--sizes 50,100,200] [--json]

Reads skills (`id`, `name`, `description`) and messages (`kind`, `text`, `relevant`, `equivalent`, `explicit`), one JSON
object per line. The skills are cut into libraries of each size in two ways: `mixed`, in the order of a checksum of the
id, and `related`, as they come, where neighbours belong together. Every library is listed within the same budget, in
the same lines and the same order, by each policy; the policies differ only in what they show of the descriptions. Each
message of a user or a task that does not name its skill then picks, from a library that holds the skill, the line that
fits best by BM25. It is right when that line is the skill or one that counts as the same.

A word matcher is no model, but it is the same for all, and what is not shown cannot be matched by anybody.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from functools import cache
from math import log
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from policies import BETWEEN, POLICIES, Skill, digest, line

from whet.prompt.formats import clean
from whet.prompt.shorten import phrases
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policies import Shown

GOAL = 5.0
"""Points by which Whet should be better than the policies of RIVALS."""
RIVALS = ("even", "dropped")

_SAMPLES = 2_000
_SEED = 20260
_K1, _B = 1.2, 0.75
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ing", "ies", "es", "ed", "s")


class Message(NamedTuple):
    """What somebody wrote."""

    terms: tuple[str, ...]
    wanted: frozenset[str]
    """The skills it was written for."""
    right: frozenset[str]
    """Those, and the ones that count as the same."""


# --- picking --------------------------------------------------------------------------------------------------------


@cache
def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def terms(text: str) -> list[str]:
    """The words of a text, in small letters and without the commonest English endings."""
    return [_stem(word) for word in _WORD.findall(text.lower())]


class Lines:
    """The lines of one index, ready to be picked from."""

    def __init__(self, lines: Sequence[str]) -> None:
        counts = [Counter(terms(text)) for text in lines]
        sizes = [count.total() for count in counts]
        average = sum(sizes) / max(1, len(sizes)) or 1.0
        self._scores: dict[str, list[tuple[int, float]]] = {}
        for at, (count, size) in enumerate(zip(counts, sizes, strict=True)):
            for term, times in count.items():
                score = times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * size / average))
                self._scores.setdefault(term, []).append((at, score))
        self._total = len(counts)

    def best(self, message: Sequence[str]) -> int | None:
        """The place of the line that fits these terms best, the first of equals; None when no line has any of them."""
        scores = [0.0] * self._total
        for term in message:
            found = self._scores.get(term, ())
            rarity = log(1 + (self._total - len(found) + 0.5) / (len(found) + 0.5))
            for at, score in found:
                scores[at] += rarity * score
        top = max(scores, default=0.0)
        return scores.index(top) if top > 0 else None


# --- measuring ------------------------------------------------------------------------------------------------------


class Tally:
    """What became of one policy over all libraries of a size."""

    def __init__(self) -> None:
        self.right: list[bool] = []
        """One for each message in each library that holds its skill."""
        self.skills = self.described = self.characters = self.omitted = self.largest = 0

    def add(self, skills: Sequence[Skill], shown: Shown, messages: Sequence[Message]) -> None:
        """Pick from one library."""
        listed = [(skill, text) for skill, text in zip(skills, shown, strict=True) if text is not None]
        self.skills += len(skills)
        self.omitted += len(skills) - len(listed)
        self.characters += sum(len(text) for _, text in listed)
        self.largest = max(self.largest, sum(len(line(skill.name, text)) for skill, text in listed))
        self.described += sum(_keeps_a_phrase(skill.description, text) for skill, text in listed)
        lines = Lines([f"{skill.name}{BETWEEN}{text}" for skill, text in listed])
        for message in messages:
            at = lines.best(message.terms)
            self.right.append(at is not None and listed[at][0].id in message.right)

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON carries it: accuracy and shares in percent, `largest` in characters of a whole index."""
        return {
            "accuracy": _percent(sum(self.right), len(self.right)),
            "described": _percent(self.described, self.skills),
            "characters": round(self.characters / max(1, self.skills), 1),
            "omitted": self.omitted,
            "largest": self.largest,
        }


def _keeps_a_phrase(description: str, shown: str) -> bool:
    """Is at least one phrase of the description, other than a negation, shown whole?"""
    return any(description[start:end] in shown for start, end, negated in phrases(description) if not negated)


def _percent(part: int, whole: int) -> float:
    return round(100 * part / max(1, whole), 1)


def libraries(pool: Sequence[Skill], size: int, way: str) -> list[list[Skill]]:
    """The pool in libraries of this size, each in the order of names; what is left over is left out."""
    order = sorted(pool, key=lambda skill: digest(skill.id)) if way == "mixed" else pool
    pieces = [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
    return [sorted(piece, key=lambda skill: (key(skill.name), skill.id)) for piece in pieces]


def measure(pool: Sequence[Skill], messages: Sequence[Message], size: int, way: str, budget: int) -> dict[str, Any]:
    """Every policy on every library of one size."""
    tallies = {name: Tally() for name in POLICIES}
    pieces = libraries(pool, size, way)
    for skills in pieces:
        ids = {skill.id for skill in skills}
        asked = [message for message in messages if not ids.isdisjoint(message.wanted)]
        for name, policy in POLICIES.items():
            tallies[name].add(skills, policy(skills, budget), asked)
    ours = tallies["whet"].right
    return {
        "size": size,
        "way": way,
        "libraries": len(pieces),
        "queries": len(ours),
        "policies": {name: tally.to_json() for name, tally in tallies.items()},
        "differences": {name: difference(ours, tallies[name].right) for name in RIVALS},
    }


def difference(ours: Sequence[bool], theirs: Sequence[bool]) -> dict[str, float]:
    """How many points better, with the 95 % interval of a bootstrap over the messages."""
    gains = [int(a) - int(b) for a, b in zip(ours, theirs, strict=True)]
    count = max(1, len(gains))
    random = Random(_SEED)
    sums = sorted(sum(random.choices(gains, k=count)) if gains else 0 for _ in range(_SAMPLES))
    low, high = sums[int(_SAMPLES * 0.025)], sums[int(_SAMPLES * 0.975) - 1]
    return {
        name: round(100 * value / count, 2) for name, value in (("points", sum(gains)), ("low", low), ("high", high))
    }


# --- reading and reporting ------------------------------------------------------------------------------------------


def read_pool(path: str) -> list[Skill]:
    """The skills, their texts in one line as an index shows them."""
    return [Skill(row["id"], clean(row["name"]), clean(row["description"] or "")) for row in _rows(path)]


def read_messages(path: str) -> list[Message]:
    """The messages of users and tasks that do not name the skill they want."""
    found = []
    for row in _rows(path):
        if row["kind"] in ("user", "task") and not row.get("explicit"):
            wanted = frozenset(row["relevant"])
            same = (other for others in (row.get("equivalent") or {}).values() for other in others)
            found.append(Message(tuple(dict.fromkeys(terms(row["text"]))), wanted, wanted.union(same)))
    return found


def _rows(path: str) -> Iterator[dict[str, Any]]:
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for text in lines:
            yield json.loads(text)


def _missed(results: Sequence[dict[str, Any]]) -> list[str]:
    """Where Whet is not better by the goal."""
    return [
        f"{result['size']} {result['way']}, against {name}"
        for result in results
        for name, found in result["differences"].items()
        if found["points"] < GOAL
    ]


def table(results: Sequence[dict[str, Any]], field: str) -> str:
    """One field of every policy as Markdown; accuracy comes with the differences."""
    rivals = RIVALS if field == "accuracy" else ()
    heads = ["skills", "library", "queries", *POLICIES, *(f"whet - {name}" for name in rivals)]
    rows = [heads, ["---:", "---", *["---:"] * (len(heads) - 2)]]
    for result in results:
        cells = [str(result["size"]), result["way"], str(result["queries"])]
        cells += [f"{policy[field]:.1f}" for policy in result["policies"].values()]
        gains = (result["differences"][name] for name in rivals)
        cells += [f"**{gain['points']:+.1f}** ({gain['low']:+.1f} to {gain['high']:+.1f})" for gain in gains]
        rows.append(cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pool", required=True, metavar="FILE", help="skills as JSON lines, plain or gzipped")
    parser.add_argument("--queries", required=True, metavar="FILE", help="messages as JSON lines, plain or gzipped")
    parser.add_argument("--sizes", default="50,100,200", help="numbers of skills, separated by commas")
    parser.add_argument("--budget", type=int, default=8_000, help="characters of an index")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    pool, messages = read_pool(options.pool), read_messages(options.queries)
    sizes = sorted({int(size) for size in options.sizes.split(",")})
    if sizes[-1] > len(pool):
        print(f"The pool has {len(pool)} skills, which makes no library of {sizes[-1]}.", file=sys.stderr)
        return 2
    results = [measure(pool, messages, size, way, options.budget) for size in sizes for way in ("mixed", "related")]
    missed = _missed(results)
    if options.json:
        goal = {"points": GOAL, "met": not missed, "missed": missed}
        document = {"skills": len(pool), "queries": len(messages), "budget": options.budget, "goal": goal}
        print(json.dumps(document | {"results": results}, indent=1))
        return 0
    print(f"{len(pool):,} skills, {len(messages):,} messages, {options.budget:,} characters for every index\n")
    for title, field in _TITLES.items():
        print(f"{title}\n\n{table(results, field)}\n")
    verdict = f"missed at {'; '.join(missed)}" if missed else "met"
    print(f"Goal, at least {GOAL:g} points better than {' and '.join(RIVALS)}: {verdict}.")
    return 0


_TITLES = {
    "The right skill picked, percent": "accuracy",
    "Skills that keep a phrase of their description, percent": "described",
    "Characters shown of a description, mean": "characters",
}


if __name__ == "__main__":
    sys.exit(main())
