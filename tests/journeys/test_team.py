"""A team of two and their hub: from the first command to a hub that is restored from a backup."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hub.issuer import Issuer, issuing
from hub.postgres import free_port
from hub.server import Served, serving_directory

from journeys.machines import Machine
from journeys.machines import main as skill_text

if TYPE_CHECKING:
    from pathlib import Path

DESCRIBED = "Reviews changes before they are merged. Use when the user asks for a review of a diff."


def write_skill(machine: Machine, version: str) -> str:
    directory = machine.work / "review"
    directory.mkdir(exist_ok=True)
    more = f'metadata:\n  version: "{version}"\n'
    body = f"# Review\n\n1. Read the diff.\n2. Say what is wrong, as in {version}.\n"
    (directory / "SKILL.md").write_text(skill_text("review", DESCRIBED, body, more), encoding="utf-8")
    return str(directory)


def token_of(machine: Machine, url: str) -> str:
    kept: dict[str, Any] = json.loads((machine.state / "credentials.json").read_text(encoding="utf-8"))
    token: str = kept[url]["token"]
    return token


def job_identity(issuer: Issuer, run: str) -> str:
    """What the platform gives to one run of the release workflow."""
    now = int(time.time())
    return issuer.sign(
        {
            "iss": issuer.url,
            "aud": "hub.example",
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "jti": run,
            "sub": "repo:acme/tools:ref:refs/tags/v1.0.0",
            "repository": "acme/tools",
            "repository_id": "42",
            "repository_owner_id": "7",
            "job_workflow_ref": "acme/tools/.github/workflows/release.yml@refs/tags/v1.0.0",
            "ref": "refs/tags/v1.0.0",
            "sha": "c0ffee",
            "run_id": run,
        }
    )


def back_up(hub: Path, backup: Path) -> None:
    """What docs/hub.md says, while the hub serves: the database first, then the archives."""
    backup.mkdir()
    with closing(sqlite3.connect(hub / "hub.db")) as now, closing(sqlite3.connect(backup / "hub.db")) as copy:
        now.backup(copy)
    shutil.copytree(hub / "blobs", backup / "blobs")
    for name in ("hub.toml", "log.key"):
        shutil.copy(hub / name, backup)


@pytest.mark.deep
def test_a_team_of_two_from_init_to_a_restored_backup(tmp_path: Path) -> None:
    people = ("operator", "ada", "ben", "nora", "omar", "olga")
    operator, ada, ben, nora, omar, olga = (Machine(tmp_path / name) for name in people)
    hub, early, late, mirror = (tmp_path / name for name in ("hub", "early", "late", "mirror"))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    review = f"hub:{url}/acme/review"
    with issuing() as issuer:
        operator.ask("hub", "init", str(hub), "--origin", "hub.example")
        with (hub / "hub.toml").open("a", encoding="utf-8") as config:
            config.write(f'url = "{url}"\nprivate_hosts = ["127.0.0.1"]\n')
            config.write(f'[[providers]]\nname = "work"\nissuer = "{issuer.url}"\nlike = "github"\n')
        link = operator.ask("hub", "invite", str(hub), "--owner", "acme", "--role", "admin")["link"]
        with serving_directory(str(hub), {}, port) as served:
            # invite
            assert ada.ask("hub", "login", link, "--account", "ada")["account"] == "ada"
            asks = Served(served.port, {"ada": token_of(ada, url)})
            link = _send(asks, "/api/v1/invitations", owner="acme", role="publisher")["link"]
            assert ben.ask("hub", "login", link, "--account", "ben")["account"] == "ben"
            bound = {"provider": "work", "repository": "acme/tools", "repository_id": "42", "owner_id": "7"}
            _send(asks, "/api/v1/owners/acme/publishers", **bound, workflow="release.yml", ref="refs/tags/v*")

            # publish from CI
            job = Machine(tmp_path / "job", WHET_ID_TOKEN=job_identity(issuer, "run-1"))
            publish = ("sources", "publish", "--hub", url, "--owner", "acme")
            released = job.ask(*publish, write_skill(job, "1.0.0"))["published"]
            assert [(each["name"], each["change"]) for each in released] == [("review", "added")]
            assert job.ask(*publish, write_skill(job, "1.0.1"), code=3)["success"] is False  # an identity is good once

            # install with a proof
            shown = ben.ask("install", review, "--dry-run")["plan"][0]["published"]
            assert (shown["publisher"], shown["verdict"]) == ("acme/tools@refs/tags/v1.0.0", "safe")
            assert ben.ask("install", review)["installed"] == ["review"]
            locked = ben.locked()["skills/review"]
            entry = json.loads(locked["log_entry"])
            assert (entry["publisher"]["commit"], entry["digest"]) == ("c0ffee", locked["digest"])
            assert [each["status"] for each in ben.ask("sources", "verify")["skills"]] == ["ok"]

            # yank
            assert ben.ask(*publish, write_skill(ben, "1.1.0"))["published"][0]["change"] == "added"
            ada.ask("hub", "yank", f"{review}@1.0.0", "--reason", "It misses deletions.")
            assert ben.ask("update")["installed"] == ["review"]
            assert ben.locked()["skills/review"]["version"] == "1.1.0"
            back_up(hub, early)

            # mirror
            operator.ask("hub", "init", str(mirror), "--origin", "mirror.example")
            with (mirror / "hub.toml").open("a", encoding="utf-8") as config:
                config.write('private_hosts = ["127.0.0.1"]\n')
            (state,) = operator.ask("hub", "mirror", str(mirror), url)["mirrors"]
            assert state["key"].startswith("hub.example+")
            with serving_directory(str(mirror), {}) as second:
                mirrored = f"hub:http://127.0.0.1:{second.port}/acme/review"
                shown = omar.ask("install", mirrored, "--dry-run")["plan"][0]["published"]
                assert (shown["publisher"], shown["mirrored"]) == ("ben", "hub.example")
                assert omar.ask("install", mirrored)["installed"] == ["review"]
                entry = json.loads(omar.locked()["skills/review"]["log_entry"])
                assert (entry["act"], entry["upstream"]["origin"]) == ("mirror", "hub.example")
                assert [each["status"] for each in omar.ask("sources", "verify")["skills"]] == ["ok"]

            # quarantine
            ada.ask("hub", "report", f"{review}@1.1.0", "--reason", "It approves everything.")
            case = operator.ask("hub", "queue", str(hub))["cases"][0]
            assert (case["version"], case["reports"][0]["account"]) == ("1.1.0", "ada")
            decision = ("--decision", "quarantine", "--reason", "It approves everything.")
            operator.ask("hub", "queue", str(hub), "--case", str(case["id"]), *decision)
            assert nora.ask("install", f"{review}@1.1.0", code=3)["success"] is False
            checked = ben.ask("hub", "check", url)
            back_up(hub, late)
            bundle = tmp_path / "bundle.tar"
            assert (
                operator.ask("hub", "export", str(hub), "--to", str(bundle))["versions"] == 1
            )  # not the quarantined one
        acts = [json.loads(text)["act"] for text in _entries(hub)]
        assert acts == ["owner", "member", "member", "publisher", "publish", "publish", "yank", "quarantine"]
        shutil.rmtree(hub)

        # the hub is gone: its mirror serves, and a file brings what happened last
        brought = operator.ask("hub", "import", str(mirror), str(bundle))
        assert (brought["url"], brought["versions"], brought["refused"]) == (url, 1, [])
        with serving_directory(str(mirror), {}) as second:
            mirrored = f"hub:http://127.0.0.1:{second.port}/acme/review"
            assert olga.ask("install", f"{mirrored}@1.0.0")["installed"] == ["review"]
            assert olga.ask("install", f"{mirrored}@1.1.0", code=3)["success"] is False
        operator.ask("hub", "verify", str(mirror))

        # a backup with everything: nobody notices
        assert operator.ask("hub", "verify", str(late))["entries"] == len(acts)
        with serving_directory(str(late), {}, port):
            again = ben.ask("hub", "check", url)
            assert (again["entries"], again["known"]) == (checked["entries"], checked["entries"])
            released = ben.ask(*publish, write_skill(ben, "1.2.0"))["published"]
            assert released[0]["change"] == "added"
            assert nora.ask("install", review)["installed"] == ["review"]
            assert [each["status"] for each in nora.ask("sources", "verify")["skills"]] == ["ok"]

        # a backup that lacks the last acts: whole in itself, but not what people have seen
        assert operator.ask("hub", "verify", str(early))["entries"] == len(acts) - 1
        with serving_directory(str(early), {}, port):
            assert ben.ask("hub", "check", url, code=1)["code"] == "log-diverged"
            assert nora.ask("update", code=1)["code"] == "log-diverged"


def _send(hub: Served, path: str, **fields: str) -> Any:
    answer = hub.ask("POST", path, "ada", json.dumps(fields).encode())
    assert answer.status == 201, answer.body
    return answer.json


def _entries(hub: Path) -> list[str]:
    with closing(sqlite3.connect(hub / "hub.db")) as database:
        return [row[0] for row in database.execute("SELECT entry FROM log_entries ORDER BY number")]
