"""What a session adds to a skill: nothing is lost, nothing is said twice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from whet.learning.synthesis.additions import MOST, merged, points

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

## Pitfalls

- `alembic revision` fails: not up to date. Instead: `alembic upgrade head`.

## Further steps

- Check it.

   ```bash
   pytest -q
   ```
   Check: all tests pass.
"""


def test_what_is_new_goes_to_the_end_of_its_section() -> None:
    assert merged(BODY, DRAFT) == (BOTH, ("- Never touch production.", "- Check it."))


def test_a_second_time_adds_nothing() -> None:
    assert merged(BOTH, DRAFT) == (BOTH, ())


def test_what_was_refused_is_not_added() -> None:
    assert merged(BODY, DRAFT, [BOTH]) == (BODY, ())


def test_a_body_without_sections_gets_them() -> None:
    assert merged("Do it well.\n", "## Rules\n\n- Never on Fridays.\n") == (
        "Do it well.\n\n## Rules\n\n- Never on Fridays.\n",
        ("- Never on Fridays.",),
    )


def test_headings_in_code_are_code() -> None:
    body = "## Rules\n\n```md\n## Rules\n```\n- One two three.\n"
    assert points(body, "Rules") == ["- One two three."]
    assert merged(body, "## Rules\n\n- Four five six.\n").body == f"{body}- Four five six.\n"


def test_only_so_many_points_are_added_at_once() -> None:
    many = "\n".join(f"- Point word{number} other{number} third{number}." for number in range(30))
    assert len(merged(BODY, f"## Rules\n\n{many}\n").added) == MOST


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["## Rules", "## Pitfalls", "## Steps", "- a b", "text", "```", "", "1. go"]), max_size=20)
)
def test_every_line_of_a_body_stays_in_its_order(lines: list[str]) -> None:
    body = "\n".join([*lines, ""])
    rest = iter(merged(body, DRAFT).body.split("\n"))
    assert all(line in rest for line in lines if line)
