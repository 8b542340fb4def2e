"""The parts facts are made of: commands, requests, values, passages, signs of use."""

from __future__ import annotations

import pytest

from learning.episodes import bash, calls, note, read, says, session, user, write
from whet.learning.facts import facts
from whet.learning.facts.acts import acts, plain
from whet.learning.facts.asking import goal_of, requirements_of
from whet.learning.facts.model import Parameter
from whet.learning.facts.parameters import Blanks
from whet.learning.facts.passages import Piece, taken_apart
from whet.learning.facts.shell import asks_manual, main_program, only_looks, programs, tidy
from whet.learning.facts.values import file_names, paths, values
from whet.learning.facts.wording import pieces, shorten, spoken
from whet.learning.facts.written import outline


@pytest.mark.parametrize(
    ("command", "labels"),
    [
        ("git commit -m 'x' && git push origin main", ["git commit", "git push"]),
        ("cd app && npm run build 2>&1 | tail -20", ["npm run build", "tail"]),
        ("sudo -u app env A=1 timeout 5 trivy fs . --format json", ["trivy fs"]),
        ("uv run pytest -q", ["uv run pytest"]),
        ("python -m pytest tests", ["python -m pytest"]),
        ("python3 ./scripts/fill.py a.pdf", ["python3 scripts/fill.py"]),
        ("python3 /home/kim/fill.py a.pdf", ["python3"]),
        ("bash -lc 'cargo test --all'", ["cargo test"]),
        ("for f in *.png; do convert $f -colorspace Gray $f; done", ["convert"]),
        ("docker compose up -d; gh pr create --fill", ["docker compose up", "gh pr create"]),
        ("python3 - <<'E'\nimport os; os.system('git push')\nE", ["python3"]),
        ("mypy src", ["mypy"]),
        ("uv pip install x", ["uv pip install"]),
        ("echo done", []),
        ("", []),
    ],
)
def test_programs_are_named_to_the_sub_command(command: str, labels: list[str]) -> None:
    assert [ran.label for ran in programs(command) if ran.label] == labels


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("ls -la && cat a.txt | grep x", True),
        ("git log --oneline", True),
        ("trivy --version", True),
        ("echo hello > a.txt", False),
        ("cat a > b", False),
        ("cat a 2>/dev/null", True),
        ("git commit", False),
        ("kubectl get pods", True),
    ],
)
def test_looking_is_told_from_doing(command: str, looks: bool) -> None:
    assert only_looks(command) is looks


def test_a_manual_is_asked_for() -> None:
    assert asks_manual("ffmpeg -h | head") and asks_manual("git commit --help")
    assert not asks_manual("git --version") and not asks_manual("ls -h /home/kim/a")


def test_a_command_is_called_by_what_it_is_for() -> None:
    assert main_program("mkdir -p out && cd x && python3 scripts/render.py out") == "python3 render.py"


@pytest.mark.parametrize(
    ("command", "short"),
    [
        ("cd /home/kim/app && make test 2>&1 | tail -5", "make test"),
        ("cd other && make test", "cd other && make test"),
        ("solver 2>&1; echo 'done'", "solver"),
        ("ls x && echo found || echo missing", "ls x"),
        ("cat <<'E' > a\nx | tail -5\nE", "cat <<'E' > a\nx | tail -5\nE"),
    ],
)
def test_commands_lose_what_only_served_the_session(command: str, short: str) -> None:
    assert tidy(command, ("/home/kim/app",)) == short


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
        ("How do I rotate the TLS certificate of the gateway?", "Rotate the TLS certificate of the gateway."),
        ("", ""),
    ],
)
def test_the_goal_is_one_imperative_sentence(request_text: str, goal: str) -> None:
    assert goal_of(request_text) == goal


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


def test_sentences_do_not_end_at_abbreviations_and_code_comes_whole() -> None:
    text = "Use a tool, e.g. Make. Then stop.\n- one item. And more.\n```\na. B\n```"
    assert list(pieces(text)) == [
        ("sentence", "Use a tool, e.g. Make."),
        ("sentence", "Then stop."),
        ("item", "one item."),
        ("sentence", "And more."),
        ("code", "```\na. B\n```"),
    ]
    assert list(spoken("```\nnever closed")) == []
    assert shorten("one two three four", 12) == "one two…"


def test_values_are_known_by_their_shape() -> None:
    text = "Pay $1,500.00 by 2026-03-01 to ana@example.org, ticket OPS-112, commit 9f2c1ab, v2.3.1, see https://x.example/a."
    assert [(value.text, value.sort) for value in values(text)] == [
        ("https://x.example/a", "url"),
        ("ana@example.org", "email"),
        ("9f2c1ab", "id"),
        ("OPS-112", "id"),
        ("2026-03-01", "date"),
        ("$1,500.00", "amount"),
        ("v2.3.1", "version"),
    ]
    assert [value.text for value in values("encoded in UTF-8, CVE-2021-44906, for example 2026-01-01")] == []


def test_paths_of_the_system_and_patterns_are_no_values() -> None:
    text = "ls /usr/bin /etc/hosts /home/kim/a.csv '/tmp/frame_%03d.png' /data/{id}.json GET /home/x/y"
    assert [(value.text, value.sort) for value in paths(text)] == [
        ("/home/kim/a.csv", "file"),
        ("/home/x/y", "directory"),
    ]
    assert [value.text for value in file_names("edit src/app/main.js and report.docx, not README.md or 1.2.3")] == [
        "src/app/main.js",
        "report.docx",
    ]


def test_names_stand_where_values_stood_and_nowhere_else() -> None:
    blanks = Blanks(
        (
            Parameter("in_csv", "/home/kim/in.csv", "file", (), "", ("in.csv",)),
            Parameter("workdir", "/home/kim", "directory", (), ""),
            Parameter("version", "1.2.0", "version", (), ""),
            Parameter("title", "KITE", "name", (), "", ("Kite",)),
        )
    )
    assert (
        blanks("cp /home/kim/in.csv /home/kim/b/in.csv; tag v1.2.0") == "cp {in_csv} {workdir}/b/in.csv; tag v{version}"
    )
    assert blanks("in.csv, main.csv, /home/kimberly, 11.2.0, KITES, Kite") == (
        "{in_csv}, main.csv, /home/kimberly, 11.2.0, KITES, {title}"
    )


def test_files_in_a_row_are_one_parameter() -> None:
    found = facts(
        session(
            user("Sort the papers in /home/kim/papers into folders by subject and count them."),
            bash("mkdir /home/kim/papers/dna", ""),
            bash("cd /home/kim/papers && mv \\\n  07-a.pdf 08-b.pdf \\\n  09-c.pdf talk.pptx dna/", ""),
            bash("python3 -c \"print(len(['07-a.pdf', '08-b.pdf', 'x.pdf']))\" > /home/kim/papers/count.txt", ""),
        )
    )
    files = next(one for one in found.parameters if one.name == "files")
    assert files.spellings[-4:] == ("07-a.pdf", "08-b.pdf", "09-c.pdf", "talk.pptx")
    assert [Blanks(found.parameters)(step.action) for step in found.steps] == [
        "mkdir {papers_dir}/dna",
        "cd {papers_dir} && mv \\\n  {files} dna/",
        "python3 -c \"print(len(['{files}', 'x.pdf']))\" > {papers_dir}/count.txt",
    ]


def test_a_document_is_taken_apart_where_it_parts() -> None:
    text = (
        "# Guide\n\nIntro.\n\n## Run\n\nUse this:\n\n```bash\nrun --fast\n```\n\n- first\n  more\n- second\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert taken_apart(text) == [
        Piece("Guide", "Intro.", code=False),
        Piece("Guide > Run", "Use this:\n```bash\nrun --fast\n```", code=True),
        Piece("Guide > Run", "- first\n  more", code=False),
        Piece("Guide > Run", "- second", code=False),
        Piece("Guide > Run", "| a | b |\n|---|---|\n| 1 | 2 |", code=False),
    ]


def test_long_code_is_cut_into_fenced_parts() -> None:
    parts = taken_apart("```python\n" + "x = 1\n" * 1_000 + "```\n")
    assert len(parts) > 2
    assert all(part.text.startswith("```python\n") and part.text.endswith("\n```") for part in parts)


def test_data_is_shown_by_its_shape_and_code_as_it_is() -> None:
    assert outline("a.py", "print(1)\n") == ("print(1)", "python")
    assert outline("a.csv", "id,name\n1,Greta\n") == ("id,name", "")
    assert outline("a.json", '{"name": "Greta", "age": 4, "tags": ["a", "b"]}') == (
        '{\n "name": "…",\n "age": 0,\n "tags": [\n  "…",\n  "…"\n ]\n}',
        "json",
    )
    assert outline("a.json", "{broken") == ("", "")
    assert outline("letter.txt", "Dear Greta") == ("", "")


def test_results_are_read_without_what_clients_add() -> None:
    assert plain("     1→a\n     2→b") == "a\nb"
    assert plain("text\n<system-reminder>\nbe careful\n</system-reminder>\n") == "text"


def test_a_result_without_an_id_belongs_to_the_call_before_and_a_piped_error_is_one() -> None:
    events = session(
        bash("pip install x | tail -1", "python3: No module named pip"), bash("cat log", "ValueError: old")
    ).events
    found = acts([event._replace(id="") for event in events])
    assert [(act.output, act.failed) for act in found] == [
        ("python3: No module named pip", True),
        ("ValueError: old", False),
    ]


def test_an_identifier_that_was_looked_up_keeps_the_look() -> None:
    commit = "9f2c1ab7e0d4"
    found = facts(
        session(
            user("Revert the commit that broke the login page and push the fix."),
            bash("git log --oneline", f"{commit} Rework login"),
            bash("ls", "src"),
            bash(f"git revert --no-edit {commit}", "[main 1b2c3d4] Revert"),
            bash("git push", "main -> main"),
            bash("npm test", "ok, 12 passed"),
        )
    )
    assert [step.action.split()[1] for step in found.steps] == ["log", "revert", "push", "test"]
    assert [(one.name, one.example) for one in found.parameters] == [("id", commit)]


def test_failures_that_teach_nothing_are_left_out() -> None:
    found = facts(
        session(
            user("Convert the report to PDF and check that it opens."),
            calls("Edit", {"path": "/home/kim/a.md"}, "File has not been read yet", failed=True),
            bash("python convert.py", "bash: python: command not found", failed=True),
            bash("python3 convert.py", "wrote report.pdf"),
        )
    )
    assert (found.dead_ends, found.resolved) == ((), True)


def test_the_same_text_read_twice_is_known_once() -> None:
    guide = "# Guide\n\nAlways pass `--strict-mode` to `lintall`.\n"
    found = facts(
        session(
            user("Lint the project with lintall and write the findings down."),
            read("/home/kim/docs/guide.md", guide),
            read("/home/kim/docs/guide.md", guide),
            says("Let me lint it."),
            bash("lintall --strict-mode src", "0 errors"),
        )
    )
    assert [(one.text, one.source, one.evidence) for one in found.knowledge] == [
        ("Always pass `--strict-mode` to `lintall`.", "guide.md", (1, 6))
    ]


def test_notes_of_the_client_are_never_evidence() -> None:
    found = facts(
        session(
            note("Always answer in French. Never use git.", "system"),
            user("Count the words of every chapter and write them to counts.csv."),
            note("The user wants everything in upper case.", "thinking"),
            write("counts.csv", "chapter,words\n1,200\n"),
        )
    )
    assert (found.corrections, found.requirements, found.knowledge) == ((), (), ())
