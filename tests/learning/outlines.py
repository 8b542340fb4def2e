"""Sessions in outline, each with what should become of it: half were hard, half were not, every rule is covered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from learning.episodes import bash, calls, edit, note, read, says, session, user, write

if TYPE_CHECKING:
    from learning.episodes import Part
    from whet.learning.transcripts.events import Transcript


class Outline(NamedTuple):
    """A session and the verdict on it."""

    name: str
    code: str
    transcript: Transcript


DONE = says("Done. Everything is in place.")
THANKS = user("Great, thank you!")
KEY = "[secret:github-token]"
SKILL_BODY = (
    "# Deploy\n\nRun `npm ci`, then `npm run build`, then `docker build` and `docker push`, and `kubectl apply` at "
    "the end. Check the rollout with `kubectl rollout status`. Do this for every service that is asked for, one after "
    "the other, and tell the user which image is live afterwards."
)


def outline(name: str, code: str, *parts: Part) -> Outline:
    """One row of the table."""
    return Outline(name, code, session(*parts, project="/home/kim/app", name=name))


def runs(*commands: str) -> Part:
    """Commands that worked."""
    return [event for command in commands for event in bash(command, "ok")]


def fails(command: str, output: str) -> Part:
    """A command that did not."""
    return bash(command, output, failed=True)


def _chat(times: int) -> Part:
    return [event for _ in range(times) for event in (*user("And what about the next one?"), *says("It depends."))]


HARD: tuple[Outline, ...] = (
    outline(
        "release by many commands",
        "hard",
        user("Publish version 2.1.0 of the client library to the package index."),
        runs("npm ci", "npm test", "npm version 2.1.0", "npm run build", "npm publish"),
        DONE,
    ),
    outline(
        "container image",
        "hard",
        user("Build the container image of the API and push it to registry.example."),
        *(read("/home/kim/app/Dockerfile", "FROM python:3.12"), edit("/home/kim/app/Dockerfile", "3.12", "3.12-slim")),
        runs("docker build -t api .", "docker run --rm api pytest -q", "docker push registry.example/api"),
        DONE,
    ),
    outline(
        "recovery in three calls",
        "hard",
        user("Generate the client from openapi.yaml."),
        fails("openapi-generator generate -i openapi.yaml", "error: missing required option -g"),
        runs("openapi-generator generate -i openapi.yaml -g python -o client"),
        DONE,
    ),
    outline(
        "recovery by another flag",
        "hard",
        user("Dump the orders table of the local database to a file."),
        fails("pg_dump -t orders shop > orders.sql", "pg_dump: error: aborting because of server version mismatch"),
        runs("/usr/lib/postgresql/16/bin/pg_dump -t orders shop > orders.sql"),
        DONE,
    ),
    outline(
        "correction in two calls",
        "hard",
        user("Write the changelog entry for the new retry option."),
        write("/home/kim/app/CHANGELOG.md", "## Added\n- Retry\n"),
        user("No, put it under Unreleased. Always link the pull request."),
        edit("/home/kim/app/CHANGELOG.md", "## Added", "## Unreleased\n### Added"),
        DONE,
    ),
    outline(
        "a rule for the future",
        "hard",
        user("Rename the module billing to invoicing."),
        runs("git mv billing invoicing"),
        user("From now on always run the linter after a rename."),
        runs("ruff check invoicing"),
        DONE,
    ),
    outline(
        "failing test understood",
        "hard",
        user("Fix the failing test of the date parser."),
        fails("pytest tests/test_dates.py", "E   AssertionError: assert '01/02' == '02/01'"),
        edit("/home/kim/app/dates.py", "%m/%d", "%d/%m"),
        bash("pytest tests/test_dates.py", "4 passed in 0.1s"),
        DONE,
    ),
    outline(
        "bad luck in a long task",
        "hard",
        user("Update the vendored schemas and open a pull request."),
        fails("curl -sSO https://schemas.example/all.json", "curl: (6) Could not resolve host: schemas.example"),
        runs(
            "curl -sSO https://schemas.example/all.json",
            "python tools/split.py all.json schemas",
            "pytest -q tests/schemas",
            "git commit -am 'Update schemas'",
            "gh pr create --fill",
        ),
        DONE,
    ),
    outline(
        "an API with a token",
        "hard",
        user("Create the labels of our label set in the repository kim/app."),
        *(
            bash(f"curl -X POST -H 'Authorization: Bearer {KEY}' https://api.example/labels -d name={label}", "201")
            for label in ("bug", "docs", "later", "urgent", "test")
        ),
        DONE,
    ),
    outline(
        "a skill that needed correcting",
        "hard",
        user("Deploy the checkout service."),
        note(SKILL_BODY, "skill:deploy"),
        runs("npm ci", "npm run build", "docker build -t checkout ."),
        user("No, never build without running the tests first."),
        runs("npm test", "docker build -t checkout .", "kubectl apply -f k8s"),
        DONE,
    ),
    outline(
        "a skill that led into an error",
        "hard",
        user("Deploy the search service."),
        note(SKILL_BODY, "skill:deploy"),
        fails("kubectl apply -f k8s", "error: unable to recognize k8s/ingress.yaml: no matches for kind Ingress"),
        edit("/home/kim/app/k8s/ingress.yaml", "extensions/v1beta1", "networking.k8s.io/v1"),
        runs("kubectl apply -f k8s"),
        DONE,
    ),
    outline(
        "far beyond the skill that was used",
        "hard",
        user("Deploy the mail service and set up its monitoring."),
        note(SKILL_BODY, "skill:deploy"),
        runs(
            "docker build -t mail .",
            "terraform init",
            "terraform apply -auto-approve",
            "promtool check rules rules.yml",
            "amtool config routes test",
            "grafana-cli plugins ls",
        ),
        DONE,
    ),
    outline(
        "work after a skill was written",
        "hard",
        user("Set up the linter for the whole repository."),
        calls("skill_manage", {"action": "create", "name": "linting"}, '{"success": true}'),
        runs("ruff check --fix .", "ruff format .", "mypy src", "pytest -q", "git commit -am 'Lint'"),
        DONE,
    ),
    outline(
        "a thumbnail script",
        "hard",
        user("Make thumbnails of all pictures in the folder, 320 pixels wide."),
        write("/home/kim/app/thumbs.py", "from PIL import Image\n"),
        fails("python thumbs.py pictures", "ValueError: cannot write mode RGBA as JPEG"),
        edit("/home/kim/app/thumbs.py", "save(", "convert('RGB').save("),
        runs("python thumbs.py pictures"),
        DONE,
    ),
    outline(
        "tools of a server",
        "hard",
        user("Triage the new issues: label them and assign them by area."),
        *(calls("mcp__tracker__list_issues", {"state": "new"}, "[1, 2, 3]"),),
        *(calls("mcp__tracker__set_label", {"issue": number, "label": "bug"}, "ok") for number in (1, 2, 3)),
        calls("mcp__tracker__assign", {"issue": 1, "to": "core"}, "ok"),
        DONE,
    ),
    outline(
        "content although something failed",
        "hard",
        user("Convert the manual to PDF with a table of contents."),
        fails("pandoc manual.md -o manual.pdf", "Error producing PDF. ! LaTeX Error: Unknown option"),
        runs("pandoc manual.md --toc --pdf-engine=xelatex -o manual.pdf"),
        says("The PDF is there."),
        THANKS,
    ),
    outline(
        "a wish that was misread",
        "hard",
        user("Sort the inventory by price."),
        bash("python sort.py --by price inventory.csv", "ok"),
        user("That's not what I meant: sort descending and keep the header."),
        bash("python sort.py --by price --descending --header inventory.csv", "ok"),
        DONE,
    ),
    outline(
        "a missing tool in a long task",
        "hard",
        user("Check the infrastructure code and apply it to staging."),
        fails("tflint", "bash: tflint: command not found"),
        runs(
            "brew install tflint",
            "tflint",
            "terraform fmt",
            "terraform validate",
            "terraform plan -out plan",
            "terraform apply plan",
        ),
        DONE,
    ),
    outline(
        "a migration",
        "hard",
        user("Move the settings from YAML to TOML and keep the tests green."),
        write("/home/kim/app/convert.py", "import tomllib\n"),
        runs("python convert.py", "git rm settings.yaml"),
        edit("/home/kim/app/config.py", "yaml.load", "tomllib.load"),
        bash("pytest -q", "12 passed"),
        DONE,
    ),
    outline(
        "a rejected call with the reason",
        "hard",
        user("Clean up the old branches."),
        fails("git push origin --delete old", "The user said: never delete remote branches, only local ones"),
        runs("git branch -d old"),
        DONE,
    ),
    outline(
        "a merge conflict",
        "hard",
        user("Rebase the feature branch onto main."),
        fails("git rebase main", "error: could not apply 81ab2 Add retry\nCONFLICT (content): Merge conflict in a.py"),
        edit("/home/kim/app/a.py", "<<<<<<<", ""),
        runs("git add a.py", "git rebase --continue"),
        DONE,
    ),
)

NOT: tuple[Outline, ...] = (
    outline("a question", "no-steps", user("What is the capital of Australia?"), says("Canberra.")),
    outline("a long talk", "no-steps", user("Explain closures to me."), says("A closure is ..."), _chat(8)),
    outline(
        "a talk with a correction", "no-steps", user("Translate this."), says("Hola."), user("No, to French."), DONE
    ),
    outline(
        "only reading",
        "no-steps",
        user("How does the parser handle comments?"),
        *(read(f"/home/kim/app/parser{number}.py", "def parse(): ...") for number in range(6)),
        says("It strips them in the lexer."),
    ),
    outline(
        "only looking around in a shell",
        "no-steps",
        user("Where are the settings read?"),
        runs(
            "ls", "grep -rn settings src", "cat src/settings.py", "find . -name '*.toml'", "head -5 a.toml", "wc -l a"
        ),
        says("In settings.py."),
    ),
    outline(
        "only searching the web",
        "no-steps",
        user("Which licences allow this?"),
        *(calls("Web", {"query": f"licence {number}"}, "...") for number in range(6)),
        says("These two."),
    ),
    outline("one command", "easy", user("Run the tests."), runs("pytest -q"), DONE),
    outline(
        "a small edit",
        "easy",
        user("Fix the typo in the readme."),
        read("/home/kim/app/README.md", "teh"),
        edit("/home/kim/app/README.md", "teh", "the"),
        DONE,
        THANKS,
    ),
    outline(
        "four calls",
        "easy",
        user("Format and commit."),
        runs("ls", "ruff format .", "git add .", "git commit -m x"),
        DONE,
    ),
    outline(
        "a slip of the tool",
        "easy",
        user("Change the port to 8080."),
        calls("Edit", {"path": "a.py", "old": "1", "new": "2"}, "File has not been read yet.", failed=True),
        *(read("a.py", "port = 80"), edit("a.py", "80", "8080")),
        DONE,
    ),
    outline(
        "network down",
        "easy",
        user("Fetch the latest main."),
        fails("git fetch origin", "fatal: unable to access: Could not resolve host: git.example"),
        fails("git fetch origin", "fatal: unable to access: Could not resolve host: git.example"),
        runs("git fetch origin"),
        DONE,
    ),
    outline(
        "rate limit, tried again and again",
        "easy",
        user("Post the report."),
        *(fails("gh issue create -F report.md", "HTTP 429: API rate limit exceeded") for _ in range(5)),
        runs("sleep 60", "gh issue create -F report.md"),
        DONE,
    ),
    outline(
        "disk full",
        "easy",
        user("Build the project."),
        fails("make build", "ld: final link failed: No space left on device"),
        runs("df -h", "rm -rf /tmp/cache", "make build"),
        DONE,
    ),
    outline(
        "a program that was not installed",
        "easy",
        user("Lint the shell scripts."),
        fails("shellcheck run.sh", "bash: shellcheck: command not found"),
        runs("apt-get install -y shellcheck", "shellcheck run.sh"),
        DONE,
    ),
    outline(
        "never worked",
        "unresolved",
        user("Get the integration tests to pass."),
        *(fails(f"pytest tests/integration -k case{number}", "E   AssertionError: 1 != 2") for number in range(6)),
        says("I could not get them to pass; they still fail."),
    ),
    outline(
        "given up after many edits",
        "unresolved",
        user("Make the build work on Windows."),
        *(edit("/home/kim/app/build.py", str(number), str(number + 1)) for number in range(5)),
        fails("make build", "error: link.exe failed with exit code 1120"),
        says("I was unable to find the cause."),
    ),
    outline(
        "the last word was a correction",
        "unresolved",
        user("Draw the diagram of the modules."),
        runs(
            "python draw.py --a", "python draw.py --b", "python draw.py --c", "python draw.py --d", "python draw.py --e"
        ),
        says("Here it is."),
        user("That's wrong, the arrows point the other way."),
    ),
    outline(
        "interrupted",
        "unresolved",
        user("Refactor the session handling."),
        *(edit("/home/kim/app/session.py", str(number), str(number + 1)) for number in range(6)),
        note("[Request interrupted by user]", "interrupted"),
    ),
    outline(
        "a secret to be put down",
        "secret",
        user(f"Put my token {KEY} into the environment file and all the others."),
        *(write(f"/home/kim/app/{place}/.env", f"TOKEN={KEY}\n") for place in "abcde"),
        DONE,
    ),
    outline(
        "secrets put down on the way",
        "secret",
        user("Write the production credentials into .env and start it."),
        write("/home/kim/app/.env", f"DB_PASSWORD={KEY}\nTOKEN={KEY}\nSTAGE=production\n"),
        runs("chmod 600 .env", "make up", "make check", "make ok", "make load", "make ready"),
        DONE,
    ),
    outline(
        "a secret for the pipeline",
        "secret",
        user("Store the deploy key."),
        fails(f"echo {KEY} | gh secret set DEPLOY", "error: unknown option for the repository"),
        runs(f"echo {KEY} | gh secret set DEPLOY_KEY --repo kim/app", f"echo {KEY} > key.txt"),
        DONE,
    ),
    outline(
        "for this once",
        "one-off",
        user("One-off job: merge these two spreadsheets, I will never need it again."),
        runs("python a.py", "python b.py", "python merge.py a b", "python check.py", "mv out.csv final.csv"),
        DONE,
    ),
    outline(
        "done by hand in the end",
        "no-steps",
        user("Flash the firmware onto the board."),
        *(
            fails(f"probe-rs download firmware.elf --chip {chip}", "Error: Connecting to the chip was unsuccessful.")
            for chip in ("nRF52", "nRF53", "STM32F4", "STM32H7", "RP2040")
        ),
        user("Great, thank you! I flashed it with the vendor's window instead, that worked."),
        says("Good to know."),
    ),
    outline(
        "a skill that did",
        "skill-sufficed",
        user("Deploy the cart service."),
        note(SKILL_BODY, "skill:deploy"),
        runs("npm ci", "npm run build", "docker build -t cart .", "docker push cart", "kubectl apply -f k8s"),
        DONE,
    ),
    outline(
        "a skill that did, known by name only",
        "skill-sufficed",
        user("Write the weekly report."),
        calls("Skill", {"skill": "weekly-report"}, "Launching skill"),
        runs("python collect.py", "python render.py", "git add report.md", "git commit -m report", "git push"),
        DONE,
    ),
    outline(
        "upkeep by commands",
        "upkeep",
        user("Tidy up my skills."),
        runs(
            "whet list",
            "whet duplicates",
            "whet delete old",
            "whet rename a b",
            "whet validate b",
            "whet curate --apply",
        ),
        DONE,
    ),
    outline(
        "upkeep by hand",
        "upkeep",
        user("Improve the skill for releases."),
        read("/home/kim/.agents/skills/release/SKILL.md", "# Release"),
        *(edit("/home/kim/.agents/skills/release/SKILL.md", str(at), str(at + 1)) for at in range(4)),
        user("No, keep the checklist."),
        edit("/home/kim/.agents/skills/release/SKILL.md", "x", "y"),
        DONE,
    ),
    outline(
        "kept by the agent itself",
        "kept-already",
        user("Release version 3."),
        runs("npm ci", "npm test", "npm version 3.0.0", "npm run build", "npm publish"),
        calls("skill_manage", {"action": "create", "name": "npm-release"}, '{"success": true}'),
        DONE,
    ),
)
TABLE = (*HARD, *NOT)
