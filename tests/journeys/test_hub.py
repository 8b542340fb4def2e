"""A team of two and its hub: invite, publish from CI, install with a proof, yank, quarantine, mirror, restore."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hub.issuer import Issuer, issuing
from hub.postgres import free_port
from hub.server import Served, serving_directory
from hub.test_client import Person

if TYPE_CHECKING:
    from pathlib import Path

REVIEW = "hub:{}/acme/review"


def create(operator: Person, directory: Path, origin: str, url: str, more: str = "") -> None:
    """A hub as its operator makes it."""
    assert operator.whet("hub", "init", str(directory), "--origin", origin)[0] == 0
    with open(directory / "hub.toml", "a", encoding="utf-8") as file:
        file.write(f'url = "{url}"\nprivate_hosts = ["127.0.0.1"]\n{more}')


def identity(issuer: Issuer) -> str:
    """The token of a job that runs for a tag."""
    now = int(time.time())
    return issuer.sign(
        {
            "iss": issuer.url,
            "aud": "hub.example",
            "iat": now,
            "exp": now + 300,
            "jti": "job-1",
            "project_id": "42",
            "namespace_id": "7",
            "project_path": "acme/tools",
            "ci_config_ref_uri": f"{issuer.url.removeprefix('http://')}/acme/tools//.gitlab-ci.yml@refs/tags/v1.0.0",
            "ref_path": "refs/tags/v1.0.0",
            "sha": "c0ffee",
            "pipeline_id": "99",
        }
    )


@pytest.mark.deep
def test_a_team_of_two_and_its_hub(tmp_path: Path) -> None:
    port, second = free_port(), free_port()
    address, mirrored = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{second}"
    directory, backup, restored = tmp_path / "hub", tmp_path / "backup", tmp_path / "restored"
    people = [Person(tmp_path / name, Served(port, {})) for name in ("operator", "eve", "ci", "dan", "fay")]
    operator, eve, ci, dan, fay = people
    with issuing() as issuer:
        provider = f'[[providers]]\nname = "work"\nissuer = "{issuer.url}"\nlike = "gitlab"\n'
        create(operator, directory, "hub.example", address, provider)
        with serving_directory(str(directory), {}, port):
            invite = ("hub", "invite", str(directory), "--owner", "acme", "--role")
            for person, role in ((eve, "admin"), (dan, "reader")):
                link = operator.whet(*invite, role)[1]["link"]
                code, account = person.whet("login", link, "--account", person.home.name)
                assert (code, account["account"]) == (0, person.home.name)

            trusted = ("--repository-id", "42", "--owner-id", "7", "--ref", "refs/tags/v*", "--skill", "review")
            code, listed = eve.whet("hub", "publisher", "acme", "--add", "work:acme/tools", *trusted)
            assert (code, [row["repository"] for row in listed["publishers"]]) == (0, ["acme/tools"])
            publish = ("--hub", address, "--owner", "acme")
            token = identity(issuer)
            assert ci.whet("publish", ci.write_skill("1.0.0"), *publish, WHET_ID_TOKEN=token)[0] == 0
            assert ci.whet("publish", ci.write_skill("1.0.0"), *publish, WHET_ID_TOKEN=token)[0] != 0  # it works once

            _, plan = dan.whet("install", REVIEW.format(address), "--dry-run")
            shown = plan["plan"][0]["published"]
            assert (shown["publisher"], shown["verdict"]) == ("acme/tools@refs/tags/v1.0.0", "safe")
            assert dan.whet("install", REVIEW.format(address))[0] == 0
            assert eve.whet("yank", "acme/review@1.0.0", "--reason", "It misses deletions.")[0] == 0
            assert eve.whet("publish", eve.write_skill("1.1.0", "# Review\n\n1. Look.\n"), *publish)[0] == 0
            assert dan.whet("update")[0] == 0
            assert dan.lock()["skills"]["skills/review"]["revision"] == "1.1.0"

            report = ("report", "acme/review@1.1.0", "--reason", "It does nothing.")
            assert dan.whet(*report)[0] == 0
            code, again = dan.whet(*report)
            assert (code, again["code"]) == (1, "hub-refused") and "have already reported" in again["error"]
            queue = ("hub", "queue", str(directory))
            (case,) = operator.whet(*queue)[1]["cases"]
            decided = ("--case", str(case["id"]), "--decision", "quarantine", "--reason", "It does nothing.")
            assert operator.whet(*queue, *decided)[0] == 0
            code, refused = fay.whet("install", f"{REVIEW.format(address)}@1.1.0")
            assert (code, refused["code"]) == (3, "version-quarantined")
            assert eve.whet("publish", eve.write_skill("1.2.0"), *publish)[0] == 0

            create(operator, tmp_path / "mirror", "mirror.example", mirrored)
            assert operator.whet("hub", "mirror", str(tmp_path / "mirror"), address)[0] == 0
            with serving_directory(str(tmp_path / "mirror"), {}, second):
                _, plan = fay.whet("install", REVIEW.format(mirrored), "--dry-run")
                assert plan["plan"][0]["published"]["mirrored"] == "hub.example"
                assert fay.whet("install", REVIEW.format(mirrored))[0] == 0
                assert fay.whet("sources", "verify")[1]["skills"][0]["status"] == "ok"

            assert dan.whet("update")[0] == 0
            backup.mkdir()
            with (
                closing(sqlite3.connect(directory / "hub.db")) as live,
                closing(sqlite3.connect(backup / "hub.db")) as copy,
            ):
                live.backup(copy)
            shutil.copytree(directory / "blobs", backup / "blobs")
            for name in ("hub.toml", "log.key"):
                shutil.copy(directory / name, backup / name)
    shutil.rmtree(directory)

    shutil.copytree(backup, restored)
    code, proved = operator.whet("hub", "verify", str(restored))
    assert (code, proved["archives"]) == (0, 3)
    with serving_directory(str(restored), {}, port):
        code, check = dan.whet("hub", "check", address)
        assert (code, check["known"] > 0) == (0, True)  # the log continues what was seen before
        assert dan.whet("sources", "verify")[1]["skills"][0]["status"] == "ok"
        assert ci.whet("install", REVIEW.format(address))[0] == 0
