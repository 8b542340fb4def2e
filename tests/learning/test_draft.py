"""Skills drafted from facts: valid, bounded, general, and carrying only what was used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from learning.episodes import (
    EPISODES,
    bash,
    bulk_import,
    claim_form,
    database_migration,
    lost_cause,
    note,
    release_notes,
    rollout,
    session,
    thumbnails,
    user,
    write,
)
from whet.guard.scan import scan
from whet.learning.distill.body import chosen, cut, excerpt
from whet.learning.distill.draft import Answers, Draft, draft, main_file
from whet.learning.distill.names import description_of, name_of, plain_goal
from whet.learning.facts import Passage, facts
from whet.learning.facts.parameters import Blanks
from whet.prompt.tokens import estimate
from whet.routing.router import Entry, Router
from whet.routing.texts import Texts
from whet.skill.tree import Item
from whet.skill.validate import ValidationInput, validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.learning.transcripts.events import Transcript

WORTHY = EPISODES[:-2]


def made_from(episode: Callable[[], Transcript]) -> Draft:
    return draft(facts(episode()))


@pytest.mark.parametrize("episode", WORTHY)
def test_drafts_pass_the_specification_and_the_linter(episode: Callable[[], Transcript]) -> None:
    made = made_from(episode)
    package = ValidationInput(made.name, main_file(made), files=("SKILL.md", *made.files))
    assert [one for one in validate(package, "quality") if one.code != "section-missing"] == []


@pytest.mark.parametrize("episode", WORTHY)
def test_drafts_look_harmless_to_the_guard(episode: Callable[[], Transcript]) -> None:
    made = made_from(episode)
    files = {"SKILL.md": main_file(made), **made.files}
    assert scan({path: Item(text.encode()) for path, text in files.items()}).verdict == "safe"


@pytest.mark.parametrize("episode", WORTHY)
def test_no_value_of_the_session_is_left(episode: Callable[[], Transcript]) -> None:
    found = facts(episode())
    made = draft(found)
    text = "\n".join((main_file(made), *made.files.values()))
    assert [
        one.example for one in found.parameters if re.search(rf"(?<![\w.]){re.escape(one.example)}(?!\w)", text)
    ] == []
    assert not re.search(r"/(?:home|Users|root|srv|data)/\w", text)
    assert "[secret" not in text


@pytest.mark.parametrize("episode", WORTHY)
def test_every_tool_that_is_asked_for_was_used_and_every_step_has_a_check(episode: Callable[[], Transcript]) -> None:
    found = facts(episode())
    made = draft(found)
    used = {f"Bash({one.command}:*)" if one.tool == "Bash" else one.tool for one in found.tools}
    assert set(made.allowed_tools) - used <= {"Grep", "Glob", "WebFetch", "WebSearch"}
    assert "Bash" not in made.allowed_tools
    steps = re.findall(r"(?ms)^\d+\. .*?(?=^\d+\. |^## )", made.body.partition("## Steps")[2])
    assert len(steps) == len(found.steps)
    assert all("   Check: " in step for step in steps)


def test_a_draft_as_a_whole() -> None:
    made = made_from(release_notes)
    assert (made.name, made.fork, made.files) == ("write-release-notes-command-line-client", False, {})
    assert made.allowed_tools == ("Write", "Bash(npx markdown-link-check:*)", "Bash(git tag:*)")
    assert made.description == (
        "Write the release notes for the command line client and tag the release. "
        'Use when the user asks for this, or mentions "release notes", "command line client".'
    )
    assert made.body == (
        "# Write the release notes for the command line client and tag the release\n\n"
        "## Overview\n\n"
        "The steps below worked in this order, with `npx`, `git`. "
        "Values that differ from case to case stand in braces; put your own there.\n\n"
        "## Inputs\n\n"
        "- `{notes_md}`: the .md to write.\n"
        "- `{version}`: the version.\n\n"
        "## Rules\n\n"
        "- Group the entries by kind: Added, Fixed, Changed.\n"
        "- Always put breaking changes first.\n\n"
        "## What the result must be like\n\n"
        "- Every entry must link its pull request.\n"
        "- Do not push anything.\n\n"
        "## Steps\n\n"
        "1. Write `{notes_md}`.\n"
        "   Write the notes.\n\n"
        "   ```\n   # {version}\n   ## Added\n   ## Fixed\n   ```\n\n"
        "   Check: `{notes_md}` exists and holds this.\n\n"
        "2. Check the links.\n\n"
        "   ```bash\n   npx markdown-link-check {notes_md}\n   ```\n\n"
        "   Check: It exits with 0, and it says `All links OK`.\n\n"
        "3. Set the tag.\n\n"
        "   ```bash\n   git tag -a v{version} -m 'Release {version}'\n   ```\n\n"
        "   Check: It exits with 0 and reports no error.\n\n"
        "4. Check with `git tag`.\n\n"
        "   ```bash\n   git tag --list v{version}\n   ```\n\n"
        "   Check: It prints `v{version}`.\n\n"
        "## Check at the end\n\n"
        "- `{notes_md}` exists and is what was asked for.\n"
        '- Every point under "What the result must be like" holds.\n'
        '- Nothing was done against "Rules".\n\n'
        "## Examples\n\n"
        '- "Write the release notes for the command line client and tag the release."\n'
        '- "Can you write the release notes for the command line client?"\n\n'
        "## Requirements\n\n"
        "- Commands: `npx`, `git`.\n"
    )


def test_answers_win_over_proposals() -> None:
    answers = Answers("notes", "Writes notes. Use when asked.", "Write notes.", ("notes",), ("Read",), fork=True)
    made = draft(facts(release_notes()), answers)
    assert made[:2] == ("notes", "Writes notes. Use when asked.")
    assert (made.allowed_tools, made.fork, made.triggers) == (("Read",), True, ("notes",))
    assert made.body.startswith("# Write notes\n")
    assert "context: fork" in main_file(made)


def test_what_was_known_is_told_with_its_source_and_dead_ends_are_pitfalls() -> None:
    assert (
        "### From the skill thumbnails\n\n**Thumbnails > Sizes**\n\n| use | width | quality |"
        in made_from(thumbnails).body
    )
    assert "-resize '320x>' -quality 82 output.webp" in made_from(thumbnails).body
    assert (
        "## Pitfalls\n\n- `cd {api_dir} && alembic revision --autogenerate -m 'add {column}'` fails: "
        "ERROR [alembic.util.messaging] Target database is not up to date. "
        "First: `cd {api_dir} && alembic upgrade head`.\n"
    ) in made_from(database_migration).body


def test_secrets_become_variables_and_late_ones_are_hidden() -> None:
    made = made_from(bulk_import)
    assert "- Environment variables: `CRM_TOKEN`. Never write their values down.\n" in made.body
    assert "python3 {workdir}/in/bulk_import.py {contacts_json} {rejected_json}\n" in made.body
    token = "ghp_" + "q7Zk2LmP9sXw4RtB8vNc1HdYf6JgT3uEaKo5"
    late = draft(
        facts(session(user(f"Push the site with token {token} please."), bash(f"push-site --token {token}", "done")))
    )
    assert token not in main_file(late)


def test_a_variable_that_tells_of_a_secret_is_not_set_and_an_address_keeps_its_shape() -> None:
    made = draft(
        facts(
            session(
                user("Hash the export and fetch the master film."),
                bash("HASH_SALT=c1xxcx3YTg9hyP2si hash-export --in a.csv", "done"),
                bash("fetch 'https://media.example/m.mov?part=1&mark=[secret:signature]' -u kim:[secret:password]", ""),
            )
        )
    )
    assert "hash-export --in a.csv\n" in made.body
    assert "fetch 'https://media.example/m.mov?part=1&mark=$SIGNATURE' -u kim:$PASSWORD\n" in made.body
    assert (
        "- Environment variables: `HASH_SALT`, `PASSWORD`, `SIGNATURE`. Never write their values down.\n" in made.body
    )


def test_what_the_session_did_not_reach_is_said() -> None:
    assert "did not reach its goal" in made_from(lost_cause).body
    unknown = draft(facts(release_notes())._replace(succeeded="unknown")).body
    assert "\nThese steps were taken in this order, with `npx`, `git`. Values" in unknown and " worked " not in unknown


def test_personal_details_stay_out_of_the_text() -> None:
    text = main_file(made_from(claim_form))
    assert not re.search(r"Greta|Lindqvist|Harbour|example\.org|0199|482", text)


def test_long_scripts_become_templates_and_the_body_stays_within_its_limits() -> None:
    script = "\n".join(f"step_{number} = compute(alpha={number}, beta='value {number}')" for number in range(200))
    skill = "# Guide\n\n" + "\n\n".join(f"Rule {n}: always use `option_{n}` with {n * 1.5}." for n in range(600))
    made = draft(
        facts(
            session(
                user("Compute the index for every region and write it to /home/kim/index.csv."),
                note(skill, "skill:guide"),
                write("/home/kim/compute.py", script),
                bash("python3 /home/kim/compute.py --option option_3 option_599", "done"),
                bash("make check", "ok"),
            )
        )
    )
    assert list(made.files) == ["templates/compute.py"]
    assert "Start from `templates/compute.py` and put the inputs in." in made.body
    assert 2_000 < estimate(made.body) <= 4_700
    assert made.body.count("\n") <= 480
    assert "`option_599`" in made.body


def test_the_telling_lines_of_a_script_are_shown_where_there_is_room() -> None:
    script = (
        "#!/usr/bin/env python3\n# Copyright 2026 Kim\nimport os\n\nLIMIT = 0.85\n"
        "# Tiles below the limit are drawn again\n"
        "x = 1\nfit(tiles, retries=3, method='lanczos')\nprint('done')\n"
    )
    assert excerpt(script, 200) == (
        "LIMIT = 0.85\n# Tiles below the limit are drawn again\nfit(tiles, retries=3, method='lanczos')"
    )
    assert excerpt(script, 10) == ""
    long = script + "\n".join(f"paint(layer_{number}, alpha={number})" for number in range(400))
    made = draft(facts(session(user("Draw the tiles of the map again."), write("/home/kim/tiles.py", long))))
    assert "Start from `templates/tiles.py` and put the inputs in. Its telling lines:" in made.body
    assert "   LIMIT = 0.85\n" in made.body


def test_a_goal_without_a_verb_is_not_asked_for_with_one() -> None:
    made = draft(facts(session(user("Thumbnails of the gallery in webp, list size"), bash("thumbs photos", "done"))))
    assert made.description.startswith(
        "Thumbnails of the gallery in webp, list size. Use when the user asks for this, or"
    )
    assert "Can you" not in made.body


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        ("Fill the Canton of Bern parental leave form.", "fill-canton-bern-parental-leave-form"),
        ("Fix ticket 4711 in the billing service.", "fix-ticket-billing-service"),
        ("Fix it: the nightly export hangs.", "fix-nightly-export-hangs"),
        ("", "distilled-session"),
        ("漢字を直す", "distilled-session"),
    ],
)
def test_names_are_for_a_class_of_tasks(goal: str, name: str) -> None:
    assert name_of(goal) == name


@pytest.mark.parametrize(
    ("goal", "plain"),
    [
        ("Sort the refunds by country, for thx: key is [secret:api-key].", "Sort the refunds by country."),
        ("Write the production credentials into .env.", "Write the production credentials into .env."),
        ("@docs/plan.md implement the export endpoint.", "Implement the export endpoint."),
        ("Mend the queue: I think it is the upgrade but not sure.", "Mend the queue."),
        ("Kannst du bitte die Bilder verkleinern.", "Die Bilder verkleinern."),
        ("Generate the Go client and make the tests pass.", "Generate the Go client."),
        ("Rotate the password of the broker.", "Rotate the password of the broker."),
    ],
)
def test_a_goal_is_without_chatter_guesses_and_secrets(goal: str, plain: str) -> None:
    assert plain_goal(goal, Blanks(()), ()) == plain


def test_a_goal_names_the_kind_where_the_case_named_a_thing() -> None:
    request = "Add a nullable column `vat_id` to the customers table and backfill it from the legacy_tax table."
    command = "fill --table customers --column vat_id --from legacy_tax > out/add_vat_id.log"
    made = draft(facts(session(user(request), bash(command, "done"))))
    assert made.body.startswith("# Add a nullable column to a table and backfill it from another table\n")
    assert "fill --table {table} --column {column} --from {from_table} > out/add_{column}.log\n" in made.body
    assert "- `{from_table}`: the table for `--from`.\n" in made.body


def test_an_own_goal_gets_its_full_stop() -> None:
    assert description_of("Release the shop", (), ()) == "Release the shop. Use when the user asks for this."


def test_triggers_are_the_words_of_the_job_and_not_what_is_said_around_it() -> None:
    request = (
        "Hi, sorry for the mess, please be careful. Upload the wheels of the shop to the artifact mirror, thx, hope "
        "it works. My key is [secret:api-key].\n\n```\nTraceback (most recent call last):\n  File 'a.py', line 3\n```\n"
    )
    made = draft(facts(session(user(request), bash("twine check dist/*", "ok"), bash("mirrorctl sync wheels", "ok"))))
    assert made.triggers == ("artifact mirror", "wheels", "twine", "mirrorctl", "shop")
    german = user("Kannst du bitte die Screenshots in docs/img auf 1200px verkleinern und als WebP speichern?")
    assert draft(facts(session(german, bash("cwebp -resize 1200 0 a.png -o a.webp")))).triggers == (
        *("WebP speichern", "cwebp", "screenshots", "img", "verkleinern"),
    )


def test_what_is_no_value_of_the_case_stays_and_inputs_are_those_that_are_used() -> None:
    asked = "Upload the wheel and tell ina@shop.example. Not /simple/, uploads go to /legacy/. See /etc/cron.d/."
    made = draft(
        facts(
            session(
                user(asked),
                bash("scp dist/a.whl ops@build.shop.example:wheels", ""),
                bash("python tools/mark.py --issue '(#812)'", "ok"),
                user("Always use tools/mark.py for that, and never /simple/."),
                bash("push-wheel --to https://pypi.shop.example/legacy/", "done"),
            )
        )
    )
    assert made.body.partition("## Inputs\n\n")[2].partition("\n\n")[0] == (
        "- `{login}`: the user and the machine.\n- `{issue}`: the number of the issue or pull request."
    )
    assert "- Always use tools/mark.py for that, and never /simple/.\n" in made.body


def test_descriptions_never_grow_too_long() -> None:
    text = description_of(
        "Do " + "very " * 200 + "much.", ["word" * 7] * 3 + [f"trigger-{n}" for n in range(80)], [".csv"]
    )
    assert len(text) <= 1_024
    assert text.endswith("or comes with .csv.")


def test_passages_are_chosen_for_what_they_add() -> None:
    def passage(text: str, weight: float) -> Passage:
        return Passage(text, "skill", "s", "", (0,), weight)

    first = passage("use `alpha_one` with 0.25 and `beta_two`", 2.0)
    again = passage("use `alpha_one` with 0.25 and `beta_two` again", 1.9)
    other = passage("set `gamma_three` to 1.75 for winter", 1.5)
    assert chosen((again, other, first), 2 * estimate(again.text) + 20) == (other, first)
    assert chosen((again, other, first), 0) == ()
    assert cut("one\ntwo\nthree", estimate("one\ntwo")) == "one\ntwo"


def test_the_skill_of_one_session_is_found_for_the_next() -> None:
    made = {episode.__name__: made_from(episode) for episode in WORTHY}
    router = Router(":memory:")

    def reader(one: Draft) -> Callable[[], Texts]:
        return lambda: Texts(one.name, one.description, one.body)

    router.update([Entry(name, "1", reader(one)) for name, one in made.items()])
    asked = {
        "release_notes": "we ship 5.0.1 tomorrow, can you write its release notes and tag it?",
        "database_migration": "I need an alembic migration that adds a column `vip` to the customers table",
        "rollout": "payments pods are restarting after the deploy, roll back the image if that is why",
        "table_cleaning": "clean up the sales export of december, without duplicate orders, with net prices",
        "thumbnails": "make webp thumbnails of all the jpg photos for the gallery",
        "claim_form": "please fill in the travel expense form for my trip to Oslo",
        "infrastructure": "add another S3 bucket to production with terraform",
        "translations": "update the German translations, some strings are missing",
    }
    hits = {name: router.find(message, 1)[0].key for name, message in asked.items()}
    router.close()
    assert hits == {name: name for name in asked}


def test_a_second_session_of_the_same_kind_gets_the_same_name() -> None:
    again = session(
        user(
            "Hi! Please write the release notes for version 5.1.0 of our command line client and tag the release.\n"
            "The notes go to docs/releases/notes-5.1.0.md."
        ),
        write("/home/ida/cli/docs/releases/notes-5.1.0.md", "# 5.1.0\n"),
        bash("git tag -a v5.1.0 -m 'Release 5.1.0'", ""),
        project="/home/ida/cli",
    )
    assert draft(facts(again)).name == made_from(release_notes).name
    assert made_from(rollout).name == "find-service-namespace-restarting-deploy"


def test_a_script_of_the_project_is_not_taken_for_one_of_the_skill() -> None:
    made = draft(
        facts(
            session(
                user("Mend the loss in /home/kim/trainer and run the training."),
                write("/home/kim/trainer/scripts/loss.py", "def loss(a, b):\n    return a - b\n"),
                bash("cd /home/kim/trainer && train --steps 3", "done"),
            )
        )
    )
    assert "1. Write `loss.py` below `{trainer_dir}/scripts`.\n" in made.body
    package = ValidationInput(made.name, main_file(made), files=("SKILL.md", *made.files))
    assert [one.code for one in validate(package, "quality") if one.severity != "info"] == []


def test_code_in_a_list_of_the_request_stays_code() -> None:
    request = (
        "Build the site of the museum and publish it.\n\n"
        "1. The command must not change:\n   ```bash\n   make site\n   ```\n2. **Keep the logs.\n"
    )
    made = draft(facts(session(user(request), bash("make site", "built"))))
    assert (
        "## What the result must be like\n\n- The command must not change:\n```bash\nmake site\n```\n- Keep the logs.\n"
    ) in made.body
