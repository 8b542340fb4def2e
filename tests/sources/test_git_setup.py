"""What git is run with, how it is reached, and what its words mean."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.repositories import Repository, World, serving_git, skill
from whet.errors import RefusedError
from whet.sources.git.failures import failure, last_line, without_secrets
from whet.sources.git.program import Git, Setting, carried, config_text, environment

if TYPE_CHECKING:
    from pathlib import Path

GIT = Git("/usr/bin/git", (2, 39))
WHERE = "https://example.com/a/b"


def test_only_credentials_proxies_and_certificates_are_carried_over() -> None:
    listed = [
        b"credential.helper\nstore",
        b"credential.https://example.com.username\nme",
        b"http.proxy\nhttp://proxy.example:3128",
        b"http.https://example.com/.extraheader\nAuthorization: x",
        b"http.sslverify\nfalse",
        b"http.followredirects\ntrue",
        b"url.git@github.com:.insteadof\nhttps://github.com/",
        b"core.hookspath\n/hooks",
        b"core.sshcommand\nssh -i key",
        b"alias.fetch\n!sh",
        b"credential.usehttppath",
        b"",
    ]
    assert carried(b"\0".join(listed)) == (
        Setting("credential", "", "helper", "store"),
        Setting("credential", "https://example.com", "username", "me"),
        Setting("http", "", "proxy", "http://proxy.example:3128"),
        Setting("http", "https://example.com/", "extraheader", "Authorization: x"),
        Setting("core", "", "sshcommand", "ssh -i key"),
        Setting("credential", "", "usehttppath", "true"),
    )


_TEXT = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=40)


@given(values=st.lists(_TEXT, min_size=1, max_size=8), inner=_TEXT.map(lambda text: text.replace("\n", "")))
@settings(max_examples=40, deadline=None)
def test_git_reads_a_configuration_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], inner: str
) -> None:
    written = [Setting("http", inner, "extraheader", value) for value in values]
    path = tmp_path_factory.mktemp("config") / "config"
    path.write_bytes(config_text(written))
    call = ["git", "config", "--file", str(path), "--list", "-z"]
    assert carried(subprocess.run(call, capture_output=True, check=True).stdout) == tuple(written)


def test_what_steers_git_is_not_passed_on() -> None:
    env = {
        "HOME": "/home/me",
        "https_proxy": "http://proxy.example:3128",
        "GIT_DIR": "/elsewhere",
        "GIT_TRACE": "/tmp/trace",
        "GIT_SSL_NO_VERIFY": "1",
        "GIT_SSL_CAINFO": "/ca.pem",
        "GIT_CONFIG_COUNT": "1",
        "GIT_ASKPASS": "/ask",
        "LC_ALL": "de_DE",
        "LANGUAGE": "de",
    }
    made = environment(env, git=GIT, directory="/state/fetching/x", config="/state/fetching/x/config", protocol="https")
    kept = {name: made.get(name) for name in env}
    assert kept == {
        "HOME": "/home/me",
        "https_proxy": "http://proxy.example:3128",
        "GIT_DIR": None,
        "GIT_TRACE": None,
        "GIT_SSL_NO_VERIFY": None,
        "GIT_SSL_CAINFO": "/ca.pem",
        "GIT_CONFIG_COUNT": None,
        "GIT_ASKPASS": "",
        "LC_ALL": "C",
        "LANGUAGE": None,
    }
    assert (made["GIT_ALLOW_PROTOCOL"], made["GIT_TERMINAL_PROMPT"], made["GIT_CONFIG_NOSYSTEM"]) == ("https", "0", "1")


@pytest.mark.parametrize(
    ("talk", "code"),
    [
        ("remote: Repository not found.\nfatal: repository 'https://example.com/a/b/' not found", "source-not-found"),
        ("fatal: could not read Username for 'https://github.com': terminal prompts disabled", "source-not-found"),
        ("ERROR: Repository not found.\nfatal: Could not read from remote repository.", "source-not-found"),
        ("fatal: Authentication failed for 'https://example.com/a/b/'", "source-denied"),
        ("git@example.com: Permission denied (publickey).\nfatal: Could not read from remote", "source-denied"),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", "source-denied"),
        ("fatal: detected dubious ownership in repository at '/x'", "source-denied"),
        ("fatal: unable to access 'x': Could not resolve host: example.com", "unreachable"),
        ("fatal: unable to access 'x': SSL certificate problem: self-signed certificate", "unreachable"),
        ("ssh: connect to host example.com port 22: Connection refused\nfatal: Could not read", "unreachable"),
        ("fatal: unable to access 'x': Operation too slow. Less than 1 bytes/sec", "too-slow"),
        ("error: RPC failed; curl 56\nfatal: early EOF", "response-cut-off"),
        ("fatal: unable to access 'x': The requested URL returned error: 502", "server-failed"),
        ("fatal: write error: No space left on device", "disk-full"),
        ("fatal: something new", "git-failed"),
        ("", "git-failed"),
    ],
)
def test_what_git_says_has_a_code(talk: str, code: str) -> None:
    assert failure(talk, WHERE).code == code


def test_the_last_telling_line_is_shown_without_secrets() -> None:
    talk = (
        "remote: Counting objects: 100% (3/3), done.\n"
        "fatal: bad thing at https://me:hunter2@example.com/a\n"
        "fatal: Could not read from remote repository.\n\nand the repository exists.\n"
    )
    assert last_line(talk) == "bad thing at https://example.com/a"
    error = failure("fatal: something new", "https://token@example.com/a?key=hunter2")
    assert error.message == "git could not fetch https://example.com/a: something new."
    assert without_secrets("ssh://git@example.com/a ssh://me:pw@example.com/a") == (
        "ssh://git@example.com/a ssh://example.com/a"
    )


def test_a_host_is_reached_at_the_address_that_was_checked(tmp_path: Path) -> None:
    Repository.new(tmp_path / "repository").commit({"a/SKILL.md": skill("a")})
    asked: list[str] = []

    def resolve(host: str, _port: int) -> tuple[str, ...]:
        asked.append(host)
        return ("127.0.0.1",)

    with serving_git(tmp_path) as server, World(tmp_path, private=("skills.test",), resolve=resolve) as world:
        location = server.url.replace("127.0.0.1", "skills.test")
        assert len(world.source(f"{location}/repository").inspect().offers) == 1
    assert asked == ["skills.test"]


def _fake_ssh(world: World, tmp_path: Path, script: str) -> None:
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n{script}\n')
    program.chmod(0o755)
    world.env["PATH"] = f"{program.parent}:{world.env['PATH']}"


def test_a_repository_over_ssh_never_asks(tmp_path: Path) -> None:
    Repository.new(tmp_path / "repository").commit({"a/SKILL.md": skill("a")})
    with World(tmp_path) as world:
        _fake_ssh(world, tmp_path, 'for last; do :; done; eval "$last"')
        source = world.source(f"ssh://git@example.com{tmp_path}/repository")
        assert len(source.inspect().offers) == 1
    calls = (tmp_path / "calls").read_text()
    assert ("-o BatchMode=yes" in calls, "git@example.com git-upload-pack" in calls) == (True, True)


def test_the_users_own_ssh_command_is_used(tmp_path: Path) -> None:
    Repository.new(tmp_path / "repository").commit({"a/SKILL.md": skill("a")})
    with World(tmp_path) as world:
        _fake_ssh(world, tmp_path, "echo 'git@example.com: Permission denied (publickey).' >&2; exit 255")
        (world.home / ".gitconfig").write_text("[core]\n\tsshCommand = ssh -i mine\n")
        source = world.source(f"ssh://git@example.com{tmp_path}/repository")
        with pytest.raises(RefusedError) as caught:
            source.inspect()
        assert caught.value.code == "source-denied"
        assert caught.value.message.endswith("git@example.com: Permission denied (publickey).")
    assert "-i mine" in (tmp_path / "calls").read_text()


def test_a_clone_on_this_machine_with_an_unusual_path(tmp_path: Path) -> None:
    repository = Repository.new(tmp_path / "repository")
    repository.commit({"a/SKILL.md": skill("a")})
    repository.commit({"a/SKILL.md": skill("b")})
    clone = Repository(tmp_path / "a clone, übrigens")
    repository.git("clone", "-q", "--depth=1", repository.url, str(clone.path), cwd=tmp_path)
    with World(tmp_path) as world:
        for path in ("", "a"):
            source = world.source(clone.url, path=path)
            assert [item.offer.name for item in source.fetch(source.inspect().offers)] == ["b"]


def test_an_ssh_that_stays_for_later_does_not_hold_up(tmp_path: Path) -> None:
    Repository.new(tmp_path / "repository").commit({"a/SKILL.md": skill("a")})
    with World(tmp_path) as world:
        stays = f"(exec sleep 30 <&- >&-) & echo $! > {tmp_path}/master"
        _fake_ssh(world, tmp_path, f'{stays}; for last; do :; done; eval "$last"')
        listing = world.source(f"ssh://git@example.com{tmp_path}/repository").inspect()
        os.kill(int((tmp_path / "master").read_text()), signal.SIGKILL)
    assert len(listing.offers) == 1
