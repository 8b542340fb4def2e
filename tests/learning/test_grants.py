"""Programs with their sub-commands, and the grants that are made of them: as narrow as what was used."""

from __future__ import annotations

import pytest

from learning.episodes import Part, bash, calls, session, user
from whet.learning.distill.draft import Draft, draft
from whet.learning.evidence.session import evidence_of
from whet.learning.evidence.shell import programs

ASK = user("Do what has to be done with the things that are here.")
GRANTED = {
    "twine check --strict dist/*": "twine check",
    "stripe customers list --limit 3": "stripe customers list",
    "ruff check .": "ruff check",
    "ledgerctl export --account 7": "ledgerctl export",
    "ledgerctl report --all": "ledgerctl report",
    "ledgerctl --verbose export": "ledgerctl",
    "ledgerctl march": "ledgerctl",
    "ledgerctl src --all": "ledgerctl",
    "ledgerctl notes.txt --all": "ledgerctl",
    "git -C /srv/app commit -m x": "git commit",
    "git --no-pager tag v1": "git tag",
    "git submodule update --init": "git submodule update",
    "kubectl -n shop get pods": "kubectl get",
    "terraform -chdir=live plan": "terraform plan",
    "npm --prefix web run build": "npm run build",
    "npm run site deploy": "npm run site",
    "npx playwright test e2e": "npx playwright test",
    "npx -y i18n-lint de.json": "npx i18n-lint",
    "uvx ruff check .": "uvx ruff check",
    "gcloud compute instances list": "gcloud compute instances list",
    "cargo +nightly nextest run": "cargo nextest run",
    "go mod tidy": "go mod tidy",
    "dbt docs generate": "dbt docs generate",
    "make -C sub docs check": "make docs",
    "pytest tests -q": "pytest",
    "mypy src": "mypy",
    "tar czf out.tgz src": "tar",
    "convert logo -resize 64 out.png": "convert",
    "python3 tools/fill.py a.pdf": "python3 tools/fill.py",
}

ASKED = {
    "twine upload --repository testpypi dist/*": "twine upload",
    "wrangler pages deploy public --project-name docs": "wrangler pages deploy",
    "glab issue create --title x": "glab issue create",
    "ledgerctl periods close --yes": "ledgerctl periods close",
    "kubectl rollout undo deployment/x": "kubectl rollout undo",
    "terraform workspace select staging": "terraform workspace select",
    "aws --profile ops s3 cp a b": "aws s3 cp",
    "aws sqs send-message --body x": "aws sqs send-message",
    "az storage blob upload --file x": "az storage blob upload",
    "createdb orders": "createdb",
    "psql shop -c 'select 1'": "psql",
    "sudo apt-get install -y libpango": "apt-get install",
    "poetry run alembic upgrade head": "poetry run alembic upgrade",
    "rm -rf dist": "rm",
    "mv a b": "mv",
    "chmod -R 777 .": "chmod",
    "dd if=a of=b": "dd",
    "git push origin main": "git push",
    "git reset --hard": "git reset",
    "git checkout -- .": "git checkout",
    "kubectl set env deploy/x A=b": "kubectl set",
    "kubectl delete pod x": "kubectl delete",
    "terraform destroy": "terraform destroy",
    "crontab -": "crontab",
    "pass show stripe/live": "pass show",
    "vault read secret/x": "vault read",
    "aws s3 rm s3://b/k": "aws s3 rm",
    "docker rm web": "docker rm",
    "npm publish": "npm publish",
    "gh release create v1": "gh release create",
    "gh secret list": "gh secret list",
    "curl -X POST https://api.example/x": "curl",
    "npm run deploy": "npm run deploy",
    "make release": "make release",
}
"""What deletes, overwrites, publishes, changes a system or shows secrets."""

ANYTHING = (
    "npx",
    "uv run --isolated --with x python -c 'print(1)'",
    "bash run-me",
    "npm run",
    "docker exec -it web sh",
    "python3 -c 'print(1)'",
    "ssh ops@db1.example 'sudo install -m 755 a /usr/local/bin && crontab -l'",
)


@pytest.mark.parametrize(("command", "label"), GRANTED.items())
def test_a_program_is_named_to_the_sub_command_and_granted_so(command: str, label: str) -> None:
    assert [ran.label for ran in programs(command)] == [label]
    assert grants(bash(command)) == (f"Bash({label}:*)",)


@pytest.mark.parametrize(("command", "label"), ASKED.items())
def test_what_can_do_harm_is_named_and_left_to_the_client_to_ask_for(command: str, label: str) -> None:
    assert [ran.label for ran in programs(command)] == [label]
    made = made_of(bash(command))
    assert (made.tools, made.asked) == ((), (f"Bash({label}:*)",))
    assert f"- The client asks before it runs `{label}`.\n" in made.body


@pytest.mark.parametrize("command", ANYTHING)
def test_what_would_stand_for_anything_is_not_granted(command: str) -> None:
    made = made_of(bash(command))
    assert (made.tools, made.asked) == ((), ())


def test_what_runs_on_another_machine_needs_ssh_here_and_nothing_else() -> None:
    made = made_of(bash("ssh ops@db1.example 'crm-backup --all && crontab -l'"))
    needs = "- Commands: `ssh`.\n- The client asks before it runs `ssh`.\n"
    assert made.body.endswith(needs)


def test_connected_tools_are_allowed_where_their_names_say_that_they_look() -> None:
    parts = [calls(name, {"id": "x"}, "ok") for name in ("mcp__pager__get_incident", "mcp__pager__resolve_incident")]
    made = made_of(*parts)
    assert (made.tools, made.asked) == (("mcp__pager__get_incident",), ("mcp__pager__resolve_incident",))


def test_what_somebody_allowed_is_not_asked_for_and_what_somebody_took_away_is() -> None:
    parts = (bash("git commit -am x"), bash("git push"))
    made = draft(evidence_of(session(ASK, *parts)), {"tools": ("Bash(git push:*)",)})
    assert (made.tools, made.asked) == (("Bash(git push:*)",), ("Bash(git commit:*)",))


def made_of(*parts: Part) -> Draft:
    return draft(evidence_of(session(ASK, *parts)))


def grants(*parts: Part) -> tuple[str, ...]:
    return made_of(*parts).tools


def test_requirements_name_what_must_be_installed_and_nothing_of_the_project() -> None:
    made = made_of(bash("./deploy.sh staging && .venv/bin/pytest -q && terraform plan"))
    assert "- Commands: `terraform`.\n" in made.body
