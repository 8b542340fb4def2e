"""Should this skill fire for this message? Whet's decision beside the scores that others decide by.

    python benchmarks/detect.py --pool POOL.jsonl[.gz] --queries Q.jsonl [--json] [--only NAME,...] [--limit N]
                                [--vectors FILE.npy] [--left-out]

Every pair of a message and a skill is a case: one that should fire (the skill is relevant to a user's message) or one
that must not (`negative_for`, near misses written by the skills' own authors). Only skills with at least one near miss
are taken, so that a score cannot win by telling skills apart instead of messages. `-library` asks among the skills of
the skill's own vendor, as somebody who installed them would; `-pool` among all. Told are the area under the ROC curve,
the whole curve of precision and recall, what `detect` itself decides, and how honest the confidence is. About two cases
in three should fire, which is more than in real conversations, so precision is lower there. How often anything comes
up for a message that has nothing to do with the library is told apart (`strangers`): messages of one vendor's skills,
asked in the library of another. With `--left-out` the curve behind the confidence is also fitted anew for each source
on the other sources of the file, which takes some minutes; the curve that ships was fitted on the development messages,
so on these only the left-out numbers are honest.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

import routing_threads
from routing_baselines import EVERYTHING, Lexical, Pool, places
from routing_data import (
    LARGEST,
    SMALLEST,
    NotMeasuredError,
    arguments_of,
    chosen,
    libraries,
    machine,
    read_pool,
    read_queries,
)
from routing_metrics import (
    auc,
    auc_interval,
    brier,
    curve,
    decided,
    most_precision,
    most_recall,
    reliability,
)
from routing_ours import Ours

from whet.routing.scoring import FITTED, MAY, MUST, Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from routing_data import Query, Skill
    from routing_metrics import Point


GOAL = 0.9
_CLAUSE = re.compile(
    r"\b(?:do not|don't|don\u2019t|never|not) (?:use|trigger|invoke|activate|apply)\b|\bnot (?:for|intended)\b"
    r"|\b(?:should|must) not be used\b|\bskip (?:when|if|for)\b|\bavoid (?:when|using)\b",
    re.IGNORECASE,
)


class Case(NamedTuple):
    """A message and a skill."""

    query: Query
    skill: int
    """Its position in the pool."""
    fires: bool
    """Should it?"""


class Scored(NamedTuple):
    """What somebody said of every case."""

    scores: list[float]
    decisions: dict[str, list[bool]]
    """Named ways to decide -> whether the skill fires."""
    probability: bool
    """Are the scores meant as probabilities?"""


def cases(pool: Sequence[Skill], queries: Sequence[Query]) -> list[Case]:
    """The cases of all skills that have a near miss."""
    position = {skill.id: at for at, skill in enumerate(pool)}
    missed = {one for query in queries for one in query.negative_for if one in position}
    found = []
    for query in queries:
        if query.kind == "user":
            found += [Case(query, position[one], True) for one in query.relevant if one in missed]
        found += [Case(query, position[one], False) for one in query.negative_for if one in position]
    return found


def has_clause(skill: Skill) -> bool:
    """Does the skill say when not to use it?"""
    return bool(_CLAUSE.search(f"{skill.description}\n{skill.when_to_use}"))


# --- scores ---------------------------------------------------------------------------------------------------------


def scorers(
    pool: Pool, queries: Sequence[Query], directory: str, *, left_out: bool
) -> dict[str, Callable[[Sequence[Case]], Scored]]:
    """Everybody who takes part."""
    vendors = libraries(pool.skills)
    whole = dict.fromkeys(vendors, range(len(pool.skills)))
    again = {"whet-left-out-library": lambda asked: _left_out(pool, queries, asked, vendors, directory)}
    return {
        "bm25f-score-pool": lambda asked: lexical(pool, asked, whole, ranked=False),
        "bm25f-score-library": lambda asked: lexical(pool, asked, vendors, ranked=False),
        "bm25f-rank-pool": lambda asked: lexical(pool, asked, whole, ranked=True),
        "bm25f-rank-library": lambda asked: lexical(pool, asked, vendors, ranked=True),
        "minilm-cosine": lambda asked: cosine(pool, asked),
        "whet-library": lambda asked: ours(pool, asked, vendors, directory),
        "whet-pool": lambda asked: ours(pool, asked, whole, directory),
        **(again if left_out else {}),
    }


def lexical(pool: Pool, asked: Sequence[Case], members: Mapping[str, Sequence[int]], *, ranked: bool) -> Scored:
    """The score of BM25F over all fields, or the rank it gives the skill among the others."""
    scores = [0.0] * len(asked)
    for group, numbers in _by_library(pool, asked, members):
        index, place = Lexical(pool, group, EVERYTHING), {skill: at for at, skill in enumerate(group)}
        for number in numbers:
            found = index.scores(pool.terms(asked[number].query.text))
            at = place[asked[number].skill]
            scores[number] = -float(places(found)[at]) if ranked else float(found[at])
    return Scored(scores, {"first": [score == -1 for score in scores]} if ranked else {}, False)


def cosine(pool: Pool, asked: Sequence[Case]) -> Scored:
    """The similarity of MiniLM vectors."""
    vectors = pool.vectors
    return Scored([float(vectors[case.skill] @ pool.vector(case.query.text)) for case in asked], {}, False)


def ours(
    pool: Pool,
    asked: Sequence[Case],
    members: Mapping[str, Sequence[int]],
    directory: str,
    *,
    weights: Mapping[str, Weights] | None = None,
) -> Scored:
    """The confidence of the router, and what it decides for the message."""
    scores = [0.0] * len(asked)
    must, may, offered = ([False] * len(asked) for _ in range(3))
    for group, numbers in _by_library(pool, asked, members):
        router = Ours(pool.skills, group, directory)
        for number in numbers:
            case = asked[number]
            if weights is not None:
                router.router.weights = weights[case.query.source]
            scores[number] = router.confidence(case.query.text, case.skill)
            decision, skill, listed = router.detected(case.query.text)
            must[number] = decision == "must" and skill == case.skill
            may[number] = decision != "none" and skill == case.skill
            offered[number] = decision != "none" and case.skill in listed
        router.close()
    decisions = {
        "detect: must": must,
        "detect: must or may": may,
        "detect: must, may or offered beside": offered,
        f"confidence from {MUST}": [score >= MUST for score in scores],
        f"confidence from {MAY}": [score >= MAY for score in scores],
    }
    return Scored(scores, decisions, True)


def _left_out(
    pool: Pool, queries: Sequence[Query], asked: Sequence[Case], members: Mapping[str, Sequence[int]], directory: str
) -> Scored:
    """Ours, with a curve that was fitted without the source of the message."""
    from routing_sureness import fit, gather

    pairs = gather(pool.skills, queries)
    weights = {
        source: FITTED._replace(sure=fit([pair for pair in pairs if pair.source != source]))
        for source in {case.query.source for case in asked}
    }
    return ours(pool, asked, members, directory, weights=weights)


def strangers(pool: Pool, queries: Sequence[Query], directory: str) -> dict[str, Any]:
    """How often something comes up for messages that are for skills of somebody else."""
    vendors = [found for found in libraries(pool.skills).values() if SMALLEST <= len(found) <= LARGEST]
    users = [query for query in queries if query.kind == "user" and not query.explicit]
    counts = {"must": 0, "may": 0, "none": 0}
    for at, members in enumerate(vendors):
        router, own = Ours(pool.skills, members, directory), pool.skills[members[0]].vendor
        for query in users[at :: len(vendors)]:
            if all(one.partition(":")[0] != own for one in query.relevant):
                counts[router.detected(query.text)[0]] += 1
        router.close()
    total = sum(counts.values())
    return {"messages": total, **{name: round(count / max(1, total), 4) for name, count in counts.items()}}


def _by_library(
    pool: Pool, asked: Sequence[Case], members: Mapping[str, Sequence[int]]
) -> Iterable[tuple[Sequence[int], list[int]]]:
    """The different libraries, each with the numbers of its cases."""
    groups: dict[int, tuple[Sequence[int], list[int]]] = {}
    for number, case in enumerate(asked):
        group = members[pool.skills[case.skill].vendor]
        groups.setdefault(id(group), (group, []))[1].append(number)
    return groups.values()


# --- telling --------------------------------------------------------------------------------------------------------


def told(scored: Scored, asked: Sequence[Case], slices: Mapping[str, Sequence[bool]]) -> dict[str, Any]:
    """One scorer in the report."""
    answer: dict[str, Any] = {}
    for name, kept in slices.items():
        labels = [case.fires for case, keep in zip(asked, kept, strict=True) if keep]
        scores = [score for score, keep in zip(scored.scores, kept, strict=True) if keep]
        points = curve(scores, labels)
        answer[name] = {
            "pairs": len(labels),
            "fire": sum(labels),
            "auc": _rounded(auc(scores, labels)),
            "auc_interval": auc_interval(scores, labels),
            f"most recall at precision {GOAL}": _point(most_recall(points, GOAL)),
            f"most precision at recall {GOAL}": _point(most_precision(points, GOAL)),
            "decisions": {
                way: _point(decided([one for one, keep in zip(fired, kept, strict=True) if keep], labels))
                for way, fired in scored.decisions.items()
            },
        }
        if scored.probability:
            answer[name]["brier"] = _rounded(brier(scores, labels))
            answer[name]["reliability"] = reliability(scores, labels)
    everything = curve(scored.scores, [case.fires for case in asked])
    return {"slices": answer, "curve": [_point(point) for point in everything]}


def _point(point: Point | None) -> dict[str, float] | None:
    return None if point is None else {name: round(value, 4) for name, value in point._asdict().items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def shown(document: Mapping[str, Any]) -> str:
    """The report for a person."""
    counts = document["slices"]
    parts = [f"{document['pairs']} pairs of a message and a skill, {document['skills']} skills"]
    for name, count in counts.items():
        lines = [
            "| | AUC | interval | recall at precision 0.9 | precision at recall 0.9 | Brier |",
            "|---|---:|---:|---:|---:|---:|",
        ]
        for scorer, found in document["scorers"].items():
            row = found["slices"][name]
            strict, lax = row[f"most recall at precision {GOAL}"], row[f"most precision at recall {GOAL}"]
            cells = [
                _number(row["auc"]),
                " to ".join(_number(one) for one in row["auc_interval"]),
                _number(strict and strict["recall"]),
                _number(lax and lax["precision"]),
                _number(row.get("brier")),
            ]
            lines.append(f"| {scorer} | {' | '.join(cells)} |")
        table = "\n".join(lines)
        parts.append(f"{name}: {count['pairs']} pairs, {count['fire']} should fire\n\n{table}")
    lines = ["| decision | precision | recall | false triggers |", "|---|---:|---:|---:|"]
    for scorer, found in document["scorers"].items():
        for way, point in found["slices"]["all"]["decisions"].items():
            cells = [_number(point[name]) for name in ("precision", "recall", "false_triggers")]
            lines.append(f"| {scorer}, {way} | {' | '.join(cells)} |")
    parts.append("\n".join(lines))
    away = document["strangers"]
    told = f"must {_number(away['must'])}, may {_number(away['may'])}, none {_number(away['none'])}"
    parts.append(f"{away['messages']} messages that are for skills of somebody else: {told}")
    parts += [f"{name}: not measured, {why}" for name, why in document["not_measured"].items()]
    return "\n\n".join(parts)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print what it found."""
    parser = arguments_of((__doc__ or "").partition("\n")[0])
    parser.add_argument("--left-out", action="store_true", help="also fit the confidence without each source")
    options = parser.parse_args(arguments)
    pool = Pool(read_pool(options.pool), options.vectors)
    queries = read_queries(options.queries, pool.skills, options.limit)
    asked = cases(pool.skills, queries)
    clauses = [has_clause(pool.skills[case.skill]) for case in asked]
    slices = {
        "all": [True] * len(asked),
        "skills that say when not to use them": clauses,
        "other skills": [not one for one in clauses],
        "messages that do not name the skill": [not case.query.explicit for case in asked],
    }
    results: dict[str, Scored] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="whet-detect-", ignore_cleanup_errors=True) as directory:
        everybody = scorers(pool, queries, directory, left_out=options.left_out)
        for name in chosen(list(everybody), options.only):
            try:
                results[name] = everybody[name](asked)
            except NotMeasuredError as error:
                missing[name] = str(error)
        elsewhere = strangers(pool, queries, directory)
    document = {
        "success": True,
        "machine": machine() | {"threads": routing_threads.ARITHMETIC},
        "pairs": len(asked),
        "skills": len({case.skill for case in asked}),
        "slices": {
            name: {"pairs": sum(kept), "fire": sum(case.fires for case, keep in zip(asked, kept, strict=True) if keep)}
            for name, kept in slices.items()
        },
        "scorers": {name: told(scored, asked, slices) for name, scored in results.items()},
        "strangers": elsewhere,
        "not_measured": missing,
    }
    print(json.dumps(document, indent=1) if options.json else shown(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
