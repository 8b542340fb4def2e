"""What failed, what it said, and what helped: an edit, another command, or the same one done another way."""

from __future__ import annotations

import pytest

from learning.episodes import Part, bash, calls, edit, says, session, user, write
from whet.learning.facts import DeadEnd, facts

ASK = user("Get the report of this week built and put it where the others are.")
LINT = bash("lintall docs", "docs/a.md: heading level was skipped\n1 problem", failed=True)

GOT_OVER: dict[str, tuple[list[Part], tuple[tuple[str, str, str], ...]]] = {
    "an edit between two runs": (
        [LINT, edit("docs/a.md", "### Costs", "## Costs"), bash("lintall docs", "0 problems")],
        (("lintall docs", "docs/a.md: heading level was skipped", "## Costs (in a.md)"),),
    ),
    "a line that was taken out": (
        [LINT, edit("docs/a.md", "# A\n# B", "# A"), bash("lintall docs", "0 problems")],
        (("lintall docs", "docs/a.md: heading level was skipped", "# B (taken out of a.md)"),),
    ),
    "an installation": (
        [
            bash("python3 /w/render.py a.csv", "OSError: cannot load library 'libfoo-1'", failed=True),
            bash("sudo apt-get install -y libfoo-1", "Setting up libfoo-1"),
            user("Use blue headings, never red ones."),
            bash("stampit list", "none"),
            bash("python3 /w/render.py a.csv", "rendered"),
        ],
        (
            (
                "python3 /w/render.py a.csv",
                "OSError: cannot load library 'libfoo-1'",
                "sudo apt-get install -y libfoo-1",
            ),
        ),
    ),
    "a command between, the same with another option later": (
        [
            bash("hugo --minify", 'ERROR function "shout" not defined', failed=True),
            says("The theme is missing. I'll fetch it."),
            bash("git submodule update --init", "checked out"),
            user("Don't build without --gc."),
            bash("hugo --minify --gc", "built"),
        ],
        (("hugo --minify", 'ERROR function "shout" not defined', "git submodule update --init"),),
    ),
    "another way, after the user spoke and something else was done": (
        [
            bash("alembic upgrade head", "FATAL: password authentication failed for user", failed=True),
            user("Take a backup first, always."),
            bash("pg_dump shop -f b.dump", ""),
            bash("PGUSER=kim alembic upgrade head", "done"),
        ],
        (
            (
                "alembic upgrade head",
                "FATAL: password authentication failed for user",
                "PGUSER=kim alembic upgrade head",
            ),
        ),
    ),
    "a question in between changes nothing": (
        [
            LINT,
            user("what is a heading level?"),
            says("How deep it is."),
            edit("docs/a.md", "### Costs", "## Costs"),
            bash("lintall docs --strict", "0 problems"),
        ],
        (("lintall docs", "docs/a.md: heading level was skipped", "## Costs (in a.md)"),),
    ),
    "what the error names was changed in the second run": (
        [
            bash("packer build --fast x.hcl", "error: unknown option --fast", failed=True),
            bash("mkdir -p out", ""),
            bash("packer build x.hcl", "built"),
        ],
        (("packer build --fast x.hcl", "error: unknown option --fast", "packer build x.hcl"),),
    ),
    "a secret that was set is only named": (
        [
            bash("anonymise in out", "anonymise: error: HASH_SALT is not set", failed=True),
            bash("HASH_SALT=[secret:password] anonymise in out", "done"),
        ],
        (("anonymise in out", "anonymise: error: HASH_SALT is not set", "HASH_SALT=… anonymise in out"),),
    ),
    "a plain line where no word says that it is an error": (
        [
            bash("ffmpeg -i a.mov a.mp4", "[enc] height is odd (1081 lines here)\nConversion failed!", failed=True),
            bash("for h in 1080; do ffmpeg -i a.mov -vf scale=-2:$h a.mp4; done", "video:1kB"),
        ],
        (
            (
                "ffmpeg -i a.mov a.mp4",
                "[enc] height is odd (1081 lines here)",
                "for h in 1080; do ffmpeg -i a.mov -vf scale=-2:$h a.mp4; done",
            ),
        ),
    ),
    "another service that was asked instead": (
        [
            bash("kubectl top pod -l app=x", "error: Metrics API not available", failed=True),
            says("The metrics are in Grafana."),
            calls("mcp__grafana__query", {"expr": "memory"}, "2Gi"),
            bash("kubectl patch hpa x -l app=x -p y", "patched"),
        ],
        (
            ("kubectl top pod -l app=x", "error: Metrics API not available", "mcp__grafana__query expr: memory"),
        ),
    ),
    "two failures, each with its own remedy": (
        [
            bash("pytest t.py", "E   NameError: name 'clock' is not defined", failed=True),
            edit("t.py", "def test():", "def test(clock):"),
            bash("pytest t.py", "E   fixture 'clock' not found", failed=True),
            write("conftest.py", "def clock(): ..."),
            bash("pytest t.py", "1 passed"),
        ],
        (
            ("pytest t.py", "NameError: name 'clock' is not defined", "def test(clock): (in t.py)"),
            ("pytest t.py", "fixture 'clock' not found", "def clock(): ... (in conftest.py)"),
        ),
    ),
    "the name of the error before a warning": (
        [
            bash("mk a", "DeprecationWarning: old call\nValueError: no rows in …\n", failed=True),
            bash("mk a --all", "done"),
        ],
        (("mk a", "ValueError: no rows in …", "mk a --all"),),
    ),
}  # fmt: skip

NOTHING: dict[str, list[Part]] = {
    "never got over": [LINT, says("I leave it.")],
    "the same by chance": [LINT, bash("lintall docs", "0 problems")],
    "a slip": [
        calls("Edit", {"path": "a.md"}, "File has not been read yet", failed=True),
        edit("a.md", "x", "y"),
    ],
    "only this machine": [
        bash("python mk.py", "bash: python: command not found", failed=True),
        bash("python3 mk.py", "ok"),
    ],
    "something else that came next": [LINT, bash("stampit week 7", "stamped")],
    "a script on the spot": [
        bash("python3 /w/look.py", "KeyError: 'y0'", failed=True),
        bash('python3 -c "\nimport look, y0\nlook.run()"', "3"),
    ],
}


@pytest.mark.parametrize("name", GOT_OVER)
def test_what_helped_is_told(name: str) -> None:
    parts, ends = GOT_OVER[name]
    found = facts(session(ASK, *parts)).dead_ends
    assert tuple((end.tried, end.said, _helped(end)) for end in found) == ends


def _helped(end: DeadEnd) -> str:
    """What helped; a change with its file."""
    return end.instead + {"added": f" (in {end.file})", "removed": f" (taken out of {end.file})"}.get(end.help, "")


def test_what_has_to_be_done_before_is_told_from_what_takes_the_place_of_something() -> None:
    late = facts(session(ASK, bash("mk a", "error: not initialised", failed=True), bash("setup a"), bash("mk a")))
    assert [(end.instead, end.help) for end in late.dead_ends] == [("setup a", "first")]
    other = facts(session(ASK, bash("mk a", "error: name missing", failed=True), bash("mk a --name b")))
    assert [(end.instead, end.help) for end in other.dead_ends] == [("mk a --name b", "instead")]


def test_a_remedy_is_told_in_the_form_it_had_in_the_end() -> None:
    found = facts(
        session(
            ASK,
            bash("gen -kind client spec.yaml > client.go", "error: package missing, use -package", failed=True),
            bash("gen -kind client -package c spec.yaml > client.go"),
            bash("go test ./...", "client.go:12: undefined: types\nFAIL", failed=True),
            bash("gen -kind types,client -package c spec.yaml > client.go"),
            bash("go test ./...", "ok"),
        )
    )
    good = "gen -kind types,client -package c spec.yaml > client.go"
    assert [(end.said, end.instead, end.help) for end in found.dead_ends] == [
        ("error: package missing, use -package", good, "instead"),
        ("client.go:N: undefined: types", good, "first"),
    ]


@pytest.mark.parametrize("name", NOTHING)
def test_what_teaches_nothing_is_left_out(name: str) -> None:
    assert facts(session(ASK, *NOTHING[name])).dead_ends == ()
