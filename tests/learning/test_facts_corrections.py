"""Which sentences of the user are rules, and how they read: corrections are kept, everything else is not."""

from __future__ import annotations

import pytest

from learning.episodes import bash, calls, says, session, user
from whet.learning.facts import facts
from whet.learning.facts.corrections import rules_of

KEPT = {
    "No, take a dump of the index before each rebuild, even on the test cluster.": (
        "Take a dump of the index before each rebuild, even on the test cluster.",
    ),
    "Address the reader as Sie everywhere, not du.": ("Address the reader as Sie everywhere, not du.",),
    "Don't just raise the limit. A run only counts after three hours.": (
        "Don't just raise the limit.",
        "A run only counts after three hours.",
    ),
    "Remember to print the order number on each label.": ("Print the order number on each label.",),
    "Actually, group by week before you sum, so that holidays even out.": (
        "Group by week before you sum, so that holidays even out.",
    ),
    "You forgot the licence header. Always run the header check before the commit.": (
        "Do not forget the licence header.",
        "Always run the header check before the commit.",
    ),
    "You forgot to regenerate the lock file.": ("Regenerate the lock file.",),
    "You must compress the pictures before the upload.": ("Compress the pictures before the upload.",),
    "You should run the linter before committing.": ("Run the linter before committing.",),
    "You shouldn't push to main.": ("Do not push to main.",),
    "You didn't update the changelog.": ("Update the changelog.",),
    "You used tabs instead of spaces.": ("Use spaces instead of tabs.",),
    "I don't want any emojis in the commit messages.": ("No emojis in the commit messages.",),
    "I don’t want you to touch the fixtures.": ("Do not touch the fixtures.",),
    "No, I want the legend on the left.": ("The user wants the legend on the left.",),
    "No, the date format is DD.MM.YYYY.": ("The date format is DD.MM.YYYY.",),
    "That's wrong. The totals go in the last column.": ("The totals go in the last column.",),
    "no, not like that. Put the flags behind the sub-command and quote the path.": (
        "Put the flags behind the sub-command and quote the path.",
    ),
    "Wait, ask me before deleting anything.": ("Ask me before deleting anything.",),
    "Why did you delete the file? Don't delete files without asking.": ("Don't delete files without asking.",),
    "Perfect. From now on, please answer in English.": ("From now on, answer in English.",),
    "We don't use semicolons in this project.": ("We don't use semicolons in this project.",),
    "Prices must never be rounded.": ("Prices must never be rounded.",),
    "The header should be blue.": ("The header should be blue.",),
    "No, always pass --compress for large tables.": ("Always pass --compress for large tables.",),
    "Prefer httpx over requests.": ("Prefer httpx over requests.",),
    "Could you use tabs instead of spaces?": ("Use tabs instead of spaces.",),
    "Instead of sleeping, poll the endpoint until it answers.": (
        "Instead of sleeping, poll the endpoint until it answers.",
    ),
    "If the upload fails, wait ten minutes before you retry.": (
        "If the upload fails, wait ten minutes before you retry.",
    ),
    "Only merge when the pipeline is green.": ("Only merge when the pipeline is green.",),
    "Nein, immer die lange Fassung nehmen.": ("Immer die lange Fassung nehmen.",),
    "hmm no. dont weaken the settings, use a signed request instead": (
        "Don't weaken the settings, use a signed request instead.",
    ),
    "no, never delete the lock. use the unlock command": ("Never delete the lock.", "Use the unlock command."),
    "yes, always paginate, it caps at 100. and amounts are in cents!!": (
        "Always paginate, it caps at 100.",
        "Amounts are in cents.",
    ),
    "That would overwrite the table! Use /etc/cron.d/ instead, and restore what was there.": (
        "Use /etc/cron.d/ instead.",
    ),
    "👍 remember: we never call pool.get() directly": ("We never call pool.get() directly.",),
    "always sign the wheel from now on": ("Always sign the wheel.",),
    "Never do it in one UPDATE. Use scripts/fill.py with --batch 5000.": (
        "Never do it in one UPDATE.",
        "Use scripts/fill.py with --batch 5000.",
    ),
    "No, everything goes through the repo: edit values.yaml there.": (
        "Everything goes through the repo: edit values.yaml there.",
    ),
    "Please be careful with the production database.": ("Be careful with the production database.",),
}

LEFT = (
    "perfect, thank you",
    "Thanks, that works. Please commit it.",
    "ok, go on",
    "Yes, do that.",
    "what does VMAF mean?",
    "By the way, how late is it in Tokyo right now?",
    "Can you recommend a book about typography?",
    "Could you add a chart of the totals?",
    "I don't understand this error, what does it mean?",
    "Now also export it as CSV.",
    "Great. Next, write the release notes.",
    "Sort the table by name and send it to Ana.",
    "When you are done, send it to Ana.",
    "If you have time, add a chart.",
    "Good. Make sure it has a table of contents.",
    "Run the tests again before we ship.",
    "Try again with the other file.",
    "The build always fails on Mondays.",
    "It printed JSON instead of CSV.",
    "No, it still crashes with the same error.",
    "That doesn't work, there is no such table.",
    "No, I meant the staging server.",
    "Don't worry about the tests, they are slow.",
    "never mind",
    "No need to squash the commits.",
    "I always forget how this flag is called.",
    "",
    "?!…",
)


@pytest.mark.parametrize(("message", "rules"), KEPT.items())
def test_what_the_user_puts_right_or_lays_down_is_a_rule(message: str, rules: tuple[str, ...]) -> None:
    assert tuple(rules_of(message)) == rules


@pytest.mark.parametrize("message", LEFT)
def test_praise_questions_complaints_and_new_requests_are_no_rules(message: str) -> None:
    assert tuple(rules_of(message)) == ()


def test_a_long_message_is_read_to_a_bound() -> None:
    (rule,) = rules_of("Never " + "x " * 50_000)
    assert len(rule) <= 301


def test_rules_come_from_messages_and_rejected_calls_each_once() -> None:
    found = facts(
        session(
            user("Load the dump into the database and always check the counts."),
            says("I'll drop the table first."),
            calls(
                "Bash",
                {"command": "dropdb shop"},
                "The tool use was rejected. The user said: rename the old database, it is the only copy",
                failed=True,
            ),
            user("Never drop a database."),
            bash("pg_restore -d shop dump.bin", ""),
            user("never drop a database."),
        )
    )
    assert found.corrections == ("Rename the old database, it is the only copy.", "Never drop a database.")
