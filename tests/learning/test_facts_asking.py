"""What was asked for, and what the steps show of it: goals, requirements, what was pasted, titles, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from learning.episodes import bash, calls, edit, says, session, user, write
from whet.learning.distill.rounds import begin
from whet.learning.facts import facts
from whet.learning.facts.goal import goal_of, requirements_of, without_asides
from whet.learning.facts.session import without_pasted
from whet.learning.facts.steps import fallback, says_little

if TYPE_CHECKING:
    from learning.episodes import Part


@pytest.mark.parametrize(
    ("request_text", "goal"),
    [
        ("Hi there! Could you please resize the logo to 64x64?", "Resize the logo to 64x64."),
        ("You are a data engineer. Given a dump, you need to load it into Postgres.", "Load it into Postgres."),
        ("I want you to help me rename all invoices by date.", "Rename all invoices by date."),
        (
            "# Task\n\nYour goal is to carefully merge the two branches without losing commits.",
            "Merge the two branches without losing commits.",
        ),
        ("The build is red since noon. Fix it.", "Fix it: the build is red since noon."),
        (
            "Ticket SHOP-2214 from kim@example.org: bring the French strings up to date, please.",
            "Bring the French strings up to date.",
        ),
        (
            "I think it is the upgrade, not sure. Please figure out what is going on and stop it.",
            "Figure out what is going on and stop it.",
        ),
        (
            "hey! pull the refunds & make a csv per country, for kim@example.org thx :) key is [secret:stripe-key]",
            "Pull the refunds & make a csv per country.",
        ),
        (
            "set up a backup of the database, keep 14 days. ssh user is ops.",
            "Set up a backup of the database, keep 14 days.",
        ),
        (
            "ok so. the thing with the login test again. it fails on CI only. look at https://ci.example/9 pls",
            "Look into the thing with the login test again.",
        ),
        ("@docs/spec.md implement the export endpoint as described", "Implement the export endpoint as described."),
        (
            "Kannst du bitte die Bilder verkleinern und als WebP speichern?",
            "Die Bilder verkleinern und als WebP speichern.",
        ),
        ("How do I rotate the TLS certificate of the gateway?", "Rotate the TLS certificate of the gateway."),
        ("", ""),
    ],
)
def test_the_goal_is_one_imperative_sentence(request_text: str, goal: str) -> None:
    assert goal_of(request_text) == goal


TRACE = """Traceback (most recent call last):
  File "/srv/app/worker.py", line 88, in run
    conn = pool.get()
app.PoolError: pool must never be empty"""


@pytest.mark.parametrize(
    "message",
    [
        f"I get this since noon:\n```\n{TRACE}\n```\nMend the worker.",
        f"I get this since noon:\n{TRACE}\nMend the worker.",
        "It crashes with\n\n```\nqueue should be empty\n```\n\nMend the worker.",
        "2026-01-02 10:00:01 ERROR every queue must be empty\n2026-01-02 10:00:02 INFO use a lock\nMend the worker.",
        "    at run (worker.js:10:3)\n    at main (index.js:1:1)\nMend the worker.",
    ],
)
def test_what_was_pasted_is_neither_goal_nor_requirement_nor_input(message: str) -> None:
    found = facts(session(user(message), bash("mend worker")))
    assert (found.goal, found.requirements, found.parameters) == ("Mend the worker.", (), ())


def test_code_that_is_a_pattern_for_the_result_stays() -> None:
    text = 'The output must look like this:\n```json\n{"orders": []}\n```'
    assert without_pasted(text) == text


@pytest.mark.parametrize(
    ("parts", "request_text"),
    [
        (
            [user("whats the weather like in python land lol"), says("Sunny. What can I do?"), user("Mend the test.")],
            "Mend the test.",
        ),
        (
            [user("Can you tell me a joke?"), says("No."), user("Mend the test of the login.")],
            "Mend the test of the login.",
        ),
        (
            [user("Mend the test of the login."), says("Which one?"), user("the one for the old page")],
            "Mend the test of the login.",
        ),
        ([user("good morning to you"), says("Hello."), user("the login is broken")], "the login is broken"),
    ],
)
def test_the_request_is_what_led_to_work(parts: list[Part], request_text: str) -> None:
    assert facts(session(*parts, bash("make test"), user("Thanks. Write a poem about it."))).request == request_text


def test_requirements_are_what_the_result_must_be_like() -> None:
    request = (
        "Export the orders. I am in a hurry today.\n\nFor each order, give:\n- number\n- total\n\n"
        'Dates must be ISO 8601.\n\n```json\n{"orders": []}\n```\n'
    )
    assert requirements_of(request, goal_of(request)) == (
        "For each order, give: number; total",
        "Dates must be ISO 8601.",
        '```json\n{"orders": []}\n```',
    )


def test_a_long_file_is_shown_by_what_it_defines_unless_it_is_a_tool() -> None:
    lines = [f"x{number} = {number}" for number in range(80)]
    code = "\n".join(["def load(path):", *lines, "def save(path):"])
    wanted = user("Add the loader of the tables to the package.")
    shown = facts(session(wanted, write("load.py", code), bash("git add load.py && git commit -m x"))).steps
    assert shown[0].action == "def load(path):\ndef save(path):"
    plain = facts(session(wanted, write("load.py", "\n".join(lines)), bash("make check"))).steps
    assert plain[0].action == "\n".join([*lines[:15], "…"])
    tool = facts(session(wanted, write("load.py", code), bash("python3 load.py"))).steps
    assert tool[0].action == code


def test_a_file_is_shown_as_later_edits_left_it() -> None:
    wanted = user("Add the limit to the settings of the service.")
    written = facts(session(wanted, write("a.py", "x = 1\ny = 2"), edit("a.py", "x = 1", "x = 3"), bash("make check")))
    assert (written.steps[0].title, written.steps[0].action) == ("Write `a.py`", "x = 3\ny = 2")
    edited = facts(session(wanted, edit("a.py", "z", "x = 1\ny = 2"), edit("a.py", "x = 1", "x = 3"), bash("make")))
    assert (edited.steps[0].title, edited.steps[0].action) == ("Edit `a.py`", "x = 3\ny = 2")


def test_an_edit_is_known_by_the_difference_in_its_result() -> None:
    output = "Updated a.tf with 1 addition and 1 removal\n 3 -   version = 1\n 3 +   version = 2"
    found = facts(session(user("Bump the version of the provider."), calls("Edit", {"path": "a.tf"}, output)))
    assert found.steps[0].action == "  version = 2"


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("rg -l Old | xargs sed -i 's/Old/New/g'", "Change the files with `sed`"),
        ("git add a && git commit -m x", "Commit the changes"),
        (
            "git checkout -b x && git commit -am y && git push",
            "Start a branch, commit the changes and push the commits",
        ),
        ("git checkout a.lock && terraform providers lock", "Restore the file and run `terraform providers lock`"),
        ("git checkout main", "Switch to the branch or file"),
        ("crontab -l ", "Check with `crontab`"),
    ],
)
def test_a_command_nobody_named_is_called_by_all_that_it_does(command: str, title: str) -> None:
    assert fallback(command) == title
    assert says_little(title)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Resize the photos to 800px; by the way one of our tests is flaky", "Resize the photos to 800px"),
        ("Resize the photos (by the way one of our tests is flaky) to 800px", "Resize the photos to 800px"),
        (
            "Resize the photos to 800px. BTW, the coffee machine is broken. Keep the names.",
            "Resize the photos to 800px. Keep the names.",
        ),
        ("By the way, the office is closed. Resize the photos.", "Resize the photos."),
        ("Resize the photos (unrelated: v1.2 of the site is down).", "Resize the photos."),
        ("Resize the photos\nPS: lunch was great", "Resize the photos"),
        ("Resize the photos - übrigens ist der Drucker kaputt", "Resize the photos"),
        ("Resize the photos. By the way, never touch the originals.", "Resize the photos. never touch the originals."),
        ("Resize the photos; btw use mogrify for it", "Resize the photos; use mogrify for it"),
        (
            "Resize the photos. By the way, could you also rename them?",
            "Resize the photos. could you also rename them?",
        ),
    ],
)
def test_an_aside_is_no_part_of_a_request_unless_it_asks_for_something(said: str, left: str) -> None:
    assert without_asides(said) == left


@pytest.mark.parametrize(
    ("said", "goal"),
    [
        ("Resize the photos (our tests are flaky today) to 800px", "Resize the photos to 800px."),
        ("Resize the photos to 800px; one of our tests is flaky", "Resize the photos to 800px."),
        ("Resize the photos (JPEG only) to 800px", "Resize the photos (JPEG only) to 800px."),
    ],
)
def test_how_things_are_is_no_part_of_a_goal(said: str, goal: str) -> None:
    assert goal_of(said) == goal


def test_an_aside_is_in_no_part_of_a_skill() -> None:
    asked = (
        "Resize the photos in holiday to 800px with mogrify; by the way one of our tests is flaky, it fails sometimes"
    )
    made = begin(session(user(asked), bash("mogrify -resize 800 holiday/*.jpg", "ok"), says("Done."))).draft()
    assert made.name == "resize-photos-holiday-px"
    assert not any(word in made.description + made.body for word in ("flaky", "tests", "sometimes"))
