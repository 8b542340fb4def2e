"""Learn, and judge, the model of passages that read like the orders of malicious skills. Needs numpy.

    python benchmarks/passages.py --pool POOL.jsonl[.gz] [--packages PACKAGES.jsonl[.gz]] [--writers NAME...] [--write]

Attacks and their honest twins come from `tests/corpus/passages` (one file for each writer; a passage, or a whole
package) and from the pairs of `tests/corpus`; honest texts and programs come from the pool, from honest packages and
from the skills that we ship. `tests/corpus/subtle.yaml` is not learned from.

The model is learned twice. The first time from every passage and section of an attack that its twin does not have, and
from a sample of what is honest; the second time from those passages of an attack that show it best, and from the worst
mistakes among honest texts as well.

Reported is the share of attacks that are pointed at, each writer's by a model that has seen none of them and only a
part of the honest skills, at thresholds that point at a given share of the pool skills that their model has not seen. A
passage is judged inside a skill of the pool, at a place chosen by chance. `--write` writes
`src/whet/guard/data/passages.txt`, learned from everything, with thresholds that hold for skills it has not seen.
Nothing depends on chance but the choice of places and samples, which is seeded: the same data and the same patterns
give the same file, byte for byte. 20 of the 4,900 pool skills are malicious, or samples for scanners, and are left out
(`NOT_HONEST`). Honest skills that the guard calls dangerous stay in.
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

from whet.guard.prose.orders import said, said_in_code
from whet.guard.prose.passages import ALONE, UNIT, Look, background, features, lift, look, spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.guard.prose.passages import Passage

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

HERE = Path(__file__).parents[1]
CORPUS = HERE / "tests" / "corpus"
TARGET = HERE / "src" / "whet" / "guard" / "data" / "passages.txt"
SHARES = {"warn": 0.02, "critical": 0.004}
"""The share of honest skills that each threshold lets through by mistake."""
PROGRAMS = 0.01
"""The share of honest packages that are flagged for a program alone."""
LEAST = 4
PENALTY = 8.0
SMALLEST = 0.06
SAMPLE = {False: 0.6, True: 0.3}
"""The share of honest passages, and of honest sections, that the model first learns from."""
EACH = 0.25
"""The share of honest passages that are seen without their words, too. Attacks and twins all are, so that what they
speak of is learned as well, and holds in other words and languages."""
FOLDS = 8
CHECKED = ("blind-code", "blind-prose", "javascript", "prose", "python", "shell")
"""Pairs that `tests/guard/test_corpus.py` looks at one by one."""
NOT_HONEST = frozenset(
    (
        *(0x0B13A6ED, 0x0E4C4BF0, 0x2DBFD0B6, 0x3041483C, 0x34B6037A, 0x39BFFCE2, 0x4E72E8DD, 0x51C8B05E),
        *(0x633910BF, 0x69F684D9, 0x83FD343B, 0x94923EAA, 0x9B9BFE1A, 0xA0C35A7E, 0xCF9615E6, 0xDCBF3D59),
        *(0xDD147422, 0xEDEED3BA, 0xF83067E1, 0xFABB5740),
    )
)
"""Checksums of the ids of pool skills that are malicious, or samples for scanners."""
TEXTS = (".md", ".markdown", ".txt", ".rst")


class Span(NamedTuple):
    """A passage, or the passages of a section: what the model sees of it, and the texts it is made of."""

    seen: frozenset[int]
    texts: frozenset[str]
    wide: bool
    lift: float
    """What it has to exceed in addition in a package of its size."""
    file: int
    """The number of the text that it is in."""


class Item(NamedTuple):
    """A skill, or a passage of one; `spans` is everything that is judged in it."""

    writer: str
    id: str
    spans: tuple[Span, ...]


class Pair(NamedTuple):
    """An attack and its twin, as they were written and as they are judged: a passage is judged inside a skill."""

    bad: Item
    good: Item
    judged: tuple[Item, Item]


class Names:
    """The features by their numbers."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def item(self, writer: str, name: str, *texts: Sequence[Passage]) -> Item:
        """What the model sees of texts."""
        found: list[Span] = []
        more = lift(sum(map(len, texts)))
        for file, passages in enumerate(texts):
            looks = [look(one.text, one.signs, code=one.code) for one in passages]
            for start, end in spans(passages):
                seen: list[Look] = [one for one in looks[start:end] if one is not None]
                if seen and (end == start + 1 or len(seen) > 1):
                    numbers = frozenset(self.known.setdefault(name, len(self.known)) for name in sorted(features(seen)))
                    texts_ = frozenset(one.text for one in passages[start:end])
                    wide = end > start + 1
                    found.append(Span(numbers, texts_, wide, more + ALONE[passages[start].code and not wide], file))
        return Item(writer, name, tuple(found))

    def package(self, writer: str, name: str, files: Mapping[str, str]) -> Item:
        """What the model sees of the files of a package."""
        texts = [said(text) if path.lower().endswith(TEXTS) else said_in_code(text) for path, text in files.items()]
        return self.item(writer, name, *texts)


def honest(names: Names, options: argparse.Namespace) -> Iterator[Item]:
    """Honest skills, honest packages and the skills that we ship."""
    for row in lines(options.pool):
        if zlib.crc32(row["id"].encode()) not in NOT_HONEST:
            yield names.item("pool", row["id"], said(skill(row, row["body"])))
    for row in lines(options.packages) if options.packages else ():
        if row["label"] == "benign":
            files = {
                path: file["text"]
                for path, file in row["files"].items()
                if len(file.get("text", "")) in range(1, 200_000)
            }
            yield names.package("packages", f"{row['source']}:{row['id']}", files)
    for path in sorted(HERE.glob("src/whet/bundled/**/*.md")):
        yield names.package("house", path.name, {path.name: path.read_text("utf-8")})


def skill(row: Mapping[str, str], body: str) -> str:
    """A skill of the pool with a body."""
    return f"---\ndescription: {row['description']}\n---\n{body}"


def attacks(names: Names, hosts: Sequence[Mapping[str, str]]) -> Iterator[Pair]:
    """The pairs of every writer, and those of the corpus."""
    for path in sorted((CORPUS / "passages").glob("*.jsonl")):
        for number, row in enumerate(map(json.loads, path.read_text("utf-8").splitlines())):
            yield pair(names, path.stem, f"{path.stem}-{number}", row, hosts)
    for path in (*(CORPUS / f"{name}.yaml" for name in CHECKED), CORPUS / "missed" / "blind.yaml"):
        for row in yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            texts = {side: {name: text for name, text in row[side].items() if isinstance(text, str)} for side in SIDES}
            yield pair(names, path.stem, row["id"], texts, hosts)


def pair(names: Names, writer: str, name: str, row: Mapping[str, Any], hosts: Sequence[Mapping[str, str]]) -> Pair:
    """A pair: two passages, or two packages."""
    made, judged = [], []
    for side in SIDES:
        chance = random.Random(zlib.crc32(name.encode()))
        if isinstance(row[side], str):
            made.append(names.item(writer, name, said(row[side])))
            host = chance.choice(hosts)
            judged.append(names.item(writer, name, said(skill(host, put(host["body"], row[side], chance)))))
        else:
            made.append(names.package(writer, name, row[side]))
            judged.append(made[-1])
    return Pair(made[0], made[1], (judged[0], judged[1]))


SIDES = ("bad", "good")


def put(body: str, text: str, chance: random.Random) -> str:
    """A body with a passage put between two of its blocks."""
    rows, places, fenced = body.split("\n"), [], False
    for number, row in enumerate(rows):
        if row.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not row.strip():
            places.append(number)
    at = chance.choice(places or [len(rows)])
    return "\n".join((*rows[:at], "", text.strip("\n"), "", *rows[at:]))


def learn(names: Names, items: Sequence[Item], pairs: Sequence[Pair]) -> Floats:
    """The weights, the bias last."""
    chance = random.Random(3)
    plain = frozenset(at for name, at in names.known.items() if "+" in name or name[0] in "<=~")
    rows: list[tuple[frozenset[int], bool, float, str]] = []
    for item in items:
        weight = 0.5 if item.writer == "house" else 1.0
        rows.extend((one.seen, False, weight, "") for one in item.spans if chance.random() < SAMPLE[one.wide])
    for bad, good, _ in pairs:
        known = frozenset(text for one in good.spans for text in one.texts)
        for one in bad.spans:
            fresh = not one.texts <= known
            weight = (24.0 if bad.writer in CHECKED else 8.0) if fresh else 1.0
            rows.append((one.seen, fresh, weight, bad.id if fresh else ""))
        rows.extend((one.seen, False, 14.0, "") for one in good.spans)
    rows += [
        (seen & plain, bad, weight / 2, f"{name}+" if name else "")
        for seen, bad, weight, name in rows
        if weight > 1 or chance.random() < EACH
    ]
    first = fit(names, rows, None)
    best: dict[str, float] = {}
    rated = [rate(seen, first) for seen, _, _, _ in rows]
    for (_, _, _, name), value in zip(rows, rated, strict=True):
        best[name] = max(best.get(name, -99.0), value)
    rows = [row for row, value in zip(rows, rated, strict=True) if not row[3] or value >= best[row[3]] - 3]
    for item in items:
        value, seen = worst(item, first)
        if value > -3:
            rows.append((seen, False, 2.0, ""))
    return fit(names, rows, first)


def fit(names: Names, rows: Sequence[tuple[frozenset[int], bool, float, str]], start: Floats | None) -> Floats:
    """Logistic regression with a quadratic penalty; the spans of an attack share its weight."""
    width = len(names.known)
    columns = np.concatenate([np.fromiter(seen, np.int32, len(seen)) for seen, _, _, _ in rows])
    at_row = np.repeat(np.arange(len(rows), dtype=np.int32), [len(seen) for seen, _, _, _ in rows])
    often = np.bincount(columns, minlength=width)[columns] >= LEAST
    columns, at_row = columns[often], at_row[often]
    counts: dict[str, int] = {}
    for _, _, _, name in rows:
        counts[name] = counts.get(name, 0) + 1
    bad = np.array([bad for _, bad, _, _ in rows], dtype=np.float64)
    weigh = np.array([weight / (counts[name] ** 0.5 if name else 1.0) for _, _, weight, name in rows])

    def loss(at: Floats) -> tuple[float, Floats]:
        total = np.clip(np.bincount(at_row, at[:-1][columns], minlength=len(bad)) + at[-1], -30, 30)
        slope = (1 / (1 + np.exp(-total)) - bad) * weigh
        value = float((weigh * np.logaddexp(0, np.where(bad > 0, -total, total))).sum())
        grown = np.bincount(columns, slope[at_row], minlength=width) + PENALTY * at[:-1]
        return value + PENALTY / 2 * float(at[:-1] @ at[:-1]), np.append(grown, slope.sum())

    return minimize(loss, np.append(np.zeros(width), -4.0) if start is None else start)


def rate(seen: frozenset[int], weights: Floats) -> float:
    """The log-odds of what the model sees."""
    return float(weights[np.fromiter(seen, np.int64, len(seen))].sum() + weights[-1])


def worst(item: Item, weights: Floats) -> tuple[float, frozenset[int]]:
    """The highest log-odds in an item, less what its text asks for, and what the model sees there."""
    rated = [(one, rate(one.seen, weights)) for one in item.spans]
    alone: dict[int, list[tuple[float, frozenset[str]]]] = {}
    for one, value in rated:
        if not one.wide:
            alone.setdefault(one.file, []).append((value - weights[-1], one.texts))
    rest = {file: background(sorted((value for value, _ in found), reverse=True)[1:]) for file, found in alone.items()}
    return max(
        (
            (value - one.lift - (others(one, alone[one.file]) if one.wide else rest[one.file]), one.seen)
            for one, value in rated
        ),
        key=lambda one: one[0],
        default=(-9.0, frozenset()),
    )


def others(section: Span, alone: Sequence[tuple[float, frozenset[str]]]) -> float:
    """What a section has to exceed in addition in a text with these passages."""
    return background(value for value, texts in alone if not texts <= section.texts)


def minimize(loss: Callable[[Floats], tuple[float, Floats]], at: Floats, rounds: int = 25, kept: int = 8) -> Floats:
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


def fold(item: Item) -> int:
    """The part of the honest items that one belongs to."""
    return zlib.crc32(item.id.encode()) % FOLDS


def limits(values: Sequence[float], shares: Sequence[float]) -> list[float]:
    """The log-odds that a share of the values exceeds."""
    found = sorted(values, reverse=True)
    return [found[int(len(found) * share)] for share in shares]


def judge(names: Names, items: Sequence[Item], pairs: Sequence[Pair], groups: Sequence[Sequence[str]]) -> None:
    """Each group of writers by a model that was learned without them and without a part of the honest items."""
    shares = (0.004, 0.01, 0.02, 0.03, 0.04)
    honest: dict[str, list[float]] = {"pool": [], "packages": [], "house": []}
    rated: dict[str, list[tuple[float, float]]] = {}
    for part, group in enumerate(groups):
        others = [one for one in pairs if one.bad.writer not in group]
        weights = rounded(learn(names, [item for item in items if fold(item) != part], others))
        for item in items:
            if fold(item) == part:
                honest[item.writer].append(worst(item, weights)[0])
        for writer in group:
            mine = [one.judged for one in pairs if one.bad.writer == writer]
            rated[writer] = [(worst(bad, weights)[0], worst(good, weights)[0]) for bad, good in mine]
        print(f"judged: {', '.join(group)}", flush=True)
    found = limits(honest["pool"], shares)
    for writer, values in sorted(rated.items()):
        line = f"{writer:12} {len(values):4}"
        for share, limit in zip(shares, found, strict=True):
            bad, good = (sum(pair[side] > limit for pair in values) / len(values) for side in (0, 1))
            line += f" | {share:.1%}: {bad:4.0%} bad {good:4.0%} twins"
        print(line)
    for share, limit in zip(shares, found, strict=True):
        flagged = sum(one > limit for one in honest["packages"])
        print(f"at {share:.1%} of the pool: {flagged} of {len(honest['packages'])} honest packages")


def write(names: Names, items: Sequence[Item], pairs: Sequence[Pair]) -> None:
    """The weights that matter, as small whole numbers, with thresholds that hold for skills not seen before.

    A program that is a file has many more passages than a text, and the readers of programs know more of it: what they
    have to exceed in addition, so that they alone flag few honest packages, is part of the weight of `<file>`.
    """
    found: list[list[float]] = []
    programs: list[float] = []
    file = names.known["<file>"]
    for part in range(2):
        strangers = [item for item in items if fold(item) % 2 == part]
        weights = rounded(learn(names, [item for item in items if fold(item) % 2 != part], pairs))
        pool = [worst(item, weights)[0] for item in strangers if item.writer == "pool"]
        found.append(limits(pool, list(SHARES.values())))
        for item in strangers:
            if item.writer == "packages":
                code = tuple(one for one in item.spans if file in one.seen)
                programs.append(worst(item._replace(spans=code), weights)[0] - found[-1][0])
        print(f"part {part}: {found[-1]}", flush=True)
    more = max(0.0, sorted(programs, reverse=True)[int(len(programs) * PROGRAMS)])
    whole = rounded(learn(names, items, pairs))
    table = {name: round(whole[at] / UNIT) for name, at in names.known.items() if whole[at]}
    table["<file>"] = table.get("<file>", 0) - round(more / UNIT)
    bias = {
        f"<{name}>": round((whole[-1] - sum(one) / 2) / UNIT)
        for name, one in zip(SHARES, zip(*found, strict=True), strict=True)
    }
    rows = (f"{name}\t{weight}\n" for name, weight in (*sorted(bias.items()), *sorted(table.items())))
    TARGET.write_text("".join(rows), "utf-8")
    print(f"{len(table)} weights, {TARGET.stat().st_size} bytes, limits {found}, programs {more:.2f} more")


def rounded(weights: Floats) -> Floats:
    """The weights as they are written."""
    small = np.abs(weights) < SMALLEST
    small[-1] = False
    steps = np.round(weights / UNIT)
    steps[:-1] = np.clip(steps[:-1], -127, 127)
    answer: Floats = np.where(small, 0.0, steps * UNIT)
    return answer


def lines(path: str) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def main() -> int:
    """Judge, or write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pool", required=True, help="JSON lines of honest skills: id, description, body")
    parser.add_argument("--packages", help="JSON lines of packages: id, source, label, files")
    parser.add_argument("--writers", nargs="*", help="judge these writers only")
    parser.add_argument("--write", action="store_true", help="write the model")
    options = parser.parse_args()
    names = Names()
    items = list(honest(names, options))
    hosts = [row for row in lines(options.pool) if 500 < len(row["body"]) < 20_000]
    pairs = list(attacks(names, hosts))
    print(f"{len(pairs)} pairs, {len(items)} honest items, {len(names.known)} features", flush=True)
    if options.write:
        write(names, items, pairs)
    else:
        writers = options.writers or sorted({one.bad.writer for one in pairs})
        judge(names, items, pairs, [part for at in range(FOLDS) if (part := writers[at::FOLDS])])
    return 0


if __name__ == "__main__":
    sys.exit(main())
