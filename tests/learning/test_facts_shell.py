"""Programs with their sub-commands, and the grants that are made of them: as narrow as what was used."""

from __future__ import annotations

import pytest

from learning.episodes import Part, bash, session, user
from whet.learning.distilling.draft import draft
from whet.learning.facts import facts
from whet.learning.facts.shell import programs

GRANTED = {
    "twine check --strict dist/*": "twine check",
    "twine upload --repository testpypi dist/*": "twine upload",
    "wrangler pages deploy public --project-name docs": "wrangler pages deploy",
    "glab issue create --title x": "glab issue create",
    "stripe customers list --limit 3": "stripe customers list",
    "ruff check .": "ruff check",
    "ledgerctl export --account 7": "ledgerctl export",
    "ledgerctl periods close --yes": "ledgerctl periods close",
    "ledgerctl report --all": "ledgerctl report",
    "ledgerctl --verbose export": "ledgerctl",
    "ledgerctl march": "ledgerctl",
    "ledgerctl src --all": "ledgerctl",
    "ledgerctl notes.txt --all": "ledgerctl",
    "git -C /srv/app commit -m x": "git commit",
    "git --no-pager tag v1": "git tag",
    "git submodule update --init": "git submodule update",
    "kubectl -n shop get pods": "kubectl get",
    "kubectl rollout undo deployment/x": "kubectl rollout undo",
    "terraform -chdir=live plan": "terraform plan",
    "terraform workspace select staging": "terraform workspace select",
    "npm --prefix web run build": "npm run build",
    "npm run site deploy": "npm run site",
    "npx playwright test e2e": "npx playwright test",
    "npx -y i18n-lint de.json": "npx i18n-lint",
    "uvx ruff check .": "uvx ruff check",
    "aws --profile ops s3 cp a b": "aws s3 cp",
    "aws sqs send-message --body x": "aws sqs send-message",
    "gcloud compute instances list": "gcloud compute instances list",
    "az storage blob upload --file x": "az storage blob upload",
    "cargo +nightly nextest run": "cargo nextest run",
    "go mod tidy": "go mod tidy",
    "dbt docs generate": "dbt docs generate",
    "make -C sub docs check": "make docs",
    "pytest tests -q": "pytest",
    "mypy src": "mypy",
    "createdb orders": "createdb",
    "psql shop -c 'select 1'": "psql",
    "tar czf out.tgz src": "tar",
    "convert logo -resize 64 out.png": "convert",
    "python3 tools/fill.py a.pdf": "python3 tools/fill.py",
    "sudo apt-get install -y libpango": "apt-get install",
    "poetry run alembic upgrade head": "poetry run alembic upgrade",
}

ANYTHING = (
    "npx",
    "uv run --isolated --with x python -c 'print(1)'",
    "bash run-me",
    "npm run",
    "docker exec -it web sh",
)


@pytest.mark.parametrize(("command", "label"), GRANTED.items())
def test_a_program_is_named_to_the_sub_command_and_granted_so(command: str, label: str) -> None:
    assert [ran.label for ran in programs(command)] == [label]
    assert grants(bash(command)) == (f"Bash({label}:*)",)


@pytest.mark.parametrize("command", ANYTHING)
def test_what_would_stand_for_anything_is_not_granted(command: str) -> None:
    assert grants(bash(command)) == ()


def test_a_program_is_granted_although_its_operand_became_an_input() -> None:
    asked = user("Rebuild the ledger of account AC-20417 and close its books for good.")
    assert draft(facts(session(asked, *[bash("ledgerctl AC-20417 --close", "closed")] * 2))).allowed_tools == (
        "Bash(ledgerctl:*)",
    )


def grants(*parts: Part) -> tuple[str, ...]:
    return draft(facts(session(user("Do what has to be done with the things that are here."), *parts))).allowed_tools
