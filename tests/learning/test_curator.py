"""The curator: every rule as a whole plan, and what no plan may ever hold."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.learning.curator import AGES, DAY, Ages, Kept, Merge, Plan, Standing, Step, make_plan
from whet.routing.duplicates import near_duplicates
from whet.routing.texts import Texts

NOW = 1_800_000_000 * 10**9
WEEK_AGO = NOW - 7 * DAY
LATEST = 2**62

SCAN = Texts(
    "scanning-dependencies",
    "Scan the dependencies of a project for known vulnerabilities with Trivy, offline.",
    """Run `trivy fs --offline-scan --format json package-lock.json`, keep HIGH and CRITICAL, and write severity, CVE
and fixed version into a CSV report. Where the database is missing, say so and stop.""",
)
AUDIT = Texts(
    "dependency-audit",
    "Audit dependencies for known vulnerabilities with Trivy in offline mode.",
    """`trivy fs --offline-scan --format json package-lock.json` lists them; keep CRITICAL and HIGH, report severity,
CVE and fixed version as CSV. Stop and say so where the database is missing.""",
)
CHECK = Texts(
    "vulnerability-check",
    "Check a project's dependencies for vulnerabilities, offline, with Trivy.",
    """Keep HIGH and CRITICAL of `trivy fs --offline-scan --format json package-lock.json` and write a CSV report with
severity, CVE and fixed version. If the database is missing, say so and stop.""",
)
LETTER = Texts("cover-letter", "Write a cover letter for a job.", "Choose three achievements and end with a question.")


def skill(name: str, *, created: int = 200, last: int | None = None, **more: object) -> Standing:
    """A skill of the agent, with its times as days before now."""
    standing = Standing(
        name=name,
        path=f"/skills/{name}",
        digest=f"sha256:{name}",
        created=NOW - created * DAY,
        last=0 if last is None else NOW - last * DAY,
        uses=0,
        pinned=False,
        referenced_by=(),
        mine=True,
    )
    return standing._replace(**more)  # type: ignore[arg-type]  # the fields of the standing, as the tests name them


def changed(texts: Texts, old: str, new: str) -> Texts:
    return Texts(texts.name, texts.description.replace(old, new), texts.body.replace(old, new))


def step(name: str, state: str, reason: str) -> Step:
    return Step(name, f"/skills/{name}", f"sha256:{name}", state, reason)


def plan(*standings: Standing, last_run: int = WEEK_AGO, ages: Ages = AGES) -> Plan:
    return make_plan(standings, {}, now=NOW, last_run=last_run, ages=ages)


def due(steps: tuple[Step, ...] = (), kept: tuple[Kept, ...] = (), merges: tuple[Merge, ...] = ()) -> Plan:
    return Plan(NOW, steps, kept, merges, due=True)


# --- ages -----------------------------------------------------------------------------------------------------------


def test_nothing_to_look_at_is_an_empty_plan() -> None:
    assert plan() == due()


def test_a_skill_without_activity_becomes_stale() -> None:
    assert plan(skill("idle", last=30), skill("busy", last=29), skill("never", created=60)) == due(
        (
            step("idle", "stale", "Not used, viewed or changed for 30 days."),
            step("never", "stale", "Never used in 60 days."),
        ),
        (Kept("busy", "in use"),),
    )


def test_a_skill_that_stays_unused_is_archived_by_a_later_run() -> None:
    assert plan(skill("done", last=90), skill("waits", last=89)) == due(
        (
            step("done", "archived", "Not used, viewed or changed for 90 days."),
            step("waits", "stale", "Not used, viewed or changed for 89 days."),
        )
    )


def test_no_skill_is_archived_by_the_run_that_first_finds_it_stale() -> None:
    old = skill("old", last=190)
    assert [plan(old, last_run=run).steps[0].state for run in (0, NOW, WEEK_AGO + 1)] == ["stale"] * 3
    assert [plan(old, last_run=NOW - days * DAY).steps[0].state for days in (7, 160, 161)] == [
        "archived",
        "archived",
        "stale",
    ], "at the last run it must have been stale already"


def test_a_skill_is_left_alone_for_a_reason() -> None:
    assert plan(
        skill("bundled", mine=False),
        skill("pinned", pinned=True),
        skill("named", referenced_by=("bundle release", "deploy")),
        skill("new", created=13),
        skill("unknown", created=0)._replace(created=0),
        skill("tomorrow", last=-1),
        skill("pinned-stale", last=100, pinned=True),
        skill("named-in-use", last=1, referenced_by=("deploy",)),
    ) == due(
        kept=(
            Kept("bundled", "not created by the agent"),
            Kept("named", "referenced by bundle release, deploy"),
            Kept("named-in-use", "referenced by deploy"),
            Kept("new", "new"),
            Kept("pinned", "pinned"),
            Kept("pinned-stale", "pinned"),
            Kept("tomorrow", "last active in the future; check the clock"),
            Kept("unknown", "its age is not known"),
        )
    )


def test_a_skill_is_new_for_the_days_of_grace_even_when_stale_comes_sooner() -> None:
    ages = Ages(stale_days=1, archive_days=2, grace_days=14, interval_days=1)
    assert plan(skill("young", created=13, last=12), ages=ages).kept == (Kept("young", "new"),)
    assert plan(skill("young", created=14, last=3), ages=ages).steps[0].state == "stale"


def test_where_only_one_time_is_known_it_counts() -> None:
    assert plan(skill("a", last=40, created=0)._replace(created=0)).steps[0].state == "stale"
    assert plan(skill("a", created=40)).steps[0].state == "stale"
    assert plan(skill("a", created=20)).kept == (Kept("a", "in use"),)


# --- runs -----------------------------------------------------------------------------------------------------------


def test_the_first_run_only_remembers_the_time() -> None:
    assert plan(skill("idle", last=40), last_run=0) == Plan(
        NOW,
        (step("idle", "stale", "Not used, viewed or changed for 40 days."),),
        (),
        (),
        due=False,
        start_over=True,
        notes=("The curator has not run yet. It archives nothing for 7 days.",),
    )


def test_a_plan_is_due_once_the_interval_is_over() -> None:
    early = plan(last_run=WEEK_AGO + 1)
    note = "The last run was 2027-01-08T08:00:00Z. The curator archives nothing for 7 days after it."
    assert early == Plan(NOW, (), (), (), due=False, notes=(note,))
    assert plan(last_run=WEEK_AGO) == due()


@pytest.mark.parametrize(
    ("last_run", "note"),
    [
        (NOW + 1, "The clock is earlier than the last run (2027-01-15T08:00:00Z). Nothing is archived."),
        (
            NOW - 366 * DAY,
            "The last run (2026-01-14T08:00:00Z) is more than a year ago, or the clock is wrong. Nothing is archived.",
        ),
    ],
)
def test_a_clock_that_jumped_archives_nothing_and_the_plan_says_so(last_run: int, note: str) -> None:
    found = plan(skill("busy", last=3), skill("old", last=100), last_run=last_run)
    steps = (step("old", "stale", "Not used, viewed or changed for 100 days."),)
    assert found == Plan(NOW, steps, (Kept("busy", "in use"),), (), due=False, start_over=True, notes=(note,))


def test_a_year_without_a_run_is_no_jump() -> None:
    assert plan(last_run=NOW - 365 * DAY) == due()


# --- merges ---------------------------------------------------------------------------------------------------------


def merges(*standings: Standing, **texts: Texts) -> tuple[Merge, ...]:
    return make_plan(standings, texts, now=NOW, last_run=NOW).merges


def test_near_duplicates_are_proposed_for_merging_into_the_most_used() -> None:
    texts = {"scan": SCAN, "audit": AUDIT, "check": CHECK, "letter": LETTER}
    standings = [
        skill("scan", last=1, uses=3),
        skill("audit", last=1, uses=9),
        skill("check", last=1),
        skill("letter", last=1),
    ]
    best = near_duplicates(texts)[0]
    assert {*best[:2]} == {"check", "scan"}
    reason = f"They are {best.score:.0%} alike; the one to keep is used more."
    assert merges(*standings, **texts) == (Merge("scan", "check", best.score, best.shared, reason),)


@pytest.mark.parametrize(
    ("standings", "into", "why"),
    [
        ((skill("a", created=50), skill("b", created=60)), "b", "the one to keep is older."),
        (
            (skill("a", created=0)._replace(created=0, last=5), skill("b")),
            "b",
            "the one to keep is older.",
        ),
        ((skill("a"), skill("b")), "a", "only the name decides which one to keep."),
        ((skill("a", uses=2), skill("b", uses=1, created=80)), "a", "the one to keep is used more."),
    ],
)
def test_of_those_used_as_often_the_oldest_is_kept(standings: tuple[Standing, ...], into: str, why: str) -> None:
    (found,) = merges(*standings, a=SCAN, b=AUDIT)
    assert {found.into: found.other} == {into: "b" if into == "a" else "a"}
    assert found.reason == f"They are {found.score:.0%} alike; {why}"


@pytest.mark.parametrize("protected", [skill("a", uses=1, pinned=True), skill("a", uses=1, referenced_by=("bundle",))])
def test_what_is_protected_may_take_others_in_but_is_never_taken_in(protected: Standing) -> None:
    assert [merge[:2] for merge in merges(protected, skill("b"), a=SCAN, b=AUDIT)] == [("a", "b")]
    assert merges(protected, skill("b", uses=2), a=SCAN, b=AUDIT) == ()


def test_only_what_the_agent_made_and_this_plan_keeps_is_merged() -> None:
    assert merges(skill("a", mine=False), skill("b"), a=SCAN, b=AUDIT) == ()
    standings, texts = (skill("a", last=100), skill("b", last=1)), {"a": SCAN, "b": AUDIT}
    assert make_plan(standings, texts, now=NOW, last_run=WEEK_AGO).merges == ()
    assert merges(skill("a"), skill("b"), a=SCAN) == ()


def test_a_name_that_two_skills_have_is_not_merged() -> None:
    assert merges(skill("a"), skill("a", path="/elsewhere"), skill("b"), a=SCAN, b=AUDIT) == ()
    assert merges(skill("a"), skill("a", path="/elsewhere", mine=False), skill("b"), a=SCAN, b=AUDIT) == ()
    assert merges(skill("a"), skill("a", path="/elsewhere", last=100), skill("b"), a=SCAN, b=AUDIT) == ()


def test_no_skill_is_in_two_merges() -> None:
    texts = {f"s{number:02}": SCAN._replace(body=f"{SCAN.body}\nNumber {number}") for number in range(12)}
    found = merges(*(skill(name, uses=number) for number, name in enumerate(texts)), **texts)
    named = [name for merge in found for name in merge[:2]]
    assert sorted(named) == sorted(set(named)) and len(found) > 1


# --- for programs and people ----------------------------------------------------------------------------------------


def test_a_plan_is_json() -> None:
    found = Plan(
        NOW,
        (step("a", "archived", "Not used, viewed or changed for 90 days."),),
        (Kept("d", "pinned"),),
        (Merge("g", "h", 0.7, ("trivy", "offline"), "They are 70% alike; it is used more."),),
        due=False,
        start_over=True,
        notes=("The curator has not run yet.",),
    )
    assert json.loads(json.dumps(found.to_json())) == found.to_json()
    assert found.to_json() == {
        "at": "2027-01-15T08:00:00Z",
        "due": False,
        "start_over": True,
        "notes": ["The curator has not run yet."],
        "steps": [
            {
                "name": "a",
                "path": "/skills/a",
                "digest": "sha256:a",
                "state": "archived",
                "reason": "Not used, viewed or changed for 90 days.",
            }
        ],
        "kept": [{"name": "d", "reason": "pinned"}],
        "merges": [
            {
                "into": "g",
                "other": "h",
                "score": 0.7,
                "shared": ["trivy", "offline"],
                "reason": "They are 70% alike; it is used more.",
            }
        ],
    }


# --- whatever the skills ---------------------------------------------------------------------------------------------

ANY_AGES = st.builds(Ages, *[st.integers(0, 120)] * 4)
TIMES = st.one_of(st.just(0), st.integers(-3, 400).map(lambda days: NOW - days * DAY), st.integers(0, LATEST))
STANDINGS = st.lists(
    st.builds(
        Standing,
        name=st.sampled_from("abcdefgh"),
        path=st.sampled_from(["/1", "/2", "/3"]),
        digest=st.just("sha256:x"),
        created=TIMES,
        last=TIMES,
        uses=st.integers(0, 3),
        pinned=st.booleans(),
        referenced_by=st.sampled_from([(), ("bundle",)]),
        mine=st.booleans(),
    ),
    max_size=8,
    unique_by=lambda each: (each.name, each.path),
)
BODIES = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([SCAN, AUDIT, CHECK, LETTER]), max_size=8)
RUNS = st.one_of(st.just(0), st.just(NOW), st.integers(-1, 400).map(lambda days: NOW - days * DAY))


@settings(max_examples=150, deadline=None)
@given(STANDINGS, RUNS, ANY_AGES)
def test_no_step_ever_concerns_a_protected_skill(standings: list[Standing], last_run: int, ages: Ages) -> None:
    found = make_plan(standings, {}, now=NOW, last_run=last_run, ages=ages)
    by_place = {(each.name, each.path): each for each in standings}
    assert len(found.steps) + len(found.kept) == len(standings)
    for each in found.steps:
        standing = by_place[each.name, each.path]
        assert standing.mine and not standing.pinned and not standing.referenced_by
        assert not standing.created or NOW - standing.created >= ages.grace_days * DAY
        assert 0 < max(standing.last, standing.created) <= NOW
        assert (each.digest, each.state in ("stale", "archived")) == (standing.digest, True)
        assert each.state == "stale" or found.due


@settings(max_examples=150, deadline=None)
@given(STANDINGS, RUNS, ANY_AGES, BODIES)
def test_planning_is_deterministic_and_another_run_at_once_archives_nothing(
    standings: list[Standing], last_run: int, ages: Ages, texts: dict[str, Texts]
) -> None:
    found = make_plan(standings, texts, now=NOW, last_run=last_run, ages=ages)
    backwards = dict(reversed(texts.items()))
    assert make_plan(standings[::-1], backwards, now=NOW, last_run=last_run, ages=ages) == found
    again = make_plan(standings, texts, now=NOW, last_run=NOW, ages=ages._replace(interval_days=7))
    assert again.start_over is False
    assert all(each.state == "stale" for each in again.steps)


@settings(max_examples=100, deadline=None)
@given(STANDINGS, BODIES)
def test_merges_never_name_a_skill_twice_nor_take_in_a_protected_one(
    standings: list[Standing], texts: dict[str, Texts]
) -> None:
    found = make_plan(standings, texts, now=NOW, last_run=WEEK_AGO)
    named = [name for merge in found.merges for name in merge[:2]]
    assert len(named) == len(set(named))
    by_name = {each.name: each for each in standings}
    archived = {each.name for each in found.steps if each.state == "archived"}
    for merge in found.merges:
        into, other = by_name[merge.into], by_name[merge.other]
        assert all(one.mine and one.name in texts for one in (into, other))
        assert not other.pinned and not other.referenced_by and other.uses <= into.uses
        assert not archived & {into.name, other.name}
