"""The scripts of the bundled skills, run as an agent runs them: real processes in real repositories."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BUNDLED = Path(__file__).parents[2] / "src" / "whet" / "bundled"
STAGED_SUMMARY = BUNDLED / "commit-messages" / "scripts" / "staged_summary.py"
FLAKY = BUNDLED / "debugging-systematically" / "scripts" / "flaky.py"

Result = subprocess.CompletedProcess[str]


class Repository:
    """A git repository in a temporary directory, isolated from the configuration of whoever runs the tests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        nobody = {"NAME": "Test", "EMAIL": "test@example.invalid"}
        identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in nobody.items()}
        kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        self.environment = {**kept, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "core.autocrlf=false", *arguments]
        done = subprocess.run(command, cwd=self.path, env=self.environment, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def write(self, path: str, content: str | bytes) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=Start")

    def summary(self, *options: str, cwd: Path | None = None) -> Result:
        command = [sys.executable, str(STAGED_SUMMARY), *options]
        return subprocess.run(
            command, cwd=cwd or self.path, env=self.environment, capture_output=True, encoding="utf-8", timeout=60
        )

    def flags(self) -> list[tuple[str, str | None, int | None, str]]:
        """The flags of everything in the working tree, staged."""
        self.git("add", "--all")
        answer = json.loads(self.summary("--json").stdout)
        return [(flag["code"], flag["path"], flag["line"], flag["detail"]) for flag in answer["flags"]]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.parametrize("script", [STAGED_SUMMARY, FLAKY], ids=lambda path: path.name)
def test_help_lists_every_exit_code_and_succeeds(script: Path) -> None:
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, encoding="utf-8")
    codes = re.search(r"Exit codes: (.+?)\.\n", done.stdout, flags=re.DOTALL)
    assert (done.returncode, done.stderr) == (0, "")
    assert codes is not None
    assert re.findall(r"\b\d\b", codes[1]) == ["0", "1", "2", "3", "4"]


def staged(
    path: str,
    status: str,
    kind: str,
    concern: str,
    insertions: int,
    deletions: int,
    size: int,
    renamed_from: str | None = None,
) -> dict[str, Any]:
    return {
        "path": path,
        "renamed_from": renamed_from,
        "status": status,
        "kind": kind,
        "concern": concern,
        "insertions": insertions,
        "deletions": deletions,
        "bytes": size,
    }


def test_summary_describes_every_staged_file(repository: Repository) -> None:
    repository.write("src/app/core.py", "one = 1\ntwo = 2\nthree = 3\n")
    repository.write("src/app/gone.py", "x = 1\n")
    repository.write("docs/old name.md", "a\nb\nc\nd\ne\nf\n")
    repository.commit()
    repository.write("src/app/core.py", "one = 1\ntwo = 22\nthree = 3\nfour = 4\n")
    (repository.path / "src/app/gone.py").unlink()
    repository.git("mv", "docs/old name.md", "docs/n\u00e4w name.md")
    repository.write("tests/test_core.py", "def test_core() -> None:\n    assert True\n")
    repository.write("package.json", "{}\n")
    repository.write("logo.bin", bytes(range(256)))
    repository.git("add", "--all")
    repository.write("unstaged.py", "breakpoint()\n")

    done = repository.summary("--json")

    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {
        "staged": {"files": 6, "insertions": 5, "deletions": 2},
        "kinds": {
            "binary": {"files": 1, "insertions": 0, "deletions": 0},
            "code": {"files": 2, "insertions": 2, "deletions": 2},
            "dependencies": {"files": 1, "insertions": 1, "deletions": 0},
            "docs": {"files": 1, "insertions": 0, "deletions": 0},
            "test": {"files": 1, "insertions": 2, "deletions": 0},
        },
        "files": [
            staged("docs/n\u00e4w name.md", "renamed", "docs", "move", 0, 0, 12, renamed_from="docs/old name.md"),
            staged("logo.bin", "added", "binary", "binary", 0, 0, 256),
            staged("package.json", "added", "dependencies", "dependencies", 1, 0, 3),
            staged("src/app/core.py", "modified", "code", "code in src/app", 2, 1, 36),
            staged("src/app/gone.py", "deleted", "code", "code in src/app", 0, 1, 0),
            staged("tests/test_core.py", "added", "test", "test", 2, 0, 41),
        ],
        "flags": [
            {
                "code": "mixed-concerns",
                "path": None,
                "line": None,
                "detail": "pure moves together with edited code",
            }
        ],
        "omitted": {"files": 0, "flags": 0},
        "scan_complete": True,
    }


def test_summary_works_before_the_first_commit_and_from_a_subdirectory(repository: Repository) -> None:
    repository.write("src/a.py", "a = 1\n")
    repository.git("add", "--all")
    expected = {
        "staged": {"files": 1, "insertions": 1, "deletions": 0},
        "kinds": {"code": {"files": 1, "insertions": 1, "deletions": 0}},
        "files": [staged("src/a.py", "added", "code", "code in src", 1, 0, 6)],
        "flags": [],
        "omitted": {"files": 0, "flags": 0},
        "scan_complete": True,
    }
    assert json.loads(repository.summary("--json", cwd=repository.path / "src").stdout) == expected
    assert json.loads(repository.summary("--json", "--repo", "src").stdout) == expected


def test_summary_does_not_depend_on_the_users_git_settings(repository: Repository) -> None:
    repository.write("src/a.py", "a = 1\nb = 2\nc = 3\n")
    repository.commit()
    repository.git("mv", "src/a.py", "src/b.py")
    repository.write("src/c.py", "breakpoint()\n")
    repository.git("add", "--all")
    plain = repository.summary("--json").stdout
    for setting in ("diff.noprefix", "diff.mnemonicPrefix", "diff.relative"):
        repository.git("config", setting, "true")
    repository.git("config", "diff.renames", "false")
    repository.git("config", "color.ui", "always")
    repository.git("config", "diff.external", "false")
    assert repository.summary("--json", cwd=repository.path / "src").stdout == plain


def test_summary_changes_nothing_and_repeats_itself(repository: Repository) -> None:
    repository.write("a.py", "a = 1\n")
    repository.git("add", "--all")
    before = repository.git("status", "--porcelain=v2"), (repository.path / ".git/index").read_bytes()
    first, second = repository.summary("--json"), repository.summary("--json")
    assert first.stdout == second.stdout
    assert (repository.git("status", "--porcelain=v2"), (repository.path / ".git/index").read_bytes()) == before


def test_nothing_staged_is_its_own_exit_code(repository: Repository) -> None:
    done = repository.summary("--json")
    assert done.returncode == 3
    assert json.loads(done.stdout) == {
        "staged": {"files": 0, "insertions": 0, "deletions": 0},
        "kinds": {},
        "files": [],
        "flags": [],
        "omitted": {"files": 0, "flags": 0},
        "scan_complete": True,
    }
    assert repository.summary().stdout == "nothing staged\n"


def test_outside_a_repository_git_has_failed(repository: Repository) -> None:
    done = repository.summary("--json", "--repo", "missing")
    assert done.returncode == 4
    assert set(json.loads(done.stdout)) == {"error"}
    assert done.stderr == f"staged_summary: {json.loads(done.stdout)['error']}\n"


def test_wrong_usage_is_exit_code_two(repository: Repository) -> None:
    assert repository.summary("--limit", "0").returncode == 2
    assert repository.summary("--unknown").returncode == 2


def test_likely_secrets_are_flagged_by_name_and_place_only(repository: Repository) -> None:
    value = "q8w7e6r5t4y3"
    repository.write("src/a.py", f'import os\n\nAPI_TOKEN = "{value}"\nclient = Client(db_password="{value}")\n')
    repository.write("settings.yml", f"smtp:\n  password: {value}\n  user: app\n")
    repository.write("config.json", f'{{"apiKey": "{value}"}}\n')
    repository.write(".env", f"export STRIPE_SECRET={value}\n")
    repository.write("deploy/id_ed25519", "not looked at\n")
    shape = "AKIA" + "ABCDEFGHIJKLMNOP"
    repository.write("docs/setup.md", f"Use {shape} here\n")
    assert repository.flags() == [
        ("secret-file", ".env", None, "file name that usually holds secrets"),
        ("secret-file", "deploy/id_ed25519", None, "file name that usually holds secrets"),
        ("secret-name", ".env", 1, "STRIPE_SECRET"),
        ("secret-name", "config.json", 1, "apiKey"),
        ("secret-name", "settings.yml", 2, "password"),
        ("secret-name", "src/a.py", 3, "API_TOKEN"),
        ("secret-name", "src/a.py", 4, "db_password"),
        ("secret-shape", "docs/setup.md", 1, "AWS access key id"),
    ]
    for output in (repository.summary().stdout, repository.summary("--json").stdout):
        assert value not in output and shape not in output


def test_references_placeholders_and_sentences_are_not_secrets(repository: Repository) -> None:
    repository.write(
        "src/a.py",
        """import os

TOKEN = os.environ["TOKEN_FOR_THE_SERVICE"]
password = "changeme-please"
api_key = "your-api-key-goes-here"
secret = "example-secret-value"
MAX_TOKENS = "unlimited-amount"
messages = {"password": "The password is required"}
DB_PASSWORD = "password"
""",
    )
    repository.write("compose.yml", "password: ${DB_PASSWORD}\ntoken: /run/secrets/token\nsecret: !vault thing\n")
    repository.write(".env.example", "API_KEY=\nDB_PASSWORD=replace-this\n")
    repository.write("tests/test_a.py", 'PASSWORD = "q8w7e6r5t4y3"\n')
    repository.write("docs/guide.md", 'Set `token = "q8w7e6r5t4y3"`.\n')
    assert repository.flags() == []


def test_leftover_debug_lines_are_flagged_where_they_are_added(repository: Repository) -> None:
    repository.write("src/a.py", "breakpoint()\nx = 1\n")
    repository.commit()
    repository.write(
        "src/a.py", 'breakpoint()\nx = 1\n\nimport pdb\nprint("DEBUG", x)\nprint(f"{x=}")\nprint("Done")\n'
    )
    repository.write("src/b.ts", 'console.log("x");\n  debugger;\nexport const logger = makeConsole();\n')
    repository.write("src/b.test.ts", 'it.only("works", () => {});\n')
    repository.write("src/c.rs", "let y = dbg!(x);\n")
    repository.write("run.sh", "set -eux\n")
    repository.write("docs/debug.md", "Call breakpoint() and console.log(x).\n")
    assert repository.flags() == [
        ("debug-line", "run.sh", 1, "shell trace"),
        ("debug-line", "src/a.py", 4, "breakpoint"),
        ("debug-line", "src/a.py", 5, "debug print"),
        ("debug-line", "src/a.py", 6, "debug print"),
        ("debug-line", "src/b.test.ts", 1, "focused test"),
        ("debug-line", "src/b.ts", 1, "console output"),
        ("debug-line", "src/b.ts", 2, "debugger statement"),
        ("debug-line", "src/c.rs", 1, "dbg macro"),
    ]


def test_content_that_looks_like_a_diff_header_does_not_move_the_place(repository: Repository) -> None:
    repository.write('src/odd "name".py', "a = 1\n++ b/other.py\n@@ -1 +99 @@\n-- a/x\nbreakpoint()\n")
    repository.write("src/caf\u00e9 au lait.py", "breakpoint()")
    assert repository.flags() == [
        ("debug-line", "src/caf\u00e9 au lait.py", 1, "breakpoint"),
        ("debug-line", 'src/odd "name".py', 5, "breakpoint"),
    ]


def test_conflicts_are_flagged_as_markers_and_as_unmerged_paths(repository: Repository) -> None:
    repository.write("a.txt", "base\n")
    repository.commit()
    repository.git("checkout", "--quiet", "-b", "side")
    repository.write("a.txt", "side\n")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    repository.write("a.txt", "main\n")
    repository.commit()
    command = ["git", "merge", "side"]
    assert subprocess.run(command, cwd=repository.path, env=repository.environment, capture_output=True).returncode == 1
    unmerged = json.loads(repository.summary("--json").stdout)["flags"]
    assert unmerged == [{"code": "conflict", "path": "a.txt", "line": None, "detail": "unmerged path"}]
    assert repository.flags() == [
        ("conflict", "a.txt", 1, "conflict marker"),
        ("conflict", "a.txt", 5, "conflict marker"),
    ]


def test_large_binaries_are_flagged_above_the_limit(repository: Repository) -> None:
    repository.write("small.bin", bytes(1024))
    repository.write("large.bin", bytes(600 * 1024))
    repository.write("large.txt", "a line of text\n" * 60_000)
    assert repository.flags() == [("large-binary", "large.bin", None, "600 KiB")]
    assert repository.summary("--big-kib", "600").returncode == 0


def test_mixed_concerns_are_flagged_with_what_is_mixed(repository: Repository) -> None:
    body = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    for area in ("api", "auth", "billing", "mail"):
        repository.write(f"src/app/{area}/core.py", body)
    repository.write("src/app/layout.py", body)
    repository.write("src/app/before.py", "\n".join(f"name_{number} = {number}" for number in range(20)))
    repository.commit()
    for area in ("api", "auth", "billing", "mail"):
        repository.write(f"src/app/{area}/core.py", body.replace("1", "3"))
    repository.write("src/app/layout.py", body.replace("    ", "  "))
    repository.git("mv", "src/app/before.py", "src/app/after.py")
    repository.write(".github/workflows/test.yml", "on: push\n")
    assert repository.flags() == [
        ("mixed-concerns", None, None, "CI changes together with edited code"),
        (
            "mixed-concerns",
            None,
            None,
            "code in 4 areas: src/app/api, src/app/auth, src/app/billing, src/app/mail",
        ),
        ("mixed-concerns", None, None, "pure moves together with edited code"),
        ("mixed-concerns", None, None, "whitespace-only changes together with edited code"),
    ]


def test_a_new_package_or_a_feature_with_tests_and_docs_is_not_mixed(repository: Repository) -> None:
    repository.write("src/app/core.py", "a = 1\n")
    repository.commit()
    repository.write("src/app/core.py", "a = 2\n")
    for area in ("api", "auth", "billing", "mail"):
        repository.write(f"src/app/{area}/core.py", "b = 1\n")
    repository.write("tests/test_core.py", "def test_core() -> None: ...\n")
    repository.write("README.md", "text\n")
    repository.write("pyproject.toml", "[project]\n")
    assert repository.flags() == []


def test_lists_are_bounded_and_say_what_was_left_out(repository: Repository) -> None:
    for number in range(5):
        repository.write(f"src/m{number}.py", "breakpoint()\n")
    repository.git("add", "--all")
    answer = json.loads(repository.summary("--json", "--limit", "2").stdout)
    assert (answer["staged"]["files"], len(answer["files"]), len(answer["flags"])) == (5, 2, 2)
    assert answer["omitted"] == {"files": 3, "flags": 3}
    assert repository.summary("--limit", "2").stdout == (
        "staged: 5 files, +5 -0\n"
        "  code         added           +1 -0  src/m0.py\n"
        "  code         added           +1 -0  src/m1.py\n"
        "  ... and 3 more files\n"
        "flags: 5\n"
        "  debug-line     src/m0.py:1  breakpoint\n"
        "  debug-line     src/m1.py:1  breakpoint\n"
        "  ... and 3 more flags\n"
    )


def test_the_example_in_the_skill_is_what_the_script_prints(repository: Repository) -> None:
    repository.write("src/mail/client.py", "import smtplib\n\n\nclass Client:\n    host = 'mail'\n\n    x = 1\n")
    repository.write("tests/test_client.py", "import client\n")
    repository.commit()
    repository.write(
        "src/mail/client.py",
        "import smtplib\n\n\nclass Client:\n    host = 'mail'\n\n    user = 'app'\n"
        "    SMTP_PASSWORD = 'q8w7e6r5t4y3'\n\n"
        "    def send(self, message):\n        smtp = smtplib.SMTP(self.host)\n        smtp.starttls()\n"
        "        smtp.login(self.user, self.SMTP_PASSWORD)\n        breakpoint()\n        smtp.send_message(message)\n",
    )
    repository.write("tests/test_client.py", "import client\n\nassert client\n")
    repository.git("add", "--all")
    done = repository.summary()
    assert done.returncode == 1
    assert f"```text\n{done.stdout}```" in (BUNDLED / "commit-messages" / "SKILL.md").read_text("utf-8")


def test_the_bundled_skills_pass_their_own_check(repository: Repository) -> None:
    for path in sorted(BUNDLED.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            repository.write(path.relative_to(BUNDLED).as_posix(), path.read_bytes())
    assert repository.flags() == []
