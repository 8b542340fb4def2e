"""The parts facts are made of: commands, values, passages, signs of use."""

from __future__ import annotations

import pytest

from learning.episodes import bash, calls, note, read, says, session, user, write
from whet.learning.facts import facts
from whet.learning.facts.criteria import lasting
from whet.learning.facts.knowledge import Piece, outline, taken_apart
from whet.learning.facts.model import Parameter
from whet.learning.facts.parameters import (
    Blanks,
    coined,
    days,
    file_names,
    numbered,
    owned,
    parties,
    paths,
    releases,
    values,
)
from whet.learning.facts.prose import pieces, shorten, spoken
from whet.learning.facts.shell import asks_manual, main_program, only_looks, programs, tidy
from whet.learning.facts.steps import intent
from whet.learning.facts.tool_calls import acts, plain


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


@pytest.mark.parametrize(
    ("line", "every_time"),
    [
        ("12:03:11 done", "done"),
        ("Documentation built in 3.21 seconds", "Documentation built"),
        ("230 links, 0 errors", "N links, 0 errors"),
        ("imported 1,204, rejected 3, done", "imported N, rejected N, done"),
        ("[main 1b2c3d4] Revert", "[main …] Revert"),
        ("Saved out.png (1400x900px)", "Saved out.png"),
        ("HTTP 200 OK", "HTTP 200 OK"),
        ("Wrote /srv/out/orders-2026-01-03.csv", "Wrote /srv/out/orders-2026-01-03.csv"),
        ("Finished at: 2026-03-21T21:04:00Z", "Finished at"),
        ("", ""),
    ],
)
def test_a_line_of_output_is_kept_without_what_is_so_only_once(line: str, every_time: str) -> None:
    assert lasting(line) == every_time


def test_no_check_holds_a_number_or_time_of_the_case() -> None:
    found = facts(
        session(
            user("Back the ledger up and look whether the copy is whole."),
            bash("backup-ledger --all", "12:03:11 done, 48211 rows in 14.2s"),
            bash("verify-ledger copy", "checked 48211 rows, 0 errors, OK"),
            bash("curl -o page.html https://example.org/page", ""),
        )
    )
    assert [step.criterion for step in found.steps] == [
        "It exits with 0, and it says `done, N rows`.",
        "It exits with 0, and it says `checked N rows, 0 errors, OK`.",
        "It exits with 0, and `page.html` exists and is not empty.",
    ]


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("The data is in. Now let me plot the residuals by month.", "Plot the residuals by month"),
        ("I'll use the pdf skill for that.", ""),
        ("Everything works.", ""),
        ("Step 3: convert them to grayscale. Let me see?", "Convert them to grayscale"),
    ],
)
def test_what_was_announced_is_what_a_step_is_for(said: str, title: str) -> None:
    assert intent(said) == title


def test_steps_are_called_by_what_somebody_said_they_are_for() -> None:
    script = "python3 - <<'E'\n# Load the readings of all stations\nimport csv\nopen('a.csv', 'w').write('')\nE"
    found = facts(
        session(
            user("Chart the readings of all stations and commit the picture."),
            says("Let me draw the chart."),
            bash("pip install -q matplotlib pandas", "Successfully installed"),
            bash(script, ""),
            note("The readings are complete. Next, I'll plot them by month.", "thinking"),
            bash("plotter --by month a.csv", ""),
            calls("Bash", {"command": "optimise chart.png", "description": "Make the picture smaller"}, ""),
            bash("git commit -m chart chart.png", "[main 1b2c3d4] chart"),
        )
    )
    assert [step.title for step in found.steps] == [
        "Install `matplotlib`, `pandas`",
        "Load the readings of all stations",
        "Plot them by month",
        "Make the picture smaller",
        "Commit the changes",
    ]


@pytest.mark.parametrize("tool", ["skill_create", "mcp__whet__skill_create", "mcp__plugin_x_whet__skill_distill"])
def test_what_makes_skills_is_no_work(tool: str) -> None:
    found = facts(
        session(
            user("Convert the manual to PDF and check its links."),
            bash("pandoc manual.md -o manual.pdf", ""),
            calls(tool, {"name": "convert-manual"}, "created"),
            bash("linkcheck manual.pdf", "0 errors"),
        )
    )
    assert ([step.tool for step in found.steps], found.calls) == (["Bash", "Bash"], 2)
    assert tool not in {one.tool for one in found.tools}


def test_values_inside_other_things_are_known() -> None:
    assert [value.text for value in days("sales-2026-01.csv and orders-2026-01-03.csv, not 12026-01")] == [
        "2026-01",
        "2026-01-03",
    ]
    assert [value.text for value in releases("publish release 2.4, a factor of 1.6")] == ["2.4"]
    assert [value.text for value in numbered("build 88213 failed, account 123456789012. Within 500 runs")] == [
        "88213",
        "123456789012",
    ]
    assert [
        (noun, value.text) for noun, value in parties("For Nordwind GmbH, asked by Mirjam de Haan <m@example.org>")
    ] == [("company", "Nordwind GmbH"), ("person", "Mirjam de Haan")]
    run = "render /scratch/blue-fox/a.mov && rm /scratch/blue-fox/b.mov && pytest tests/test_q.py::test_drain_all"
    assert [value.text for value in coined("cut blue-fox, the low-level way; test_drain_all", run)] == [
        "blue-fox",
        "test_drain_all",
    ]


def test_plain_words_are_values_where_a_command_holds_what_they_name() -> None:
    commands = "dump orders -n payments && alembic -m 'add vip'"
    request = (
        "Dump the table orders in namespace payments. Add a column `vip` to the local database of service billing."
    )
    assert owned(request, commands) == {"orders": "table", "payments": "namespace", "vip": "column"}
    blanks = Blanks((Parameter("table", "orders", "word", (), ""),))
    assert blanks("Drop duplicate orders from the table orders, see `dump orders`.") == (
        "Drop duplicate orders from the table {table}, see `dump {table}`."
    )
    assert blanks.code("dump orders --as orders-old") == "dump {table} --as orders-old"


def test_files_that_are_counted_are_no_values() -> None:
    found = facts(
        session(
            user("Cut /home/kim/film.mp4 into /home/kim/part_001.mp4, /home/kim/part_002.mp4 and so on."),
            bash("ffmpeg -i /home/kim/film.mp4 -f segment /home/kim/part_%03d.mp4", ""),
        )
    )
    assert [(one.name, one.example) for one in found.parameters] == [
        ("film_mp4", "/home/kim/film.mp4"),
        ("workdir", "/home/kim"),
    ]


def test_what_the_session_worked_out_is_kept_and_what_it_found_is_not() -> None:
    script = "import clean\nclean.roll_median(window_days=14, edge_mode='reflect')\n"
    found = facts(
        session(
            user("Smooth the river levels in /home/kim/levels.csv, the customer is Greta Lind <g@example.org>."),
            note("The user wants it smooth. Let me look at the file first.", "thinking"),
            note("An `edge_mode` of `reflect` prevents that floods at either end are lost.", "thinking"),
            write("/home/kim/smooth.py", script),
            bash("python3 /home/kim/smooth.py", "8123 rows, 17 spikes"),
            says(
                "Done. I smoothed 8123 rows.\n\n"
                "- `roll_median` needs `window_days=14`, because single spikes stay otherwise.\n"
                "- Greta Lind has 17 spikes.\n- It might be the sensor.\n"
            ),
        )
    )
    assert [(one.kind, one.text, one.evidence) for one in found.knowledge] == [
        ("session", "An `edge_mode` of `reflect` prevents that floods at either end are lost.", (2, 3)),
        ("session", "`roll_median` needs `window_days=14`, because single spikes stay otherwise.", (7, 3)),
    ]


@pytest.mark.parametrize(
    ("command", "source"),
    [
        ("cat docs/limits.txt", ("document", "limits.txt")),
        ("head -50 /home/kim/style-guide.txt", ("document", "style-guide.txt")),
        ("curl -s https://docs.example.org/limits", ("web", "docs.example.org")),
        ("cat letters/anna.txt", None),
    ],
)
def test_texts_that_teach_are_known_however_they_were_read(command: str, source: tuple[str, str] | None) -> None:
    text = "Limits\n\nAlways pass `--batch_size 250` to `loader`, the server refuses more.\n" + "Other words. " * 40
    found = facts(
        session(
            user("Load the letters into the archive and count them."),
            bash(command, text),
            bash("loader --batch_size 250 letters", "done"),
        )
    )
    told = [(one.kind, one.source) for one in found.knowledge if "--batch_size 250" in one.text]
    assert told == ([source] if source else [])
