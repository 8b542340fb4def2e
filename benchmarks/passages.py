"""Learn, and judge, the model of passages that read like the orders of malicious skills.

    python benchmarks/passages.py --pool POOL.jsonl[.gz] [--without PART...] [--write]

Bad passages and their honest twins come from `tests/corpus`, paragraphs of honest skills from the pool. Reported is the
share of bad passages pointed at, each by a model that has not seen the file it comes from, at thresholds that point at
a given share of the pool's skills. `--write` writes `src/whet/guard/data/passages.txt`, learned from everything.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

from whet.guard.prose.markdown import blocks, rows
from whet.guard.prose.passages import SHORTEST, features

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HERE = Path(__file__).parents[1]
CORPUS = HERE / "tests" / "corpus"
TARGET = HERE / "src" / "whet" / "guard" / "data" / "passages.txt"
SHARE = 0.04
"""The share of honest skills that the written model points at."""
_PROSE = ("paragraph", "item", "quote", "comment", "table")
_EPOCHS = 6
_LEAST = 4
_SMALLEST = 0.3


class Passage(NamedTuple):
    """One passage: where it is from, which skill or pair it belongs to, and whether it is bad."""

    source: str
    owner: str
    bad: bool
    seen: tuple[str, ...]


def passages_of(text: str) -> Iterator[str]:
    """The passages of a Markdown text that are prose."""
    found = blocks(text)
    for row in rows(found):
        if found[row.owner].kind in _PROSE and len(row.text) >= SHORTEST:
            yield row.text


def from_pool(path: str) -> Iterator[Passage]:
    """The paragraphs of honest skills."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            for text in (*passages_of(row["body"]), row["description"]):
                if seen := features(text):
                    yield Passage("pool", row["id"], bad=False, seen=tuple(sorted(seen)))


def from_house() -> Iterator[Passage]:
    """Our own pages and skills: honest text in the voice of the corpus, so that the voice tells nothing."""
    pages = [*HERE.glob("*.md"), *HERE.glob("docs/*.md"), *HERE.glob("src/whet/bundled/**/*.md")]
    for path in sorted(path for path in pages if path.name != "rules.md"):
        for text in passages_of(path.read_text("utf-8")):
            if seen := features(text):
                yield Passage("house", path.name, bad=False, seen=tuple(sorted(seen)))


def from_corpus() -> Iterator[Passage]:
    """Bad passages and their twins."""
    for path in sorted((CORPUS / "passages").glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            pair = json.loads(line)
            for side in ("bad", "good"):
                for text in list(passages_of(pair[side])) or [pair[side]]:
                    if seen := features(text):
                        yield Passage(path.stem, f"{path.stem}-{number}", side == "bad", tuple(sorted(seen)))
    for path in (CORPUS / "blind-prose.yaml", CORPUS / "missed" / "blind.yaml"):
        yield from from_pairs(path)


def from_pairs(path: Path) -> Iterator[Passage]:
    """The passages of a package that its twin does not have, and those of the twin."""
    for entry in yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        sides = {side: _prose_of(entry[side]) for side in ("bad", "good")}
        for side, bad in (("bad", True), ("good", False)):
            for text in sides[side]:
                if (seen := features(text)) and not (bad and text in sides["good"]):
                    yield Passage(path.stem, entry["id"], bad, tuple(sorted(seen)))


def _prose_of(files: dict[str, object]) -> list[str]:
    return [
        text
        for name, value in files.items()
        if isinstance(value, str) and name.endswith(".md")
        for text in passages_of(value)
    ]


def learn(examples: Sequence[Passage]) -> dict[str, float]:
    """Logistic regression with AdaGrad; bad passages and twins weigh more, as they are few."""
    counts: dict[str, int] = defaultdict(int)
    for example in examples:
        for feature in example.seen:
            counts[feature] += 1
    weights: dict[str, float] = {feature: 0.0 for feature, count in counts.items() if count >= _LEAST}
    grown = dict.fromkeys(weights, 1e-3)
    bias = -3.0
    order = list(range(len(examples)))
    chance = random.Random(7)
    inside = [[feature for feature in example.seen if feature in weights] for example in examples]
    for _ in range(_EPOCHS):
        chance.shuffle(order)
        for number in order:
            example = examples[number]
            importance = 8.0 if example.bad else 3.0 if example.source != "pool" else 1.0
            total = bias + sum(weights[feature] for feature in inside[number])
            slope = (1 / (1 + math.exp(-max(-30.0, min(30.0, total)))) - example.bad) * importance
            if abs(slope) < 0.02:
                continue
            bias -= 0.002 * slope
            for feature in inside[number]:
                step = slope + 0.05 * weights[feature]
                grown[feature] += step * step
                weights[feature] -= 0.12 * step / math.sqrt(grown[feature])
    weights["<bias>"] = bias
    return weights


def rate(weights: dict[str, float], seen: Iterable[str]) -> float:
    """The score of a passage, without a threshold."""
    return weights["<bias>"] + sum(weights.get(feature, 0.0) for feature in seen)


def best(weights: dict[str, float], examples: Iterable[Passage]) -> dict[str, float]:
    """Owner -> the highest score of its passages."""
    found: dict[str, float] = defaultdict(lambda: -99.0)
    for example in examples:
        found[example.owner] = max(found[example.owner], rate(weights, example.seen))
    return found


def threshold(weights: dict[str, float], pool: Sequence[Passage], share: float) -> float:
    """The score that a given share of the pool's skills exceeds."""
    scores = sorted(best(weights, pool).values(), reverse=True)
    return scores[int(len(scores) * share)]


def judge(corpus: Sequence[Passage], pool: Sequence[Passage]) -> None:
    """Each file of the corpus by a model that was learned without it, and half of the pool without the other half."""
    owners = sorted({example.owner for example in pool})
    half = set(owners[::2])
    known, unknown = [one for one in pool if one.owner in half], [one for one in pool if one.owner not in half]
    for source in sorted({example.source for example in corpus}):
        weights = learn([*(one for one in corpus if one.source != source), *known])
        mine = [one for one in corpus if one.source == source]
        line = f"{source:14}"
        for share in (0.005, 0.01, 0.02):
            limit = threshold(weights, unknown, share)
            bad = best(weights, (one for one in mine if one.bad)).values()
            good = best(weights, (one for one in mine if not one.bad)).values()
            line += f" | {share:.1%}: {_share(bad, limit):6.1%} bad {_share(good, limit):6.1%} twins"
        print(line, flush=True)


def _share(scores: Iterable[float], limit: float) -> float:
    listed = list(scores)
    return sum(score > limit for score in listed) / max(1, len(listed))


def write(corpus: Sequence[Passage], pool: Sequence[Passage]) -> None:
    """The weights that matter, in hundredths, with the threshold at 0.

    The threshold is that of models that have seen one half of the pool, on the other half: it holds for strangers.
    """
    owners = sorted({example.owner for example in pool})
    halves = (set(owners[::2]), set(owners[1::2]))
    limits = []
    for half in halves:
        part = rounded(learn([*corpus, *(one for one in pool if one.owner in half)]))
        exact = {feature: weight / 100 for feature, weight in part.items()}
        strangers = [one for one in pool if one.owner not in half]
        limits.append(threshold(exact, strangers, SHARE))
    whole = rounded(learn([*corpus, *pool]))
    whole["<bias>"] -= round(100 * sum(limits) / len(limits))
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("".join(f"{feature}\t{weight}\n" for feature, weight in sorted(whole.items())), "utf-8")
    print(f"{len(whole)} weights, {TARGET.stat().st_size} bytes, thresholds {limits}")


def rounded(weights: dict[str, float]) -> dict[str, int]:
    """The weights that matter, in hundredths."""
    kept = {feature: weight for feature, weight in weights.items() if abs(weight) >= _SMALLEST or feature == "<bias>"}
    return {feature: round(100 * weight) for feature, weight in kept.items()}


def main() -> int:
    """Judge, and write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pool", required=True, help="JSON lines of honest skills: id, description, body")
    parser.add_argument("--without", nargs="*", default=[], help="parts of ids of pool skills that are not honest")
    parser.add_argument("--write", action="store_true", help="write the model")
    options = parser.parse_args()
    pool = [one for one in from_pool(options.pool) if not any(part in one.owner for part in options.without)]
    corpus = [*from_corpus(), *from_house()]
    print(f"{len(corpus)} passages of the corpus, {len(pool)} of the pool")
    if options.write:
        write(corpus, pool)
    else:
        judge(corpus, pool)
    return 0


if __name__ == "__main__":
    sys.exit(main())
