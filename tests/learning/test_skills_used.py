"""Only what was done after a skill was loaded, and has to do with it, may change that skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from learning.episodes import Part, bash, calls, note, read, says, session, user
from whet.api import Library
from whet.learning.evidence.loads import Load, loads_of, skills_of, with_skill
from whet.learning.selection.learn import learn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.learning.selection.worth import Report
    from whet.learning.transcripts.events import Transcript

FLAKY = """---
name: flaky-tests
description: Finds out why a test is flaky and mends it. Use when a test fails now and then.
---
# Flaky tests

## Steps

1. Run the test many times:

   ```bash
   pytest --count 20 tests/test_upload.py
   ```
"""
DEPLOY = """---
name: deploy-shop
description: Deploys the shop to production. Use when a release of the shop is ready to be deployed.
---
# Deploy the shop

## Steps

1. Tag the release and start the pipeline:

   ```bash
   shopctl release create
   ```
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    for name, text in (("flaky-tests", FLAKY), ("deploy-shop", DEPLOY)):
        skill = home / ".agents" / "skills" / name
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(text, encoding="utf-8")
    env = {"HOME": str(home), "PATH": ""}
    with Library.open(home=home / "state", project=home / "project", env=env) as made:
        yield made


def viewed(name: str) -> Part:
    """A skill that was loaded from Whet's MCP server."""
    text = FLAKY if name == "flaky-tests" else DEPLOY
    return calls("mcp__whet__skill_view", {"name": name}, text)


CONVERT: tuple[Part, ...] = (
    user("Convert the handbook to a PDF with pandoc; by the way one of our tests is flaky, it fails now and then"),
    bash(
        "pandoc handbook.md -o handbook.pdf", "pdflatex not found. Please select a different --pdf-engine", failed=True
    ),
    bash("pandoc handbook.md -o handbook.pdf --pdf-engine=weasyprint", "ok"),
)
MEND: tuple[Part, ...] = (
    bash("pytest --count 20 tests/test_upload.py", "error: unrecognized arguments: --count", failed=True),
    bash("pip install pytest-repeat && pytest --count 20 tests/test_upload.py", "3 failed, 17 passed"),
    bash("pytest --count 20 tests/test_upload.py -p no:randomly", "20 passed"),
    says("Done. The flaky test passes now."),
)
DEPLOYING: tuple[Part, ...] = (
    bash("shopctl release create 4.2.0", "error: the changelog has no entry for 4.2.0", failed=True),
    bash("shopctl changelog build 4.2.0", "written"),
    bash("shopctl release create 4.2.0", "release 4.2.0 is live"),
    says("Done. The shop is deployed."),
)
ASK_TEST = user("Find out why tests/test_upload.py is flaky and make the test stable.")
ASK_DEPLOY = user("Deploy release 4.2.0 of the shop to production.")
OFFER = note("These skills may fit this request: flaky-tests, deploy-shop. Load one with skill_view.")


def learned(library: Library, transcript: Transcript) -> Report:
    return learn(library.learning.context, transcript)


def gained(library: Library, report: Report) -> str:
    """The skill as it would be."""
    assert report.proposal
    library.proposals.approve(report.proposal)
    return library.read(report.skill or "").content


def test_what_was_done_before_a_skill_was_loaded_does_not_change_it(library: Library) -> None:
    report = learned(library, session(*CONVERT, viewed("flaky-tests"), says("Done. The handbook is in handbook.pdf.")))
    assert (report.captured, report.action, report.skill) == (True, "create", "convert-handbook-pdf")
    gained(library, report)
    assert "flaky" not in library.card("convert-handbook-pdf").description


def test_what_was_done_after_it_was_loaded_does(library: Library) -> None:
    report = learned(library, session(ASK_TEST, viewed("flaky-tests"), *MEND))
    assert (report.captured, report.action, report.skill) == (True, "improve", "flaky-tests")
    assert "unrecognized arguments: --count" in gained(library, report)


def test_of_two_jobs_only_the_one_after_the_skill_counts(library: Library) -> None:
    report = learned(library, session(*CONVERT, ASK_TEST, viewed("flaky-tests"), *MEND))
    assert (report.action, report.skill) == ("improve", "flaky-tests")
    text = gained(library, report)
    assert "unrecognized arguments: --count" in text
    assert "pandoc" not in text
    assert report.evidence
    assert min(report.evidence) > len([event for part in CONVERT for event in part])


@pytest.mark.parametrize("turn", [False, True])
def test_of_two_skills_each_is_changed_by_its_own_work_alone(library: Library, turn: bool) -> None:
    first = (ASK_TEST, viewed("flaky-tests"), *MEND)
    second = (ASK_DEPLOY, viewed("deploy-shop"), *DEPLOYING)
    report = learned(library, session(*((*second, *first) if turn else (*first, *second))))
    own, other = ("shopctl", "--count") if report.skill == "deploy-shop" else ("--count", "shopctl")
    text = gained(library, report)
    assert (report.action, own in text, other in text) == ("improve", True, False)


def test_skills_that_were_loaded_together_share_the_work_and_the_fitting_one_gets_it(library: Library) -> None:
    report = learned(library, session(ASK_DEPLOY, viewed("flaky-tests"), viewed("deploy-shop"), *DEPLOYING))
    assert (report.action, report.skill) == ("improve", "deploy-shop")


def test_a_skill_that_was_loaded_twice_has_all_that_came_after_the_first_time(library: Library) -> None:
    again = user("Once more, for 4.2.1: deploy that release of the shop, too.")
    more = bash("shopctl release create 4.2.1", "release 4.2.1 is live")
    report = learned(
        library,
        session(ASK_DEPLOY, viewed("deploy-shop"), *DEPLOYING, again, viewed("deploy-shop"), more, says("Done.")),
    )
    assert (report.action, report.skill) == ("improve", "deploy-shop")
    assert "has no entry for" in gained(library, report)


def test_a_skill_that_was_only_offered_or_could_not_be_loaded_is_left_alone(library: Library) -> None:
    refused = calls("mcp__whet__skill_view", {"name": "flaky-tests"}, "no such skill", failed=True)
    transcript = session(ASK_TEST, OFFER, refused, *MEND)
    assert skills_of(transcript.events) == ()
    report = learn(library.learning.context, transcript)
    assert (report.action, report.skill == "flaky-tests") == ("create", False)


def test_work_that_has_nothing_to_do_with_the_loaded_skill_does_not_change_it(library: Library) -> None:
    report = learned(library, session(viewed("deploy-shop"), *CONVERT, says("Done. The handbook is in handbook.pdf.")))
    assert (report.action, report.skill) == ("create", "convert-handbook-pdf")


def test_every_way_to_load_a_skill_is_seen_and_nothing_else() -> None:
    events = session(
        user("/deploy-shop 4.2.0"),
        calls("Skill", {"skill": "shop:pricing"}, "# Pricing"),
        note("# Menus", about="skill:menus"),
        viewed("flaky-tests"),
        calls("mcp__whet__skill_view", {"name": "flaky-tests", "file_path": "a.md"}, "x"),
        read("/home/kim/.agents/skills/reports/SKILL.md", "# Reports"),
        bash("sed -n 1,200p ~/.codex/skills/ledgers/SKILL.md", "# Ledgers"),
        bash("cp draft.md ~/.codex/skills/drafts/SKILL.md", ""),
        calls("Write", {"path": "/home/kim/.agents/skills/own/SKILL.md", "content": "# Own"}, "ok"),
        calls("Skill", {"skill": "gone"}, "no such skill", failed=True),
        user("/srv/shop/models.py is broken"),
        OFFER,
    ).events
    assert loads_of(events) == (
        Load("deploy-shop", 0, "", asked=True),
        Load("shop:pricing", 1, "# Pricing"),
        Load("menus", 3, "# Menus"),
        Load("flaky-tests", 4, FLAKY),
        Load("reports", 8, "# Reports"),
        Load("ledgers", 10, "# Ledgers"),
    )


def test_what_is_blanked_out_keeps_the_numbers_of_the_others() -> None:
    whole = session(*CONVERT, ASK_TEST, viewed("flaky-tests"), *MEND)
    part = with_skill(whole, "flaky-tests")
    kept = [at for at, event in enumerate(part.events) if event.about != "before"]
    start = sum(len(part) for part in CONVERT)
    assert kept == list(range(start, len(whole.events)))
    assert [part.events[at] for at in kept] == [whole.events[at] for at in kept]
