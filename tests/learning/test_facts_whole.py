"""Facts of whole sessions: what was wanted, what worked, what did not."""

from __future__ import annotations

from learning.episodes import (
    bulk_import,
    claim_form,
    database_migration,
    flaky_test,
    infrastructure,
    lost_cause,
    release_notes,
    rollout,
    small_talk,
    table_cleaning,
    thumbnails,
    translations,
)
from whet.learning.facts import DeadEnd, Facts, Parameter, Passage, Step, ToolUse, facts


def test_a_deployment_that_was_rolled_back() -> None:
    request = (
        "The checkout service in namespace payments keeps restarting since today's deploy 2026-02-11. "
        "Find out why and roll it back if it is the new image."
    )
    assert facts(rollout()) == Facts(
        goal=(
            "Find out why and roll it back if it is the new image: the checkout service in namespace payments keeps "
            "restarting since today's deploy 2026-02-11."
        ),
        request=request,
        requirements=(),
        parameters=(
            Parameter("date", "2026-02-11", "date", ("request",), "the date"),
            Parameter("service", "checkout", "word", ("request", "steps"), "the service"),
            Parameter("namespace", "payments", "word", ("request", "steps"), "the namespace"),
            Parameter("id", "checkout-6f9d8b7c5d-x2kqp", "id", ("steps",), "the id"),
        ),
        steps=(
            Step(
                "Look at the pods",
                "Bash",
                "kubectl get pods -n payments -l app=checkout",
                "",
                "It shows what the next steps need.",
                (2,),
                "bash",
                1.1,
            ),
            Step(
                "Run `kubectl logs`",
                "Bash",
                "kubectl logs -n payments checkout-6f9d8b7c5d-x2kqp --previous",
                "",
                "It shows what the next steps need.",
                (4,),
                "bash",
                1.1,
            ),
            Step(
                "Run `kubectl rollout history`",
                "Bash",
                "kubectl rollout history deployment/checkout -n payments",
                "",
                "It exits with 0 and reports no error.",
                (6,),
                "bash",
                1.5,
            ),
            Step(
                "Run `kubectl rollout undo`",
                "Bash",
                "kubectl rollout undo deployment/checkout -n payments",
                "",
                "It exits with 0 and reports no error.",
                (9,),
                "bash",
                1.5,
            ),
            Step(
                "Wait for the rollout",
                "Bash",
                "kubectl rollout status deployment/checkout -n payments --timeout=120s",
                "",
                'It exits with 0, and it says `deployment "checkout" successfully rolled out`.',
                (12,),
                "bash",
                1.5,
            ),
        ),
        dead_ends=(),
        corrections=(),
        tools=(
            ToolUse("Bash", "kubectl get", 1),
            ToolUse("Bash", "kubectl logs", 1),
            ToolUse("Bash", "kubectl rollout history", 1),
            ToolUse("Bash", "kubectl rollout undo", 1),
            ToolUse("Bash", "kubectl rollout status", 1),
        ),
        files=(),
        knowledge=(),
        succeeded="yes",
        signals=("the user was content", "the last answer says that it is done"),
        resolved=True,
        skills=(),
        calls=5,
    )


def test_a_form_keeps_nothing_of_the_person_but_the_shape_of_the_data() -> None:
    found = facts(claim_form())
    assert found.goal == (
        "Fill the travel expense form /home/kim/expenses-blank.pdf from the details below and save it to "
        "/home/kim/expenses-filled.pdf."
    )
    assert found.requirements == ("Leave the fields for the office empty.", "Use the date format YYYY-MM-DD.")
    assert [(one.name, one.example, one.sort) for one in found.parameters] == [
        ("expenses_blank_pdf", "/home/kim/expenses-blank.pdf", "file"),
        ("expenses_filled_pdf", "/home/kim/expenses-filled.pdf", "file"),
        ("email", "greta.l@example.org", "email"),
        ("start_date", "2026-01-12", "date"),
        ("end_date", "2026-01-15", "date"),
        ("amount", "$482.50", "amount"),
        ("phone", "+46 70 555 0199", "phone"),
        ("detail", "Greta Lindqvist", "name"),
        ("detail_2", "14 Harbour Lane", "name"),
        ("workdir", "/home/kim", "directory"),
    ]
    assert [one.about for one in found.parameters[:2]] == ["the .pdf file to work on", "the .pdf file to write"]
    assert found.steps[1] == Step(
        "Write `/home/kim/values.json`",
        "Write",
        '[\n {\n  "field": "…",\n  "value": "…"\n },\n "…"\n]',
        "Write the values",
        "`/home/kim/values.json` exists and holds this.",
        (4,),
        "json",
        2.0,
    )
    assert [step.action for step in found.steps if step.tool == "Bash"] == [
        "python3 fill.py --list /home/kim/expenses-blank.pdf",
        "python3 fill.py /home/kim/expenses-blank.pdf /home/kim/values.json /home/kim/expenses-filled.pdf",
    ]


def test_edits_in_a_row_are_one_step_and_repeated_runs_are_the_last() -> None:
    found = facts(flaky_test())
    assert (
        found.goal == "Find the race and fix it, without adding sleeps: tests/test_queue.py::test_drain is flaky on CI."
    )
    assert [(step.title, step.evidence) for step in found.steps] == [
        ("Edit `/home/sam/repo/src/queue.py`", (8, 10, 14)),
        ("Run the tests with `python -m pytest`", (16,)),
        ("Run `mypy`", (19,)),
    ]
    assert found.steps[1].action == "python -m pytest tests/test_queue.py -q --count=50"
    assert found.steps[1].criterion == "All tests pass: exit code 0, and it says `N passed`."
    assert found.corrections == ("Run the type checker.", "Never merge without mypy.")
    assert (found.succeeded, found.resolved, found.calls) == ("yes", True, 9)


def test_a_script_that_took_three_attempts_is_kept_once_with_what_was_wrong() -> None:
    found = facts(table_cleaning())
    assert [(step.title, step.evidence) for step in found.steps] == [
        ("Write `/Users/noor/data/clean.py`", (4, 8, 12)),
        ("Run `clean.py`", (14,)),
    ]
    assert "cp1252" in found.steps[0].action
    run = "python3 /Users/noor/data/clean.py"
    assert found.dead_ends == (
        DeadEnd(
            run,
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xfc",
            "import sys; df = pd.read_csv(sys.argv[1], sep=';', encoding='latin-1'); "
            "df = df.dropna(subset=['order_id']).drop_duplicates('order_id')",
            (6, 8),
            "added",
            "clean.py",
        ),
        DeadEnd(
            f"{run} /Users/noor/data/sales-2025-11.csv /Users/noor/data/sales-clean.parquet",
            "TypeError: unsupported operand type(s) for /: 'str' and 'float'",
            "df = pd.read_csv(sys.argv[1], sep=';', decimal=',', encoding='cp1252')",
            (10, 12),
            "added",
            "clean.py",
        ),
    )


def test_a_command_that_had_to_wait_for_another_is_a_dead_end_with_the_way_out() -> None:
    found = facts(database_migration())
    assert found.dead_ends == (
        DeadEnd(
            "cd /srv/shop/api && alembic revision --autogenerate -m 'add archived_at'",
            "ERROR [alembic.util.messaging] Target database is not up to date.",
            "cd /srv/shop/api && alembic upgrade head",
            (6, 9),
            "first",
        ),
    )
    assert found.signals == ("the last test or build passed", "the last answer says that it is done")


def test_corrections_become_rules_and_thanks_a_sign_of_success() -> None:
    found = facts(release_notes())
    assert found.corrections == (
        "Group the entries by kind: Added, Fixed, Changed.",
        "Always put breaking changes first.",
    )
    assert found.requirements == ("Every entry must link its pull request.", "Do not push anything.")
    assert found.files == ("/home/ida/cli/docs/releases/notes-4.2.0.md",)
    assert [(one.name, one.example) for one in found.parameters] == [
        ("notes_md", "docs/releases/notes-4.2.0.md"),
        ("version", "4.2.0"),
        ("issue", "#811"),
        ("issue_2", "#815"),
        ("workdir", "/home/ida/cli"),
    ]
    assert (found.succeeded, found.signals[0]) == ("yes", "the user was content")


def test_the_skill_that_was_worked_with_gives_what_was_used_of_it() -> None:
    found = facts(thumbnails())
    assert found.skills == ("thumbnails",)
    assert [(one.section, one.kind, one.evidence) for one in found.knowledge] == [
        ("Thumbnails > Sizes", "skill", (3, 8)),
        ("Thumbnails > Command", "skill", (3, 8)),
        ("Thumbnails > Animated pictures", "skill", (3,)),
    ]
    sizes, command, animated = found.knowledge
    assert command.text == (
        "Always strip metadata, and never upscale:\n```bash\n"
        "magick input.jpg -auto-orient -strip -resize '320x>' -quality 82 output.webp\n```"
    )
    assert command.weight > sizes.weight > animated.weight


def test_documentation_is_kept_word_for_word_and_what_was_not_used_is_not() -> None:
    found = facts(bulk_import())
    assert [(one.source, one.section) for one in found.knowledge] == [
        ("docs.crm.example", "Bulk import"),
        ("docs.crm.example", "Rate limits"),
    ]
    assert found.knowledge[1] == Passage(
        "The limit is 60 requests a minute; answer 429 carries `Retry-After`.",
        "web",
        "docs.crm.example",
        "Rate limits",
        (1, 4, 9),
        found.knowledge[1].weight,
    )
    assert found.dead_ends[0].said == "HTTP 400: field external_id is missing"
    assert (found.dead_ends[0].instead, found.dead_ends[0].file) == (
        "row['external_id'] = row['email']",
        "bulk_import.py",
    )


def test_wrappers_are_seen_through_and_a_refusal_by_the_user_is_a_rule() -> None:
    found = facts(infrastructure())
    assert found.tools == (
        ToolUse("Edit", "", 2),
        ToolUse("Bash", "terraform init", 1),
        ToolUse("Bash", "terraform plan", 1),
        ToolUse("Bash", "terraform apply", 1),
    )
    assert found.corrections == ("Never apply without the saved plan file.",)
    assert [end.said for end in found.dead_ends] == ["Error: Unsupported argument: lifecycle_days is not expected here"]


def test_what_a_subagent_was_told_is_not_what_the_user_said() -> None:
    found = facts(translations())
    assert found.corrections == ()
    assert found.tools == (
        ToolUse("Bash", "npm run i18n:extract", 1),
        ToolUse("Task", "", 1),
        ToolUse("mcp__glossary__lookup", "", 1),
        ToolUse("Edit", "", 1),
        ToolUse("Bash", "npm run i18n:check", 1),
    )
    assert found.steps[1].title == "Hand to a subagent: Translate strings"


def test_a_session_that_failed_says_so() -> None:
    found = facts(lost_cause())
    assert (found.succeeded, found.resolved) == ("no", False)
    assert found.signals == ("the last call failed", "the last answer says that it did not work")


def test_a_chat_has_no_steps() -> None:
    found = facts(small_talk())
    assert (found.steps, found.tools, found.knowledge, found.calls) == ((), (), (), 0)
    assert (found.goal, found.succeeded, found.resolved) == ("What is the capital of Peru.", "unknown", True)
