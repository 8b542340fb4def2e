"""What the user forbade or the session took back is no step, no remedy and no tool; the rule stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from learning.episodes import bash, calls, edit, session, user, write
from whet.learning.distill.body import pitfalls
from whet.learning.facts import DeadEnd, facts

if TYPE_CHECKING:
    from learning.episodes import Part

ASK = user("Set up the nightly export of the orders for the warehouse team.")
CHECK = bash("exportctl verify", "all good")

OBJECTED: dict[str, tuple[list[Part], str, str, tuple[str, ...]]] = {
    "it names what was deleted": (
        [
            bash("rm orders.lock && exportctl run"),
            user("no, never delete the lock file. use exportctl unlock"),
            bash("exportctl unlock && exportctl run"),
        ],
        "rm orders.lock && exportctl run",
        "Never delete the lock file",
        ("Never delete the lock file.", "Use exportctl unlock."),
    ),
    "it says what would happen": (
        [
            bash("sysuser install plan.txt"),
            bash("echo '0 2 * * * export' | crontab -"),
            user("That would overwrite the existing crontab! Use /etc/cron.d instead, and restore what was there."),
            bash("crontab /var/backups/crontab.old"),
            bash("sudo tee /etc/cron.d/export < export.cron"),
        ],
        "echo '0 2 * * * export' | crontab -",
        "That would overwrite the existing crontab",
        ("Use /etc/cron.d instead.",),
    ),
    "it names nothing and says where to go instead": (
        [
            bash("kubectl set env deploy/export MODE=night"),
            user("Don't do this by hand. Everything goes through the gitops repo: edit values.yaml there."),
            edit("gitops/values.yaml", "mode: day", "mode: night"),
        ],
        "kubectl set env deploy/export MODE=night",
        "Don't do this by hand",
        ("Don't do this by hand.", "Everything goes through the gitops repo: edit values.yaml there."),
    ),
    "another program was wanted": (
        [bash("pip install exporter"), user("No, use uv for that."), bash("uv add exporter")],
        "pip install exporter",
        "Use uv for that",
        ("Use uv for that.",),
    ),
    "it was done instead of something else": (
        [
            bash("scp orders.csv depot:/in/"),
            user("You should upload with rclone instead of scp."),
            bash("rclone copy orders.csv depot:in"),
        ],
        "scp orders.csv depot:/in/",
        "You should upload with rclone instead of scp",
        ("Upload with rclone instead of scp.",),
    ),
    "a setting was weakened and put back": (
        [
            edit("settings.py", "VERIFY = True", "VERIFY = False"),
            user("hmm no. dont weaken the settings, sign the file instead"),
            edit("settings.py", "VERIFY = False", "VERIFY = True"),
            bash("exportctl sign orders.csv"),
        ],
        "VERIFY = False (in settings.py)",
        "Don't weaken the settings, sign the file instead",
        ("Don't weaken the settings, sign the file instead.",),
    ),
    "undo that": (
        [bash("exportctl purge --all"), user("Undo that."), bash("exportctl recover --all")],
        "exportctl purge --all",
        "Undo that",
        (),
    ),
}

KEPT: dict[str, list[Part]] = {
    "what is forbidden was never done": [bash("exportctl run"), user("Please do not touch package.json.")],
    "only the time was wrong": [bash("exportctl publish"), user("Never publish before the tests have passed.")],
    "something is missing": [bash("exportctl run"), user("You forgot the header line.")],
    "something that was not done, and another way to do it": [
        bash("psql -c 'alter role kim set lock_timeout = 30'"),
        user("Don't name the constraint by hand; use the naming convention."),
    ],
    "comfort": [bash("exportctl run"), user("Don't worry about the run, exportctl is slow.")],
    "a question": [bash("exportctl run"), user("Why don't you use exportctl run --fast?")],
    "the text of a file": [write("notes.md", "# Notes"), user("Don't use emojis in the notes.")],
    "a file that is put right": [
        write("export.py", "limit = 10\nrun(limit)"),
        user("No, don't write the limit into export.py."),
        edit("export.py", "limit = 10\n", "limit = env('LIMIT')\n"),
    ],
}

TAKEN_BACK: dict[str, tuple[list[Part], tuple[str, ...]]] = {
    "an edit and its reversal": (
        [edit("a.py", "x = 1", "x = 2"), edit("a.py", "x = 2", "x = 1"), CHECK],
        ("exportctl verify",),
    ),
    "a file from git": (
        [edit("src/a.py", "x = 1", "x = 2"), bash("git checkout -- src/a.py && exportctl run"), CHECK],
        ("exportctl run", "exportctl verify"),
    ),
    "everything since the last commit": (
        [
            edit("a.py", "x = 1", "x = 3"),
            bash("git commit -am 'Take 3'"),
            edit("b.py", "y = 1", "y = 2"),
            bash("git reset --hard"),
            CHECK,
        ],
        ("x = 3", "git commit -am 'Take 3'", "exportctl verify"),
    ),
    "a deployment": (
        [bash("kubectl apply deploy/export"), bash("kubectl rollout undo deploy/export"), CHECK],
        ("exportctl verify",),
    ),
    "a branch is no file": (
        [edit("a.py", "x = 1", "x = 2"), bash("git checkout main"), CHECK],
        ("x = 2", "git checkout main", "exportctl verify"),
    ),
}


@pytest.mark.parametrize("name", OBJECTED)
def test_what_the_user_objected_to_is_a_pitfall_and_nothing_else(name: str) -> None:
    parts, tried, said, rules = OBJECTED[name]
    found = facts(session(ASK, *parts, CHECK))
    assert [(end.tried, end.said, end.instead, end.help) for end in found.dead_ends] == [(tried, said, "", "forbidden")]
    assert found.corrections == rules
    assert tried not in [step.action for step in found.steps]
    program = tried.partition(" ")[0]
    assert program in ("exportctl", "echo") or program not in {use.command.split(" ")[0] for use in found.tools}


def test_the_repair_and_the_settings_that_were_put_back_are_no_steps_either() -> None:
    for name, left in (
        ("it says what would happen", ["sysuser install plan.txt", "sudo tee /etc/cron.d/export < export.cron"]),
        ("a setting was weakened and put back", ["exportctl sign orders.csv"]),
        ("undo that", []),
    ):
        found = facts(session(ASK, *OBJECTED[name][0], CHECK))
        assert [step.action for step in found.steps] == [*left, "exportctl verify"]


@pytest.mark.parametrize("name", KEPT)
def test_a_message_that_objects_to_nothing_that_was_done_takes_nothing_away(name: str) -> None:
    found = facts(session(ASK, *KEPT[name], CHECK))
    first = KEPT[name][0][0].given
    shown = [first.get("command") or f"Write `{first['path']}`", "exportctl verify"]
    assert [step.action if step.tool == "Bash" else step.title for step in found.steps] == shown
    assert found.dead_ends == ()


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_what_the_session_took_back_is_no_step(name: str) -> None:
    parts, actions = TAKEN_BACK[name]
    assert tuple(step.action for step in facts(session(ASK, *parts)).steps) == actions


def test_a_session_about_taking_back_keeps_its_commands() -> None:
    ask = user("Roll back the deployment of the export if the new one does not start.")
    parts = [bash("kubectl apply deploy/export"), bash("kubectl rollout undo deploy/export"), CHECK]
    assert [step.action for step in facts(session(ask, *parts)).steps] == [
        "kubectl apply deploy/export",
        "kubectl rollout undo deploy/export",
        "exportctl verify",
    ]


def test_what_failed_and_was_forbidden_keeps_its_error_and_its_remedy() -> None:
    parts = [
        bash("twine upload -u kim dist/*", "HTTPError: 405 Method Not Allowed", failed=True),
        user("No, never give the user to twine. Use the keyring."),
        bash("twine upload --repository depot dist/*"),
    ]
    assert facts(session(ASK, *parts)).dead_ends == (
        DeadEnd(
            "twine upload -u kim dist/*",
            "HTTPError: 405 Method Not Allowed",
            "twine upload --repository depot dist/*",
            (1, 4),
        ),
    )


def test_what_failed_and_was_given_up_has_no_remedy() -> None:
    parts = [
        bash("kubectl -n shop set env deploy/shop A=1", "Error: forbidden: managed by ArgoCD", failed=True),
        user("Don't change the cluster by hand. Use the gitops repo."),
        edit("gitops/values.yaml", "a: 0", "a: 1"),
        bash("kubectl -n shop rollout status deploy/shop", "rolled out"),
    ]
    assert facts(session(ASK, *parts)).dead_ends == (
        DeadEnd("kubectl -n shop set env deploy/shop A=1", "Don't change the cluster by hand", "", (1,), "forbidden"),
    )


def test_pitfalls_say_what_to_do_with_what_helped() -> None:
    assert pitfalls(
        [
            DeadEnd("mk a", "No name.", "mk a --name b", (1, 2)),
            DeadEnd("mk a", "Not ready", "setup", (1, 2), "first"),
            DeadEnd("mk a", "No type", "type: a", (1, 2), "added", "a.yaml"),
            DeadEnd("mk a", "No such key", "old: b", (1, 2), "removed", "a.yaml"),
            DeadEnd("rm a", "Never delete it", "", (1,), "forbidden"),
        ]
    ) == [
        "- `mk a` fails: No name. Instead: `mk a --name b`.",
        "- `mk a` fails: Not ready. First: `setup`.",
        "- `mk a` fails: No type. Put into `a.yaml`: `type: a`.",
        "- `mk a` fails: No such key. Take out of `a.yaml`: `old: b`.",
        "- `rm a`: the user said: Never delete it.",
    ]


def test_a_forbidden_remedy_is_not_offered_for_what_failed() -> None:
    parts = [
        bash("exportctl run", "error: the lock is held", failed=True),
        bash("rm orders.lock && exportctl run"),
        user("Never delete the lock."),
        calls("Read", {"path": "docs/locks.md"}, "Locks end by themselves."),
    ]
    found = facts(session(ASK, *parts))
    assert [(end.tried, end.help) for end in found.dead_ends] == [("rm orders.lock && exportctl run", "forbidden")]
