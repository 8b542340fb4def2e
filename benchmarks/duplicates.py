"""Are skills for the same task found as near-duplicates, and is what is found for the same task?

    python benchmarks/duplicates.py --skills SKILLS.jsonl[.gz] [--json]

Reads skills (`task`, `name`, `description`, `body`), one JSON object per line. Two skills for the same task are a pair
that should be found; any other pair should not. Prints how well each way of comparing tells the two apart, as the area
under the ROC curve over all pairs (0.5 is guessing, 1 is perfect): the same name, TF-IDF cosine of name and
description, of the body and of all, and Whet. Then what `near_duplicates` names at its threshold: how much of it is
for the same task, and how many of the pairs for one task it names. That is far from all, and should be: a task has
several steps.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from itertools import combinations
from math import log, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.routing.duplicates import THRESHOLD, near_duplicates
from whet.routing.similarity import Similarity
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

GOAL = 0.95
_WORD = re.compile(r"\w\w+")


class Skill(NamedTuple):
    """What was written, and for which task."""

    task: str
    texts: Texts


def read_skills(path: str) -> list[Skill]:
    """The skills of a file."""
    with open(path, "rb") as file:
        data = file.read()
    text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
    rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    return [Skill(row["task"], Texts(row["name"], row["description"] or "", row["body"] or "")) for row in rows]


def area(scores: Iterable[tuple[float, bool]]) -> float:
    """The area under the ROC curve: how often a pair for one task scores above a pair for two; equals count half."""
    rights: Counter[float] = Counter()
    wrongs: Counter[float] = Counter()
    for score, right in scores:
        (rights if right else wrongs)[score] += 1
    won, below = 0.0, 0
    for score in sorted({*rights, *wrongs}):
        won += rights[score] * (below + wrongs[score] / 2)
        below += wrongs[score]
    return won / (rights.total() * below) if rights and below else 0.0


def tfidf(texts: Sequence[str]) -> Callable[[int, int], float]:
    """The plain cosine of TF-IDF vectors, with the smoothed rarity that libraries use."""
    counts = [Counter(_WORD.findall(text.lower())) for text in texts]
    users = Counter(word for count in counts for word in count)
    rarity = {word: log((1 + len(texts)) / (1 + many)) + 1 for word, many in users.items()}
    vectors: list[dict[str, float]] = []
    for count in counts:
        weights = {word: times * rarity[word] for word, times in count.items()}
        length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        vectors.append({word: weight / length for word, weight in weights.items()})

    def cosine(one: int, other: int) -> float:
        small, large = sorted((vectors[one], vectors[other]), key=len)
        return sum([weight * large[word] for word, weight in small.items() if word in large])

    return cosine


def measure(skills: Sequence[Skill], threshold: float) -> dict[str, Any]:
    """Every way of comparing, and what is named at the threshold."""
    texts = [skill.texts for skill in skills]
    heads = [f"{text.name} {text.description}" for text in texts]
    bodies = [text.body for text in texts]
    likeness = Similarity(texts)
    ways: dict[str, Callable[[int, int], float]] = {
        "same name": lambda one, other: float(texts[one].name == texts[other].name),
        "TF-IDF, name and description": tfidf(heads),
        "TF-IDF, body": tfidf(bodies),
        "TF-IDF, all": tfidf([f"{head} {body}" for head, body in zip(heads, bodies, strict=True)]),
        "whet": likeness.score,
    }
    pairs = list(combinations(range(len(skills)), 2))
    same = [skills[one].task == skills[other].task for one, other in pairs]
    areas = {
        name: round(area((way(*pair), right) for pair, right in zip(pairs, same, strict=True)), 4)
        for name, way in ways.items()
    }
    started = time.process_time()
    found = near_duplicates({str(at): text for at, text in enumerate(texts)}, threshold, len(pairs))
    seconds = time.process_time() - started
    right = sum(skills[int(pair.one)].task == skills[int(pair.other)].task for pair in found)
    return {
        "skills": len(skills),
        "tasks": len({skill.task for skill in skills}),
        "pairs": len(pairs),
        "same_task": sum(same),
        "auc": areas,
        "goal": {"auc": GOAL, "met": areas["whet"] >= GOAL},
        "found": {
            "threshold": threshold,
            "pairs": len(found),
            "precision": round(right / len(found), 4) if found else None,
            "recall": round(right / max(1, sum(same)), 4),
            "skills": len({name for pair in found for name in pair[:2]}),
            "cpu_seconds": round(seconds, 2),
        },
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--skills", required=True, metavar="FILE", help="skills as JSON lines, plain or gzipped")
    parser.add_argument("--threshold", type=float, default=THRESHOLD, help="the score of a near-duplicate")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    result = measure(read_skills(options.skills), options.threshold)
    if options.json:
        print(json.dumps(result, indent=1))
        return 0
    found, goal = result["found"], result["goal"]
    print(f"{result['skills']:,} skills for {result['tasks']} tasks, {result['pairs']:,} pairs\n")
    print("| compared by | AUC |\n| --- | ---: |")
    for name, value in result["auc"].items():
        print(f"| {name} | {value:.3f} |")
    precision = "none" if found["precision"] is None else f"{found['precision']:.2%}"
    print(
        f"\nNear-duplicates from {found['threshold']:g} on: {found['pairs']:,} pairs of {found['skills']:,} skills, "
        f"{precision} of them for the same task; {found['recall']:.1%} of all pairs for the same task."
    )
    print(f"Goal, an AUC of {goal['auc']:g} or more: {'met' if goal['met'] else 'missed'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
