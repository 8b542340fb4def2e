"""Learn, and judge, the model of passages that read like the orders of malicious skills. Needs numpy.

    python benchmarks/passages.py --pool POOL.jsonl[.gz] [--packages PACKAGES.jsonl[.gz]] [--without PART...] [--write]

Bad passages and their honest twins come from `tests/corpus/passages` (one file for each writer), the passages by
which a package differs from its twin from the pairs of `tests/corpus`, and honest paragraphs from the pool, from the
honest packages and from our own pages. Each bad passage is seen alone, inside an honest paragraph, and without its
words.

Reported is the share of bad passages pointed at, each writer's by a model that has seen none of them, at thresholds
that point at a given share of pool skills that the model has not seen either. `--write` writes
`src/whet/guard/data/passages.txt`, learned from everything, with thresholds that hold for skills it has not seen.
Nothing depends on chance but the choice of the paragraphs, which is seeded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import yaml

from whet.guard.prose.orders import said
from whet.guard.prose.passages import features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

HERE = Path(__file__).parents[1]
CORPUS = HERE / "tests" / "corpus"
TARGET = HERE / "src" / "whet" / "guard" / "data" / "passages.txt"
SHARES = {"warn": 0.02, "critical": 0.001}
"""The share of honest skills that each threshold lets through by mistake."""
LEAST = 3
PENALTY = 1.0
SMALLEST = 0.1
UNIT = 0.04
"""What one step of a written weight stands for: a weight is a number from -127 to 127."""
HONEST = ("pool", "house")
EACH = 4
"""One in so many honest passages is seen without its words, too."""


class Passage(NamedTuple):
    """One passage: its writer, the skill or pair it belongs to, whether it is bad, and what the model sees of it."""

    writer: str
    owner: str
    bad: bool
    seen: frozenset[str]
    text: str


def look(writer: str, owner: str, text: str, *, bad: bool, known: frozenset[str] = frozenset()) -> Iterator[Passage]:
    """The passages of a Markdown text, without those that are known to be honest."""
    for one in said(text):
        if one.text not in known and (seen := features(one.text, one.signs)):
            yield Passage(writer, owner, bad, frozenset(seen), one.text)


def from_pool(path: str, without: Sequence[str]) -> Iterator[Passage]:
    """The paragraphs of honest skills."""
    for row in _lines(path):
        if not any(part in row["id"] for part in without):
            yield from look("pool", row["id"], f"---\ndescription: {row['description']}\n---\n{row['body']}", bad=False)


def from_packages(path: str) -> Iterator[Passage]:
    """The texts of honest packages. Most of what malicious ones say is honest too, so nothing is learned from them."""
    for row in _lines(path):
        for name, file in row["files"].items():
            if row["label"] == "benign" and name.lower().endswith((".md", ".txt")) and "text" in file:
                yield from look("pool", f"{row['source']}:{row['id']}", file["text"], bad=False)


def from_house() -> Iterator[Passage]:
    """Our own pages and skills: honest text in the voice of the corpus, so that the voice tells nothing."""
    pages = [*HERE.glob("*.md"), *HERE.glob("docs/*.md"), *HERE.glob("src/whet/bundled/**/*.md")]
    for path in sorted(path for path in pages if path.name != "rules.md"):
        yield from look("house", path.name, path.read_text("utf-8"), bad=False)


def from_corpus() -> Iterator[Passage]:
    """Bad passages and their twins, each also inside an honest paragraph."""
    for path in sorted((CORPUS / "passages").glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            for side, text in ((side, json.loads(line)[side]) for side in ("bad", "good")):
                yield from look(path.stem, f"{path.stem}-{number}-{side}", text, bad=side == "bad")
    for path in (CORPUS / "blind-prose.yaml", CORPUS / "missed" / "blind.yaml"):
        yield from from_pairs(path)


def from_pairs(path: Path) -> Iterator[Passage]:
    """The passages of a package that its twin does not have, and those of the twin."""
    for entry in yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        texts = {
            side: [text for name, text in entry[side].items() if isinstance(text, str) and name.endswith(".md")]
            for side in ("bad", "good")
        }
        known = frozenset(one.text for text in texts["good"] for one in said(text))
        for text in texts["bad"]:
            yield from look("blind", f"{entry['id']}-bad", text, bad=True, known=known)
        for text in texts["good"]:
            yield from look("blind", f"{entry['id']}-good", text, bad=False)


def inside(corpus: Sequence[Passage], pool: Sequence[Passage]) -> Iterator[Passage]:
    """The passages of the corpus, each put before or behind an honest paragraph."""
    chance = random.Random(5)
    paragraphs = [one.text for one in pool if 60 < len(one.text) < 160]
    for one in corpus:
        if one.writer in ("blind", *HONEST):
            continue
        honest = chance.choice(paragraphs)
        text = chance.choice((f"{honest} {one.text}", f"{one.text} {honest}"))
        signs = {sign for sign in one.seen if sign.startswith("=")}
        yield Passage(f"{one.writer}+", f"{one.owner}+", one.bad, frozenset(features(text, signs)), text)


def without_words(examples: Sequence[Passage]) -> Iterator[Passage]:
    """Passages without their words, so that what they speak of is learned as well, and holds in other words."""
    for number, one in enumerate(examples):
        if one.writer not in HONEST or number % EACH == 0:
            seen = frozenset(feature for feature in one.seen if "+" in feature or feature[0] in "<=")
            yield Passage(f"{one.writer.removesuffix('+')}+", one.owner, one.bad, seen, one.text)


class Matrix:
    """The passages as numbers, with those that a model is learned from chosen by their importance."""

    def __init__(self, examples: Sequence[Passage]) -> None:
        counts: dict[str, int] = {}
        for one in examples:
            for feature in one.seen:
                counts[feature] = counts.get(feature, 0) + 1
        self.names = sorted(feature for feature, count in counts.items() if count >= LEAST)
        number = {feature: at for at, feature in enumerate(self.names)}
        columns = [[number[feature] for feature in one.seen if feature in number] for one in examples]
        self.columns = np.array([at for row in columns for at in row], dtype=np.int32)
        self.rows = np.repeat(np.arange(len(examples), dtype=np.int32), [len(row) for row in columns])
        self.bad = np.array([one.bad for one in examples], dtype=np.float64)
        self.writers = np.array([one.writer.removesuffix("+") for one in examples])
        self.plain = np.array([not one.writer.endswith("+") for one in examples])
        self.owners = [one.owner for one in examples]
        pool = self.writers == "pool"
        self.folds = np.where(pool, [zlib.crc32(one.owner.encode()) % 4 for one in examples], -1)
        twins = np.where(np.isin(self.writers, HONEST), 1.0, 3.0)
        self.importance = np.where(self.bad > 0, 8.0, twins) * np.where(self.plain, 1.0, 0.5)

    def learn(self, importance: Floats) -> Floats:
        """Logistic regression with a quadratic penalty; the last number is the bias."""
        chosen = importance > 0
        kept = chosen[self.rows]
        columns, rows = self.columns[kept], (np.cumsum(chosen) - 1)[self.rows[kept]]
        bad, weigh, width = self.bad[chosen], importance[chosen], len(self.names)

        def loss(at: Floats) -> tuple[float, Floats]:
            total = np.bincount(rows, at[:-1][columns], minlength=len(bad)) + at[-1]
            slope = (1 / (1 + np.exp(-total)) - bad) * weigh
            value = float((weigh * np.logaddexp(0, np.where(bad > 0, -total, total))).sum())
            grown = np.bincount(columns, slope[rows], minlength=width) + PENALTY * at[:-1]
            return value + PENALTY / 2 * float(at[:-1] @ at[:-1]), np.append(grown, slope.sum())

        return minimize(loss, np.append(np.zeros(width), -4.0))

    def rate(self, weights: Floats) -> Floats:
        """The log-odds of every passage."""
        answer: Floats = np.bincount(self.rows, weights[:-1][self.columns], minlength=len(self.bad)) + weights[-1]
        return answer

    def best(self, rated: Floats, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[float]:
        """The highest log-odds of each owner, the highest first."""
        found: dict[str, float] = {}
        for at in np.flatnonzero(chosen):
            found[self.owners[at]] = max(found.get(self.owners[at], -99.0), float(rated[at]))
        return sorted(found.values(), reverse=True)


def minimize(loss: Callable[[Floats], tuple[float, Floats]], at: Floats, rounds: int = 50, kept: int = 8) -> Floats:
    """L-BFGS: Newton's method with the curvature estimated from the last few steps."""
    value, slope = loss(at)
    steps: list[tuple[Floats, Floats]] = []
    for _ in range(rounds):
        way, shares = slope.copy(), []
        for moved, turned in reversed(steps):
            shares.append(float(moved @ way) / float(turned @ moved))
            way -= shares[-1] * turned
        way *= float(moved @ turned) / float(turned @ turned) if steps else 0.1 / max(1.0, np.abs(slope).sum() ** 0.5)
        for (moved, turned), share in zip(steps, reversed(shares), strict=True):
            way += moved * (share - float(turned @ way) / float(turned @ moved))
        size = 1.0
        while (there := loss(at - size * way))[0] > value - 1e-4 * size * float(slope @ way) and size > 1e-6:
            size /= 2
        moved, turned = -size * way, there[1] - slope
        if float(turned @ moved) > 1e-10:
            steps = [*steps, (moved, turned)][-kept:]
        gained, at, (value, slope) = value - there[0], at + moved, there
        if gained < 1e-5 * max(1.0, abs(value)):
            break
    return at


def judge(matrix: Matrix, groups: Sequence[Sequence[str]], shares: Sequence[float] = (0.0015, 0.005, 0.015)) -> None:
    """Each group of writers by a model that was learned without them and without a quarter of the pool."""
    strangers = matrix.folds == 0
    for group in groups:
        mine = np.isin(matrix.writers, group)
        rated = matrix.rate(matrix.learn(np.where(mine | strangers, 0.0, matrix.importance)))
        honest = matrix.best(rated, strangers & matrix.plain)
        line = f"{'+'.join(group)[:30]:30}"
        for share in shares:
            limit = honest[int(len(honest) * share)]
            parts = [
                np.mean(np.array(matrix.best(rated, mine & matrix.plain & (matrix.bad == bad)) or [-99.0]) > limit)
                for bad in (1, 0)
            ]
            line += f" | {share:.2%}: {parts[0]:4.0%} bad {parts[1]:4.0%} twins"
        print(line, flush=True)


def write(matrix: Matrix) -> None:
    """The weights that matter, as small whole numbers, with thresholds that hold for skills not seen before."""
    limits: dict[str, list[float]] = {name: [] for name in SHARES}
    for fold in range(2):
        strangers = matrix.folds % 2 == fold
        strangers &= matrix.folds >= 0
        weights = rounded(matrix.learn(np.where(strangers, 0.0, matrix.importance)))
        honest = matrix.best(matrix.rate(weights), strangers & matrix.plain)
        for name, share in SHARES.items():
            limits[name].append(honest[int(len(honest) * share)])
    whole = rounded(matrix.learn(matrix.importance))
    table = {name: round(weight / UNIT) for name, weight in zip(matrix.names, whole[:-1], strict=True) if weight}
    bias = {f"<{name}>": round((whole[-1] - sum(found) / len(found)) / UNIT) for name, found in limits.items()}
    lines = (f"{name}\t{weight}\n" for name, weight in (*sorted(bias.items()), *sorted(table.items())))
    TARGET.write_text("".join(lines), "utf-8")
    print(f"{len(table)} weights, {TARGET.stat().st_size} bytes, thresholds {limits}")


def rounded(weights: Floats) -> Floats:
    """The weights as they are written."""
    small = np.abs(weights) < SMALLEST
    small[-1] = False
    steps = np.round(weights / UNIT)
    steps[:-1] = np.clip(steps[:-1], -127, 127)
    answer: Floats = np.where(small, 0.0, steps * UNIT)
    return answer


def _lines(path: str) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def main() -> int:
    """Judge, or write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pool", required=True, help="JSON lines of honest skills: id, description, body")
    parser.add_argument("--packages", help="JSON lines of packages: id, source, label, files")
    parser.add_argument("--without", nargs="*", default=[], help="parts of ids of pool skills that are not honest")
    parser.add_argument("--write", action="store_true", help="write the model")
    options = parser.parse_args()
    pool = list(from_pool(options.pool, options.without))
    pool += from_packages(options.packages) if options.packages else ()
    corpus = [*from_corpus(), *from_house()]
    seen = [*pool, *corpus, *inside(corpus, pool)]
    matrix = Matrix([*seen, *without_words(seen)])
    print(f"{len(corpus)} passages of the corpus, {len(pool)} of the pool, {len(matrix.names)} features", flush=True)
    if options.write:
        write(matrix)
    else:
        writers = sorted({one.writer for one in corpus} - {*HONEST})
        held = [["blind"], ["explicit"], ["injected"], ["traps"]]
        voices = [writer for writer in writers if [writer] not in held]
        judge(matrix, [*held, *(voices[at::4] for at in range(4))])
    return 0


if __name__ == "__main__":
    sys.exit(main())
