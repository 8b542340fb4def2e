"""What a session makes of a skill that is there: what a person wrote only gains, what was refused stays away."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from whet.learning.distill.merge import merged

BODY = """# Migrate

## Rules

- Always make a backup first.

## Steps

1. Upgrade.

   ```bash
   alembic upgrade head
   ```

## Pitfalls

- `alembic revision` fails: not up to date. Instead: `alembic upgrade head`.
"""
DRAFT = """# Migrate

## Rules

- Always make a backup first.
- Never touch production.

## Steps

1. Upgrade.

   ```bash
   alembic upgrade head
   ```

2. Check it.

   ```bash
   pytest -q
   ```
   Check: all tests pass.
"""
BOTH = """# Migrate

## Rules

- Always make a backup first.
- Never touch production.

## Steps

1. Upgrade.

   ```bash
   alembic upgrade head
   ```

## Further steps

- Check it.

   ```bash
   pytest -q
   ```
   Check: all tests pass.

## Pitfalls

- `alembic revision` fails: not up to date. Instead: `alembic upgrade head`.
"""


def test_a_persons_skill_gains_what_it_lacks() -> None:
    assert merged(BODY, DRAFT, own=False) == BOTH


def test_a_second_time_adds_nothing() -> None:
    assert merged(BOTH, DRAFT, own=False) == BOTH


def test_what_was_refused_is_not_added_to_a_persons_skill() -> None:
    assert merged(BODY, DRAFT, own=False, refused=[BOTH]) == BODY


def test_of_a_distilled_skill_the_steps_stay_where_new_ones_were_refused() -> None:
    refused = merged(BODY, DRAFT, own=True)
    assert "pytest -q" in refused
    assert merged(BODY, DRAFT, own=True, refused=[refused]) == BODY
    assert merged(BODY, DRAFT, own=True, refused=["## Rules\n\n- Never touch production.\n"]) == refused.replace(
        "- Never touch production.\n", ""
    )


def test_of_two_pitfalls_about_one_failure_the_newer_one_stays() -> None:
    item = "- `mkdocs build` failed: `no site_url`. This worked: `SITE_URL=https://{} mkdocs build`.\n"
    body, other = "# Publish\n\n## Pitfalls\n\n", "- `rclone` failed: `denied`. After that it worked.\n"
    old, new = body + item.format("2.4") + other, body + item.format("2.5")
    assert merged(old, new, own=True) == body + item.format("2.5") + other
    assert merged(old, new, own=False) == old


def test_a_body_without_sections_gets_them() -> None:
    assert merged("Do it well.\n", "## Rules\n\n- Never on Fridays.\n", own=False) == (
        "Do it well.\n\n## Rules\n\n- Never on Fridays.\n"
    )


def test_headings_in_code_are_code() -> None:
    body = "## Rules\n\n```md\n## Rules\n```\n- One two three.\n"
    assert merged(body, "## Rules\n\n- Four five six.\n", own=False) == f"{body}- Four five six.\n"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["## Rules", "## Pitfalls", "## Steps", "- a b", "text", "", "1. go"]), max_size=20))
def test_every_line_that_a_person_wrote_stays_in_its_order(lines: list[str]) -> None:
    body = "\n".join([*lines, ""])
    rest = iter(merged(body, DRAFT, own=False).split("\n"))
    assert all(line in rest for line in lines if line)
